"""A thread burns the GIL: in Python code, or with the word `long` in calls that hold it for long. Twin: the thread computes
without the GIL, and the main thread sleeps."""
import hashlib
import sys
import threading
import time

import gpu

done = threading.Event()
data = bytes(10_000_000)


def burn():
    while not done.is_set():
        if gpu.TWIN:
            hashlib.sha256(data)
        elif "long" in sys.argv:
            sum(range(2_000_000))  # idle: gil
        else:
            [i + 1 for i in range(100_000)]  # idle: gil


gpu.start()
gpu.work()
thread = threading.Thread(target=burn, name="burner")
thread.start()
for _ in gpu.rounds(ms=1):
    if gpu.TWIN:
        time.sleep(0.03)  # twin: sleep
done.set()
thread.join()
