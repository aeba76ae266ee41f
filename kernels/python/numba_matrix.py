"""Numba: a matrix product, and a sum by atomic additions."""
from needs import needs

needs("numba")

import numpy  # noqa: E402

if not hasattr(numpy, "row_stack"):
    numpy.row_stack = numpy.vstack
from numba import cuda  # noqa: E402

SIZE = 256


@cuda.jit
def matrix_product(left, right, product):
    row, column = cuda.grid(2)
    if row < product.shape[0] and column < product.shape[1]:
        value = 0.0
        for i in range(left.shape[1]):
            value += left[row, i] * right[i, column]
        product[row, column] = value


@cuda.jit
def sum_up(values, total):
    index = cuda.grid(1)
    if index < values.size:
        cuda.atomic.add(total, 0, values[index])


left = cuda.to_device(numpy.full((SIZE, SIZE), 2, dtype=numpy.float32))
product = cuda.device_array((SIZE, SIZE), dtype=numpy.float32)
total = cuda.to_device(numpy.zeros(1, dtype=numpy.float32))
matrix_product[(SIZE // 16, SIZE // 16), (16, 16)](left, left, product)
sum_up[SIZE * SIZE // 256, 256](product.reshape(SIZE * SIZE), total)
print("numba", product.copy_to_host()[0, 0], total.copy_to_host()[0])
