"""PyTorch: much copying, little computation: 64 MB there and back for one addition."""
from needs import needs

needs("torch")

import torch  # noqa: E402

values = torch.zeros(16 << 20)
for _ in range(10):
    values = (values.cuda() + 1).cpu()
print("torch", values[0].item(), values[-1].item())
