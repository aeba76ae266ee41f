"""Reads a file from the disk. Twin: from the page cache, and computes."""
import mmap
import os
import sys
import tempfile
import time

import gpu

# Not in the folder for temporary files, which may be in memory.
with tempfile.NamedTemporaryFile(dir=os.getcwd()) as file:
    block = mmap.mmap(-1, 32 << 20)
    os.pwritev(file.fileno(), [block], 0)
    os.fsync(file.fileno())
    try:
        descriptor = os.open(file.name, os.O_RDONLY | (0 if gpu.TWIN else os.O_DIRECT))
    except OSError as error:
        print(f"skipped: {error}")
        sys.exit(77)
    for _ in gpu.rounds():
        end = time.monotonic() + 0.05
        while time.monotonic() < end:
            if gpu.TWIN:
                os.pread(descriptor, 4096, 0)
                values = [str(i) for i in range(20_000)]  # twin: python
            else:
                os.preadv(descriptor, [block], 0)  # idle: io
