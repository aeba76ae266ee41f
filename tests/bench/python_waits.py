"""Launches a kernel, or LAUNCHES of them, and waits, many times: python_waits.py STEPS [LAUNCHES].

Prints 'step_ns NS' for each step, and 'end_ns NS'.
"""

import ctypes
import sys
import time

cuda = ctypes.CDLL("libcuda.so.1")
device, context, module, kernel, stream = ctypes.c_int(), *(ctypes.c_void_p() for _ in range(4))
PTX = b".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry empty()\n{\n ret;\n}\n"

for result in (cuda.cuInit(0), cuda.cuDeviceGet(ctypes.byref(device), 0),
               cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), cuda.cuCtxSetCurrent(context),
               cuda.cuStreamCreate(ctypes.byref(stream), 1), cuda.cuModuleLoadData(ctypes.byref(module), PTX),
               cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"empty")):
    if result != 0:
        sys.exit(f"a CUDA call returned {result}")
launches = int(sys.argv[2]) if len(sys.argv) > 2 else 1
steps, launch, wait = [], cuda.cuLaunchKernel, cuda.cuStreamSynchronize
for _ in range(int(sys.argv[1])):
    start_ns = time.monotonic_ns()
    for _ in range(launches):
        launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, None, None)
    wait(stream)
    steps.append(time.monotonic_ns() - start_ns)
for step_ns in steps:
    print("step_ns", step_ns)
print("end_ns", time.monotonic_ns(), flush=True)
