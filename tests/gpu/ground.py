"""Shared by the cases of the GPU suite: the programs, running one, and the conditions for every trace."""

import collections
import concurrent.futures
import contextlib
import importlib.util
import os
import re
import sqlite3
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PYTHON_WORKLOADS = os.path.join(ROOT, "kernels", "python")
TIMES = re.compile(r"\d+\.\d+ (ms|us|ns|s)\b|\d+(\.\d+)? ns per launch|\d+ handles were reused"
                   r"|^timed .*$|^claim polls .*$", re.M)


# The exit status of a program that does not apply to this machine, and says why.
SKIPPED = 77


class Skip(Exception):
    """A case that does not apply here; says why."""


class Failure(Exception):
    """A failed case."""


def times_itself(case):
    """Marks a case that compares times: it runs when no other one uses the GPU."""
    case.times_itself = True
    return case


def check(condition, message):
    if not condition:
        raise Failure(message)


class Bench:
    """Where the programs are, and how one is run. `build` is a build folder or an unpacked bundle;
    `programs` has the folder kernels of built ones, if `build` has not."""

    def __init__(self, build, programs=None):
        build = os.path.abspath(build)
        self.programs = os.path.abspath(programs) if programs else build
        bundle = os.path.exists(os.path.join(build, "bin", "gpuverify"))
        self.library = os.path.join(build, "lib" if bundle else "preload", "libgpuverify.so")
        self.command = os.path.join(build, "bin" if bundle else "report", "gpuverify")
        for path in (self.library, self.command):
            if not os.path.exists(path):
                raise FileNotFoundError(f"there is no {path}: neither a build nor a bundle")
        # A bundle brings the runtime that its programs were linked with.
        runtime = os.path.join(self.programs, "kernels", "runtime")
        self.runtime = runtime if os.path.isdir(runtime) else None

    def workload(self, name):
        path = os.path.join(self.programs, "kernels", name)
        if not os.path.exists(path):
            raise Skip(f"{name} is not built")
        return [path]

    def python(self, name, *packages):
        for package in packages:
            if importlib.util.find_spec(package) is None:
                raise Skip(f"no {package} here")
        return [sys.executable, os.path.join(PYTHON_WORKLOADS, name)]

    def run(self, command, folder, traced, timeout=120, **environment):
        variables = dict(os.environ, **environment)
        if self.runtime and command[0].startswith(self.programs):
            places = (variables.get("LD_LIBRARY_PATH"), self.runtime)
            variables["LD_LIBRARY_PATH"] = ":".join(filter(None, places))
        if traced:
            variables["LD_PRELOAD"] = self.library
            variables["GPUVERIFY_TRACE"] = os.path.join(folder, "trace.db")
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True,
                              timeout=timeout, check=False)
        with open(os.path.join(folder, "said.txt"), "a", encoding="utf-8") as log:  # for those that read --keep
            print(command, environment, "exit code", done.returncode, done.stdout[-9999:], done.stderr[-9999:],
                  sep="\n", file=log)
        return done

    def recover(self, folder, name="trace.db"):
        """Waits for the trace of a program that did not wait itself; the whole report must come of it."""
        try:
            done = subprocess.run([self.command, "report", os.path.join(folder, name)],
                                  capture_output=True, text=True, timeout=60, check=False)
        except subprocess.TimeoutExpired as slow:
            raise Failure(f"report takes more than {slow.timeout:.0f} s: {(slow.stderr or b'')[-300:]!r}") from None
        check(done.returncode == 0, f"report: exit code {done.returncode}: {done.stderr[-300:]}")


@contextlib.contextmanager
def trace_of(folder):
    path = os.path.join(folder, "trace.db")
    check(os.path.exists(path), "there is no trace")
    trace = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        yield trace
    finally:
        trace.close()


def one(trace, query, *values):
    return trace.execute(query, values).fetchone()[0]


def both(bench, command, folder, **environment):
    """Runs it plain and traced; the output must be the same except for times."""
    plain = bench.run(command, folder, False, **environment)
    if plain.returncode == SKIPPED:
        raise Skip(plain.stdout.strip()[-100:].removeprefix("skipped: "))
    return same_output(plain, bench.run(command, folder, True, **environment))


