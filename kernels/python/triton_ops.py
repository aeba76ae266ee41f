"""Triton: an element-wise kernel."""
from needs import needs

needs("torch", "triton")

import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402


@triton.jit
def add(left, right, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(out + at, tl.load(left + at, mask=inside) + tl.load(right + at, mask=inside),
             mask=inside)


ones = torch.ones(1000, device="cuda")
result = torch.empty_like(ones)
add[(4,)](ones, ones, result, 1000, BLOCK=256)
print("triton", result.sum().item())
