"""Numba: a kernel on an array that is copied both ways."""
from needs import needs

needs("numba")

import numpy  # noqa: E402

if not hasattr(numpy, "row_stack"):  # numba-cuda 0.30 on NumPy 2.4
    numpy.row_stack = numpy.vstack
from numba import cuda  # noqa: E402


@cuda.jit
def add_one(values):
    index = cuda.grid(1)
    if index < values.size:
        values[index] += 1


array = numpy.zeros(1000, numpy.float32)
add_one[4, 256](array)
print("numba", array.sum())
