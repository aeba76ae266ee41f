"""PyTorch: a matrix product, an element-wise call and a reduction. Prints checked results."""
from needs import needs

needs("torch")

import torch  # noqa: E402

left = torch.ones(512, 512, device="cuda")
product = left @ left
total = torch.tanh(product / 512).sum()
torch.cuda.synchronize()
print("torch", product[0, 0].item(), round(total.item()))
