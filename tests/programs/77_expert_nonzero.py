# Scores documents with a mixture of experts: each token goes to one of sixteen.
#
# source: https://github.com/jingyaogong/minimind/issues/835 (nonzero and masks for each expert: 96 synchronisations in a forward pass)
# source: https://github.com/pytorch/pytorch/issues/131256 (nonzero synchronises to learn the count)
# mechanism: the rows of each expert are found with nonzero(), which reads their number back: the GPU runs dry sixteen times a layer
# FIX=1: tokens are sorted by expert, and each gets an equal part, so that no count is read
# truth: {"cause": "nonzero() for each expert of each layer waits for the GPU to learn how many rows it found", "line_function": "rows_of", "line": 42, "also_ok": ["many waits in rows_of"], "half_ok": ["waits in Experts.forward", "launch-bound in Experts.forward"], "lost_share": 0.43, "what": ["waits", "round-trip", "launching", "copying"], "lines": [42, "rows_of", 49], "step": "a batch of main()", "step_line": 87, "warm_up_steps": 4, "step_ms": [22, 12.5], "saves_s": 3.4}
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
VOCAB, DIM, HEADS, DEPTH, EXPERTS = 16000, 1024, 16, 8, 16
LENGTH, BATCH = 512, 48
STEPS = 2000
MAX_SECONDS = 8.0


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(DIM, EXPERTS)
        self.experts = nn.ModuleList(Expert() for _ in range(EXPERTS))

    def rows_of(self, expert, choice, order):
        if FIX:
            part = len(order) // EXPERTS
            return order[expert * part : (expert + 1) * part]
        return (choice == expert).nonzero(as_tuple=True)[0]  # <-- here

    def forward(self, x):
        weight, choice = self.router(x).softmax(-1).max(-1)
        order = choice.argsort(stable=True) if FIX else None
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows = self.rows_of(number, choice, order)
            out.index_copy_(0, rows, expert(x[rows]) * weight[rows, None])
        return out


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.proj = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.experts = Experts()

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, DIM))
        return x + self.experts(self.norm2(x).view(b * t, DIM)).view(b, t, DIM)


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.blocks = nn.Sequential(*(Block() for _ in range(DEPTH)))
        self.head = nn.Linear(DIM, 1)

    def forward(self, ids):
        return self.head(self.blocks(self.embed(ids)).mean(1))[:, 0].float()


@torch.inference_mode()
def main():
    torch.manual_seed(0)
    with torch.device(DEVICE):
        model = Scorer().to(torch.bfloat16).eval()
    data = torch.randint(0, VOCAB, (512, LENGTH), device=DEVICE)
    scores = torch.zeros(STEPS, BATCH, device=DEVICE)
    start = done = 0
    for step in range(STEPS):
        if step == 4:
            torch.cuda.synchronize()
            start, done = time.perf_counter(), 0
        scores[step] = model(data[(step * BATCH) % 464 :][:BATCH])
        if step % 50 == 0:
            print(f"step {step}: mean score {scores[step].mean().item():.4f}")
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    torch.cuda.synchronize()
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
