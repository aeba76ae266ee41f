"""PyTorch: queues forty large matrix products, then calls tanh for the first time."""
import time

from needs import needs

needs("torch")

import torch  # noqa: E402

left = torch.randn(8192, 8192, device="cuda")
small = torch.randn(64, device="cuda")
torch.mm(left, left)
torch.cuda.synchronize()


def step():
    for _ in range(40):
        torch.mm(left, left)
    start = time.monotonic()
    torch.tanh(small)  # the stall
    print(f"timed first cudaLaunchKernel {(time.monotonic() - start) * 1e3:.3f}")
    start = time.monotonic()
    torch.tanh(small)
    print(f"timed second cudaLaunchKernel {(time.monotonic() - start) * 1e3:.3f}")


step()
torch.cuda.synchronize()
