"""PyCUDA: loads code from nvcc while a kernel runs on another stream."""
import shutil
import sys
import time

from needs import needs

needs("pycuda", "numpy")

import numpy  # noqa: E402

if shutil.which("nvcc") is None:
    print("skipped: PyCUDA compiles with nvcc, which is not here")
    sys.exit(77)

import pycuda.autoinit  # noqa: E402, F401
from pycuda import compiler, driver  # noqa: E402

SPIN = """__global__ void spin(unsigned long long ns)
{ unsigned long long now, start;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); while (now - start < ns); }"""
SCALE = """__global__ void scale(float *values) { values[threadIdx.x] *= 3; }"""

spin = driver.module_from_buffer(compiler.compile(SPIN)).get_function("spin")
other = driver.Stream()
spin(numpy.uint64(0), block=(1, 1, 1), stream=other)
driver.Context.synchronize()
# Compiled before, so that loading waits and the compiler takes no time.
scale_code = compiler.compile(SCALE)
spin(numpy.uint64(400000000), block=(1, 1, 1), stream=other)


def step():
    start = time.monotonic()
    module = driver.module_from_buffer(scale_code)  # the stall
    print(f"timed load cuModuleLoadData {(time.monotonic() - start) * 1e3:.3f}")
    return module


step()
driver.Context.synchronize()
