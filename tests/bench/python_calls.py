"""Makes a quick CUDA call many times below some Python frames: python_calls.py CALLS BURST DEPTH.

Prints 'burst_ns NS' for each burst, the time of one call in it, and 'end_ns NS', as bench_launches does.
"""

import ctypes
import sys
import time

cuda = ctypes.CDLL("libcuda.so.1")
device, context = ctypes.c_int(), ctypes.c_void_p()
calls, burst, depth = (int(word) for word in sys.argv[1:])


def bursts():
    synchronize = cuda.cuCtxSynchronize
    for _ in range(calls // burst):
        start_ns = time.monotonic_ns()
        for _ in range(burst):
            synchronize()
        print("burst_ns", (time.monotonic_ns() - start_ns) / burst)


def below(frames):
    """Each frame is of another function."""
    innermost = bursts
    for number in range(frames):
        names = {"inner": innermost}
        exec(f"def frame_{number}():\n    'Calls.'\n    inner()\n    return {number}\n", names)
        innermost = names[f"frame_{number}"]
    innermost()


for result in (cuda.cuInit(0), cuda.cuDeviceGet(ctypes.byref(device), 0),
               cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device),
               cuda.cuCtxSetCurrent(context)):
    if result != 0:
        sys.exit(f"a CUDA call returned {result}")
below(depth)
print("end_ns", time.monotonic_ns(), flush=True)
