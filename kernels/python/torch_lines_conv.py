"""PyTorch: a small network of residual blocks: each step trains one batch and then infers two without gradients."""
from lines import DEVICE, run
from needs import needs

needs("torch")

import torch  # noqa: E402
from torch.nn import functional  # noqa: E402

torch.manual_seed(1)


class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = torch.nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.second = torch.nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm, self.last_norm = torch.nn.BatchNorm2d(width), torch.nn.BatchNorm2d(width)

    def forward(self, image):
        hidden = self.first(image)
        hidden = functional.relu(self.norm(hidden))
        hidden = self.second(hidden)
        return functional.relu(self.last_norm(hidden) + image)


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 64, 7, stride=2, padding=3)
        self.fine = torch.nn.Sequential(Block(64), Block(64))
        self.down = torch.nn.Conv2d(64, 128, 3, stride=2, padding=1)
        self.coarse = torch.nn.Sequential(Block(128), Block(128))
        self.guess = torch.nn.Linear(128, 10)

    def forward(self, image):
        image = functional.relu(self.stem(image))
        image = self.fine(image)
        image = self.down(image)
        image = self.coarse(image)
        return self.guess(image.mean((2, 3)))


model = Network().to(DEVICE)
optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
images = torch.randn(16, 3, 64, 64, device=DEVICE)
labels = torch.randint(10, (16,), device=DEVICE)


def infer():
    model.eval()
    with torch.no_grad():
        for _ in range(2):
            functional.softmax(model(images), dim=1)
    model.train()


def step():
    loss = functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    infer()


run(step, torch.cuda.synchronize if DEVICE == "cuda" else lambda: None)
