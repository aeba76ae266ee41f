"""Writes a file and waits until it is on the disk. Twin: does not wait, and computes."""
import os
import sys
import tempfile
import time

import gpu

# Beside the program's other files: a temporary folder may be in memory.
with tempfile.NamedTemporaryFile(dir=os.getcwd()) as file:
    block = bytes(4096)
    start, used = time.monotonic(), time.thread_time()
    for _ in range(10):
        os.pwrite(file.fileno(), block, 0)
        os.fsync(file.fileno())
    if time.thread_time() - used > (time.monotonic() - start) / 2:
        print("skipped: nothing waits for this folder's disk")
        sys.exit(77)
    for _ in gpu.rounds():
        end = time.monotonic() + 0.05
        while time.monotonic() < end:
            os.pwrite(file.fileno(), block, 0)
            if gpu.TWIN:
                values = [str(i) for i in range(20_000)]  # twin: python
            else:
                os.fsync(file.fileno())  # idle: io
