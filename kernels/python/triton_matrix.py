"""Triton: a matrix product in one block, and the sum of its rows."""
from needs import needs

needs("torch", "triton")

import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402


@triton.jit
def matrix_product(left, right, out, SIZE: tl.constexpr):
    row = tl.arange(0, SIZE)[:, None]
    column = tl.arange(0, SIZE)[None, :]
    at = row * SIZE + column
    tl.store(out + at, tl.dot(tl.load(left + at), tl.load(right + at)))


@triton.jit
def sum_rows(values, out, SIZE: tl.constexpr):
    row = tl.program_id(0)
    tl.store(out + row, tl.sum(tl.load(values + row * SIZE + tl.arange(0, SIZE)), axis=0))


SIZE = 64
twos = torch.full((SIZE, SIZE), 2.0, device="cuda", dtype=torch.float16)
product = torch.empty(SIZE, SIZE, device="cuda", dtype=torch.float32)
sums = torch.empty(SIZE, device="cuda")
matrix_product[(1,)](twos, twos, product, SIZE=SIZE)
sum_rows[(SIZE,)](product, sums, SIZE=SIZE)
print("triton", product[0, 0].item(), sums[0].item())
