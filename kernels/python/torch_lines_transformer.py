"""PyTorch: training steps of a small transformer encoder, written out, so that its parts are lines of the program."""
from lines import DEVICE, run
from needs import needs

needs("torch")

import torch  # noqa: E402
from torch.nn import functional  # noqa: E402

torch.manual_seed(1)
WIDTH, HEADS, LAYERS, LENGTH, BATCH = 512, 8, 4, 128, 16


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.after = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.query, self.key, self.value = (torch.nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.out = torch.nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def heads(self, values):
        return values.view(BATCH, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2)

    def attend(self, values):
        query = self.heads(self.query(values))
        key = self.heads(self.key(values))
        value = self.heads(self.value(values))
        scores = query @ key.transpose(-2, -1)
        scores = scores / (WIDTH // HEADS) ** 0.5
        weights = functional.softmax(scores, dim=-1)
        seen = weights @ value
        seen = seen.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH)
        return self.out(seen)

    def forward(self, values):
        values = values + self.attend(self.before(values))
        hidden = self.wide(self.after(values))
        hidden = functional.gelu(hidden)
        return values + self.narrow(hidden)


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(1000, WIDTH)
        self.blocks = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.guess = torch.nn.Linear(WIDTH, 1000)

    def forward(self, text):
        values = self.words(text)
        for block in self.blocks:
            values = block(values)
        return self.guess(values)


model = Encoder().to(DEVICE)
optimizer = torch.optim.AdamW(model.parameters())
text = torch.randint(1000, (BATCH, LENGTH), device=DEVICE)


def step():
    outputs = model(text)
    loss = functional.cross_entropy(outputs.view(-1, 1000), text.view(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


run(step, torch.cuda.synchronize if DEVICE == "cuda" else lambda: None)
