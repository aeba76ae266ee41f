"""CuPy: much copying, little computation: 64 MB there and back for one addition."""
from needs import needs

needs("cupy", "numpy")

import cupy  # noqa: E402
import numpy  # noqa: E402

values = numpy.zeros(16 << 20, dtype=numpy.float32)
for _ in range(10):
    values = cupy.asnumpy(cupy.asarray(values) + 1)
print("cupy", float(values[0]), float(values[-1]))
