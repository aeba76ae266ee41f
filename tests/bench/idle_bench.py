"""Measures what the thread costs that looks at idle threads, on the simulator. Needs no GPU."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time

from ground import CHECKOUT, environment, finish, paired, place

NAME = "gpuverify-idle"


def cpu_ns(pid):
    """CPU time of the thread that looks; 0: there is none."""
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/comm", encoding="utf-8") as name, \
                    open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as times:
                if name.read().strip() == NAME:
                    return int(times.read().split()[0])
    return 0


def run(bench, words, hz):
    """How long the program worked, and its main thread's CPU time if it says so; CPU time of the thread that looks, and
    how long it could use some: seconds."""
    with place() as folder, tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(words, env=environment(bench, folder, True, GPUVERIFY_IDLE_HZ=str(hz)), stdout=output)
        start_ns = seen_ns = time.monotonic_ns()
        used_ns = 0
        while process.poll() is None:
            now_ns = cpu_ns(process.pid)
            if now_ns or not used_ns:
                used_ns, seen_ns = now_ns, time.monotonic_ns()
            time.sleep(0.1)
        output.seek(0)
        said = dict(line.split()[:2] for line in output)
        bench.must(f"{' '.join(words)} ended with {process.returncode}", process.returncode == 0)
        finish(bench, folder)
    worked = [float(said.get(name, 0)) / 1e9 for name in ("elapsed_ns", "cpu_ns")]
    return (*worked, used_ns / 1e9, (seen_ns - start_ns) / 1e9)


def bench_thread(bench):
    """CPU time of the thread, and how much longer the programs work with it than without."""
    python = [sys.executable, os.path.join(CHECKOUT, "tests/bench/idle_steps.py")]
    bursts = bench.scaled(5000, 20)
    programs = {
        "one thread that computes": [*python, "busy", str(bench.scaled(7500, 50))],
        "one thread that sleeps": [*python, "idle", str(bench.scaled(500, 10))],
        "64 threads that sleep": [bench.path("tests/bench/bench_launches"), "-t", "64", "-n", str(bursts), "-b", "1",
                                  "-i", "2000"],
    }
    rows = []
    for what, words in programs.items():
        took, computed, share = {0: [], 50: []}, {0: [], 50: []}, []
        for turn in range(bench.scaled(4, 2)):
            for hz in sorted(took, reverse=turn % 2):
                worked, cpu, used, lasted = run(bench, words, hz)
                took[hz].append(worked)
                computed[hz].append(cpu)
                if hz:
                    share.append(100 * used / lasted)
                else:
                    bench.must("GPUVERIFY_IDLE_HZ=0 starts no thread", used == 0)
        key = what.replace(" ", "_")
        bench.spread(f"{key}_cpu", f"{what}: CPU time of the thread that looks", share, "% of a CPU")
        bench.spread(f"{key}_without", f"{what}: the program without it", took[0], "s")
        bench.spread(f"{key}_with", f"{what}: with it", took[50], "s")
        rows.append([what, *(ratio and f"{ratio:.3f}" for ratio in (paired(took[50], took[0]), paired(computed[50], computed[0])))])
    bench.table(["program", "its time, with / without", "CPU time of its thread, with / without"], rows)


BENCHES = {"idle-thread": bench_thread}
