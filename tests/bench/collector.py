"""Measures a collector's memory while it takes many records. Needs no GPU and no simulator."""

import os
import shutil
import subprocess
import sys

from ground import environment, place, query, spool_of

RECORDS = 100_000_000
THREADS = 8
MOST_MB = 64
MONTH_MINUTES = 30 * 24 * 60
KEPT_MB = 200
TRACE_BYTES = 120  # per record, with sorting in files at the end


def run_records(bench, folder, records, *apart, **more):
    """Runs bench_records. Returns its `name value` lines."""
    done = subprocess.run([bench.path("tests/bench/bench_records"), bench.path("report/gpuverify"),
                           spool_of(folder), os.path.join(folder, "trace.db"), str(records), str(THREADS), *apart],
                          env=environment(bench, folder, False, **more), stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"bench_records ended with {done.returncode}")
    return {name: float(value) for name, value in map(str.split, done.stdout.splitlines())}


def feed(bench, records):
    """The same, and facts of its trace."""
    with place() as folder:
        trace = os.path.join(folder, "trace.db")
        values = run_records(bench, folder, records)
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


def bench_keep(bench):
    """A month with GPUVERIFY_KEEP: minutes of 100 launches of 64 kernels, which pass in milliseconds."""
    minutes = bench.scaled(MONTH_MINUTES, 500)
    with place() as folder:
        trace = os.path.join(folder, "trace.db")
        values = run_records(bench, folder, minutes * 210, str(600_000_000), GPUVERIFY_KEEP=f"{bench.scaled(150, 10)}MB")
        for name, kb in (("storing", "storing_kb"), ("finishing", "ending_kb")):
            bench.spread(f"keep_{name}_mb", f"{minutes} minutes, {name}: memory, at most", [values[kb] / 1024], "MB")
        size_mb = os.path.getsize(trace) / 1e6
        bench.spread("keep_trace_mb", f"{minutes} minutes: the trace", [size_mb], "MB")
        bench.must(f"the trace takes less than {KEPT_MB} MB, not {size_mb:.0f}", size_mb < KEPT_MB)
        bench.must("every minute has its sums", query(
            trace, "SELECT max(minute_ns) / 60000000000 + 1 - count(DISTINCT minute_ns) FROM minutes WHERE what = 'launch'") == 0)


BENCHES = {"memory": bench_memory, "keep": bench_keep}
