"""Numba: @jit compiles for the host, so there is no CUDA call."""
from needs import needs

needs("numba")

import numpy  # noqa: E402
from numba import jit  # noqa: E402


@jit(nopython=True)
def sum_of_squares(values):
    total = 0.0
    for value in values:
        total += value * value
    return total


print("numba on the host", sum_of_squares(numpy.arange(1000.0)))
