"""PyCUDA: an addition, a matrix product and a sum, compiled by nvcc at run time."""
import shutil
import sys

from needs import needs

needs("pycuda", "numpy")

import numpy  # noqa: E402

if shutil.which("nvcc") is None:
    print("skipped: PyCUDA compiles with nvcc, which is not here")
    sys.exit(77)

import pycuda.autoinit  # noqa: E402, F401
from pycuda import gpuarray  # noqa: E402
from pycuda.compiler import SourceModule  # noqa: E402

SIZE = 64
module = SourceModule("""
__global__ void matrix_product(const float *left, const float *right, float *out, int size)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < size; i++)
        sum += left[row * size + i] * right[i * size + column];
    out[row * size + column] = sum;
}
""")
twos = gpuarray.to_gpu(numpy.full((SIZE, SIZE), 2, dtype=numpy.float32))
product = gpuarray.empty_like(twos)
module.get_function("matrix_product")(twos.gpudata, twos.gpudata, product.gpudata, numpy.int32(SIZE),
                                      grid=(SIZE // 16, SIZE // 16), block=(16, 16, 1))
print("pycuda", (twos + twos).get()[0, 0], product.get()[0, 0], gpuarray.sum(product).get())
