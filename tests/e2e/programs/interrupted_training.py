"""Sets GPU memory a hundred times, then waits to be interrupted."""

import ctypes
import sys
import time

sys.dont_write_bytecode = True

cuda = ctypes.CDLL("libcuda.so.1")
device, context = ctypes.c_int(), ctypes.c_void_p()
memory = ctypes.c_uint64()


def must(result):
    if result != 0:
        sys.exit(f"a CUDA call returned {result}")


must(cuda.cuInit(0))
must(cuda.cuDeviceGet(ctypes.byref(device), 0))
must(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
must(cuda.cuCtxSetCurrent(context))
must(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4096)))
for _ in range(100):
    must(cuda.cuMemsetD8Async(memory, ctypes.c_ubyte(1), ctypes.c_size_t(4096), None))
must(cuda.cuCtxSynchronize())
print("ready", flush=True)
time.sleep(60)
