"""PyTorch: two lines hold most of the GPU's memory, a third asks for more than is left, and the program goes on without it."""
from needs import needs

needs("torch")

import torch  # noqa: E402

free, _ = torch.cuda.mem_get_info()
GB = 1 << 30
part = free // 10 // GB * GB


weights = torch.empty(5 * part, dtype=torch.uint8, device="cuda")  # memory: first
cache = [torch.empty(part, dtype=torch.uint8, device="cuda") for _ in range(2)]  # memory: second
try:
    more = torch.empty(6 * part, dtype=torch.uint8, device="cuda")
except torch.cuda.OutOfMemoryError:
    more = None
values = torch.ones(1000, device="cuda") * 2
print("torch memory", more is None, values.sum().item())
print(f"first {5 * part} second {2 * part}")
