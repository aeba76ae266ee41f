"""Measures a collector's memory while it takes many records. Needs no GPU and no simulator."""

import os
import shutil
import subprocess
import sys

from ground import environment, place, query, spool_of

RECORDS = 100_000_000
THREADS = 8
MOST_MB = 64
TRACE_BYTES = 120  # per record, with sorting in files at the end


def feed(bench, records):
    """Runs bench_records. Returns its `name value` lines, and facts of its trace."""
    with place() as folder:
        trace = os.path.join(folder, "trace.db")
        done = subprocess.run([bench.path("tests/bench/bench_records"), bench.path("report/gpuverify"),
                               spool_of(folder), trace, str(records), str(THREADS)],
                              env=environment(bench, folder, False), stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"bench_records ended with {done.returncode}")
        values = {name: float(value) for name, value in map(str.split, done.stdout.splitlines())}
        bench.must("the trace is complete",
                   query(trace, "SELECT value FROM meta WHERE key = 'state'") == "complete")
        lost = query(trace, "SELECT count FROM loss WHERE what = 'call' AND class = 'launch'")
        bench.must(f"{lost} launches lost, not {values['lost']:.0f}", lost == values["lost"])
        bench.must("operations whose launch was lost have no call, and only they", values["lost"] == query(
            trace, "SELECT count(*) FROM gpu_op WHERE call IS NULL"))
        return values


def bench_memory(bench):
    """The collector's memory: a hundred million records, some of them lost, and the analysis."""
    whole = bench.scaled(RECORDS, 200_000)
    counts = [whole // 20, whole // 5, whole]
    free = shutil.disk_usage(os.environ.get("TMPDIR", "/tmp")).free
    if free < whole * TRACE_BYTES:
        bench.must(f"room for {whole * TRACE_BYTES >> 30} GB in TMPDIR", False)
        return
    points = {"storing": [], "finishing": []}
    for count in counts:
        values = feed(bench, count)
        for name, key in (("storing", "storing_kb"), ("finishing", "ending_kb")):
            peak = values[key] / 1024
            points[name].append(bench.spread(f"memory_{count}_{name}_mb", f"{count} records, {name}: at most",
                                             [peak], "MB"))
            bench.must(f"{name} {count} records takes less than {MOST_MB} MB, not {peak:.0f}", peak < MOST_MB)
        bench.note(f"{count} records: stored in {values['storing_s']:.0f} s, finished in "
                   f"{values['ending_s']:.0f} s; with the spool, which is the program's memory, "
                   f"{values['whole_kb'] / 1024:.0f} MB")
    bench.chart(name="collector-memory", kind="lines", title="The collector's own memory", x="records",
                y="MB", x_values=counts, log_x=True, series=points)


BENCHES = {"memory": bench_memory}
