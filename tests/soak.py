#!/usr/bin/env python3
"""Runs kernels/soak with one seed after the other, without the library and with it. Compares both outputs,
the program's own log with the trace, and the trace's sums by minute with its rows.

  tests/soak.py [--build FOLDER] [--seconds N] [--from SEED] [--without LETTERS] [-v]
  tests/soak.py [--build FOLDER] --seed SEED [--times N] [--keep]

Prints a seed that fails; --seed repeats it. If the failure depends on timing, as with signals, it may
need several attempts (--times). The last line says how much was compared; the exit status is 0 if all
agreed.
"""

import argparse
import collections
import contextlib
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import soak_logs
import soak_minutes

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIMIT_S = 600  # what takes longer hangs: beside eight busy processes, a snapshot of a million calls took 100 s
MINUTES_NS = (5_000_000, soak_minutes.MINUTE_NS)  # also shorter ones, of which a program has many
# These seeds come first: they take a second each and together have every feature. Then come seeds from the
# clock.
FIRST_SEEDS = (1, 2, 4, 5, 7, 12, 7001, 7006, 7024, 7027, 7030)

WITHOUT = set()  # --without

Plan = collections.namedtuple("Plan", "program steps features gpu environment")


def classes_of():
    """{symbol: class in the trace} from the table of calls."""
    with open(os.path.join(ROOT, "trace", "call_kinds.def"), encoding="utf-8") as table:
        class_of = dict(re.findall(r"^GV_CALL_KIND\((\w+), (\w+),", table.read(), re.M))
    table = subprocess.run([os.path.join(ROOT, "trace", "expand-calls"), os.path.join(ROOT, "trace", "calls.table")],
                           capture_output=True, text=True, check=True).stdout
    return {symbol: class_of[kind].lower() for symbol, kind in re.findall(r"\bGV_API\w*\((\w+), ([A-Z]\w+),", table)}


def plan_of(seed):
    """What a seed means, but for what the program makes of it."""
    dice = random.Random(seed)
    features = "".join(letter for letter in "hfxcpa" if dice.random() < 0.4)
    gpu = dice.choice(("off", "auto"))
    environment = {"GV_SIM_KERNEL_NS": dice.choice(("0", "2000")),
                   "GV_SIM_REUSE_HANDLES": dice.choice("01"),
                   "GPUVERIFY_CLOCK": dice.choice(("auto", "auto", "monotonic"))}
    if gpu == "off":  # the simulated CUPTI does not learn of a call that was left
        features += "".join(letter for letter in "jt" if dice.random() < 0.5)
    else:
        environment["GPUVERIFY_FLUSH_MS"] = dice.choice(("10", "200"))
        if seed % 2 == 0:
            gpu = "sampled"
    if dice.random() < 0.1:
        environment["GPUVERIFY_STACKS"] = "all"
    steps = dice.choice((20, 100, 400))
    if dice.random() < 0.2:
        return Plan("kernels/soak/soak_runtime", steps, "l", gpu, environment)
    if dice.random() < 0.15:
        environment["GPUVERIFY_SPOOL_MB"] = "1"
        features, steps = features.replace("x", ""), 1000
    features = "".join(letter for letter in features + "s" if letter not in WITHOUT)
    return Plan("kernels/soak/soak", steps, features, gpu, environment)


