# Trains a language model as it should be: tokens from a file through workers and pinned memory, one fused optimizer step, a log line now and then.
#
# source: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html (what it recommends is done)
# mechanism: the host is far ahead of the GPU, which always has work; what is lost is below 5 %
# FIX=1: the same
# truth: {"cause": "none: the GPU is busy nearly all the time", "line_function": "main", "line": 0, "also_ok": ["no finding"], "half_ok": ["findings below 5 %"], "lost_share": 0.0, "what": [], "lines": [], "none_above": 0.05, "step": "a batch of main()", "step_line": 78, "warm_up_steps": 4, "step_ms": [50, 50], "saves_s": 0.0}
import os
import tempfile
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

DEVICE = "cuda"
VOCAB, DIM, HEADS, DEPTH = 16384, 1024, 16, 12
LENGTH, BATCH = 1024, 16
TOKENS = 20_000_000
STEPS = 1000
MAX_SECONDS = 9.0


class Tokens(Dataset):
    def __init__(self, path):
        self.path = path
        self.tokens = None

    def __len__(self):
        return TOKENS // LENGTH - 1

    def __getitem__(self, index):
        if self.tokens is None:
            self.tokens = np.memmap(self.path, dtype=np.uint16, mode="r")
        first = index * LENGTH
        return torch.from_numpy(self.tokens[first : first + LENGTH + 1].astype(np.int64))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.proj = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, DIM))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(VOCAB, DIM), nn.Embedding(LENGTH, DIM)
        self.blocks = nn.Sequential(*(Block() for _ in range(DEPTH)))
        self.norm, self.head = nn.LayerNorm(DIM), nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, ids):
        return self.head(self.norm(self.blocks(self.embed(ids) + self.place.weight)))


def write_tokens(path):
    np.random.default_rng(0).integers(0, VOCAB, TOKENS, dtype=np.uint16).tofile(path)


def main():
    torch.manual_seed(0)
    folder = tempfile.mkdtemp(prefix="healthy-")
    path = os.path.join(folder, "tokens.bin")
    write_tokens(path)
    model = Model().to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    loader = DataLoader(Tokens(path), batch_size=BATCH, shuffle=True, num_workers=2, pin_memory=True, prefetch_factor=4)
    start = done = 0
    for step, ids in enumerate(loader):
        if step == 4:
            torch.cuda.synchronize()
            start, done = time.perf_counter(), 0
        ids = ids.to(DEVICE, non_blocking=True)
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        done += 1
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.3f}")
            if step == STEPS or start and time.perf_counter() - start > MAX_SECONDS:
                break
    torch.cuda.synchronize()
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s")
    os.unlink(path)
    os.rmdir(folder)


if __name__ == "__main__":
    main()
