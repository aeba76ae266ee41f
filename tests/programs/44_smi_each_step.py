# Trains a segmentation network, and logs the GPU's memory.
#
# source: https://github.com/Lightning-AI/pytorch-lightning/issues/189 (logging the memory with nvidia-smi: up to ten times as slow)
# mechanism: nvidia-smi is started in each step, and the loop waits for it
# FIX=1: torch.cuda.memory_reserved()
# truth: {"cause": "the loop starts nvidia-smi in each step and waits for it", "line_function": "memory_in_use", "line": 50, "also_ok": ["waiting for a child process at this line"], "half_ok": ["io or waiting, without the child"], "lost_share": 0.6, "what": ["child"], "lines": [50, "memory_in_use"]}
import os
import subprocess
import time

import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
BATCH, SIZE, CLASSES = 16, 256, 20
STEPS = 400
MAX_SECONDS = 8.0


def conv(cin, cout, stride=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        widths = (64, 128, 256, 512)
        self.first = conv(3, 64)
        self.down = nn.ModuleList(nn.Sequential(conv(a, b, 2), conv(b, b)) for a, b in zip(widths, widths[1:]))
        self.up = nn.ModuleList(conv(b + a, a) for a, b in zip(widths, widths[1:]))
        self.last = nn.Conv2d(64, CLASSES, 1)

    def forward(self, x):
        kept = [self.first(x)]
        for layer in self.down:
            kept.append(layer(kept[-1]))
        y = kept.pop()
        for layer in reversed(self.up):
            y = layer(torch.cat((F.interpolate(y, scale_factor=2), kept.pop()), 1))
        return self.last(y)


def memory_in_use():
    """MiB."""
    if FIX:
        return torch.cuda.memory_reserved() >> 20
    command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # <-- here
    return int(said.stdout.split()[0])


def main():
    torch.manual_seed(0)
    model = UNet().to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(64, 3, SIZE, SIZE, device=DEVICE)
    labels = torch.randint(0, CLASSES, (64, SIZE, SIZE), device=DEVICE)
    log = []
    start = done = 0
    for step in range(STEPS):
        if step == 4:
            torch.cuda.synchronize()
            start, done = time.perf_counter(), 0
        first = (step * BATCH) % 64
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(images[first : first + BATCH]), labels[first : first + BATCH])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        log.append((step, memory_in_use(), loss.detach()))
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    torch.cuda.synchronize()
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s, {log[-1][1]} MiB, loss {log[-1][2].item():.3f}")


if __name__ == "__main__":
    main()
