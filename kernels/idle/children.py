"""Waits for a child process. Twin: it runs meanwhile, and the program sleeps for its own reasons."""
import subprocess
import time

import gpu

beside = subprocess.Popen(["sleep", "10"]) if gpu.TWIN else None
for _ in gpu.rounds():
    if gpu.TWIN:
        time.sleep(0.05)  # twin: sleep
    else:
        subprocess.run(["sleep", "0.05"], check=True)  # idle: child
if beside:
    beside.kill()
    beside.wait()
