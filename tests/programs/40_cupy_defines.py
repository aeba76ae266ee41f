# Propagates a seismic wave with a stencil in CUDA C, and CuPy.
#
# source: https://github.com/cupy/cupy/issues/3193 (loading and unloading a raw kernel's module each time makes it twice as slow as Numba's)
# mechanism: the source's amplitude is a macro of the kernel, so that NVRTC compiles it again for each time step, and one more module is loaded
# FIX=1: it is an argument
# truth: {"cause": "NVRTC compiles the kernel again for each time step, and its module is loaded again, because a value that changes is a macro", "line_function": "build", "line": 53, "also_ok": ["many module loads at this line"], "half_ok": ["compiling, without a line"], "lost_share": 0.9, "what": ["compile", "loading"], "lines": [53, "build"]}
import atexit
import os
import shutil
import tempfile
import time

cache = tempfile.mkdtemp(prefix="cupy-defines-")
os.environ["CUPY_CACHE_DIR"] = cache  # each run is a first one
atexit.register(shutil.rmtree, cache, True)
import cupy  # noqa: E402
import numpy as np  # noqa: E402

FIX = os.environ.get("FIX") == "1"
SIZE = 4096
STEPS = 2000
INNER = 10
MAX_SECONDS = 8.0
STENCIL = r"""
#ifndef SOURCE
#define SOURCE source
#endif
__device__ float laplace(const float *u, int i, int n)
{
    const float w[5] = {-2.8472222f, 1.6f, -0.2f, 0.025396825f, -0.0017857143f};
    float sum = 2 * w[0] * u[i];
    for (int k = 1; k < 5; k++)
        sum += w[k] * (u[i - k] + u[i + k] + u[i - k * n] + u[i + k * n]);
    return sum;
}
extern "C" __global__ void step(const float *u, float *last, const float *speed, int n, float source)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 4 || y < 4 || x >= n - 4 || y >= n - 4)
        return;
    int i = y * n + x;
    float next = 2 * u[i] - last[i] + speed[i] * laplace(u, i, n);
    if (x == n / 2 && y == n / 4)
        next += SOURCE;
    last[i] = next;
}
"""


def build(source):
    defines = () if source is None else (f"-DSOURCE={source:.9e}f",)
    module = cupy.RawModule(code=STENCIL, options=defines)
    return module.get_function("step")  # <-- here


def ricker(step):
    a = (np.pi * (step - 60) / 40) ** 2
    return float((1 - 2 * a) * np.exp(-a) + 1e-6 * step)


def main():
    rng = np.random.default_rng(0)
    speed = cupy.asarray(0.05 + 0.1 * rng.random((SIZE, SIZE), dtype=np.float32))
    u, last = (cupy.zeros((SIZE, SIZE), dtype=cupy.float32) for _ in range(2))
    grid, block = (SIZE // 32, SIZE // 8), (32, 8)
    fixed = build(None) if FIX else None
    traces = []
    start = done = 0
    for step in range(STEPS):
        if step == 2:
            cupy.cuda.Device().synchronize()
            start, done = time.perf_counter(), 0
        source = ricker(step)
        kernel = fixed or build(source)
        for _ in range(INNER):
            kernel(grid, block, (u, last, speed, np.int32(SIZE), np.float32(source)))
            u, last = last, u
        traces.append(u[64, ::64].copy())
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    cupy.cuda.Device().synchronize()
    seconds = time.perf_counter() - start
    print(f"done: {done} steps in {seconds:.2f} s, largest {float(abs(cupy.stack(traces)).max()):.3g}")


if __name__ == "__main__":
    main()
