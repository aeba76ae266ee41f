"""PyTorch: compiles functions with torch.compile (Inductor and Triton). Twin: calls them as they are, and computes."""
import os
import tempfile

from idle import TWIN, compute, rounds
from needs import needs

needs("torch", "triton")
folder = tempfile.TemporaryDirectory()  # what an earlier run compiled is not found
os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.environ["TRITON_CACHE_DIR"] = folder.name

import torch  # noqa: E402

values = torch.ones(1 << 20, device="cuda")


def made(number):
    def function(x):
        return torch.sin(x * number).cos() + number
    return function


def step():
    values.sum().item()


for number, _ in enumerate(rounds(step, 10.0), 1):
    function = made(float(number))
    if TWIN:
        compute(50)  # twin: python
        function(values)
    else:
        torch.compile(function)(values)  # idle: compile
        torch._dynamo.reset()
print("torch compile")
