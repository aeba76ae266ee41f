# Trains an image classifier; eight workers decode and augment the images.
#
# source: https://github.com/pytorch/pytorch/issues/101850 (the affinity of DataLoader's workers changes; 10 times as fast without that)
# source: https://github.com/pytorch/pytorch/issues/8126 (all workers run on the same core)
# mechanism: worker_init_fn wants a core of its own for each worker, but its division gives all of them the same one
# FIX=1: no affinity is set
# truth: {"cause": "all eight loader workers are pinned to one CPU, so the loop waits for batches", "line_function": "pin_worker", "line": 68, "also_ok": ["data at the loop over the loader", "data in __getitem__ of the workers"], "half_ok": ["waiting in multiprocessing"], "lost_share": 0.8, "what": ["data", "no-cpu"], "lines": [68, "train", "__getitem__", "augment"]}
import os
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
WORKERS = 8
BATCH = 48
SIZE = 160
STEPS = 400
MAX_SECONDS = 9.0


class Images(Dataset):
    def __init__(self):
        rng = np.random.default_rng(0)
        self.images = rng.integers(0, 256, (256, SIZE + 32, SIZE + 32, 3), dtype=np.uint8)

    def __len__(self):
        return 1 << 20

    def augment(self, image, rng):
        top, left = rng.integers(0, 32, 2)
        image = image[top : top + SIZE, left : left + SIZE].astype(np.float32) / 255
        if rng.random() < 0.5:
            image = image[:, ::-1]
        gray = image.mean(2, keepdims=True)
        image = (image - gray) * rng.uniform(0.6, 1.4) + gray * rng.uniform(0.6, 1.4)
        image += rng.normal(0, 0.02, image.shape).astype(np.float32)
        return np.clip(image, 0, 1)

    def __getitem__(self, index):
        rng = np.random.default_rng(index)
        image = self.augment(self.images[index % len(self.images)], rng)
        return torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1))), index % 10


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layers, width = [nn.Conv2d(3, 64, 7, 2, 3)], 64
        for out in (128, 256, 512):
            layers += [nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, out, 3, 2, 1), nn.ReLU(), nn.Conv2d(out, out, 3, 1, 1)]
            width = out
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


def pin_worker(worker):
    torch.set_num_threads(1)
    cores = sorted(os.sched_getaffinity(0))
    if not FIX:
        os.sched_setaffinity(0, {cores[worker // len(cores)]})  # <-- here


def train(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    start = done = 0
    for step, (images, labels) in enumerate(loader):
        if step == 4:
            torch.cuda.synchronize()
            start, done = time.perf_counter(), 0
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(images.to(DEVICE, non_blocking=True)), labels.to(DEVICE, non_blocking=True))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        done += 1
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.3f}")
        if step == STEPS or start and time.perf_counter() - start > MAX_SECONDS:
            break
    torch.cuda.synchronize()
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s")


def main():
    torch.manual_seed(0)
    loader = DataLoader(Images(), batch_size=BATCH, num_workers=WORKERS, pin_memory=True, worker_init_fn=pin_worker)
    train(Net().to(DEVICE), loader)


if __name__ == "__main__":
    main()
