# Prepares photos of all sizes for training: removes noise with a filter in Triton, and shrinks them.
#
# source: https://github.com/triton-lang/triton/issues/9401 (all variants are benchmarked for each unique set of parameters; not worth it for rare ones)
# source: https://github.com/chengzeyi/stable-fast/pull/36 (merged: no triton.autotune, which took long)
# mechanism: the autotuner's key has the height and the width, and each photo has other ones: all configurations are measured for each photo
# FIX=1: the key is the number of channels
# truth: {"cause": "triton.autotune measures all configurations for each photo, because its key has the photo's size", "line_function": "remove_noise", "line": 52, "also_ok": ["benchmarks of the autotuner at this line"], "half_ok": ["waits or launching at this line", "compiling at this line"], "lost_share": 0.97, "what": ["benchmark", "compile"], "lines": [52, "remove_noise"], "step": "a photo of main()", "step_line": 74, "warm_up_steps": 1, "step_ms": [900, 1.8], "saves_s": 8.2}
import os
import random
import time

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
CHANNELS, SIZE = 3, 512
CANVAS = (3072, 4096)
STEPS = 4000
MAX_SECONDS = 8.5
CONFIGS = [triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((256, 4), (512, 4), (1024, 4), (1024, 8))]


@triton.autotune(configs=CONFIGS, key=["channels"] if FIX else ["height", "width"])
@triton.jit
def bilateral(photo, out, height, width, channels, pitch, plane, BLOCK: tl.constexpr):
    """A mean over 5 x 5 pixels; those that differ much count less."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    channel = tl.program_id(1)
    inside = at < height * width
    y, x = at // width, at % width
    here = tl.load(photo + channel * plane + y * pitch + x, mask=inside, other=0.0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    weights = tl.zeros([BLOCK], dtype=tl.float32)
    for dy in tl.static_range(-2, 3):
        for dx in tl.static_range(-2, 3):
            yy = tl.minimum(tl.maximum(y + dy, 0), height - 1)
            xx = tl.minimum(tl.maximum(x + dx, 0), width - 1)
            there = tl.load(photo + channel * plane + yy * pitch + xx, mask=inside, other=0.0)
            weight = tl.exp(-80.0 * (there - here) * (there - here) - 0.2 * (dx * dx + dy * dy))
            total += weight * there
            weights += weight
    tl.store(out + (channel * height + y) * width + x, total / weights, mask=inside)


def remove_noise(photo):
    channels, height, width = photo.shape
    out = torch.empty(channels, height, width, device=photo.device)
    grid = lambda meta: (triton.cdiv(height * width, meta["BLOCK"]), channels)  # noqa: E731
    bilateral[grid](photo, out, height, width, channels, photo.stride(1), photo.stride(0))  # <-- here
    return out


def shrink(photo):
    small = F.interpolate(photo[None], (SIZE, SIZE), mode="bilinear", antialias=True)[0]
    return (small * 255).round().clamp(0, 255).to(torch.uint8)


def sizes(count):
    """Multiples of 16, none twice."""
    drawn = [(16 * h, 16 * w) for h in range(60, 190) for w in range(80, 250)]
    random.Random(0).shuffle(drawn)
    return drawn[:count]


def main():
    torch.manual_seed(0)
    canvas = torch.rand(CHANNELS, *CANVAS, device=DEVICE)
    shelf = torch.zeros(64, CHANNELS, SIZE, SIZE, dtype=torch.uint8, device=DEVICE)
    sums = []
    start = done = 0
    for step, (height, width) in enumerate(sizes(STEPS)):
        if step == 1:
            torch.cuda.synchronize()
            start, done = time.perf_counter(), 0
        shelf[step % 64] = shrink(remove_noise(canvas[:, :height, :width]))
        if step % 64 == 63:
            sums.append(int(shelf.cpu().to(torch.int64).sum()))
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    torch.cuda.synchronize()
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s, {len(sums)} files")


if __name__ == "__main__":
    main()
