# Generates text for batches of four prompts. The decoder's step is a CUDA graph; the next token is sampled with NumPy.
#
# source: https://github.com/huggingface/candle/issues/2147 (top-p sampling on the host halves the speed of generation)
# source: https://github.com/pytorch/executorch/pull/18844 (merged: sampling on the GPU instead of the host)
# mechanism: the logits of each token are copied to the host and sorted there, while the GPU has nothing to do; then the graph is launched again
# FIX=1: top-p sampling on the GPU, without a wait
# truth: {"cause": "top-p sampling on the host: each token waits for the logits and then sorts them in NumPy while the GPU is idle", "line_function": "sample", "line": 100, "also_ok": ["waits at logits.cpu() in sample", "host code in sample"], "half_ok": ["GPU idle in generate"], "lost_share": 0.8, "what": ["waits", "python", "native", "host-code"], "lines": [100, "sample"]}
import os
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
VOCAB = 32000
DIM, HEADS, DEPTH = 1024, 16, 12
ROOM = 512
BATCH = 4
PROMPT = 64
TOKENS = 160
TOP_P = 0.9
MAX_SECONDS = 8.0


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.proj = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)
        self.register_buffer("keys", torch.zeros(BATCH, HEADS, ROOM, DIM // HEADS), persistent=False)
        self.register_buffer("values", torch.zeros(BATCH, HEADS, ROOM, DIM // HEADS), persistent=False)

    def forward(self, x, places, mask):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        self.keys.index_copy_(2, places, k)
        self.values.index_copy_(2, places, v)
        y = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, DIM))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(VOCAB, DIM), nn.Embedding(ROOM, DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(DEPTH))
        self.norm, self.head = nn.LayerNorm(DIM), nn.Linear(DIM, VOCAB, bias=False)
        self.register_buffer("all_places", torch.arange(ROOM), persistent=False)

    def forward(self, ids, places):
        x = self.embed(ids) + self.place(places)
        mask = self.all_places[None, :] <= places[:, None]
        for block in self.blocks:
            x = block(x, places, mask)
        return self.head(self.norm(x[:, -1])).float()


class Step:
    """One token of each sequence, captured once."""

    def __init__(self, model):
        self.ids = torch.zeros(BATCH, 1, dtype=torch.long, device=DEVICE)
        self.place = torch.zeros(1, dtype=torch.long, device=DEVICE)
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                model(self.ids, self.place)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.logits = model(self.ids, self.place)

    def run(self, ids, place):
        self.ids.copy_(ids)
        self.place.fill_(place)
        self.graph.replay()
        return self.logits


def sample_on_gpu(logits):
    probabilities, order = logits.softmax(-1).sort(descending=True)
    outside = probabilities.cumsum(-1) - probabilities > TOP_P
    probabilities.masked_fill_(outside, 0.0)
    noise = torch.empty_like(probabilities).exponential_()
    return order.gather(1, (probabilities / noise).argmax(-1, keepdim=True))


def sample(logits, rng):
    """Top-p sampling."""
    rows = logits.cpu().numpy()
    chosen = []
    for row in rows:
        p = np.exp(row - row.max())
        p /= p.sum()
        order = np.argsort(-p)  # <-- here
        p = p[order]
        inside = np.cumsum(p) - p <= TOP_P
        p = np.where(inside, p, 0)
        chosen.append(order[np.searchsorted(np.cumsum(p), rng.random() * p.sum())])
    return torch.tensor(chosen, device=DEVICE)[:, None]


def generate(model, step, prompt, rng):
    ids = prompt
    logits = model(ids, torch.arange(PROMPT, device=DEVICE))
    out = []
    for place in range(PROMPT, PROMPT + TOKENS):
        ids = sample_on_gpu(logits) if FIX else sample(logits, rng)
        out.append(ids)
        logits = step.run(ids, place)
    return torch.cat(out, 1).tolist()


@torch.inference_mode()
def main():
    torch.manual_seed(0)
    model = Decoder().to(DEVICE, torch.bfloat16).eval()
    step = Step(model)
    rng = np.random.default_rng(0)
    generate(model, step, torch.randint(0, VOCAB, (BATCH, PROMPT), device=DEVICE), rng)
    start, done = time.perf_counter(), 0
    while time.perf_counter() - start < MAX_SECONDS:
        generate(model, step, torch.randint(0, VOCAB, (BATCH, PROMPT), device=DEVICE), rng)
        done += TOKENS
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
