"""CuPy: a matrix product of integers by CuPy's own kernel, and its sum."""
from needs import needs

needs("cupy")

import cupy  # noqa: E402

left = cupy.full((256, 256), 2, dtype=cupy.int32)
product = left @ left
print("cupy", int(product[0, 0]), int(product.sum()))