def both_at_once(bench, command, folder, **environment):
    """Like both(), for programs that start slowly and whose times do not matter."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        plain = pool.submit(bench.run, command, folder, False, **environment)
        traced = bench.run(command, folder, True, **environment)
    return same_output(plain.result(), traced)


def same_output(plain, traced):
    check(plain.returncode == traced.returncode,
          f"exit code {traced.returncode}, plain {plain.returncode}: {traced.stderr[-300:]}")
    for stream in ("stdout", "stderr"):
        before, after = (TIMES.sub("TIME", getattr(run, stream)) for run in (plain, traced))
        check(before == after, f"{stream} differs: {after[-300:]!r}, plain {before[-300:]!r}")
    return traced


def launches_are_named(folder, least, gpu=True):
    with trace_of(folder) as trace:
        count = one(trace, "SELECT count(*) FROM calls WHERE name LIKE '%aunch%ernel%'")
        unnamed = one(trace, "SELECT count(*) FROM calls WHERE name LIKE '%aunch%ernel%' "
                             "AND kernel IS NULL AND result = 0")
        lost = one(trace, "SELECT count(*) FROM losses")
    check(count >= least, f"{count} launches in the trace, expected {least} or more")
    check(unnamed == 0, f"{unnamed} of {count} launches without a kernel's name")
    check(lost == 0, f"{lost} rows of losses")
    return f"{count} launches" + (f", {gpu_side(folder)}" if gpu else "")


# Of what was launched and returned without an error, what nothing ran of on the GPU. Functions on the
# host are no work of the GPU's.
ALONE = """
SELECT name, stream, start_ns FROM calls WHERE class = 'launch' AND result = 0
   AND id NOT IN (SELECT call FROM gpu_ops WHERE call IS NOT NULL) AND name NOT LIKE '%LaunchHostFunc%'"""
CAPTURES = """
SELECT stream, start_ns, name LIKE '%BeginCapture%' FROM calls
   WHERE name LIKE '%StreamBeginCapture%' OR name LIKE '%StreamEndCapture%' ORDER BY start_ns"""


def launched_in_vain(trace):
    """{name: count} of the launches whose operation is missing. What is captured into a graph, from the
    beginning of the capture of its stream to its end, only runs when the graph does."""
    marks = trace.execute(CAPTURES).fetchall()

    def captured(stream, at_ns):
        begins = [begin for of, start_ns, begin in marks if of == stream and start_ns < at_ns]
        return bool(begins and begins[-1])

    return dict(collections.Counter(name for name, stream, at_ns in trace.execute(ALONE)
                                    if not captured(stream, at_ns)))


def gpu_side(folder, least=1):
    """Every operation found its call, and none began before it; every launch has its operation."""
    with trace_of(folder) as trace:
        said = trace.execute("SELECT gpu, gpu_why FROM processes ORDER BY id").fetchone()
        check(said[0] == "cupti", f"the GPU's side is {said[0]}: {said[1]}")
        count, matched, timed = trace.execute(
            "SELECT count(*), count(call), count(start_ns) FROM gpu_ops").fetchone()
        missing = trace.execute("SELECT kind, name, count(*) FROM gpu_ops WHERE call IS NULL "
                                "GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 3").fetchall()
        early = one(trace, "SELECT count(*) FROM gpu_ops o JOIN calls c ON c.id = o.call "
                           "WHERE o.start_ns < c.start_ns")
        alone = launched_in_vain(trace)
    check(count >= least, f"{count} operations on the GPU, expected {least} or more")
    check(matched == count, f"{count - matched} of {count} operations without their call: {missing}")
    check(timed == count, f"{count - timed} of {count} operations without their time")
    check(early == 0, f"{early} of {count} operations began before their call")
    check(not alone, f"launches without an operation: {alone}")
    return f"{count} GPU operations, all with their call"


def rows(folder):
    """All calls but questions, which have a row only if they took as long as a stall: that differs from run to run."""
    with trace_of(folder) as trace:
        return trace.execute("SELECT name, class, result, bytes, kernel FROM calls WHERE class <> 'ask' "
                             "AND call_kind <> 'function-ask' ORDER BY start_ns").fetchall()


# ---- the cases: name, function(bench, folder) -> what to say ----