class Soak:
    """The programs, and their results."""

    plan = staticmethod(plan_of)
    in_memory = True

    def name(self, seed):
        """What the lines about a seed begin with."""
        del seed
        return ""

    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.classes = classes_of()
        self.counts = collections.Counter()

    def path(self, *parts):
        return os.path.join(self.build, *parts)

    def environment(self, plan, folder, traced):
        logs = os.path.join(folder, "traced" if traced else "plain")
        os.mkdir(logs)
        values = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": folder, "LANG": "C.UTF-8",
                  "LD_LIBRARY_PATH": self.path("tests", "sim"), "SOAK_LOG": logs,
                  "GV_SIM_LOAD_NS": "1000", "GV_SIM_JIT_NS": "1000", "GV_SIM_CONTEXT_NS": "10000"}
        values.update(plan.environment)
        if traced:
            values.update(LD_PRELOAD=self.path("preload", "libgpuverify.so"), GPUVERIFY_GPU=plan.gpu,
                          GPUVERIFY_TRACE=os.path.join(folder, "trace.db"),
                          GPUVERIFY_SPOOL_DIR=os.path.join(folder, "spool"),
                          GPUVERIFY_CUPTI=self.path("tests", "sim", "libcupti.so.13"))
        return values

    def run(self, seed, plan, folder, traced):
        """(exit status, stdout, stderr). A program that hangs is killed with its children."""
        words = [self.path(plan.program), str(seed), str(plan.steps), plan.features]
        with subprocess.Popen(words, cwd=folder, env=self.environment(plan, folder, traced), text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              start_new_session=True) as program:
            try:
                out, err = self.beside(program, folder) if traced else program.communicate(timeout=LIMIT_S)
                return program.returncode, out, err
            except subprocess.TimeoutExpired:
                os.killpg(program.pid, signal.SIGKILL)
                raise soak_logs.Mismatch(f"{'with' if traced else 'without'} the library it hangs") from None

    def beside(self, program, folder):
        """What happens while the program runs, and its output."""
        del folder
        return program.communicate(timeout=LIMIT_S)

    def settle(self, folder):
        """Waits for the trace to be complete, as any command does."""
        path = os.path.join(folder, "trace.db")
        soak_logs.expect(os.path.exists(path), "there is no trace")
        end = time.monotonic() + LIMIT_S
        while True:
            subprocess.run([self.path("report", "gpuverify"), "recover", path], capture_output=True,
                           env=dict(os.environ, GPUVERIFY_SPOOL_DIR=os.path.join(folder, "spool")),
                           check=False)
            try:
                with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as trace:
                    state = trace.execute("SELECT value FROM meta WHERE key = 'state'").fetchone()[0]
            except sqlite3.OperationalError as why:  # a killed collector's journal
                state = str(why)
            left = os.listdir(os.path.join(folder, "spool"))
            if state == "complete" and not left:
                return
            soak_logs.expect(time.monotonic() < end, f"the trace stays {state}, the spool has {left}")
            time.sleep(0.02)

    def both(self, seed, plan, folder):
        """Runs the program without the library and with it, to a complete trace."""
        os.mkdir(os.path.join(folder, "spool"))
        plain, traced = (self.run(seed, plan, folder, traced) for traced in (False, True))
        soak_logs.expect(plain == traced, f"status and output {traced}, without the library {plain}")
        soak_logs.expect(traced[2] == "", f"stderr: {traced[2]!r}")
        self.settle(folder)

    def one(self, seed, folder):
        self.both(seed, self.plan(seed), folder)
        return self.compare(self.plan(seed), folder)

    def compare(self, plan, folder):
        with contextlib.closing(sqlite3.connect(f"file:{folder}/trace.db?mode=ro", uri=True)) as trace:
            session = soak_logs.Session(os.path.join(folder, "traced"), trace, self.classes,
                                        "a" in plan.features)
            session.check_calls()
            session.check_loads()
            if plan.gpu == "auto":
                session.check_gpu(True)
            session.check_ends()
            for minute_ns in MINUTES_NS:
                session.counts["sums"] += soak_minutes.check(trace, minute_ns)
        self.counts += session.counts
        self.counts["programs"] += 1
        return session.counts


def seeds_of(options):
    if options.seed:
        yield from list(options.seed) * options.times
        return
    start = options.first if options.first is not None else time.time_ns() // 1000 % 10**9
    print(f"seeds {', '.join(map(str, FIRST_SEEDS))}, then from {start}", flush=True)
    yield from FIRST_SEEDS
    while True:
        yield start
        start += 1


def attempt(soak, seed, options):
    """Prints the result of a seed; False if it failed."""
    shared = "/dev/shm" if soak.in_memory and os.access("/dev/shm", os.W_OK) else None
    folder = tempfile.mkdtemp(prefix="gv-soak-", dir=shared)
    kept = False
    try:
        counts = soak.one(seed, folder)
        if options.v:
            print(f"seed {seed} {soak.name(seed)}{soak.plan(seed)}: {', '.join(f'{n} {what}' for what, n in counts.items())}", flush=True)
        return True
    except soak_logs.Mismatch as why:
        kept = options.keep
        print(f"seed {seed} {soak.name(seed)}{soak.plan(seed)}: FAILED: {why}", flush=True)
        if kept:
            print(f"kept: {folder}", flush=True)
        return False
    finally:
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)


def main(kind=Soak, also=()):
    """`also`: counts that the last line has too."""
    parser = argparse.ArgumentParser(description=" ".join((sys.modules["__main__"].__doc__ or "").split("\n\n", maxsplit=1)[0].split()))
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--from", dest="first", type=int, metavar="SEED")
    parser.add_argument("--seed", type=int, action="append", help="only this one; can be repeated")
    parser.add_argument("--times", type=int, default=1, help="how often to run --seed")
    parser.add_argument("--without", default="", metavar="LETTERS", help="features of soak.c that no seed has")
    parser.add_argument("--keep", action="store_true", help="keep the folders of seeds that failed")
    parser.add_argument("-v", action="store_true", help="a line for each seed")
    options = parser.parse_args()
    WITHOUT.update(options.without)
    soak, failed, start = kind(options.build), 0, time.monotonic()
    with contextlib.suppress(KeyboardInterrupt):
        for seed in seeds_of(options):
            if not options.seed and time.monotonic() > start + options.seconds:
                break
            failed += not attempt(soak, seed, options)
    print(", ".join(f"{soak.counts[what]} {what}" for what in
                    ("programs", "processes", "threads", "calls", "handlers'", "operations", "lost", "sums", *also)))
    print(f"{soak.counts['programs']} passed, {failed} failed in {time.monotonic() - start:.0f} s")
    return 1 if failed or not soak.counts["programs"] else 0


if __name__ == "__main__":
    sys.exit(main())
