# An optimizer that updates each of 600 tensors with a kernel of its own.
#
# mechanism: the kernels take 0.2 us, and launching one takes more than ten times as long, so that the GPU waits for launches
# FIX=1: all tensors in one kernel
# truth: {"cause": "600 kernels of 0.2 us a step, where one would do", "line_function": "update_all", "line": 24, "also_ok": [], "half_ok": [], "lost_share": 0.7, "what": ["launching"], "lines": [24]}
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))
import simgpu  # noqa: E402

FIX = os.environ.get("FIX") == "1"
STEPS, TENSORS = 500, 600
US = 0.2


def update_all(step):
    if FIX:
        simgpu.launch(TENSORS * US)
        return
    for tensor in range(TENSORS):
        rate = 0.1 / (1 + step) * (1 - 0.9 ** (1 + tensor % 7))
        simgpu.launch(US if rate < 1 else 2 * US)  # <-- here


def main():
    simgpu.start()
    simgpu.launch(100)
    simgpu.synchronize()
    start = time.perf_counter()
    for step in range(STEPS):
        simgpu.send(4096)
        simgpu.launch(40)
        update_all(step)
    simgpu.synchronize()
    print(f"done: {STEPS} steps in {time.perf_counter() - start:.2f} s")


main()
