"""Numba: one kernel from several lines, for arrays of different sizes, another kernel, and copies."""
from lines import run
from needs import needs

needs("numba")

import numpy  # noqa: E402

if not hasattr(numpy, "row_stack"):  # numba-cuda 0.30 on NumPy 2.4
    numpy.row_stack = numpy.vstack
from numba import cuda  # noqa: E402


@cuda.jit
def smooth(values, times):
    index = cuda.grid(1)
    if 0 < index < values.size - 1:
        for _ in range(times):
            values[index] = (values[index - 1] + values[index] + values[index + 1]) / 3


@cuda.jit
def add(values, others):
    index = cuda.grid(1)
    if index < values.size:
        values[index] += others[index]


host = cuda.pinned_array(1 << 20, dtype=numpy.float32)
host[:] = 1
values, others = cuda.to_device(host), cuda.to_device(host)
few = cuda.device_array(1 << 16, dtype=numpy.float32)
ALL, FEW = (4096, 256), (256, 256)


def step():
    values.copy_to_device(host)
    smooth[ALL](values, 10)
    for _ in range(10):
        smooth[ALL](values, 2)
    for _ in range(20):
        add[ALL](values, others)
    smooth[FEW](few, 50)
    add[ALL](others, values)
    values.copy_to_host(host)


run(step, cuda.synchronize)
