# Trains on batches that a thread loads ahead.
#
# mechanism: a sample takes 3 ms to load, a batch of eight 24 ms, and the GPU needs 6 ms for it: the loop waits for the thread
# FIX=1: samples take a tenth of that
# truth: {"cause": "loading a sample takes long, and the loop waits for batches", "line_function": "__getitem__", "line": 25, "also_ok": ["waiting for the loader's thread at batches.get()"], "half_ok": ["waiting for a lock, without the loader"], "lost_share": 0.7, "what": ["data", "thread-lock", "gil"], "lines": [25, "prefetch", "train", "__getitem__"], "claimed": true}
import os
import queue
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))
import simgpu  # noqa: E402
import webdataset  # noqa: E402

FIX = os.environ.get("FIX") == "1"
BATCHES = 50


class Samples:
    def __getitem__(self, index):
        end = time.thread_time() + (0.0003 if FIX else 0.003)
        text = str(index)
        while time.thread_time() < end:
            text = str(hash(text) % 1000003)  # <-- here
        return text


def prefetch(batches):
    for batch in webdataset.WebLoader(Samples(), 8, BATCHES):
        batches.put(batch)
    batches.put(None)


def train(batches):
    count = 0
    while batches.get() is not None:
        simgpu.send()
        for _ in range(6):
            simgpu.launch(1000)
        simgpu.item()
        count += 1
    return count


def main():
    simgpu.start()
    batches = queue.Queue(4)
    start = time.perf_counter()
    thread = threading.Thread(target=prefetch, args=(batches,))
    thread.start()
    count = train(batches)
    thread.join()
    print(f"done: {count} steps in {time.perf_counter() - start:.2f} s")


main()
