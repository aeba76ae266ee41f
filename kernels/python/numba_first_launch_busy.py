"""Numba: compiles and launches a kernel for the first time while another one runs."""
import time

from needs import needs

needs("numba")

import numpy  # noqa: E402

if not hasattr(numpy, "row_stack"):
    numpy.row_stack = numpy.vstack
from numba import cuda  # noqa: E402


@cuda.jit
def spin(times, out):
    value = 0.0
    for _ in range(times):
        value = value * 0.999 + 1.0
    out[0] = value


@cuda.jit
def add(source, target):
    i = cuda.grid(1)
    if i < source.size:
        target[i] = source[i] + 1


source = cuda.to_device(numpy.ones(1024, dtype=numpy.float32))
target = cuda.device_array(1024, dtype=numpy.float32)
spin[1, 1](1000, target)
cuda.synchronize()
other = cuda.stream()
spin[1, 1](40000000, target)


def step():
    start = time.monotonic()
    add[4, 256, other](source, target)  # the stall
    print(f"timed first cuLaunchKernel {(time.monotonic() - start) * 1e3:.3f}")
    start = time.monotonic()
    add[4, 256, other](source, target)
    print(f"timed second cuLaunchKernel {(time.monotonic() - start) * 1e3:.3f}")


step()
cuda.synchronize()
