"""Triton: Python's package nvtx around the launches of a kernel."""
from needs import needs

needs("torch", "triton", "nvtx")

import nvtx  # noqa: E402
import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402


@triton.jit
def double(values, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(values + at, tl.load(values + at, mask=at < count) * 2, mask=at < count)


values = torch.ones(1 << 20, device="cuda")
for step in range(10):
    with nvtx.annotate("double", domain="own", payload=step):
        double[(1024,)](values, values.numel(), BLOCK=1024)
print("triton ranges", values[0].item())
