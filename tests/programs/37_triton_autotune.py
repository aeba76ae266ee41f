# Trains on packed sequences of different lengths, with an activation written in Triton.
#
# source: https://github.com/facebookresearch/xformers/issues/1037 (triton.autotune is triggered for every unseen length: training extremely slow)
# source: https://github.com/fla-org/flash-linear-attention/issues/1147 (tunes again while packed lengths change)
# mechanism: the autotuner's key has the number of tokens, which differs in each step, so that it measures all configurations each time
# FIX=1: the key is the width only
# truth: {"cause": "triton.autotune measures all configurations again in each step, because its key has the number of tokens", "line_function": "swiglu", "line": 54, "also_ok": ["benchmarks of the autotuner at this line"], "half_ok": ["launch-bound or waiting at this line"], "lost_share": 0.95, "what": ["benchmark", "compile"], "lines": [54, "swiglu"]}
import os
import time

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import nn

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
DIM, INNER, DEPTH, CLASSES = 1024, 2048, 4, 2000
STEPS = 300
MAX_SECONDS = 9.0
CONFIGS = [triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((512, 2), (1024, 4), (2048, 4), (2048, 8))]


@triton.autotune(configs=CONFIGS, key=["width"] if FIX else ["tokens", "width"])
@triton.jit
def swiglu_kernel(x, y, tokens, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    for first in range(0, width, BLOCK):
        at = first + tl.arange(0, BLOCK)
        inside = at < width
        gate = tl.load(x + row * 2 * width + at, mask=inside, other=0.0)
        up = tl.load(x + row * 2 * width + width + at, mask=inside, other=0.0)
        tl.store(y + row * width + at, gate * tl.sigmoid(gate) * up, mask=inside)


class Swiglu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return swiglu(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        gate, up = x.chunk(2, -1)
        s = torch.sigmoid(gate)
        return torch.cat((gradient * up * s * (1 + gate * (1 - s)), gradient * gate * s), -1)


def swiglu(x):
    tokens, width = x.shape[0], x.shape[1] // 2
    y = torch.empty(tokens, width, device=x.device, dtype=x.dtype)
    swiglu_kernel[(tokens,)](x, y, tokens, width)  # <-- here
    return y


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(DIM), nn.Linear(DIM, 2 * INNER), nn.Linear(INNER, DIM)

    def forward(self, x):
        return x + self.down(Swiglu.apply(self.up(self.norm(x))))


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(CLASSES, DIM), *(Block() for _ in range(DEPTH)), nn.Linear(DIM, CLASSES)).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    ids = torch.randint(0, CLASSES, (16384,), device=DEVICE)
    lengths = 16 * (320 + torch.randperm(500, generator=torch.Generator().manual_seed(1))[:STEPS])
    start = done = 0
    for step, length in enumerate(lengths.tolist()):
        if step == 1:
            torch.cuda.synchronize()
            start, done = time.perf_counter(), 0
        loss = F.cross_entropy(model(ids[:length]), ids[1 : length + 1])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step}: {length} tokens, loss {loss.item():.3f}")
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    torch.cuda.synchronize()
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
