"""PyTorch: a training loop that says what it does: STEPS steps of load, forward, backward and update."""
import sys

from needs import needs

needs("torch")

import torch  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

STEPS = int(sys.argv[1])
SIZE = 1 << 20


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.ones(SIZE))

    def forward(self, values):
        return torch.relu(values * self.factor)


def train():
    said = torch.cuda.nvtx
    torch.zeros(1, device="cuda")  # ranges are recorded from the first call on
    model = torch.nn.Sequential(*[Scale() for _ in range(8)]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    batches = iter(DataLoader(TensorDataset(torch.randn(STEPS, SIZE)), num_workers=2))
    torch.cuda.synchronize()
    said.mark("train")
    for _ in range(STEPS):
        with said.range("step"):
            with said.range("load"):
                (batch,) = next(batches)
                batch = batch.cuda()
            with said.range("forward"):
                loss = model(batch).square().mean()
            with said.range("backward"):
                loss.backward()
            with said.range("update"):
                optimizer.step()
                optimizer.zero_grad()
    torch.cuda.synchronize()
    said.mark("end")


if __name__ == "__main__":
    train()
    print("torch ranges", STEPS)
