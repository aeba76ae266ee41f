"""CuPy: operations on arrays of two sizes, a kernel of its own, and copies."""
from lines import run
from needs import needs

needs("cupy")

import cupy  # noqa: E402
import numpy  # noqa: E402

cupy.random.seed(1)
matrix = cupy.random.random((1024, 1024), dtype=cupy.float32)
vector = cupy.random.random(1 << 22, dtype=cupy.float32)
host = numpy.ones(1 << 18, numpy.float32)
scale = cupy.RawKernel(
    'extern "C" __global__ void scale(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 0.5f; }',
    "scale")


def normalise(values):
    values = values - values.mean()
    return values / values.std()


def step():
    product = matrix @ matrix
    product = cupy.tanh(product)
    normalise(product)
    for _ in range(5):
        scale((vector.size // 256,), (256,), (vector, vector.size))
    total = cupy.sqrt(vector + 1).sum()
    ordered = cupy.sort(vector[:1 << 18])
    ordered += cupy.asarray(host)
    return total


run(step, cupy.cuda.Device().synchronize)
