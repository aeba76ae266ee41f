"""PyTorch: forked workers load data, and a second process uses the GPU too."""
from needs import needs

needs("torch")

import torch  # noqa: E402
import torch.multiprocessing as multiprocessing  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402


def square(queue):
    values = torch.arange(10.0, device="cuda")
    queue.put((values * values).sum().item())


if __name__ == "__main__":
    data = TensorDataset(torch.arange(64.0))
    total = 0.0
    for (batch,) in DataLoader(data, batch_size=8, num_workers=2):
        total += batch.cuda().sum().item()
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=square, args=(queue,))
    child.start()
    squares = queue.get()
    child.join()
    print("torch workers", total, squares, child.exitcode)
