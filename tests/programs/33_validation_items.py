# Two epochs of a classifier with 100 classes, with validation after each.
#
# source: https://github.com/vllm-project/speculators/pull/813 (merged: one synchronisation an epoch instead of .item() for each metric and batch)
# source: https://github.com/pytorch/ignite/issues/240 (.item() in the metrics takes a fifth of the run)
# mechanism: validation counts the right answers of each class with .item(), 100 of them a batch: the GPU and the host take turns
# FIX=1: counts stay on the GPU, and are read once an epoch
# truth: {"cause": "100 .item() calls for each validation batch", "line_function": "evaluate", "line": 70, "also_ok": ["many small kernels at this line"], "half_ok": ["launch-bound in evaluate"], "lost_share": 0.45, "what": ["waits", "round-trip", "launching", "copying"], "lines": [70]}
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
CLASSES = 100
EPOCHS = 2
TRAIN_BATCHES = 150
VALID_BATCHES = 300
BATCH = 512


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


def make_model(dim=1024, depth=12):
    return nn.Sequential(nn.Linear(3072, dim), *(Block(dim) for _ in range(depth)), nn.LayerNorm(dim), nn.Linear(dim, CLASSES))


def batches(count, generator):
    pool = torch.randn(8 * BATCH, 3072, device=DEVICE, generator=generator)
    labels = torch.randint(0, CLASSES, (8 * BATCH,), device=DEVICE, generator=generator)
    for i in range(count):
        first = (i * 320) % (7 * BATCH)
        yield pool[first : first + BATCH], labels[first : first + BATCH]


def train(model, optimizer, generator):
    model.train()
    for x, y in batches(TRAIN_BATCHES, generator):
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return loss.item()


@torch.no_grad()
def evaluate(model, generator):
    """How many of each class are right."""
    model.eval()
    right = torch.zeros(CLASSES, device=DEVICE) if FIX else [0] * CLASSES
    total = 0
    for x, y in batches(VALID_BATCHES, generator):
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            predicted = model(x).argmax(-1)
        total += len(y)
        if FIX:
            right.scatter_add_(0, y, (predicted == y).float())
            continue
        for c in range(CLASSES):
            right[c] += ((predicted == c) & (y == c)).sum().item()  # <-- here
    counts = right.tolist() if FIX else right
    return sum(counts) / total


def main():
    torch.manual_seed(0)
    generator = torch.Generator(DEVICE).manual_seed(0)
    model = make_model().to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for epoch in range(EPOCHS):
        loss = train(model, optimizer, generator)
        print(f"epoch {epoch}: loss {loss:.3f}, right {evaluate(model, generator):.4f}")
    torch.cuda.synchronize()
    print(f"done: {EPOCHS * (TRAIN_BATCHES + VALID_BATCHES)} steps in {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
