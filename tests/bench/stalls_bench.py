#!/usr/bin/env python3
"""Times the analysis of stalls on a generated trace, with and without the GPU's side.

    tests/bench/stalls_bench.py [--build FOLDER] [--calls N] [--json FILE]

The trace has N calls (10 million unless told) of four threads, stored in turns as the collector does, and as
many operations on the GPU. Every 50th call waits as asked, every 10000th is the first use of a kernel while
the GPU is busy. Printed: the seconds of one `gpuverify stalls`, which analyses a trace that nobody has
analysed, and the most memory that it took. Nothing is judged but that every stall is found.
"""

import argparse
import json
import os
import sqlite3
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
APPLICATION_ID = 0x47707556
THREADS = 4
# Calls of one thread that are stored together.
RUN = 4096
LAZY_EVERY = 10000
SYNC_EVERY = 50

THINGS = """
INSERT INTO meta VALUES ('state', 'complete'), ('session', 'bench');
INSERT INTO process (id, identity, pid, program, start_ns, gpu) VALUES (1, 1, 1, 'bench', 0, '{gpu}');
INSERT INTO thread (id, process, serial, tid, records) VALUES (1, 1, 1, 1, 0), (2, 1, 2, 2, 0),
    (3, 1, 3, 3, 0), (4, 1, 4, 4, 0);
INSERT INTO context (id, process, handle) VALUES (1, 1, 1);
INSERT INTO stream (id, process, context, handle, kind) VALUES (1, 1, 1, 1, 'created'),
    (2, 1, 1, 2, 'created'), (3, 1, 1, 3, 'created'), (4, 1, 1, 4, 'created');
INSERT INTO api VALUES (1, 'cuLaunchKernel', 'launch'), (2, 'cuStreamSynchronize', 'sync'),
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
CALLS = """
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
    with open(os.path.join(ROOT, "trace", "schema.h"), encoding="utf-8") as header:
        version = next(int(line.split()[2]) for line in header
                       if line.startswith("#define GV_SCHEMA_VERSION"))
    database = sqlite3.connect(path)
    database.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                           f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {version};")
    for name in ("tables.sql", "views.sql"):
        with open(os.path.join(ROOT, "trace", name), encoding="utf-8") as sql:
            database.executescript(sql.read())
    database.executescript(THINGS.format(gpu=gpu))
    database.execute(CALLS.format(calls=calls, run=RUN, threads=THREADS, lazy=LAZY_EVERY, sync=SYNC_EVERY,
                                  runs=calls // RUN + 1))
    database.execute("INSERT OR IGNORE INTO kernel (id, process, number, name, module)"
                     " SELECT kernel, 1, kernel, 'late_' || kernel, 1 FROM call WHERE kernel > 1")
    if gpu == "cupti":
        database.execute(OPERATIONS)
        database.execute(LONG_OPERATIONS)
        database.execute(MODULES)
    found = database.execute("SELECT (SELECT count(*) FROM call), (SELECT count(*) FROM gpu_op),"
                             " (SELECT count(DISTINCT kernel) FROM call WHERE kernel > 1)").fetchone()
    database.commit()
    database.close()
    return found


def analyse(build, path):
    """Seconds, the most memory in MiB, and how many lazy loads were found."""
    before_s = time.monotonic()
    pid = os.fork()
    if pid == 0:
        with open(path + ".out", "wb") as out:
            os.dup2(out.fileno(), 1)
        command = os.path.join(build, "report", "gpuverify")
        os.execv(command, [command, "stalls", "--format", "csv", "--cause", "lazy-load", path])
    _, status, usage = os.wait4(pid, 0)
    seconds = time.monotonic() - before_s
    with open(path + ".out", encoding="utf-8") as out:
        rows = sum("lazy-load" in line for line in out)
    if status:
        sys.exit(f"gpuverify stalls ended with status {status}")
    return seconds, usage.ru_maxrss / 1024, rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--calls", type=int, default=10_000_000)
    parser.add_argument("--json")
    options = parser.parse_args()
    told = {}
    wrong = 0
    for gpu, mode in (("cupti", "measured"), ("host-only", "inferred")):
        with tempfile.TemporaryDirectory(prefix="gpuverify-bench-") as folder:
            path = os.path.join(folder, "trace.db")
            calls, operations, lazy = make(path, options.calls, gpu)
            seconds, memory_mib, rows = analyse(options.build, path)
        told[mode] = {"calls": calls, "operations": operations, "seconds": round(seconds, 2),
                      "memory_mib": round(memory_mib, 1), "lazy_loads": lazy, "found": rows}
        wrong += rows < lazy
        print(f"{mode}: {calls} calls, {operations} operations: {seconds:.1f} s, {memory_mib:.0f} MiB; "
              f"{rows} of {lazy} lazy loads found", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(told, file, indent=2)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
