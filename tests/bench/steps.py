"""Times the steps of a program for scripts/bench programs and slices.

The program prepares itself, and calls steps.run(step). That warms up, and then reads lines from stdin, and ends at the
end of stdin:

N             makes N steps; answers `total_ns p10_ns p50_ns`
stop          ends recording; answers `stopped`
slices PAIRS  warms up for PAIRS slices, says `begins`, and makes steps in slices of 0.1 s: in each pair one with
              recording and one without, in random order; with STEPS_PROFILER=torch, with PyTorch's profiler
              instead of gpuverify. Answers, for all of them, `on|off wall_ns thread_ns
              process_ns steps`; the middle two are CPU times, of this thread and of the process. With
              STEPS_REST=N, it rests after each step for N times as long, which is not measured; a slice's times are
              then its number of steps times the median, as a few steps after a rest are slow
"""

import ctypes
import os
import random
import statistics
import sys
import time

WARM_UP_STEPS = 50
SLICE_S = 0.1


def need(*names):
    """Imports the packages. Ends the program, visibly, if one is missing."""
    try:
        return [__import__(name) for name in names]
    except ImportError as missing:
        print(f"skip {missing}", flush=True)
        sys.exit(0)


def slice_of(step, count):
    step()  # the change is not measured
    clocks = (time.perf_counter_ns, time.thread_time_ns, time.process_time_ns)

    def timed(times):
        before = [clock() for clock in clocks]
        for _ in range(times):
            step()
        return [clock() - start for clock, start in zip(clocks, before)]

    rest = float(os.environ.get("STEPS_REST", "0"))
    if not rest:
        return timed(count)
    each = []
    for _ in range(count):
        each.append(timed(1))
        time.sleep(rest * each[-1][0] / 1e9)
    return [count * round(statistics.median(times)) for times in zip(*each)]


class TorchProfiler:
    now = None

    def start(self):
        self.now = __import__("torch.profiler").profiler.profile()
        self.now.start()

    def stop(self):
        if self.now:
            self.now.stop()
        self.now = None


def switches():
    if os.environ.get("STEPS_PROFILER") == "torch":
        profiler = TorchProfiler()
        return {"on": profiler.start, "off": profiler.stop}
    library = ctypes.CDLL(None)
    return {"on": library.gv_start, "off": library.gv_stop}


def slices(step, pairs):
    change = switches()
    start, count = time.perf_counter(), 0
    while time.perf_counter() < start + pairs * SLICE_S:
        step()
        count += 1
    count = max(1, round(count * SLICE_S / (time.perf_counter() - start)))
    print("begins", flush=True)
    found = []
    for _ in range(pairs):
        for which in random.sample(("on", "off"), 2):
            change[which]()
            found += [which, *slice_of(step, count), count]
    print(*found, flush=True)


def run(step):
    for _ in range(WARM_UP_STEPS):
        step()
    print("ready", flush=True)
    clock = time.perf_counter_ns
    for line in sys.stdin:
        if line.startswith("slices"):
            slices(step, int(line.split()[1]))
            continue
        if line.startswith("stop"):
            switches()["off"]()
            print("stopped", flush=True)
            continue
        times = [clock()]
        for _ in range(int(line)):
            step()
            times.append(clock())
        each = sorted(end - start for start, end in zip(times, times[1:]))
        print(times[-1] - times[0], each[len(each) // 10], each[len(each) // 2], flush=True)
