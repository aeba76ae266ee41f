# Finds cells in stacks of microscope images, with Numba; each stack is pinned for its copy.
#
# source: https://github.com/fbpic/fbpic/issues/68 (pin with cuda.pinned_array() once, instead of numpy.empty())
# source: https://github.com/cupy/cupy/issues/7532 (pinning memory for each copy takes longer than the faster copy saves)
# mechanism: cuda.pinned() registers the stack's pages with the driver before each copy, and unregisters them afterwards, which takes longer than the
#            copy and the work together
# FIX=1: the stacks are pinned once, at the start
# truth: {"cause": "each stack's memory is pinned and unpinned again for its copy", "line_function": "upload", "line": 70, "also_ok": ["allocating or freeing pinned memory in upload"], "half_ok": ["GPU idle or copying in upload, without pinning"], "lost_share": 0.7, "what": ["allocating", "freeing", "free"], "lines": [70, "upload", 68], "step": "a stack of main()", "step_line": 82, "warm_up_steps": 2, "step_ms": [28, 8], "saves_s": 5.7}
import os
import time

import numpy

numpy.row_stack = numpy.vstack  # numba-cuda on a newer NumPy
from numba import cuda  # noqa: E402

FIX = os.environ.get("FIX") == "1"
SHAPE = (96, 1024, 1024)  # bytes of a stack: 96 MB
STACKS = 6
STEPS = 3000
MAX_SECONDS = 8.0


@cuda.jit
def smooth(stack, out):
    """The mean of 3 x 3 x 3 voxels."""
    x, y, z = cuda.grid(3)
    if 0 < z < stack.shape[0] - 1 and 0 < y < stack.shape[1] - 1 and 0 < x < stack.shape[2] - 1:
        total = 0
        for dz in range(-1, 2):
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    total += stack[z + dz, y + dy, x + dx]
        out[z, y, x] = total // 27


@cuda.jit
def project(stack, brightest, count, threshold):
    """The brightest voxel below each pixel, and how many are above the threshold."""
    x, y = cuda.grid(2)
    if y < stack.shape[1] and x < stack.shape[2]:
        best = 0
        above = 0
        for z in range(stack.shape[0]):
            value = stack[z, y, x]
            if value > best:
                best = value
            if value > threshold:
                above += 1
        brightest[y, x] = best
        count[y, x] = above


def read_stacks():
    """As they come from the microscope."""
    rng = numpy.random.default_rng(0)
    stacks = []
    for number in range(STACKS):
        stack = cuda.pinned_array(SHAPE, dtype=numpy.uint8) if FIX else numpy.empty(SHAPE, dtype=numpy.uint8)
        stack[:] = rng.integers(0, 200, SHAPE[1:], dtype=numpy.uint8)
        stack[10 * number : 10 * number + 20, 100:140, 200:260] = 250
        stacks.append(stack)
    return stacks


def upload(stack, device, stream):
    if FIX:
        device.copy_to_device(stack, stream=stream)
        return
    with cuda.pinned(stack):  # <-- here
        device.copy_to_device(stack, stream=stream)
        stream.synchronize()


def main():
    stacks = read_stacks()
    stream = cuda.stream()
    stack, smoothed = (cuda.device_array(SHAPE, dtype=numpy.uint8) for _ in range(2))
    brightest, count = (cuda.device_array(SHAPE[1:], dtype=numpy.int32) for _ in range(2))
    cells = []
    start = done = 0
    for step in range(STEPS):
        if step == 2:
            cuda.synchronize()
            start, done = time.perf_counter(), 0
        upload(stacks[step % STACKS], stack, stream)
        smooth[(SHAPE[2] // 32, SHAPE[1] // 8, SHAPE[0]), (32, 8, 1), stream](stack, smoothed)
        project[(SHAPE[2] // 32, SHAPE[1] // 8), (32, 8), stream](smoothed, brightest, count, 220)
        cells.append(int((count.copy_to_host(stream=stream) > 0).sum()))
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    cuda.synchronize()
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s, {sum(cells) // len(cells)} pixels in cells")


if __name__ == "__main__":
    main()
