"""Native code that runs without the GIL. Twin: native code that holds it, which counts as Python."""
import hashlib

import gpu

data = bytes(40_000_000)
for _ in gpu.rounds():
    if gpu.TWIN:
        total = sum(range(2_000_000))  # twin: python
    else:
        digest = hashlib.sha256(data)  # idle: native
