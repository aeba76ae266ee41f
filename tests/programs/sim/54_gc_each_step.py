# Trains with a data set of many small objects in memory.
#
# mechanism: gc.collect() after each step visits all objects
# FIX=1: none
# truth: {"cause": "gc.collect() after each step", "line_function": "clean", "line": 20, "also_ok": [], "half_ok": [], "lost_share": 0.65, "what": ["gc"], "lines": [20]}
import gc
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))
import simgpu  # noqa: E402

FIX = os.environ.get("FIX") == "1"
STEPS = 60


def clean():
    if not FIX:
        gc.collect()  # <-- here


def main():
    simgpu.start()
    samples = [{"id": i, "text": [i, i + 1]} for i in range(50_000)]
    start = time.perf_counter()
    for step in range(STEPS):
        simgpu.send(samples[step]["text"][0] + 4096)
        for _ in range(5):
            simgpu.launch(1000)
        simgpu.item()
        clean()
    print(f"done: {STEPS} steps in {time.perf_counter() - start:.2f} s")


main()
