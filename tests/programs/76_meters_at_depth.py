# Trains a small transformer; meters keep the entropy and the peak of each attention head.
#
# source: https://github.com/deepspeedai/DeepSpeed/pull/5135 (merged: avoid item() in logging, which synchronises)
# source: https://github.com/openvdb/fvdb-reality-capture/pull/144 (merged: deferred logging; .item() made each step 5 to 10 % longer)
# mechanism: each layer hands its values to meters, and three calls deeper each value of each head is read with float(): 512 waits a step
# FIX=1: the meters keep tensors, and read them every 50 steps
# truth: {"cause": "meters read each head's values with float() in the forward pass: 512 waits for the GPU in a step", "line_function": "add", "line": 29, "also_ok": ["many waits in add or update"], "half_ok": ["waits in Attention.forward", "launching at this line without the wait"], "lost_share": 0.5, "what": ["waits", "round-trip", "launching", "copying"], "lines": [29, "add", "update", 47], "step": "a batch of main()", "step_line": 105, "warm_up_steps": 4, "step_ms": [21, 10.5], "saves_s": 4.0}
import collections
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
VOCAB, DIM, HEADS, DEPTH = 8000, 768, 16, 16
LENGTH, BATCH = 128, 24
STEPS = 2000
MAX_SECONDS = 8.0


class Average:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def add(self, value):
        self.total += float(value)  # <-- here
        self.count += 1

    def value(self):
        return self.total / max(1, self.count)


class Meters:
    def __init__(self):
        self.averages = collections.defaultdict(Average)
        self.pending = []

    def update(self, name, values):
        """One value for each head."""
        if FIX:
            self.pending.append((name, values))
            return
        for head, value in enumerate(values):
            self.averages[name, head].add(value)

    def read(self):
        if self.pending:
            rows = torch.stack([values for _, values in self.pending]).tolist()
            for (name, _), row in zip(self.pending, rows):
                for head, value in enumerate(row):
                    self.averages[name, head].add(value)
            self.pending.clear()
        return {name: average.value() for name, average in self.averages.items()}


class Attention(nn.Module):
    def __init__(self, name, meters):
        super().__init__()
        self.name, self.meters = name, meters
        self.qkv, self.proj = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        p = (q @ k.transpose(-1, -2) * (DIM // HEADS) ** -0.5).softmax(-1)
        with torch.no_grad():
            self.meters.update(f"{self.name}/entropy", -(p * (p + 1e-9).log()).sum(-1).mean((0, 2)))
            self.meters.update(f"{self.name}/peak", p.amax(-1).mean((0, 2)))
        return self.proj((p.to(v.dtype) @ v).transpose(1, 2).reshape(b, t, DIM))


class Block(nn.Module):
    def __init__(self, name, meters):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.attention = Attention(name, meters)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, meters):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.blocks = nn.Sequential(*(Block(f"layer {i}", meters) for i in range(DEPTH)))
        self.head = nn.Linear(DIM, VOCAB)

    def forward(self, ids):
        return self.head(self.blocks(self.embed(ids)))


def main():
    torch.manual_seed(0)
    meters = Meters()
    model = Model(meters).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    data = torch.randint(0, VOCAB, (480, LENGTH + 1), device=DEVICE)
    start = done = 0
    for step in range(STEPS):
        if step == 4:
            torch.cuda.synchronize()
            start, done = time.perf_counter(), 0
        ids = data[(step * BATCH) % 432 :][:BATCH]
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            values = meters.read()
            print(f"step {step}: loss {loss.item():.3f}, entropy of the first head {values['layer 0/entropy', 0]:.3f}")
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    torch.cuda.synchronize()
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s, {len(meters.read())} meters")


if __name__ == "__main__":
    main()
