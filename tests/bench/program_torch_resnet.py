"""A PyTorch training loop: resnet18 with small images, which launches all the time, and the loss read after each step."""

import steps

(torch,) = steps.need("torch")
nn = torch.nn
torch.manual_seed(1)


class Block(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.path = nn.Sequential(nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True),
                                  nn.Conv2d(after, after, 3, 1, 1, bias=False), nn.BatchNorm2d(after))
        self.short = nn.Identity() if stride == 1 else nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False),
                                                                     nn.BatchNorm2d(after))

    def forward(self, values):
        return torch.relu(self.path(values) + self.short(values))


blocks = [Block(before, after, stride) for before, after, stride in (
    (64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1))]
model = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1),
                      *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
inputs = torch.randn(16, 3, 64, 64).pin_memory()
targets = torch.randint(1000, (16,)).pin_memory()


def step():
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs.cuda(non_blocking=True)), targets.cuda(non_blocking=True))
    loss.backward()
    optimizer.step()
    return loss.item()


steps.run(step)
