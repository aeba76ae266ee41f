"""Python's garbage collector looks at many objects. Twin: they are frozen, and the program computes."""
import gc

import gpu

objects = [[i] for i in range(600_000)]
if gpu.TWIN:
    gc.collect()
    gc.freeze()
for _ in gpu.rounds():
    gc.collect()  # idle: gc
    if gpu.TWIN:
        length = sum(len(str(i)) for i in range(200_000))  # twin: python; no list, whose items collecting would visit
