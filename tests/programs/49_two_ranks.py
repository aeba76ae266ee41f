# Data-parallel training on two GPUs; rank 0 also keeps statistics of the weights.
#
# source: https://github.com/pytorch/pytorch/issues/71303 (stragglers: the other ranks wait for the slow one in collectives)
# mechanism: rank 0 sorts and counts weights in Python after each step, and the all-reduce of rank 1 waits for it
# FIX=1: it does so every 50 steps
# truth: {"cause": "rank 0 summarises weights in Python after each step; the other rank waits for it in all_reduce", "line_function": "summarise", "line": 51, "also_ok": ["late rank 0, in summarise"], "half_ok": ["waiting in all_reduce"], "lost_share": 0.6, "what": ["python", "native", "host-code", "collective", "waits"], "lines": [51, "summarise"]}
import os
import subprocess
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
RANKS = 2
DIM, DEPTH, BATCH, CLASSES = 2048, 8, 2048, 100
STEPS = 500
MAX_SECONDS = 9.0


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(DIM), nn.Linear(DIM, 2 * DIM), nn.Linear(2 * DIM, DIM)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


def average(parameters):
    """All gradients in one all-reduce."""
    flat = torch.cat([p.grad.flatten() for p in parameters])
    dist.all_reduce(flat)
    flat /= RANKS
    offset = 0
    for p in parameters:
        p.grad.copy_(flat[offset : offset + p.numel()].view_as(p))
        offset += p.numel()


def summarise(model, step):
    """Quantiles and a histogram of some weights."""
    if FIX and step % 50:
        return None
    weights = torch.cat([p.flatten()[:4000] for p in model.parameters()]).tolist()
    bins = {}
    for value in weights:
        bins[round(value, 3)] = bins.get(round(value, 3), 0) + 1  # <-- here
    ordered = sorted(weights)
    return ordered[len(ordered) // 2], ordered[len(ordered) // 10], len(bins)


def train(rank):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=RANKS)
    torch.manual_seed(0)
    model = nn.Sequential(*(Block() for _ in range(DEPTH)), nn.Linear(DIM, CLASSES)).cuda()
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=1e-4, fused=True)
    x, y = torch.randn(BATCH, DIM, device="cuda"), torch.randint(0, CLASSES, (BATCH,), device="cuda")
    start = done = 0
    for step in range(STEPS):
        if step == 4:
            torch.cuda.synchronize()
            start, done = time.perf_counter(), 0
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        average(parameters)
        optimizer.step()
        if rank == 0:
            summarise(model, step)
        done += 1
        ends = torch.tensor([float(start and time.perf_counter() - start > MAX_SECONDS)], device="cuda") if step % 20 == 19 else None
        if ends is not None:
            dist.all_reduce(ends)
            if ends.item():
                break
    torch.cuda.synchronize()
    if rank == 0:
        print(f"done: {done} steps in {time.perf_counter() - start:.2f} s, loss {loss.item():.3f}")
    dist.destroy_process_group()


def main():
    if "RANK" in os.environ:
        train(int(os.environ["RANK"]))
        return
    if torch.cuda.device_count() < RANKS:
        print(f"needs {RANKS} GPUs")
        sys.exit(77)
    job = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(20000 + os.getpid() % 10000), "WORLD_SIZE": str(RANKS)}
    ranks = [subprocess.Popen([sys.executable, __file__], env={**os.environ, **job, "RANK": str(rank), "LOCAL_RANK": str(rank)})
             for rank in range(RANKS)]
    sys.exit(max(rank.wait() for rank in ranks))


if __name__ == "__main__":
    main()
