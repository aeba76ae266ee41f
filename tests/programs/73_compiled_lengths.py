# Computes embeddings of texts for a search index; requests come from a log, and the encoder is compiled.
#
# source: https://github.com/PsycheFoundation/nousnet/issues/588 (torch.compile compiles again for every new length, which takes seconds each)
# source: https://github.com/huggingface/diffusers/issues/5495 (another image size compiles again)
# mechanism: dynamic=False, and batches are as long as their longest text: nearly every batch has a shape that was not compiled yet
# FIX=1: batches are padded to one of the two lengths that were compiled at the start
# truth: {"cause": "torch.compile compiles the encoder again for each new length of a batch", "line_function": "embed", "line": 69, "also_ok": ["compiling again in each step at this line"], "half_ok": ["compiling, without a line", "import or child below torch/_inductor"], "lost_share": 0.98, "what": ["compile"], "lines": [69, "embed"], "step": "a batch of main()", "step_line": 82, "warm_up_steps": 2, "step_ms": [1100, 3], "saves_s": 8.0}
import atexit
import os
import shutil
import tempfile
import time

cache = tempfile.mkdtemp(prefix="compiled-lengths-")
os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache  # each run is a first one
atexit.register(shutil.rmtree, cache, True)
import torch  # noqa: E402
import torch._dynamo  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
VOCAB, DIM, HEADS, DEPTH = 20000, 512, 8, 2
BATCH, LENGTHS = 32, (256, 512)
STEPS = 2500
MAX_SECONDS = 8.0
torch._dynamo.config.recompile_limit = 4096
torch._dynamo.config.accumulated_recompile_limit = 8192


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.proj = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, DIM))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.blocks = nn.Sequential(*(Block() for _ in range(DEPTH)))

    def forward(self, ids):
        given = (ids > 0).unsqueeze(-1)
        x = self.blocks(self.embed(ids)) * given
        return F.normalize(x.sum(1) / given.sum(1), dim=-1)


def read_log(count, generator):
    """Batches of texts, as ids; the lengths are those of the longest."""
    for _ in range(count):
        length = int(torch.randint(32, LENGTHS[-1] + 1, (1,), generator=generator))
        yield torch.randint(1, VOCAB, (BATCH, length), generator=generator)


def embed(encoder, texts):
    if FIX:
        room = next(length for length in LENGTHS if length >= texts.shape[1])
        texts = F.pad(texts, (0, room - texts.shape[1]))
    return encoder(texts.to(DEVICE))  # <-- here


@torch.inference_mode()
def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    encoder = torch.compile(Encoder().to(DEVICE, torch.bfloat16).eval(), dynamic=False)
    for length in LENGTHS:
        embed(encoder, torch.randint(1, VOCAB, (BATCH, length), generator=generator))
    torch.cuda.synchronize()
    index = torch.zeros(STEPS * BATCH, DIM, dtype=torch.bfloat16, device=DEVICE)
    start, done = time.perf_counter(), 0
    for step, texts in enumerate(read_log(STEPS, generator)):
        index[step * BATCH : (step + 1) * BATCH] = embed(encoder, texts)
        done += 1
        if time.perf_counter() - start > MAX_SECONDS:
            break
    torch.cuda.synchronize()
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s, first {index[0, 0].item():.4f}")


if __name__ == "__main__":
    main()
