# Trains a regression on sensor data for some epochs, and validates after each.
#
# source: https://github.com/theislab/chemCPA/issues/17 (check whether the evaluation during training runs on the CPU, and move it to the GPU)
# source: https://github.com/guillaumegenthial/im2latex/issues/5 (training runs on the GPU, evaluation on the CPU)
# mechanism: evaluate() runs a copy of the model on the CPU, where the validation data is; the GPU has nothing to do meanwhile
# FIX=1: validation on the GPU
# truth: {"cause": "validation after each epoch runs on the CPU, and the GPU waits for it", "line_function": "evaluate", "line": 62, "also_ok": ["native or python code in evaluate or validate"], "half_ok": ["GPU idle between epochs", "waits at loss.item() or at the copy of the model, with evaluate() behind it"], "lost_share": 0.65, "what": ["native", "python", "host-code"], "lines": [62, "evaluate", "validate", 87, 69, 31, "forward"], "step": "an epoch: 60 batches of train_epoch(), and validation", "step_line": 82, "inner_steps": 60, "warm_up_steps": 1, "step_ms": [1000, 350], "saves_s": 5.2}
import copy
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
SENSORS, WIDTH, DEPTH = 256, 1536, 6
BATCH, BATCHES = 8192, 60
VALID = 8192
EPOCHS = 40
MAX_SECONDS = 8.0


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(F.silu(self.up(self.norm(x))))


def make_model():
    return nn.Sequential(nn.Linear(SENSORS, WIDTH), *(Block() for _ in range(DEPTH)), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 8))


def make_data(rows):
    x = torch.randn(rows, SENSORS)
    return x, torch.stack([x[:, i] * x[:, i + 1] + 0.1 * x[:, i + 2] for i in range(8)], 1)


def train_epoch(model, optimizer, x, y):
    model.train()
    for batch in range(BATCHES):
        first = batch * 640 % (len(x) - BATCH)
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            loss = F.mse_loss(model(x[first : first + BATCH]).float(), y[first : first + BATCH])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if batch % 10 == 9 and not loss.isfinite():
            raise FloatingPointError("the loss is not finite")
    return loss.item()


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    error = 0.0
    for first in range(0, len(x), 1024):
        error += F.mse_loss(model(x[first : first + 1024]), y[first : first + 1024], reduction="sum")  # <-- here
    return float(error) / y.numel()


def validate(model, x, y):
    if FIX:
        return evaluate(model, x, y)
    cpu = copy.deepcopy(model).cpu()
    return evaluate(cpu, x, y)


def main():
    torch.manual_seed(0)
    model = make_model().to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    x, y = (t.to(DEVICE) for t in make_data(8 * BATCH))
    valid = make_data(VALID)
    if FIX:
        valid = tuple(t.to(DEVICE) for t in valid)
    start = done = 0
    for epoch in range(EPOCHS):
        if epoch == 1:
            torch.cuda.synchronize()
            start, done = time.perf_counter(), 0
        loss = train_epoch(model, optimizer, x, y)
        print(f"epoch {epoch}: loss {loss:.4f}, validation {validate(model, *valid):.4f}")
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    torch.cuda.synchronize()
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
