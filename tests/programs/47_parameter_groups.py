# Fine-tunes a small vision transformer with a learning rate that falls from layer to layer.
#
# source: https://github.com/roboflow/rf-detr/pull/1409 (one group for each parameter: AdamW.step() takes 58.8 ms)
# source: https://github.com/pytorch/pytorch/issues/3929 (optimizers are slow with many small parameters)
# mechanism: each parameter has a group of its own, and the optimizer updates group by group: a dozen small kernels for each parameter
# FIX=1: parameters with the same settings share a group
# truth: {"cause": "one parameter group for each of 400 parameters: the optimizer launches its kernels for each of them", "line_function": "main", "line": 77, "also_ok": ["launching in optimizer.step(), at this line"], "half_ok": ["many small kernels in torch/optim"], "lost_share": 0.5, "what": ["launching", "python"], "lines": [77, "parameter_groups"]}
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
DIM, DEPTH, HEADS, BATCH, SIZE, CLASSES = 384, 32, 6, 32, 224, 100
STEPS = 400
MAX_SECONDS = 8.0


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.proj = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, DIM))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Vit(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, DIM, 16, 16)
        self.blocks = nn.ModuleList(Block() for _ in range(DEPTH))
        self.head = nn.Linear(DIM, CLASSES)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        return self.head(x.mean(1))


def parameter_groups(model, rate=1e-4, decay=0.9):
    groups = {}
    for name, parameter in model.named_parameters():
        layer = int(name.split(".")[1]) if name.startswith("blocks.") else DEPTH if name.startswith("head") else 0
        settings = {"lr": rate * decay ** (DEPTH - layer), "weight_decay": 0.05 if parameter.ndim > 1 else 0.0}
        key = (layer // 8, parameter.ndim > 1) if FIX else name
        groups.setdefault(key, {"params": [], **settings})["params"].append(parameter)
    return list(groups.values())


def main():
    torch.manual_seed(0)
    model = Vit().to(DEVICE)
    optimizer = torch.optim.AdamW(parameter_groups(model))
    images = torch.randn(8 * BATCH, 3, SIZE, SIZE, device=DEVICE)
    labels = torch.randint(0, CLASSES, (8 * BATCH,), device=DEVICE)
    start = done = 0
    for step in range(STEPS):
        if step == 4:
            torch.cuda.synchronize()
            start, done = time.perf_counter(), 0
        first = (step % 8) * BATCH
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(images[first : first + BATCH]), labels[first : first + BATCH])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()  # <-- here
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.3f}")
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    torch.cuda.synchronize()
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s, {len(optimizer.param_groups)} groups")


if __name__ == "__main__":
    main()
