"""Loads a module from each of eight pieces of code that are freed after they run."""

import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1")
device = ctypes.c_int()
context = ctypes.c_void_p()
PTX = b".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry empty()\n{\n ret;\n}\n// %d"


def must(result):
    if result != 0:
        sys.exit(f"a CUDA call returned {result}")


def load(number):
    module = ctypes.c_void_p()
    must(cuda.cuModuleLoadData(ctypes.byref(module), PTX % number))


must(cuda.cuInit(0))
must(cuda.cuDeviceGet(ctypes.byref(device), 0))
must(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
must(cuda.cuCtxSetCurrent(context))
for cell in range(8):
    code = compile("\n" * (cell * 10) + f"load({cell})\n", f"cell_{cell}.py", "exec")
    exec(code)
    del code
