# Develops raw photos with a chain of filters; each filter is a compiled module (a cubin) in a folder of plug-ins, and CuPy loads it.
#
# source: https://github.com/cupy/cupy/issues/3193 (cuModuleLoadData and cuModuleUnload make a raw kernel twice as slow as Numba's)
# source: https://github.com/sonots/cumo/pull/531 (merged: modules are kept; loading one in each call takes nine times the launch)
# mechanism: the filter's module is loaded from its file for each photo, and unloaded when the function returns
# FIX=1: modules are kept
# truth: {"cause": "each filter's module is loaded from its file again for each photo, and unloaded", "line_function": "find_filter", "line": 63, "also_ok": ["many module loads in find_filter", "unloading in develop"], "half_ok": ["io or waits in develop, without the loads"], "lost_share": 0.7, "what": ["loading", "module-load", "lazy-load", "waits"], "lines": [63, "find_filter", 66, 71], "step": "a photo of main()", "step_line": 86, "warm_up_steps": 2, "step_ms": [3.2, 0.8], "saves_s": 6.0}
import atexit
import os
import shutil
import tempfile
import time

import cupy
import numpy as np

FIX = os.environ.get("FIX") == "1"
HEIGHT, WIDTH = 3000, 4000
STEPS = 20000
MAX_SECONDS = 8.0
HEAD = "#define AT(x, y) (min(max(y, 0), h - 1) * w + min(max(x, 0), w - 1))\n"
START = """
extern "C" __global__ void %s(const float *in, float *out, int w, int h, float amount)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
    float here = in[y * w + x];
    %s
    out[y * w + x] = here;
}
"""
FILTERS = {
    "expose": "here *= exp2f(amount);",
    "contrast": "here = 0.5f + 0.5f * tanhf(amount * (2 * here - 1));",
    "sharpen": "float mean = 0; for (int d = -2; d <= 2; d++) mean += in[AT(x + d, y)] + in[AT(x, y + d)];"
               "here += amount * (here - 0.1f * mean);",
    "soften": "float sum = 0; for (int dy = -3; dy <= 3; dy++) for (int dx = -3; dx <= 3; dx++) sum += in[AT(x + dx, y + dy)];"
              "here += amount * (sum / 49 - here);",
    "vignette": "float a = 2.0f * x / w - 1, b = 2.0f * y / h - 1; here *= 1 - amount * (a * a + b * b);",
    "grain": "unsigned r = (y * w + x) * 2654435761u; r ^= r >> 15; here += amount * ((r & 255) / 255.0f - 0.5f);",
}  # fmt: skip
AMOUNTS = {"expose": 0.1, "contrast": 1.2, "sharpen": 0.4, "soften": 0.2, "vignette": 0.15, "grain": 0.02}


def install(folder):
    """Compiles the filters, as the set-up of the program does."""
    for name, body in FILTERS.items():
        cubin, _ = cupy.cuda.compiler.compile_using_nvrtc(HEAD + START % (name, body), filename=name + ".cu")
        with open(os.path.join(folder, name + ".cubin"), "wb") as file:
            file.write(cubin)


class Studio:
    def __init__(self, folder):
        self.folder = folder
        self.kept = {}

    def find_filter(self, name):
        if name in self.kept:
            return self.kept[name]
        module = cupy.cuda.function.Module()
        module.load_file(os.path.join(self.folder, name + ".cubin"))  # <-- here
        if FIX:
            self.kept[name] = module.get_function(name)
        return module.get_function(name)

    def develop(self, photo, spare):
        grid, block = ((WIDTH + 31) // 32, (HEIGHT + 7) // 8), (32, 8)
        for name, amount in AMOUNTS.items():
            kernel = self.find_filter(name)
            kernel(grid, block, (photo, spare, np.int32(WIDTH), np.int32(HEIGHT), np.float32(amount)))
            photo, spare = spare, photo
        return photo


def main():
    folder = tempfile.mkdtemp(prefix="cupy-modules-")
    atexit.register(shutil.rmtree, folder, True)
    install(folder)
    studio = Studio(folder)
    raw = cupy.random.default_rng(0).random((4, HEIGHT, WIDTH), dtype=cupy.float32)
    photo, spare = (cupy.zeros((HEIGHT, WIDTH), dtype=cupy.float32) for _ in range(2))
    brightness = []
    start = done = 0
    for step in range(STEPS):
        if step == 2:
            cupy.cuda.Device().synchronize()
            start, done = time.perf_counter(), 0
        photo[:] = raw[step % 4]
        brightness.append(studio.develop(photo, spare)[::64, ::64].mean())
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    cupy.cuda.Device().synchronize()
    seconds = time.perf_counter() - start
    print(f"done: {done} steps in {seconds:.2f} s, brightness {float(cupy.stack(brightness).mean()):.4f}")


if __name__ == "__main__":
    main()
