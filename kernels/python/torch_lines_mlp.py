"""PyTorch: trains a perceptron with Adam, line by line."""
from lines import DEVICE, run
from needs import needs

needs("torch")

import torch  # noqa: E402
from torch.nn import functional  # noqa: E402

torch.manual_seed(1)


class Perceptron(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = torch.nn.Linear(1024, 4096)
        self.norm = torch.nn.LayerNorm(4096)
        self.narrow = torch.nn.Linear(4096, 1024)
        self.last = torch.nn.Linear(1024, 10)

    def forward(self, values):
        hidden = self.wide(values)
        hidden = self.norm(hidden)
        hidden = functional.gelu(hidden)
        hidden = functional.dropout(hidden, 0.1)
        hidden = torch.relu(self.narrow(hidden)) + values
        return self.last(hidden)


model = Perceptron().to(DEVICE)
optimizer = torch.optim.Adam(model.parameters())
inputs, targets = torch.randn(1024, 1024), torch.randint(10, (1024,))
if DEVICE == "cuda":
    inputs, targets = inputs.pin_memory(), targets.pin_memory()


def step():
    batch = inputs.to(DEVICE, non_blocking=True)
    wanted = targets.to(DEVICE, non_blocking=True)
    batch = batch + 0.01 * torch.randn_like(batch)
    outputs = model(batch)
    loss = functional.cross_entropy(outputs, wanted)
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


run(step, torch.cuda.synchronize if DEVICE == "cuda" else lambda: None)
