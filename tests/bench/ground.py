"""Shared by the benchmarks: paths, results, and running a program."""

import collections
import contextlib
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


# Paths in a bundle that differ from a build's.
IN_A_BUNDLE = {"preload/libgpuverify.so": "lib/libgpuverify.so", "report/gpuverify": "bin/gpuverify"}


def word(value):
    """As tables show it."""
    if isinstance(value, (int, float)):
        return f"{value:,.0f}".replace(",", " ") if abs(value) >= 1000 else f"{value:.3g}"
    return "-" if value is None else value


def paired(values, base):
    """The median ratio of runs that were made one after the other. A machine's speed changes between rounds, so
    this says more than a ratio of medians. None: `base` is not above 0."""
    ratios = [value / under for value, under in zip(values, base) if under > 0]
    return statistics.median(ratios) if ratios else None


def judged(ratio, goal):
    """What a table says of a ratio: the ratio, the goal, and whether it was reached."""
    number = None if ratio is None else f"{ratio:.3f}"
    return [number, goal and f"{goal:.2f}", goal and ratio is not None and ("yes" if ratio <= goal else "no")
            or None]


class Bench:
    """Paths in a build or an unpacked bundle, and the results so far."""

    def __init__(self, build, scale):
        self.build, self.scale = build, scale
        self.found = {}
        self.charts = []
        self.tables = []
        self.notes = []
        self.wrong = []

    def path(self, name):
        place = os.path.join(self.build, name)
        if name in IN_A_BUNDLE and not os.path.exists(place):
            return os.path.join(self.build, IN_A_BUNDLE[name])
        return place

    def scaled(self, count, least=1):
        return max(least, int(count * self.scale))

    def say(self, name, value, text):
        self.found[name] = value
        print(f"  {text}", flush=True)

    def note(self, text):
        """Adds a sentence to the document."""
        self.notes.append(text)
        print(f"  {text}", flush=True)

    def keep(self, name, values):
        """Stores some values for comparisons; a table shows them."""
        self.found[name] = {"median": statistics.median(values), "min": min(values), "max": max(values),
                            "runs": len(values)}
        return self.found[name]["median"]

    def spread(self, name, what, values, unit):
        """Median, and the lowest and highest of some values, as a row of the document."""
        middle = self.keep(name, values)
        self.found[name].update(unit=unit, what=what)
        print(f"  {what}: median {middle:.4g} {unit} ({min(values):.4g} to {max(values):.4g}, "
              f"{len(values)} runs)", flush=True)
        return middle

    def chart(self, **what):
        """Adds a chart (svg.py)."""
        self.charts.append(what)

    def table(self, columns, rows):
        """Adds a table of words and numbers to the document."""
        self.tables.append({"columns": list(columns), "rows": [list(row) for row in rows]})
        shown = [columns, *([word(value) for value in row] for row in rows)]
        widths = [max(len(row[i]) for row in shown) for i in range(len(columns))]
        for row in shown:
            cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]
            print("  " + "  ".join(cells).rstrip(), flush=True)

    def must(self, what, holds):
        if not holds:
            self.wrong.append(what)
            print(f"  WRONG: {what}", flush=True)


SHARED_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()


def spool_of(folder):
    return os.path.join(SHARED_MEMORY, os.path.basename(folder) + ".spool")


@contextlib.contextmanager
def place():
    """A folder for a trace, with one in shared memory for its spools."""
    folder = tempfile.mkdtemp(prefix="gpuverify-bench-")
    os.mkdir(spool_of(folder), mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(spool_of(folder), ignore_errors=True)


def environment(bench, folder, preload, **more):
    settings = {name: value for name, value in os.environ.items()
                if not name.startswith(("GPUVERIFY_", "GV_SIM_", "LD_"))}
    settings["LD_LIBRARY_PATH"] = bench.path("tests/sim")
    settings["GV_SIM_KERNEL_NS"] = "0"
    if preload:
        settings["LD_PRELOAD"] = bench.path("preload/libgpuverify.so")
        settings["GPUVERIFY_TRACE"] = os.path.join(folder, "trace.db")
        settings["GPUVERIFY_SPOOL_DIR"] = spool_of(folder)
        settings["GPUVERIFY_GPU"] = "off"
    return {**settings, **more}


def launches(bench, folder, preload, *words, **more):
    """Runs bench_launches. Returns its `name value` lines; `waited_ns` is how long its end took."""
    return told(bench, folder, preload, [bench.path("tests/bench/bench_launches"), *words], more)


def python_calls(bench, folder, preload, *words, **more):
    """The same for python_calls.py."""
    return told(bench, folder, preload,
                [sys.executable, os.path.join(CHECKOUT, "tests/bench/python_calls.py"), *words], more)


def python_waits(bench, folder, preload, *words, **more):
    """The same for python_waits.py."""
    return told(bench, folder, preload,
                [sys.executable, os.path.join(CHECKOUT, "tests/bench/python_waits.py"), *words], more)


def told(bench, folder, preload, words, more):
    process = subprocess.Popen(words, env=environment(bench, folder, preload, **more),
                               stdout=subprocess.PIPE, text=True)
    pid, status, _ = os.wait4(process.pid, 0)
    ended_ns = time.monotonic_ns()
    process.returncode = os.waitstatus_to_exitcode(status)
    values = collections.defaultdict(list)
    with process.stdout:
        for line in process.stdout:
            name, value = line.split()[:2]
            values[name].append(float(value))
    if process.returncode != 0:
        sys.exit(f"{' '.join(words)} ended with {process.returncode}")
    values["waited_ns"] = [ended_ns - values["end_ns"][0]]
    return values


def finish(bench, folder):
    """Waits until the trace is complete, as every command does."""
    trace = os.path.join(folder, "trace.db")
    done = subprocess.run([bench.path("report/gpuverify"), "report", trace], text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          env=environment(bench, folder, False,
                                          GPUVERIFY_SPOOL_DIR=spool_of(folder)))
    if done.returncode not in (0, 1):
        bench.must(f"gpuverify report: {done.stderr.strip()}", False)
    return trace


def query(trace, sql):
    with contextlib.closing(sqlite3.connect(f"file:{trace}?mode=ro", uri=True)) as database:
        return database.execute(sql).fetchone()[0]


def launch_rows(trace):
    return query(trace, "SELECT count(*) FROM calls WHERE name = 'cuLaunchKernel'")


def lost_launches(trace):
    return query(trace, "SELECT coalesce(sum(count), 0) FROM losses WHERE class = 'launch'")
