# Trains a compiled model that names its metrics itself.
#
# source: https://github.com/pytorch/pytorch/issues/171320 (a Python scalar that differs each step makes torch.compile recompile without end)
# source: https://github.com/pytorch/torchdynamo/issues/330 (a guard on the length of a list: compiled again each time)
# mechanism: the model gets a tag with the number of the step; Dynamo guards on the string, and traces and compiles again in each step
# FIX=1: the tag is the same in each step
# truth: {"cause": "torch.compile compiles again in each step, because it guards on the tag", "line_function": "main", "line": 69, "also_ok": ["compiling again in each step at this line"], "half_ok": ["compiling, without a line"], "lost_share": 0.95, "what": ["compile"], "lines": [69]}
import os
import time

import torch
import torch._dynamo
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
DIM, HEADS, DEPTH, LENGTH, BATCH = 768, 12, 3, 256, 16
STEPS = 300
MAX_SECONDS = 9.0
torch._dynamo.config.recompile_limit = 512  # "fixes" the warning that recompiling stops after 8
torch._dynamo.config.accumulated_recompile_limit = 4096


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.proj = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, DIM))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(*(Block() for _ in range(DEPTH)))
        self.head = nn.Linear(DIM, DIM)

    def forward(self, x, tag):
        y = self.head(self.blocks(x))
        reconstruction = F.mse_loss(y, x)
        smooth = (y[:, 1:] - y[:, :-1]).square().mean()
        return {f"{tag}/reconstruction": reconstruction, f"{tag}/smooth": smooth, f"{tag}/loss": reconstruction + 0.1 * smooth}


def main():
    torch.manual_seed(0)
    model = Autoencoder().to(DEVICE)
    compiled = torch.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    data = torch.randn(256, LENGTH, DIM, device=DEVICE)
    history = {}
    start = done = 0
    for step in range(STEPS):
        if step == 2:
            torch.cuda.synchronize()
            start, done = time.perf_counter(), 0
        x = data[(step * BATCH) % 240 :][:BATCH]
        tag = "train" if FIX else f"train/{step}"
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            metrics = compiled(x, tag)  # <-- here
        metrics[f"{tag}/loss"].backward()
        optimizer.step()
        history.update((name, value.detach()) for name, value in metrics.items())
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    torch.cuda.synchronize()
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s, {len(history)} metrics")


if __name__ == "__main__":
    main()
