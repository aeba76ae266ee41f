# Fine-tunes an image classifier on JPEG files; the loader has no workers.
#
# source: https://github.com/runa91/barc_release/issues/9 (0 workers: the GPU is at 0 % most of the time, waiting for data)
# source: https://github.com/thtrieu/darkflow/issues/471 (the GPU mostly idles: decoding and resizing on the CPU)
# mechanism: num_workers is 0, so the loop's own thread decodes and resizes each JPEG of a batch, one after the other, before the GPU gets it
# FIX=1: twelve workers
# truth: {"cause": "images are decoded one after the other by the loop's own thread, because the loader has no workers", "line_function": "main", "line": 105, "also_ok": ["data at the loop over the loader", "decoding in __getitem__ or decode"], "half_ok": ["python or native code in PIL, without a line"], "lost_share": 0.8, "what": ["data", "python", "native", "host-code"], "lines": [105, "train", "__getitem__", "decode"], "step": "a batch of train()", "step_line": 85, "warm_up_steps": 4, "step_ms": [85, 13], "saves_s": 6.8}
import io
import os
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

try:
    from PIL import Image
except ImportError:
    print("needs Pillow")
    sys.exit(77)

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
WORKERS = 12 if FIX else 0
BATCH, SIZE, CLASSES = 32, 224, 20
STEPS = 2000
MAX_SECONDS = 8.0


def make_files(count=128):
    """JPEG files, as they were read from a disk."""
    rng = np.random.default_rng(0)
    files = []
    for _ in range(count):
        coarse = Image.fromarray(rng.integers(0, 256, (24, 32, 3), dtype=np.uint8))
        picture = np.asarray(coarse.resize((512, 384), Image.BICUBIC)).astype(np.int16) + rng.integers(-12, 13, (384, 512, 1))
        file = io.BytesIO()
        Image.fromarray(picture.clip(0, 255).astype(np.uint8)).save(file, "JPEG", quality=90)
        files.append(file.getvalue())
    return files


class Pictures(Dataset):
    def __init__(self):
        self.files = make_files()

    def __len__(self):
        return 1 << 20

    def decode(self, file):
        return Image.open(io.BytesIO(file)).convert("RGB").resize((SIZE, SIZE), Image.BILINEAR)

    def __getitem__(self, index):
        pixels = np.asarray(self.decode(self.files[index % len(self.files)]), dtype=np.float32) / 255
        if index % 2:
            pixels = pixels[:, ::-1]
        return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1))), index % CLASSES


class Stage(nn.Module):
    def __init__(self, cin, cout, blocks):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(cin, cout, 3, 2, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU())
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(cout, cout, 3, 1, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU()) for _ in range(blocks))

    def forward(self, x):
        x = self.down(x)
        for block in self.blocks:
            x = x + block(x)
        return x


def make_model():
    return nn.Sequential(Stage(3, 64, 2), Stage(64, 128, 3), Stage(128, 256, 4), Stage(256, 512, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(512, CLASSES))


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
    loader = DataLoader(Pictures(), batch_size=BATCH, num_workers=WORKERS, pin_memory=True)  # <-- here
    train(make_model().to(DEVICE), loader)


if __name__ == "__main__":
    main()
