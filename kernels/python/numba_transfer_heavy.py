"""Numba: much copying, little computation: 64 MB there and back for one addition."""
from needs import needs

needs("numba")

import numpy  # noqa: E402

if not hasattr(numpy, "row_stack"):
    numpy.row_stack = numpy.vstack
from numba import cuda  # noqa: E402

COUNT = 16 << 20


@cuda.jit
def add_one(values):
    index = cuda.grid(1)
    if index < values.size:
        values[index] += 1


values = numpy.zeros(COUNT, dtype=numpy.float32)
for _ in range(10):
    there = cuda.to_device(values)
    add_one[COUNT // 256, 256](there)
    values = there.copy_to_host()
print("numba", values[0], values[-1])
