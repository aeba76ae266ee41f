"""Computes in Python while the GPU has nothing to do. Twin: while it works."""
import math

import gpu

for _ in gpu.rounds():
    if gpu.TWIN:
        gpu.launch(300)
    values = [math.sin(i) for i in range(200_000)]  # idle: python
