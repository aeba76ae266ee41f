# Generates long texts, two at a time; no three tokens may follow each other twice in a text.
#
# source: https://github.com/huggingface/transformers/issues/26130 (looks through the whole text for each token)
# source: https://github.com/facebookresearch/fairseq/issues/3582 (90 % of the time in _no_repeat_ngram)
# mechanism: for each token, a table of all triples of the text so far is built anew in Python, while the GPU waits: steps become longer and longer
# FIX=1: the table is kept, and each token adds a triple
# truth: {"cause": "the table of all triples so far is built anew for each token, in Python, so that steps become longer", "line_function": "table_of", "line": 60, "also_ok": ["growth in table_of or forbidden", "python in forbidden"], "half_ok": ["waits at tolist(), with Python behind it", "garbage collection in table_of"], "lost_share": 0.7, "what": ["python", "growth", "host-code", "native"], "lines": [60, "table_of", "forbidden", 59, 58], "step": "a token of generate()", "step_line": 94, "warm_up_steps": 8, "step_ms": [5.2, 1.4], "saves_s": 5.6}
import os
import time

import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
VOCAB, DIM, HEADS, DEPTH = 4000, 1024, 16, 8
TEXTS, PROMPT, TOKENS = 2, 256, 1500
ROOM = PROMPT + TOKENS + 16
MAX_SECONDS = 14.0


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.proj = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)
        self.register_buffer("keys", torch.zeros(TEXTS, HEADS, ROOM, DIM // HEADS), persistent=False)
        self.register_buffer("values", torch.zeros(TEXTS, HEADS, ROOM, DIM // HEADS), persistent=False)

    def forward(self, x, first):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        self.keys[:, :, first : first + t] = k
        self.values[:, :, first : first + t] = v
        y = F.scaled_dot_product_attention(q, self.keys[:, :, : first + t], self.values[:, :, : first + t], is_causal=t > 1)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, DIM))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(VOCAB, DIM), nn.Embedding(ROOM, DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(DEPTH))
        self.norm, self.head = nn.LayerNorm(DIM), nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, ids, first):
        x = self.embed(ids) + self.place.weight[first : first + ids.shape[1]]
        for block in self.blocks:
            x = block(x, first)
        return self.head(self.norm(x[:, -1])).float()


def table_of(text):
    """What followed each pair."""
    table = {}
    for first, second, third in zip(text, text[1:], text[2:]):
        table.setdefault((first, second), []).append(third)  # <-- here
    return table


class Text:
    def __init__(self, tokens):
        self.tokens = tokens
        self.table = table_of(tokens)

    def append(self, token):
        if FIX:
            self.table.setdefault((self.tokens[-2], self.tokens[-1]), []).append(token)
        self.tokens.append(token)

    def forbidden(self):
        table = self.table if FIX else table_of(self.tokens)
        return table.get((self.tokens[-2], self.tokens[-1]), [])


def choose(logits, texts):
    rows, columns = [], []
    for row, text in enumerate(texts):
        tokens = text.forbidden()
        rows += [row] * len(tokens)
        columns += tokens
    if rows:
        logits[rows, columns] = -torch.inf
    return logits.argmax(-1, keepdim=True)


def generate(model, prompt):
    texts = [Text(tokens) for tokens in prompt.tolist()]
    ids, first = prompt, 0
    start = done = 0
    for step in range(TOKENS):
        if step == 8:
            torch.cuda.synchronize()
            start, done = time.perf_counter(), 0
        logits = model(ids, first)
        first += ids.shape[1]
        ids = choose(logits, texts)
        for text, token in zip(texts, ids[:, 0].tolist()):
            text.append(token)
        if step % 200 == 0:
            print(f"{step} tokens")
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s, {len(set(texts[0].tokens))} different tokens")


@torch.inference_mode()
def main():
    torch.manual_seed(0)
    model = Decoder().to(DEVICE, torch.bfloat16).eval()
    generate(model, torch.randint(0, VOCAB, (TEXTS, PROMPT), device=DEVICE))


if __name__ == "__main__":
    main()
