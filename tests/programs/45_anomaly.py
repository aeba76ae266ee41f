# Trains a small radiance field: many small operations in each step.
#
# source: https://github.com/yenchenlin/nerf-pytorch/issues/42 (set_detect_anomaly(True) takes half of the speed)
# source: https://github.com/Lightning-AI/pytorch-lightning/issues/12344 (anomaly detection makes training three times as slow)
# mechanism: anomaly detection is left on: a traceback for each operation of the forward pass, and a check for NaN, which waits for the GPU, for each
#            of the backward pass
# FIX=1: off
# truth: {"cause": "anomaly detection is on: a traceback for each operation, and a wait for the GPU for each gradient", "line_function": "train_step", "line": 76, "also_ok": ["waits at loss.backward()", "tracebacks for each operation in the forward pass"], "half_ok": ["launch-bound in the forward pass"], "lost_share": 0.6, "what": ["nan-check", "waits", "python", "native", "round-trip", "launching"], "lines": [76, "train_step"]}
import os
import time

import torch
from torch import nn

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
RAYS, SAMPLES, WIDTH, DEPTH = 2048, 48, 128, 8
STEPS = 600
MAX_SECONDS = 8.0


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = [3 + 3 * 2 * 8] + [WIDTH] * DEPTH
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.density, self.colour = nn.Linear(WIDTH, 1), nn.Linear(WIDTH, 3)

    def encode(self, x):
        parts = [x]
        for octave in range(8):
            parts += [torch.sin(2.0**octave * x), torch.cos(2.0**octave * x)]
        return torch.cat(parts, -1)

    def forward(self, x):
        h = self.encode(x)
        for layer in self.layers:
            h = torch.relu(layer(h))
        return torch.nn.functional.softplus(self.density(h)[..., 0]), torch.sigmoid(self.colour(h))


def render(field, origins, directions):
    depths = torch.linspace(0.2, 3.0, SAMPLES, device=origins.device)
    points = origins[:, None] + depths[None, :, None] * directions[:, None]
    density, colour = field(points)
    alpha = 1 - torch.exp(-density * (2.8 / SAMPLES))
    passed = torch.cumprod(torch.cat((torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-7), -1), -1)[:, :-1]
    weights = alpha * passed
    picture = (weights[..., None] * colour).sum(1)
    depth = (weights * depths).sum(1)
    return picture, depth, weights


def image_loss(picture, target):
    return ((picture - target) ** 2).mean()


def smoothness(weights, depth):
    spread = weights - weights.mean(1, keepdim=True)
    return (spread**2).sum(1).mean() * 1e-3 + (depth - depth.mean()).abs().mean() * 1e-3


def rays(count, device):
    directions = torch.nn.functional.normalize(torch.randn(count, 3, device=device), dim=-1)
    return -1.5 * directions + 0.1 * torch.randn(count, 3, device=device), directions


def train_step(coarse, fine, optimizer, device):
    origins, directions = rays(RAYS, device)
    target = (directions + 1) / 2
    with torch.autograd.set_detect_anomaly(not FIX):
        first = render(coarse, origins, directions)
        second = render(fine, origins, directions)
        loss = image_loss(first[0], target) + image_loss(second[0], target) + smoothness(second[2], second[1])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # <-- here
    optimizer.step()
    return loss.detach()


def main():
    torch.manual_seed(0)
    coarse, fine = Field().to(DEVICE), Field().to(DEVICE)
    optimizer = torch.optim.Adam([*coarse.parameters(), *fine.parameters()], lr=5e-4, fused=True)
    start = done = 0
    for step in range(STEPS):
        if step == 4:
            torch.cuda.synchronize()
            start, done = time.perf_counter(), 0
        loss = train_step(coarse, fine, optimizer, DEVICE)
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    torch.cuda.synchronize()
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
