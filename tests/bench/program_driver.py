"""Launches empty kernels through ctypes, 50 and a wait in each step. Needs no package."""

import ctypes
import sys

import steps

cuda = ctypes.CDLL("libcuda.so.1")
device, context, module, kernel, stream = ctypes.c_int(), *(ctypes.c_void_p() for _ in range(4))
PTX = b".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry empty()\n{\n ret;\n}\n"

for result in (cuda.cuInit(0), cuda.cuDeviceGet(ctypes.byref(device), 0),
               cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), cuda.cuCtxSetCurrent(context),
               cuda.cuStreamCreate(ctypes.byref(stream), 1), cuda.cuModuleLoadData(ctypes.byref(module), PTX),
               cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"empty")):
    if result != 0:
        sys.exit(f"a CUDA call returned {result}")


def step():
    for _ in range(50):
        cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, None, None)
    cuda.cuStreamSynchronize(stream)


steps.run(step)
