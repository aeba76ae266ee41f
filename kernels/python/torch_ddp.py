"""One rank of PyTorch's DistributedDataParallel: torch_ddp.py [STEPS] [slow=RANK] [late=RANK].

The launcher sets RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. slow: this rank gets each batch 40 ms late.
late: in the middle, this rank first uses an operation that PyTorch then compiles and loads. Each rank prints how late it was.
"""

import os
import sys
import time

from needs import needs

needs("torch")
os.environ["USE_PYTORCH_KERNEL_CACHE"] = "0"  # compile each time

import torch  # noqa: E402
import torch.distributed  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

SLOW_S = 0.04
FIRST = 5  # steps until all code is loaded


class Batches(torch.utils.data.Dataset):
    def __init__(self, steps, seconds):
        self.steps, self.seconds, self.late_s = steps, seconds, 0.0

    def __len__(self):
        return self.steps

    def __getitem__(self, number):
        if self.seconds and number >= FIRST:
            begin = time.perf_counter()
            time.sleep(self.seconds)  # the slow line
            self.late_s += time.perf_counter() - begin
        return torch.full((512, 1024), number / self.steps)


def main():
    words = dict(word.split("=") for word in sys.argv[2:])
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    slow, late = int(words.get("slow", -1)), int(words.get("late", -1))
    torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank)
    torch.distributed.init_process_group("nccl", device_id=device)
    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(1024, 1024), torch.nn.ReLU())]
    model = DistributedDataParallel(torch.nn.Sequential(*layers).to(device), device_ids=[local_rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    batches = Batches(steps, SLOW_S if rank == slow else 0)
    late_input = torch.empty(1024, device=device)
    for step, batch in enumerate(torch.utils.data.DataLoader(batches, batch_size=None)):
        if rank == late and step == steps // 2:
            begin = time.perf_counter()
            torch.special.airy_ai(late_input)  # the late line
            batches.late_s += time.perf_counter() - begin
        optimizer.zero_grad()
        loss = model(batch.to(device)).square().mean()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
    torch.distributed.destroy_process_group()
    print(f"rank {rank}: {steps} steps; timed {batches.late_s:.3f} s late")


if __name__ == "__main__":
    main()
