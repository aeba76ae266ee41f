"""CuPy: compiles a kernel with NVRTC in each round. Twin: launches one that is compiled, and computes."""
import os
import time

from idle import TWIN, compute, rounds
from needs import needs

needs("cupy")
os.environ["CUPY_CACHE_IN_MEMORY"] = "1"  # what an earlier run compiled is not found

import cupy  # noqa: E402

SOURCE = 'extern "C" __global__ void add_%d(float *values) { values[threadIdx.x] += %d; }'

values = cupy.zeros(256, dtype=cupy.float32)
kernel = cupy.RawKernel(SOURCE % (0, time.time_ns()), "add_0")


def step():
    kernel((1,), (256,), (values,))
    cupy.cuda.get_current_stream().synchronize()


for number, _ in enumerate(rounds(step), 1):
    if TWIN:
        compute(50)  # twin: python
    else:
        cupy.RawKernel(SOURCE % (number, number), f"add_{number}")((1,), (256,), (values,))  # idle: compile
print("cupy compile")
