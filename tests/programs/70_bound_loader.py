# Trains a classifier of sounds; twelve workers mix, cut and transform the recordings.
#
# source: https://github.com/Lightning-AI/pytorch-lightning/issues/18626 (the loader is limited to 2 CPUs, whatever num_workers says)
# source: https://github.com/facebookresearch/deit/issues/81 (more workers than CPUs for each GPU: "set to 4, and it worked")
# mechanism: the launcher binds the process to the two CPUs that a task gets by default; the workers inherit that, and twelve of them share two CPUs
# FIX=1: one CPU for each worker
# truth: {"cause": "the process and its twelve loader workers are bound to two CPUs, so the loop waits for batches", "line_function": "bind_cpus", "line": 68, "also_ok": ["data at the loop over the loader, because of too few CPUs", "data in __getitem__ of the workers"], "half_ok": ["waiting in multiprocessing", "use more workers"], "lost_share": 0.8, "what": ["data", "no-cpu"], "lines": [68, "bind_cpus", "train", "__getitem__", "spectrum"], "step": "a batch of train()", "step_line": 74, "warm_up_steps": 4, "step_ms": [58, 13], "saves_s": 6.2}
import os
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
WORKERS = 12
CPUS_PER_TASK = WORKERS + 2 if FIX else int(os.environ.get("SLURM_CPUS_PER_TASK", 2))
BATCH, CLASSES = 32, 50
RATE, SECONDS = 32000, 2
WINDOW, HOP, BANDS = 1024, 160, 64
STEPS = 2000
MAX_SECONDS = 8.0


class Sounds(Dataset):
    def __init__(self):
        rng = np.random.default_rng(0)
        self.recordings = rng.normal(0, 0.1, (64, RATE * (SECONDS + 1))).astype(np.float32)
        self.noises = rng.normal(0, 0.02, (16, RATE * SECONDS)).astype(np.float32)
        self.window = np.hanning(WINDOW).astype(np.float32)
        self.edges = np.unique(np.geomspace(2, WINDOW // 2 - 8, BANDS + 20).astype(int))[:BANDS]

    def __len__(self):
        return 1 << 20

    def spectrum(self, sound):
        frames = np.lib.stride_tricks.sliding_window_view(sound, WINDOW)[::HOP] * self.window
        power = np.abs(np.fft.rfft(frames, axis=1)) ** 2
        return np.log(np.add.reduceat(power, self.edges, axis=1) + 1e-6).T.astype(np.float32)

    def __getitem__(self, index):
        rng = np.random.default_rng(index)
        first = rng.integers(0, RATE)
        sound = self.recordings[index % 64, first : first + RATE * SECONDS] * rng.uniform(0.5, 1.5)
        sound = sound + self.noises[rng.integers(0, 16)] * rng.uniform(0, 1) + rng.normal(0, 0.005, len(sound))
        return torch.from_numpy(self.spectrum(sound)), index % CLASSES


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layers, width = [], 1
        for out in (64, 128, 256, 512):
            layers += [nn.Conv2d(width, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(), nn.Conv2d(out, out, 3, 2, 1), nn.ReLU()]
            width = out
        self.body, self.head = nn.Sequential(*layers), nn.Linear(width, CLASSES)

    def forward(self, x):
        return self.head(self.body(x[:, None]).mean((2, 3)))


def bind_cpus(count):
    """As the batch system does with the tasks of a job."""
    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cpus[:count])  # <-- here


def train(model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    start = done = 0
    for step, (sounds, labels) in enumerate(loader):
        if step == 4:
            torch.cuda.synchronize()
            start, done = time.perf_counter(), 0
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(sounds.to(DEVICE, non_blocking=True)), labels.to(DEVICE, non_blocking=True))
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
    bind_cpus(CPUS_PER_TASK)
    torch.manual_seed(0)
    model = Net().to(DEVICE)
    train(model, DataLoader(Sounds(), batch_size=BATCH, num_workers=WORKERS, pin_memory=True))


if __name__ == "__main__":
    main()
