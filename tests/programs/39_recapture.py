# Trains with whole steps as CUDA graphs.
#
# source: https://github.com/pytorch/pytorch/issues/171672 (the graph is captured and instantiated in every iteration: a tenth of the speed)
# source: https://github.com/openpsi-project/ReaLHF/pull/49 (merged: captures again without gc.collect() and empty_cache())
# mechanism: the learning rate is a Python number that ends up in the graph; as it changes in each step, the step is captured again
# FIX=1: the learning rate is a tensor on the GPU, and the step is captured once
# truth: {"cause": "the whole step is captured and instantiated again in each iteration, because the learning rate is part of the graph", "line_function": "capture", "line": 55, "also_ok": ["instantiating again in each step", "launching (into a capture) below capture"], "half_ok": ["garbage collection or empty_cache of torch.cuda.graph"], "lost_share": 0.8, "what": ["instantiating", "launching"], "lines": [55, "capture", "main"]}
import math
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
DIM, DEPTH, BATCH, CLASSES = 1024, 24, 2048, 100
STEPS = 1000
MAX_SECONDS = 8.0


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(DIM), nn.Linear(DIM, 2 * DIM), nn.Linear(2 * DIM, DIM)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(*(Block() for _ in range(DEPTH)), nn.LayerNorm(DIM), nn.Linear(DIM, CLASSES)).to(DEVICE)
        self.parameters = list(self.model.parameters())
        self.momentum = [torch.zeros_like(p) for p in self.parameters]
        self.x = torch.zeros(BATCH, DIM, device=DEVICE)
        self.y = torch.zeros(BATCH, dtype=torch.long, device=DEVICE)
        self.rate = torch.zeros((), device=DEVICE) if FIX else 0.0
        self.loss = None

    def step(self):
        with torch.autocast(DEVICE, dtype=torch.bfloat16, cache_enabled=False):
            loss = F.cross_entropy(self.model(self.x), self.y)
        gradients = torch.autograd.grad(loss, self.parameters)
        with torch.no_grad():
            for p, m, g in zip(self.parameters, self.momentum, gradients):
                m.mul_(0.9).add_(g)
                p.sub_(m * self.rate)
        self.loss = loss.detach()


def capture(trainer):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # <-- here
        trainer.step()
    return graph


def main():
    torch.manual_seed(0)
    trainer = Trainer()
    data, labels = torch.randn(8 * BATCH, DIM, device=DEVICE), torch.randint(0, CLASSES, (8 * BATCH,), device=DEVICE)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            trainer.step()
    torch.cuda.synchronize()
    graph = None
    start = done = 0
    for step in range(STEPS):
        if step == 4:
            torch.cuda.synchronize()
            start, done = time.perf_counter(), 0
        first = (step % 8) * BATCH
        trainer.x.copy_(data[first : first + BATCH])
        trainer.y.copy_(labels[first : first + BATCH])
        rate = 0.005 * (1 + math.cos(math.pi * step / STEPS))
        if FIX:
            trainer.rate.fill_(rate)
            graph = graph or capture(trainer)
        else:
            trainer.rate = rate
            graph = capture(trainer)
        graph.replay()
        if step % 100 == 0:
            print(f"step {step}: loss {trainer.loss.item():.3f}")
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    torch.cuda.synchronize()
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
