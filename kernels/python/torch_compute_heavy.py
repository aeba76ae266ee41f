"""PyTorch: much computation, little copying: matrix products of data on the GPU."""
from needs import needs

needs("torch")

import torch  # noqa: E402

values = torch.eye(4096).cuda()
for _ in range(20):
    values = values @ values
print("torch", values[0, 0].item(), values.sum().item())
