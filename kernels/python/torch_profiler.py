"""PyTorch with its own profiler, which uses CUPTI."""
from needs import needs

needs("torch")

import torch  # noqa: E402
from torch.profiler import ProfilerActivity, profile  # noqa: E402

values = torch.ones(1000, device="cuda")
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
    total = (values * 3).sum()
    torch.cuda.synchronize()
names = [event.name for event in profiled.events()]
print("torch profiler", total.item(), any("cudaLaunchKernel" in name for name in names))
