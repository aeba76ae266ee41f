"""CuPy: its own kernels, and one compiled at run time."""
from needs import needs

needs("cupy")

import cupy  # noqa: E402

values = cupy.arange(1000, dtype=cupy.float32)
total = float((values * 2).sum())
add_one = cupy.RawKernel(
    'extern "C" __global__ void add_one(float *x) { x[threadIdx.x] += 1; }', "add_one")
add_one((1,), (32,), (values,))
print("cupy", total, float(values[0]))
