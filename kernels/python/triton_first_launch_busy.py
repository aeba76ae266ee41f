"""Triton: launches a kernel for the first time while another one runs."""
import time

from needs import needs

needs("torch", "triton")

import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402


@triton.jit
def add_one(values, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(values + at, tl.load(values + at, mask=at < count) + 1, mask=at < count)


left = torch.randn(8192, 8192, device="cuda")
values = torch.zeros(1024, device="cuda")
other = torch.cuda.Stream()
torch.mm(left, left)
# Compiled before, so that loading waits and the compiler takes no time.
with torch.cuda.stream(other):
    add_one.warmup(values, 1024, BLOCK=256, grid=(4,))
torch.cuda.synchronize()


def step():
    for _ in range(40):
        torch.mm(left, left)
    with torch.cuda.stream(other):
        start = time.monotonic()
        add_one[(4,)](values, 1024, BLOCK=256)  # the stall
    print(f"timed first cuLaunchKernel {(time.monotonic() - start) * 1e3:.3f}")


step()
torch.cuda.synchronize()
