# Trains a small language model, and watches the gradients of all parameters as they arrive.
#
# source: https://github.com/wandb/wandb/pull/3509 (hooks on the gradients of all parameters, as here)
# source: https://github.com/rosinality/style-based-gan-pytorch/pull/50 (each item() makes the CPU and the GPU take turns)
# mechanism: a hook on each parameter calls .item() four times in autograd's thread: backward waits for the GPU after each layer
# FIX=1: the hook does so in every 50th step
# truth: {"cause": "hooks call .item() for each gradient in autograd's thread, so that backward and the GPU take turns", "line_function": "watch", "line": 63, "also_ok": ["many waits in watch"], "half_ok": ["waits at loss.backward()"], "lost_share": 0.55, "what": ["waits", "round-trip", "launching", "copying"], "lines": [63, "watch"]}
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
VOCAB, DIM, DEPTH, HEADS, LENGTH, BATCH = 8000, 512, 20, 8, 256, 16
STEPS = 400
MAX_SECONDS = 9.0


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.proj = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, DIM))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.blocks = nn.Sequential(*(Block() for _ in range(DEPTH)))
        self.head = nn.Linear(DIM, VOCAB)

    def forward(self, ids):
        return self.head(self.blocks(self.embed(ids)))


class Watcher:
    """Keeps statistics of each gradient of the last step."""

    def __init__(self, model):
        self.step = 0
        self.seen = {}
        for name, parameter in model.named_parameters():
            parameter.register_hook(lambda gradient, name=name: self.watch(name, gradient))

    def watch(self, name, gradient):
        if FIX and self.step % 50:
            return
        g = gradient.detach()
        self.seen[name] = {
            "mean": g.mean().item(), "std": g.std().item(),
            "norm": g.norm().item(),  # <-- here
            "max": g.abs().max().item(),
        }  # fmt: skip

    def worst(self):
        return max(self.seen.items(), key=lambda item: item[1]["max"])


def main():
    torch.manual_seed(0)
    model = Model().to(DEVICE)
    watcher = Watcher(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    data = torch.randint(0, VOCAB, (256, LENGTH + 1), device=DEVICE)
    start = done = 0
    for step in range(STEPS):
        if step == 4:
            torch.cuda.synchronize()
            start, done = time.perf_counter(), 0
        ids = data[(step * BATCH) % 240 :][:BATCH]
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        watcher.step = step + 1
        if step % 50 == 0:
            name, values = watcher.worst()
            print(f"step {step}: largest gradient {values['max']:.3g} in {name}")
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    torch.cuda.synchronize()
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
