"""PyTorch: waits for a DataLoader with two workers, whose items take long. Twin: the items are quick, and the loop computes."""
import time

from idle import TWIN, compute, rounds
from needs import needs

needs("torch")

import torch  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402


class Slow(Dataset):
    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        if not TWIN:
            end = time.monotonic() + 0.02
            while time.monotonic() < end:  # idle: data
                sum(i for i in range(100))  # idle: data
        return torch.full((1024,), float(index))


if __name__ == "__main__":
    weights = torch.ones(1024, 1024, device="cuda")
    batches = iter(DataLoader(Slow(), batch_size=8, num_workers=2))
    batch = torch.zeros(8, 1024)

    def step():
        (batch.cuda() @ weights).sum().item()

    for _ in rounds(step, 6.0):  # loading code and starting the workers take some tenths of it
        batch = next(batches)
        if TWIN:
            compute(100)  # twin: python
    print("torch data")
