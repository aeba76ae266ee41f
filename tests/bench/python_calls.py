"""Makes a quick CUDA call many times below some Python frames: python_calls.py CALLS BURST DEPTH [PACE_NS [THROUGH_C]].

Prints 'burst_ns NS' for each burst, the time of one call in it, and 'end_ns NS', as bench_launches does. A burst begins
every PACE_NS. The innermost THROUGH_C frames are called through C, which takes 2 KB of stack each. Without CALLS it
only initialises the driver there: one call.
"""

import ctypes
import sys
import time

cuda = ctypes.CDLL("libcuda.so.1")
device, context = ctypes.c_int(), ctypes.c_void_p()
calls, burst, depth, pace_ns, through_c = (int(word) for word in [*sys.argv[1:], "0", "0"][:5])


def bursts():
    synchronize = cuda.cuCtxSynchronize
    next_ns = 0
    for _ in range(calls // burst):
        start_ns = time.monotonic_ns()
        while start_ns < next_ns:
            start_ns = time.monotonic_ns()
        next_ns = start_ns + pace_ns
        for _ in range(burst):
            synchronize()
        print("burst_ns", (time.monotonic_ns() - start_ns) / burst)


def below(frames):
    """Each frame is of another function."""
    innermost = bursts if calls else lambda: cuda.cuInit(0)
    for number in range(frames):
        names = {"inner": ctypes.CFUNCTYPE(None)(innermost) if number < through_c else innermost}
        exec(f"def frame_{number}():\n    'Calls.'\n    inner()\n    return {number}\n", names)
        innermost = names[f"frame_{number}"]
    innermost()


for result in calls and (cuda.cuInit(0), cuda.cuDeviceGet(ctypes.byref(device), 0),
                         cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device),
                         cuda.cuCtxSetCurrent(context)) or ():
    if result != 0:
        sys.exit(f"a CUDA call returned {result}")
below(depth)
print("end_ns", time.monotonic_ns(), flush=True)
