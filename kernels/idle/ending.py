"""Computes after the last work of the GPU. Twin: gives it some more at the end."""
import gpu

gpu.start()
gpu.work(50)
for _ in range(20):
    values = [str(i) for i in range(200_000)]  # idle: python  # twin: python
if gpu.TWIN:
    gpu.work(50)
