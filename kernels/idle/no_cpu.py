"""Shares one CPU with four busy processes. Twin: may use another one."""
import os
import subprocess

import gpu

cpus = sorted(os.sched_getaffinity(0))
gpu.start()
busy = [subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"]) for _ in range(4)]
for child in busy:
    os.sched_setaffinity(child.pid, cpus[:1])
os.sched_setaffinity(0, cpus[-1:] if gpu.TWIN else cpus[:1])
for _ in gpu.rounds():
    values = [str(i) for i in range(100_000)]  # idle: no-cpu  # twin: python
for child in busy:
    child.kill()
    child.wait()
