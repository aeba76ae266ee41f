"""Gives the GPU work, and computes or sleeps between: idle_steps.py busy|idle STEPS. Prints 'elapsed_ns NS' and 'cpu_ns NS'."""

import os
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
                                "kernels", "idle"))

import gpu  # noqa: E402

busy = sys.argv[1] == "busy"
gpu.start()
start_ns, start_cpu_ns = time.monotonic_ns(), time.thread_time_ns()
for _ in range(int(sys.argv[2])):
    gpu.work(0.1)
    if busy:
        sum([i * i for i in range(20_000)])
    else:
        time.sleep(0.02)
print("elapsed_ns", time.monotonic_ns() - start_ns)
print("cpu_ns", time.thread_time_ns() - start_cpu_ns, flush=True)
