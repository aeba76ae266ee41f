"""Measures how long it takes to find the stalls of 10 million calls, with the GPU side and without, and
the memory. Every 50th call is a requested wait, every 10000th the first use of a kernel on a busy GPU."""

import os
import shutil
import sqlite3
import subprocess
import tempfile

import report

CALLS = 10_000_000
THREADS = 4
# Calls of one thread that are stored together.
RUN = 4096
LAZY_EVERY = 10000
SYNC_EVERY = 50
MODES = {"measured": "cupti", "inferred": "host-only"}

THINGS = """
INSERT INTO meta VALUES ('state', 'complete'), ('session', 'bench');
INSERT INTO process (id, identity, pid, program, start_ns, gpu) VALUES (1, 1, 1, 'bench', 0, '{gpu}');
INSERT INTO thread (id, process, serial, tid, records) VALUES (1, 1, 1, 1, 0), (2, 1, 2, 2, 0),
    (3, 1, 3, 3, 0), (4, 1, 4, 4, 0);
INSERT INTO context (id, process, handle) VALUES (1, 1, 1);
INSERT INTO stream (id, process, context, handle, kind) VALUES (1, 1, 1, 1, 'created'),
    (2, 1, 1, 2, 'created'), (3, 1, 1, 3, 'created'), (4, 1, 1, 4, 'created');
INSERT INTO api (id, name, class) VALUES (1, 'cuLaunchKernel', 'launch'), (2, 'cuStreamSynchronize', 'sync'),
    (3, 'cuLibraryLoadData', 'load');
INSERT INTO module (id, process, number) VALUES (1, 1, 1);
INSERT INTO kernel (id, process, number, name, module) VALUES (1, 1, 1, 'usual', 1);
INSERT INTO load (thread, api, start_ns, duration_ns, result, kind, module)
    VALUES (1, 3, -9000, 10, 0, 'library', 1);
INSERT INTO gpu_name (id, process, number, name) VALUES (1, 1, 1, 'usual');
INSERT INTO gpu_shape (id, process, number, name, local_bytes) VALUES (1, 1, 1, 1, 0);
INSERT INTO gpu_place (id, process, device, context, stream) VALUES (1, 1, 0, 1, 1), (2, 1, 0, 1, 2),
    (3, 1, 0, 1, 3), (4, 1, 0, 1, 4);
"""

# A thread's calls begin every 20 us. i counts all calls, n those of the thread.
CALLS_SQL = """
WITH RECURSIVE counted(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM counted WHERE i + 1 < {calls}),
    placed AS (SELECT i, i / {run} % {threads} + 1 AS thread,
        i / ({run} * {threads}) * {run} + i % {run} AS n FROM counted)
INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream, kernel)
SELECT i + 1, thread, CASE WHEN n % {sync} = {sync} - 1 THEN 2 ELSE 1 END, 1000000 + n * 20000 + thread,
    CASE WHEN n % {lazy} = 7 + 100 * thread THEN 600000 WHEN n % {sync} = {sync} - 1 THEN 150000 ELSE 3000 END, 0,
    thread, CASE WHEN n % {lazy} = 7 + 100 * thread THEN 2 + i / {run} + {runs} * (n / {lazy} % 2)
        WHEN n % {sync} = {sync} - 1 THEN NULL ELSE 1 END FROM placed
"""

# Each launch runs for 15 us; the one before a first use as long as that takes.
OPERATIONS = """
INSERT INTO gpu_op (place, kind, shape, start_ns, duration_ns, call)
SELECT stream, 1, 1, start_ns + CASE WHEN duration_ns > 100000 THEN duration_ns ELSE 4000 END,
    CASE WHEN id % 2 THEN 15000 ELSE 14000 END, id FROM call WHERE kernel IS NOT NULL
"""
LONG_OPERATIONS = """
INSERT INTO gpu_op (place, kind, shape, start_ns, duration_ns, call)
SELECT stream, 1, 1, start_ns - 5000, duration_ns, id - 1 FROM call WHERE kernel > 1
"""
MODULES = """
INSERT INTO gpu_module (process, number, at_ns, call) SELECT 1, id, start_ns, id FROM call WHERE kernel > 1
"""


def make(path, calls, gpu):
    """Makes a complete trace without an analysis. Returns the number of first uses."""
    database = sqlite3.connect(path)
    database.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + report.pragmas()
                           + report.schema_sql() + THINGS.format(gpu=gpu))
    database.execute(CALLS_SQL.format(calls=calls, run=RUN, threads=THREADS, lazy=LAZY_EVERY,
                                      sync=SYNC_EVERY, runs=calls // RUN + 1))
    database.execute("INSERT OR IGNORE INTO kernel (id, process, number, name, module)"
                     " SELECT kernel, 1, kernel, 'late_' || kernel, 1 FROM call WHERE kernel > 1")
    if gpu == "cupti":
        for sql in (OPERATIONS, LONG_OPERATIONS, MODULES):
            database.execute(sql)
    late = database.execute("SELECT count(DISTINCT kernel) FROM call WHERE kernel > 1").fetchone()[0]
    database.commit()
    database.close()
    os.chmod(path, 0o600)
    return late


def bench_analysis(bench):
    """Finding the stalls of 10 million calls, as `gpuverify stalls` does for a trace without them."""
    calls = bench.scaled(CALLS, 50000)
    for mode, gpu in MODES.items():
        folder = tempfile.mkdtemp(prefix="gpuverify-bench-")
        try:
            path = os.path.join(folder, "trace.db")
            late = make(path, calls, gpu)
            found = [report.run(bench, ["stalls", path]) for _ in range(3)]
            bench.spread(f"analysis_{mode}_s", f"stalls of {calls} calls, {mode}",
                         [seconds for seconds, _ in found], "s")
            bench.say(f"analysis_{mode}_mb", max(mb for _, mb in found),
                      f"{mode}: {max(mb for _, mb in found):.0f} MB at most")
            bench.must(f"{late} lazy loads are found, {mode}", count(bench, path) == late)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def count(bench, path):
    told = subprocess.run([bench.path("report/gpuverify"), "stalls", path, "--format", "csv", "--cause",
                           "lazy-load"], stdout=subprocess.PIPE, check=False)
    return told.stdout.count(b",lazy-load,")


BENCHES = {"analysis": bench_analysis}
