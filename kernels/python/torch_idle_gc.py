"""PyTorch: Python's garbage collector looks at many objects. Twin: they are frozen, and the program computes."""
import gc

from idle import TWIN, compute, rounds
from needs import needs

needs("torch")

import torch  # noqa: E402

objects = [[i] for i in range(2_000_000)]
if TWIN:
    gc.collect()
    gc.freeze()
values = torch.ones(1 << 20, device="cuda")


def step():
    values.sum().item()


for _ in rounds(step):
    gc.collect()  # idle: gc
    if TWIN:
        compute(100)  # twin: python
print("torch gc")
