"""As python_code.py, but the GPU is idle for 2 to 3 ms each time: most of these times have no look. Twin: it sleeps."""
import time

import gpu

for _ in gpu.rounds(ms=1):
    if gpu.TWIN:
        time.sleep(0.003)  # twin: sleep
    else:
        values = [str(i) for i in range(15_000)]  # idle: python
