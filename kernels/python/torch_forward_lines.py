"""PyTorch: two lines with the same work, forward and backward; PyTorch says its operations."""
from needs import needs

needs("torch")

import torch  # noqa: E402

first, second, values = (torch.randn(1 << 22, device="cuda", requires_grad=True) for _ in range(3))


def network():
    hidden = values * first
    return hidden * second


with torch.autograd.profiler.emit_nvtx():
    for _ in range(200):
        network().backward(values.detach())
        first.grad = second.grad = values.grad = None
torch.cuda.synchronize()
print("torch forward lines")
