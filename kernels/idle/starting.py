"""Computes between the start of CUDA and the first work of the GPU. Twin: before CUDA starts."""
import gpu


def prepare():
    for _ in range(20):
        values = [str(i) for i in range(200_000)]  # idle: python
    return values


if gpu.TWIN:
    prepare()
gpu.start()
if not gpu.TWIN:
    prepare()
gpu.work(50)
