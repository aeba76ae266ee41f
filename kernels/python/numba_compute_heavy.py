"""Numba: much computation, little copying: matrix products of data on the GPU."""
from needs import needs

needs("numba")

import numpy  # noqa: E402

if not hasattr(numpy, "row_stack"):
    numpy.row_stack = numpy.vstack
from numba import cuda  # noqa: E402

SIZE = 1024


@cuda.jit
def matrix_product(left, right, product):
    row, column = cuda.grid(2)
    value = 0.0
    for i in range(SIZE):
        value += left[row, i] * right[i, column]
    product[row, column] = value


left = cuda.to_device(numpy.full((SIZE, SIZE), 2, dtype=numpy.float32))
product = cuda.device_array((SIZE, SIZE), dtype=numpy.float32)
for _ in range(50):
    matrix_product[(SIZE // 16, SIZE // 16), (16, 16)](left, left, product)
print("numba", product.copy_to_host()[0, 0])
