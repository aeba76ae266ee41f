#!/usr/bin/env python3
"""Runs the programs of tests/soak.py while `gpuverify look` looks at them, one look after the other.

  tests/soak_look.py [--build FOLDER] [--looks N] [--from SEED]
  tests/soak_look.py [--build FOLDER] --cost PAIRS

Output and exit status of a program must not change, and no look may fail while its program runs. With --cost, a program that
only computes counts how often it does, in PAIRS of times of 5 s, without looks and with them.
"""

import argparse
import mmap
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

import soak
import soak_logs

LONGER, STEPS_MOST = 20, 8000  # than in soak.py
WORDS = (["--once"], ["--once", "--format", "json"], ["--once", "--tree"], ["--seconds", "1"])
ENDED = 3  # the status of a look at a program that has ended
COUNT_S = 5


class Soak(soak.Soak):
    """Without the library in both runs; looks beside the second one."""

    def __init__(self, build, dice):
        super().__init__(build)
        self.dice, self.looks, self.looked = dice, 0, False

    def environment(self, plan, folder, traced):
        os.makedirs(os.path.join(folder, "looked" if self.looked else "plain"))
        values = super().environment(plan, os.path.join(folder, "looked" if self.looked else "plain"), False)
        return values

    def run_plan(self, seed, folder, looked):
        plan = soak.plan_of(seed)
        plan = plan._replace(steps=min(plan.steps * LONGER, STEPS_MOST))
        self.looked = looked
        return self.run(seed, plan, folder, looked)

    def beside(self, program, folder):
        while program.poll() is None:
            words = [self.path("report", "gpuverify"), "look", str(program.pid), *self.dice.choice(WORDS)]
            done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
            if done.returncode == ENDED:
                time.sleep(0.05)
            soak_logs.expect(done.returncode == 0 or (done.returncode == ENDED and program.poll() is not None),
                             f"{words[2:]}: status {done.returncode}: {done.stderr}")
            self.looks += done.returncode == 0
        return program.communicate(timeout=soak.LIMIT_S)


def looks(options):
    """Seeds, until there were enough looks."""
    taker, programs, seed = Soak(options.build, random.Random(options.first)), 0, options.first
    while taker.looks < options.looks:
        with tempfile.TemporaryDirectory(prefix="gv-soak-", ignore_cleanup_errors=True) as folder:
            plain, looked = (taker.run_plan(seed, folder, looked) for looked in (False, True))
        soak_logs.expect(plain == looked, f"seed {seed}: status and output {looked}, without looks {plain}")
        programs, seed = programs + 1, seed + 1
    print(f"{taker.looks} looks at {programs} programs, from seed {options.first}: output and exit status as without")


COUNTS = """import mmap, sys
with open(sys.argv[1], "r+b") as file:
    counter = memoryview(mmap.mmap(file.fileno(), 8)).cast("Q")
def step(number):
    return number + 1
while True:
    counter[0] = step(counter[0])
"""


def times_ns(pid):
    """On a CPU; ready to run, without a CPU."""
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
        return [int(number) for number in file.read().split()[:2]]


def measure(pid, counter):
    """Steps in a second on a CPU, and the share of the time in which it was stopped: neither depends on who else wants the CPU."""
    begin, count, (cpu, delay) = time.monotonic_ns(), counter[0], times_ns(pid)
    time.sleep(COUNT_S)
    steps, wall, (cpu_now, delay_now) = counter[0] - count, time.monotonic_ns() - begin, times_ns(pid)
    return steps / (cpu_now - cpu) * 1e9, 1 - (cpu_now - cpu + delay_now - delay) / wall


def cost(options):
    with tempfile.NamedTemporaryFile() as file:
        file.write(bytes(8))
        file.flush()
        counter = memoryview(mmap.mmap(file.fileno(), 8)).cast("Q")
        with subprocess.Popen([sys.executable, "-c", COUNTS, file.name]) as program:
            slower, stopped, stopped_without = [], [], []
            time.sleep(1)
            for _ in range(options.cost):
                without, share = measure(program.pid, counter)
                stopped_without.append(share)
                with subprocess.Popen([os.path.join(options.build, "report", "gpuverify"), "look", str(program.pid), "--seconds",
                                       str(COUNT_S + 2)], stdout=subprocess.DEVNULL) as look:
                    looked, share = measure(program.pid, counter)
                    look.wait()
                stopped.append(share)
                slower.append(1 - looked / without)
            program.kill()
    print(f"{len(stopped)} pairs of {COUNT_S} s: stopped for {100 * statistics.median(stopped):.3f} % of the time ("
          f"{100 * min(stopped):.3f} to "
          f"{100 * max(stopped):.3f}; without looks {100 * statistics.median(stopped_without):.3f}); a step takes "
          f"{100 * statistics.median(slower):.2f} % longer on a CPU ({100 * min(slower):.2f} to {100 * max(slower):.2f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(soak.ROOT, "build"), type=os.path.abspath)
    parser.add_argument("--looks", type=int, default=50)
    parser.add_argument("--from", dest="first", type=int, metavar="SEED", default=1)
    parser.add_argument("--cost", type=int, metavar="PAIRS")
    options = parser.parse_args()
    try:
        cost(options) if options.cost else looks(options)
    except soak_logs.Mismatch as why:
        print(why)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
