"""Shared by the programs whose lines ask for the GPU's time: which device, and how many steps.

    PROGRAM [SECONDS]           makes steps for that long (4), after a warm-up
    PROGRAM turns               makes as many steps as each line of stdin says, and prints how many ns they took
    PROGRAM SECONDS cpu         PyTorch without a GPU, to see whether the program works
"""
import sys
import time

WORDS = sys.argv[1:] or ["4"]
DEVICE = "cpu" if "cpu" in WORDS else "cuda"
WARM_UP_STEPS = 20


def run(step, wait):
    """step() must do the same each time; wait() waits for the GPU."""
    for _ in range(WARM_UP_STEPS):
        step()
    wait()
    if WORDS[0] == "turns":
        print("ready", flush=True)
        for line in sys.stdin:
            start_ns = time.perf_counter_ns()
            for _ in range(int(line)):
                step()
            wait()
            print(time.perf_counter_ns() - start_ns, flush=True)
        return
    end = time.monotonic() + float(WORDS[0])
    while time.monotonic() < end:
        step()
        wait()
