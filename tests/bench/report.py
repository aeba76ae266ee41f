"""Measures the commands on a large trace, their start, and their memory: 10 million calls and as many GPU
operations."""

import hashlib
import importlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

from ground import CHECKOUT, launches, place, spool_of


CALLS = 10_000_000
HERE = os.path.dirname(os.path.abspath(__file__))
# The limits for a trace of that size, in seconds and MB.
BUDGETS = {"finish": (20, 64), "report": (5, 500), "summary": (0.5, None), "perfetto": (60, 300), "help": (0.010, None)}
COMMANDS = {
    "report": ["report", "{}"],
    "stalls": ["stalls", "{}"],
    "explain": ["explain", "{}"],
    "summary": ["query", "{}", "SELECT * FROM api_summary, kernel_summary, copy_summary"],
    "perfetto": ["export", "{}", "--to", "perfetto"],
    "query": ["query", "{}", "SELECT name, count(*), sum(duration_ns) FROM calls GROUP BY name"],
}


def schema_sql():
    """Only a checkout has it: an archive measures what needs none."""
    sys.path.insert(0, os.path.join(CHECKOUT, "tests", "e2e"))
    return importlib.import_module("trace_schema").sql()


def rows_sql():
    with open(os.path.join(CHECKOUT, "tests/bench/large_trace.sql"), encoding="utf-8") as file:
        return file.read()


def pragmas():
    with open(os.path.join(CHECKOUT, "report/store", "schema.h"), encoding="utf-8") as header:
        text = header.read()
    version = re.search(r"GV_SCHEMA_VERSION (\d+)", text).group(1)
    application = int(re.search(r"GV_SCHEMA_APPLICATION_ID (0x[0-9a-fA-F]+)", text).group(1), 16)
    return f"PRAGMA application_id = {application}; PRAGMA user_version = {version};"


def make(path, calls):
    """The trace of a program that was killed with its collector: nothing is summed up yet."""
    database = sqlite3.connect(path, isolation_level=None)
    database.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + pragmas()
                           + schema_sql())
    database.execute("BEGIN")
    for statement in re.sub(r"^--.*$", "", rows_sql(), flags=re.M).split(";"):
        if statement.strip():
            database.execute(statement, {key: value for key, value in (
                ("calls", calls), ("spools", tempfile.gettempdir())) if ":" + key in statement})
    database.execute("COMMIT")
    database.close()
    os.chmod(path, 0o600)


def kept(bench, calls):
    """Path of the trace; it is made once for each schema."""
    name = hashlib.sha256("".join((schema_sql(), rows_sql(), str(calls))).encode()).hexdigest()[:8]
    folder = os.path.join(CHECKOUT, "build", "bench")
    path = os.path.join(folder, f"large-{name}.db")
    os.makedirs(folder, exist_ok=True)
    if not os.path.exists(path):
        for old in os.listdir(folder):
            if old.startswith("large-"):
                os.unlink(os.path.join(folder, old))
        start = time.monotonic()
        make(path + ".part", calls)
        os.replace(path + ".part", path)
        print(f"  made {path} in {time.monotonic() - start:.0f} s")
    bench.found["trace_mb"] = os.path.getsize(path) / 1e6
    bench.note(f"{calls} calls and GPU operations: {os.path.getsize(path) / 1e6:.0f} MB")
    return path


def cold(path):
    """Drops the file from the page cache, as far as an ordinary user can."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def run(bench, words):
    """(seconds, peak memory in MB) of one command. The latter is at least what this program has, which
    Linux counts too: the child is it until it runs the command."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith("GPUVERIFY_")}
    start = time.monotonic()
    process = subprocess.Popen([bench.path("report/gpuverify"), *words], env=settings,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.stderr.read().decode("utf-8", "replace")
    process.stderr.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    bench.must(f"gpuverify {' '.join(words)}: {process.returncode}: {said.strip()[-200:]}",
               process.returncode in (0, 1))
    return time.monotonic() - start, usage.ru_maxrss / 1024


def budget(bench, name, seconds, memory):
    """Only a whole run can exceed its limits."""
    most_s, most_mb = BUDGETS.get(name, (None, None))
    for what, found, most in (("seconds", seconds, most_s), ("MB", memory, most_mb)):
        if most and found > most and bench.scale >= 1:
            print(f"  over budget: {name} took {found:.4g} {what}, {most} are allowed")


def leave_session(bench, folder, trace):
    """The trace becomes that of a small program whose records wait in shared memory, so that `recover` finishes it."""
    launches(bench, folder, True, "0", "1", GPUVERIFY_COLLECTOR="off")
    session, = (name.removesuffix(".session") for name in os.listdir(spool_of(folder)) if name.endswith(".session"))
    database = sqlite3.connect(trace)
    database.execute("INSERT OR REPLACE INTO meta VALUES ('session', ?), ('spool_directory', ?)", (session, spool_of(folder)))
    database.commit()
    database.close()


def bench_large(bench):
    """The commands on a trace of 10 million calls and 10 million GPU operations, out of the page cache."""
    made = kept(bench, bench.scaled(CALLS, 20000))
    folder = tempfile.mkdtemp(prefix="gpuverify-bench-", dir=os.path.dirname(made))
    trace = os.path.join(folder, "large.db")
    try:
        shutil.copy(made, trace)
        with place() as left:
            leave_session(bench, left, trace)
            seconds, memory = run(bench, ["recover", trace])
        bench.found["finish"] = {"seconds": seconds, "mb": memory, "median": seconds}
        bench.note(f"finish (stalls, totals): {seconds:.2f} s, {memory:.0f} MB")
        budget(bench, "finish", seconds, memory)
        for name, words in COMMANDS.items():
            times, peaks = [], []
            for _ in range(3):
                cold(trace)
                found = run(bench, [word.format(trace) for word in words])
                times.append(found[0])
                peaks.append(found[1])
            middle = bench.spread(f"{name}_s", f"{name}, cold", times, "s")
            bench.found[f"{name}_mb"] = max(peaks)
            bench.note(f"{name}: {max(peaks):.0f} MB at most")
            budget(bench, name, middle, max(peaks))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    names = ["finish", *COMMANDS]
    taken = [bench.found["finish"]["median"]] + [bench.found[f"{name}_s"]["median"]
                                                for name in COMMANDS]
    bench.chart(name="report-commands", kind="bars", title="Commands on a large trace", x="", y="s",
                x_values=names, series={f"{bench.scaled(CALLS, 20000)} calls": taken})


def bench_help(bench):
    """gpuverify --help, which needs no trace: how long any command takes to begin."""
    run(bench, ["--help"])  # later starts find the program in the page cache
    times = [run(bench, ["--help"])[0] for _ in range(bench.scaled(50, 10))]
    middle = bench.spread("help_ms", "--help", [seconds * 1e3 for seconds in times], "ms")
    budget(bench, "help", middle / 1e3, None)


BENCHES = {"help": bench_help, "large": bench_large}
