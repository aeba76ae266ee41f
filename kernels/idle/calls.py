"""Is inside CUDA calls: allocates pinned memory, and frees it. Twin: once, and then computes."""
import gpu

gpu.start()
gpu.work()
if gpu.TWIN:
    gpu.pin(16)
for _ in gpu.rounds():
    if gpu.TWIN:
        values = [str(i) for i in range(200_000)]  # twin: python
    else:
        gpu.pin(256)  # idle: allocating
