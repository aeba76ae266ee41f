"""CuPy: compiles and loads a RawModule while a kernel runs on another stream."""
import time

from needs import needs

needs("cupy")

import cupy  # noqa: E402

SPIN = r"""extern "C" __global__ void spin(long long ticks, float *out)
{ long long start = clock64(); while (clock64() - start < ticks); out[0] = 1; }"""
SCALE = r"""extern "C" __global__ void scale(float *values) { values[threadIdx.x] *= 3; }"""

spin = cupy.RawModule(code=SPIN).get_function("spin")
values = cupy.ones(256, dtype=cupy.float32)
spin((1,), (1,), (1000, values))
cupy.cuda.Device().synchronize()
other = cupy.cuda.Stream(non_blocking=True)
with other:
    spin((1,), (1,), (1500000000, values))


def step():
    start = time.monotonic()
    scale = cupy.RawModule(code=SCALE).get_function("scale")  # the stall
    print(f"timed load cuModuleLoadData {(time.monotonic() - start) * 1e3:.3f}")
    scale((1,), (256,), (values,))


step()
cupy.cuda.Device().synchronize()
