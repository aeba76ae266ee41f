# Trains a recurrent network, and shows the mean loss so far in each step.
#
# source: https://github.com/clovaai/stargan-v2/issues/65 (the time of an iteration grows with the iterations)
# mechanism: the mean is the sum of a list of all losses so far, on the GPU: one small kernel for each earlier step
# FIX=1: a running sum
# truth: {"cause": "sum() over the list of all losses so far launches one kernel for each earlier step, so that steps become longer", "line_function": "mean", "line": 44, "also_ok": ["growth at this line"], "half_ok": ["launch-bound"], "lost_share": 0.5, "what": ["launching", "growth", "python"], "lines": [44, "mean"]}
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
VOCAB, DIM, LENGTH, BATCH = 500, 512, 128, 64
STEPS = 1400
MAX_SECONDS = 20.0


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.body = nn.LSTM(DIM, DIM, num_layers=2, batch_first=True)
        self.head = nn.Linear(DIM, VOCAB)

    def forward(self, ids):
        return self.head(self.body(self.embed(ids))[0])


class History:
    def __init__(self):
        self.losses = []
        self.total = 0.0

    def add(self, loss):
        self.losses.append(loss)
        self.total = self.total + loss

    def mean(self):
        if FIX:
            return self.total / len(self.losses)
        return sum(self.losses) / len(self.losses)  # <-- here


def main():
    torch.manual_seed(0)
    model = Model().to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    data = torch.randint(0, VOCAB, (512, LENGTH + 1), device=DEVICE)
    history = History()
    shown = None
    start = done = 0
    for step in range(STEPS):
        if step == 4:
            torch.cuda.synchronize()
            start, done = time.perf_counter(), 0
        ids = data[(step * BATCH) % 448 :][:BATCH]
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        history.add(loss.detach())
        shown = history.mean()
        if step % 100 == 0:
            print(f"step {step}: mean loss {shown.item():.3f}")
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    torch.cuda.synchronize()
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s, mean loss {shown.item():.3f}")


if __name__ == "__main__":
    main()
