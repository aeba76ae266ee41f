# A first Numba script: adds two arrays, draws a Mandelbrot set. Two kernels, no loop.
#
# source: https://github.com/numba/numba/issues/8888 (compiling the kernels takes 13.7 s of a test; cached 1.5 s)
# mechanism: Numba compiles each kernel at its first launch, in each run of the script again; the GPU works for milliseconds
# FIX=1: cache=True, in a run after the one that filled the cache
# truth: {"cause": "Numba compiles the kernels at their first launch, in each run again", "line_function": "<module>", "line": 55, "also_ok": ["compiling at the first launch of mandelbrot"], "half_ok": ["importing numba"], "lost_share": 0.5, "what": ["compile"], "lines": [55, 61]}
import math
import os
import subprocess
import sys
import tempfile
import time

import numpy

FIX = os.environ.get("FIX") == "1"
os.environ.setdefault("NUMBA_CACHE_DIR", os.path.join(tempfile.gettempdir(), "numba-script-cache"))
if FIX and "FILLS_CACHE" not in os.environ:
    subprocess.run([sys.executable, __file__], env={**os.environ, "FILLS_CACHE": "1"}, stdout=subprocess.DEVNULL, check=True)

numpy.row_stack = numpy.vstack  # numba-cuda on a newer NumPy
from numba import cuda  # noqa: E402


@cuda.jit(cache=FIX)
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = math.sin(a[i]) + math.sqrt(b[i])


@cuda.jit(cache=FIX)
def mandelbrot(image, left, top, step, rounds):
    x, y = cuda.grid(2)
    if x < image.shape[1] and y < image.shape[0]:
        c = complex(left + x * step, top + y * step)
        z = 0j
        count = 0
        while count < rounds and z.real * z.real + z.imag * z.imag < 4.0:
            z = z * z + c
            count += 1
        image[y, x] = count


n = 16_000_000
a = numpy.random.default_rng(0).random(n, dtype=numpy.float32)
b = numpy.random.default_rng(1).random(n, dtype=numpy.float32)
cuda.current_context()
start = time.perf_counter()

d_a = cuda.to_device(a)
d_b = cuda.to_device(b)
d_c = cuda.device_array(n, dtype=numpy.float32)
blocks = (n + 255) // 256
add[blocks, 256](d_a, d_b, d_c)  # <-- here
c = d_c.copy_to_host()
error = numpy.abs(c - (numpy.sin(a) + numpy.sqrt(b))).max()

size = 2048
image = cuda.device_array((size, size), dtype=numpy.int32)
mandelbrot[(size // 16, size // 16), (16, 16)](image, -2.0, -1.25, 2.5 / size, 1000)
inside = (image.copy_to_host() == 1000).mean()

print(f"largest error {error:.2e}, {100 * inside:.1f} % inside")
print(f"done: 1 steps in {time.perf_counter() - start:.2f} s")
