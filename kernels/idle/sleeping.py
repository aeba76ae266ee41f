"""Sleeps. Twin: waits as long for a queue in which nothing comes."""
import queue
import time

import gpu

nothing = queue.Queue()
for _ in gpu.rounds():
    if gpu.TWIN:
        try:
            nothing.get(timeout=0.05)  # twin: thread-lock
        except queue.Empty:
            pass
    else:
        time.sleep(0.05)  # idle: sleep
