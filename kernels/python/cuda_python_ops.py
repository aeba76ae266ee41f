"""cuda-python: an addition, a matrix product and a sum, compiled by NVRTC and launched by the driver."""
import ctypes

from needs import needs

needs("cuda.bindings", "numpy")

import numpy  # noqa: E402
from cuda.bindings import driver, nvrtc  # noqa: E402

SOURCE = rb"""
extern "C" __global__ void add(const float *left, const float *right, float *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = left[i] + right[i];
}
extern "C" __global__ void matrix_product(const float *left, const float *right, float *out, int size)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int i = 0; i < size; i++)
        sum += left[row * size + i] * right[i * size + column];
    out[row * size + column] = sum;
}
extern "C" __global__ void sum_up(const float *values, const float *unused, float *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        atomicAdd(out, values[i]);
}
"""
SIZE = 64
COUNT = SIZE * SIZE


def must(answer):
    error, *values = answer
    if int(error) != 0:
        raise RuntimeError(str(error))
    return values[0] if len(values) == 1 else values


def compiled(major, minor):
    program = must(nvrtc.nvrtcCreateProgram(SOURCE, b"ops.cu", 0, [], []))
    option = f"--gpu-architecture=compute_{major}{minor}".encode()
    must(nvrtc.nvrtcCompileProgram(program, 1, [option]))
    text = b" " * must(nvrtc.nvrtcGetPTXSize(program))
    must(nvrtc.nvrtcGetPTX(program, text))
    return text


def launch(kernel, grid, block, *arguments):
    types = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
    must(driver.cuLaunchKernel(kernel, *grid, *block, 0, 0, (arguments, types), 0))


def read(address):
    values = numpy.empty(COUNT, dtype=numpy.float32)
    must(driver.cuMemcpyDtoH(values, address, values.nbytes))
    return values


must(driver.cuInit(0))
device = must(driver.cuDeviceGet(0))
context = must(driver.cuDevicePrimaryCtxRetain(device))
must(driver.cuCtxSetCurrent(context))
capability = driver.CUdevice_attribute
major = must(driver.cuDeviceGetAttribute(
    capability.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device))
minor = must(driver.cuDeviceGetAttribute(
    capability.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device))
module = must(driver.cuModuleLoadData(compiled(major, minor)))
add, product, sum_up = (must(driver.cuModuleGetFunction(module, name))
                        for name in (b"add", b"matrix_product", b"sum_up"))
twos = numpy.full(COUNT, 2, dtype=numpy.float32)
left, out, total = (must(driver.cuMemAlloc(twos.nbytes)) for _ in range(3))
must(driver.cuMemcpyHtoD(left, twos, twos.nbytes))
must(driver.cuMemsetD32(total, 0, COUNT))
launch(add, (COUNT // 256, 1, 1), (256, 1, 1), int(left), int(left), int(out), COUNT)
added = read(out)[0]
launch(product, (SIZE // 16, SIZE // 16, 1), (16, 16, 1), int(left), int(left), int(out), SIZE)
multiplied = read(out)[0]
launch(sum_up, (COUNT // 256, 1, 1), (256, 1, 1), int(out), 0, int(total), COUNT)
print("cuda-python", added, multiplied, read(total)[0])
for address in (left, out, total):
    must(driver.cuMemFree(address))
must(driver.cuModuleUnload(module))
must(driver.cuDevicePrimaryCtxRelease(device))
