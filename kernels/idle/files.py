"""Writes a file and waits until it is on the disk. Twin: does not wait, and computes."""
import os
import tempfile
import time

import gpu

# Beside the program: a temporary folder may be in memory.
with tempfile.TemporaryFile(dir=os.getcwd()) as file:
    block = bytes(4096)
    for _ in gpu.rounds():
        end = time.monotonic() + 0.05
        while time.monotonic() < end:
            os.pwrite(file.fileno(), block, 0)
            if gpu.TWIN:
                values = [str(i) for i in range(20_000)]  # twin: python
            else:
                os.fsync(file.fileno())  # idle: io
