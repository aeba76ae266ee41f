"""Times the steps of a program for scripts/bench programs.

The program prepares itself, and calls steps.run(step). That warms up, and then reads lines from stdin: a
number of steps to make. It answers each with `total_ns p10_ns p50_ns` of those steps, and ends at the end of stdin.
"""

import sys
import time

WARM_UP_STEPS = 50


def need(*names):
    """Imports the packages. Ends the program, visibly, if one is missing."""
    try:
        return [__import__(name) for name in names]
    except ImportError as missing:
        print(f"skip {missing}", flush=True)
        sys.exit(0)


def run(step):
    for _ in range(WARM_UP_STEPS):
        step()
    print("ready", flush=True)
    clock = time.perf_counter_ns
    for line in sys.stdin:
        times = [clock()]
        for _ in range(int(line)):
            step()
            times.append(clock())
        each = sorted(end - start for start, end in zip(times, times[1:]))
        print(times[-1] - times[0], each[len(each) // 10], each[len(each) // 2], flush=True)
