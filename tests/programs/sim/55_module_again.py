# Simulates with a kernel that is generated for each step.
#
# mechanism: the text of the kernel has the number of the step, so that the driver compiles and loads it again
# FIX=1: one kernel
# env: GV_SIM_JIT_NS=12000000 GV_SIM_LOAD_NS=1000000
# truth: {"cause": "the kernel's module is compiled and loaded again in each step", "line_function": "specialise", "line": 22, "also_ok": [], "half_ok": [], "lost_share": 0.65, "what": ["loading", "compile", "jit", "module-load"], "lines": [22]}
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))
import simgpu  # noqa: E402

FIX = os.environ.get("FIX") == "1"
STEPS = 80
cache = {}


def specialise(step):
    key = 1 if FIX else step + 1
    if key not in cache:
        cache[key] = simgpu.load(key)  # <-- here
    return cache[key]


def main():
    simgpu.start()
    start = time.perf_counter()
    for step in range(STEPS):
        kernel = specialise(step)
        simgpu.send(65536)
        for _ in range(6):
            simgpu.launch(1000, kernel)
        simgpu.item()
    print(f"done: {STEPS} steps in {time.perf_counter() - start:.2f} s")


main()
