"""A PyTorch training loop: a transformer of the size of gpt2, 2 x 256 tokens, and the loss read after each step."""

import steps

(torch,) = steps.need("torch")
nn = torch.nn
torch.manual_seed(1)
LAYERS, HEADS, WIDTH, BATCH, LENGTH, WORDS = 12, 12, 768, 2, 256, 50257


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.after = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.asked, self.said = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def attend(self, values):
        parts = [part.view(BATCH, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2) for part in self.asked(values).split(WIDTH, 2)]
        seen = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        return self.said(seen.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH))

    def forward(self, values):
        values = values + self.attend(self.before(values))
        return values + self.wide(self.after(values))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.layers, self.norm = nn.Sequential(*(Layer() for _ in range(LAYERS))), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.head.weight = self.words.weight

    def forward(self, words):
        places = torch.arange(LENGTH, device=words.device)
        return self.head(self.norm(self.layers(self.words(words) + self.places(places))))


model = Model().cuda()
optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
words = torch.randint(WORDS, (BATCH, LENGTH + 1)).pin_memory()


def step():
    batch = words.cuda(non_blocking=True)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(batch[:, :-1]).reshape(-1, WORDS), batch[:, 1:].reshape(-1))
    loss.backward()
    optimizer.step()
    return loss.item()


steps.run(step)
