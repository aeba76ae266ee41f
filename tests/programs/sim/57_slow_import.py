# A script without a loop: three kernels after its imports.
#
# mechanism: an import takes a second, and the script needs one number of it
# FIX=1: imported where it is needed, which is nowhere
# truth: {"cause": "importing slow_tables takes most of the run", "line_function": "<module>", "line": 17, "also_ok": [], "half_ok": [], "lost_share": 0.8, "what": ["import"], "lines": [17]}
import os
import sys
import time

start = time.perf_counter()
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))
import simgpu  # noqa: E402

simgpu.start()
simgpu.launch(1000)
if os.environ.get("FIX") != "1":
    import slow_tables  # <-- here

    first = slow_tables.lookup(3)
simgpu.send()
for _ in range(3):
    simgpu.launch(40_000)
print(f"number {simgpu.item() * 0}")
print(f"done: 1 steps in {time.perf_counter() - start:.2f} s")
