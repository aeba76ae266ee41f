"""Triton's Proton, which uses a copy of CUPTI of its own: three sessions, and the kernels of each."""
import json
import os
import tempfile
import time

from needs import needs

needs("torch", "triton")

import torch  # noqa: E402
import triton.profiler as proton  # noqa: E402


def count(node):
    return node.get("metrics", {}).get("count", 0) + sum(map(count, node.get("children", [])))


def add(values, launches):
    for _ in range(launches):
        values += 1
    torch.cuda.synchronize()


values = torch.zeros(1000, device="cuda")
add(values, 50)
with tempfile.TemporaryDirectory() as folder:
    for session in range(3):
        path = os.path.join(folder, str(session))
        proton.start(path, backend="cupti")
        add(values, 150)
        proton.finalize()
        with open(path + ".hatchet", encoding="utf-8") as file:
            print(f"session {session}: {count(json.load(file)[0])} kernels", flush=True)
        time.sleep(0.8)
        add(values, 200)
print("proton", values[0].item())
