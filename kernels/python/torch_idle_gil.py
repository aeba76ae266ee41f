"""PyTorch: a thread burns the GIL. Twin: it computes without the GIL, and the main thread sleeps."""
import hashlib
import threading
import time

from idle import TWIN, rounds
from needs import needs

needs("torch")

import torch  # noqa: E402

values = torch.ones(1 << 20, device="cuda")
done = threading.Event()
data = bytes(10_000_000)


def burn():
    while not done.is_set():
        if TWIN:
            hashlib.sha256(data)
        else:
            [i + 1 for i in range(100_000)]  # idle: gil


def step():
    for _ in range(10):
        values.mul_(1.0)
        torch.cuda.synchronize()


step()
thread = threading.Thread(target=burn, name="burner")
thread.start()
for _ in rounds(step):
    if TWIN:
        time.sleep(0.03)  # twin: sleep
done.set()
thread.join()
print("torch gil")
