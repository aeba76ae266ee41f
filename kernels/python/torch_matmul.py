"""50 matrix products between two CUDA events; nothing else runs after the second one."""
from needs import needs

needs("torch")

import torch  # noqa: E402

a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
b = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
out = torch.empty(8192, 8192, device="cuda", dtype=torch.bfloat16)
for _ in range(5):
    torch.mm(a, b, out=out)
torch.cuda.synchronize()
start = torch.cuda.Event(enable_timing=True)
end = torch.cuda.Event(enable_timing=True)
start.record()
for _ in range(50):
    torch.mm(a, b, out=out)
end.record()
end.synchronize()
print(f"events say {start.elapsed_time(end):.3f} ms")
