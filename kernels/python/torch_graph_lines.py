"""PyTorch: a transformer decodes a token a step, line by line.

    torch_graph_lines.py eager       as it is
    torch_graph_lines.py graph       through a graph of its own (torch.cuda.graph)
    torch_graph_lines.py compiled    two functions compiled with mode="reduce-overhead"; prints the first line of each, which is
                                     all that compiled code knows, and its share
"""
import sys

from needs import needs

needs("torch")

import torch  # noqa: E402
from torch.nn import functional  # noqa: E402

torch.manual_seed(1)
WIDTH, HEADS, LAYERS, PAST, BATCH, STEPS = 1024, 16, 6, 512, 64, 100


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.after = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.inputs, self.out = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)
        self.register_buffer("keys", torch.randn(BATCH, HEADS, PAST, WIDTH // HEADS))
        self.register_buffer("values", torch.randn(BATCH, HEADS, PAST, WIDTH // HEADS))

    def forward(self, values):
        query, key, value = self.inputs(self.before(values)).view(BATCH, 1, 3 * HEADS, WIDTH // HEADS).transpose(1, 2).chunk(3, 1)
        self.keys[:, :, -1:] = key
        self.values[:, :, -1:] = value
        scores = query @ self.keys.transpose(-2, -1)
        weights = functional.softmax(scores / (WIDTH // HEADS) ** 0.5, dim=-1)
        seen = weights @ self.values
        values = values + self.out(seen.transpose(1, 2).reshape(BATCH, WIDTH))
        hidden = functional.gelu(self.wide(self.after(values)))
        return values + self.narrow(hidden)


def decode():
    model = torch.nn.Sequential(*(Block() for _ in range(LAYERS))).cuda().eval()
    token = torch.randn(BATCH, WIDTH, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        model(token)
    torch.cuda.current_stream().wait_stream(side)
    step = lambda: model(token)  # noqa: E731
    if sys.argv[1] == "graph":
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            model(token)
        step = graph.replay
    for _ in range(STEPS):
        step()


def compiled():
    values = torch.randn(2048, 2048, device="cuda")

    @torch.compile(mode="reduce-overhead")
    def once(values):
        return torch.tanh(values @ values)

    @torch.compile(mode="reduce-overhead")
    def three_times(values):
        for _ in range(3):
            values = torch.tanh(values @ values)
        return values

    for _ in range(STEPS):
        once(values)
        three_times(values)
    first = compiled.__code__.co_firstlineno
    text = open(__file__, encoding="utf-8").read().splitlines()
    for name, share in (("once", 0.25), ("three_times", 0.75)):  # the decorator's line
        print(f"asks line {text.index(f'    def {name}(values):', first)} share {share}")


with torch.no_grad():
    compiled() if sys.argv[1] == "compiled" else decode()
torch.cuda.synchronize()
