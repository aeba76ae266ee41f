"""Numba: compiles a kernel in each round. Twin: launches one that is compiled, and computes."""
from idle import TWIN, compute, rounds
from needs import needs

needs("numba")

import numpy  # noqa: E402

if not hasattr(numpy, "row_stack"):  # numba-cuda 0.30 on NumPy 2.4
    numpy.row_stack = numpy.vstack
from numba import cuda  # noqa: E402


def made(number):
    @cuda.jit("void(float32[::1])")  # idle: compile
    def add(values):
        i = cuda.grid(1)
        if i < values.size:
            values[i] += number
    return add


kernel = made(0)  # the first one imports much of Numba
values = cuda.to_device(numpy.zeros(1024, dtype=numpy.float32))
kernel[4, 256](values)
cuda.synchronize()


def step():
    kernel[4, 256](values)
    cuda.synchronize()


for number, _ in enumerate(rounds(step), 1):
    if TWIN:
        compute(100)  # twin: python
    else:
        made(number)[4, 256](values)  # idle: compile
print("numba compile")
