# Fine-tunes a language model whose activations need much memory.
#
# source: https://github.com/huggingface/transformers/issues/31372 (empty_cache() in the trainer slows training down)
# source: https://github.com/huggingface/transformers/pull/31530 (merged: removed from the train loop)
# mechanism: empty_cache() after each step frees all cached blocks, which waits for the GPU; the next step allocates them again one by one
# FIX=1: no empty_cache()
# truth: {"cause": "torch.cuda.empty_cache() in each step: memory is freed and allocated again", "line_function": "release_memory", "line": 57, "also_ok": ["freeing or allocating again at this line", "waits in empty_cache()"], "half_ok": ["allocating in the forward pass, without empty_cache()"], "lost_share": 0.5, "what": ["freeing", "allocating", "waits", "free"], "lines": [57, "release_memory"]}
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
VOCAB, DIM, DEPTH, HEADS, LENGTH, BATCH = 16000, 1024, 16, 16, 1024, 8
STEPS = 200
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
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, DIM))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.blocks = nn.Sequential(*(Block() for _ in range(DEPTH)))
        self.head = nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, ids):
        return self.head(self.blocks(self.embed(ids)))


def training_loss(model, ids):
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        logits = model(ids[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())


def release_memory():
    """Other programs use this GPU too."""
    if not FIX:
        torch.cuda.empty_cache()  # <-- here


def main():
    torch.manual_seed(0)
    model = Model().to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    data = torch.randint(0, VOCAB, (128, LENGTH + 1))
    start = done = 0
    for step in range(STEPS):
        if step == 3:
            torch.cuda.synchronize()
            start, done = time.perf_counter(), 0
        ids = data[(step * BATCH) % 120 :][:BATCH].to(DEVICE, non_blocking=True)
        loss = training_loss(model, ids)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.3f}")
        del loss
        release_memory()
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    torch.cuda.synchronize()
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
