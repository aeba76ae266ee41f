"""One of two GPUs has no work, because its thread sleeps. Twin: neither has, and each thread has its own reason."""
import importlib.util
import threading
import time

import gpu

# The module keeps one device, so there are two of it.
spec = importlib.util.find_spec("gpu")
other = importlib.util.module_from_spec(spec)
spec.loader.exec_module(other)


def drive_other():
    other.start(1)
    for _ in other.rounds():
        time.sleep(0.05)  # idle: sleep


thread = threading.Thread(target=drive_other)
thread.start()
for _ in gpu.rounds():
    if gpu.TWIN:
        thread.join(0.05)  # twin: thread-lock
    else:
        gpu.work(100)
thread.join()
