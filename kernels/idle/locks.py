"""Waits for another thread, which sleeps. Twin: takes a lock that nobody has, and computes."""
import queue
import threading
import time

import gpu

items = queue.Queue()
lock = threading.Lock()


def produce():
    while True:
        time.sleep(0.04)
        items.put(None)


threading.Thread(target=produce, daemon=True).start()
for _ in gpu.rounds():
    if gpu.TWIN:
        for _ in range(60):
            with lock:
                values = [str(i) for i in range(2_000)]  # twin: python
    else:
        items.get()  # idle: thread-lock
