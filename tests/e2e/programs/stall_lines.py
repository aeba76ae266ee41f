"""Loads and unloads a module COUNT times at each of two lines of one loop, and waits at two others."""

import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1")
device, context, module, kernel = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
PTX = b".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry empty()\n{\n ret;\n}\n"


def must(result):
    if result != 0:
        sys.exit(f"a CUDA call returned {result}")


must(cuda.cuInit(0))
must(cuda.cuDeviceGet(ctypes.byref(device), 0))
must(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
must(cuda.cuCtxSetCurrent(context))
load, unload, wait = cuda.cuModuleLoadData, cuda.cuModuleUnload, cuda.cuCtxSynchronize
for _ in range(int(sys.argv[1])):
    load(ctypes.byref(module), PTX)  # first load
    must(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"empty"))
    must(cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None))
    wait()  # first wait
    must(cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None))
    wait()  # second wait
    must(unload(module))
    load(ctypes.byref(module), PTX)  # second load
    must(unload(module))
