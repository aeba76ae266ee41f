"""One of two devices is reset under the program's feet: what runs on the other goes on being recorded."""

import os
import sys
import unittest

import harness
from test_gpu_side import libcupti

PROGRAM = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
PTX = b".version 7.0\\n.target sm_70\\n.address_size 64\\n.visible .entry tick()\\n{\\nret;\\n}\\n"
cuda.cuInit(0)
contexts, ticks = [], []
for device in 0, 1:
    context, module, tick = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    cuda.cuCtxSetCurrent(context)
    cuda.cuModuleLoadData(ctypes.byref(module), PTX)
    cuda.cuModuleGetFunction(ctypes.byref(tick), module, b"tick")
    contexts.append(context)
    ticks.append(tick)
for i in range(100):
    for device in 0, 1:
        cuda.cuCtxSetCurrent(contexts[device])
        cuda.cuLaunchKernel(ticks[device], 1, 1, 1, 1, 1, 1, 0, None, None, None)
    if i == 49:
        cuda.cuDevicePrimaryCtxReset_v2(0)
"""


@unittest.skipUnless(os.path.exists(libcupti()), "no simulated libcupti was built: no cupti.h beside the CUDA headers")
class ResetDevice(harness.Case):
    gpu = "auto"

    def test_the_other_goes_on(self):
        self.run_well([sys.executable, "-c", PROGRAM], env={"GV_SIM_DEVICES": "2"})
        trace = self.trace()
        self.assertEqual(trace.rows("SELECT device, count(*) FROM gpu_ops GROUP BY 1 ORDER BY 1"), [(0, 50), (1, 100)])
        self.assertEqual(trace.value("SELECT count(*) FROM calls WHERE name = 'cuLaunchKernel'"), 200)
        self.assertEqual(trace.value("SELECT count(*) FROM calls WHERE name = 'cuLaunchKernel' AND result = 0"), 150)
