"""gpuverify probe on a real GPU: what any driver does, and how this one differs from the one measured.

On the GPU and driver of docs/blocking-calls.md nothing may differ."""

import json
import os
import sys

from ground import ROOT, check, times_itself

sys.path.insert(0, os.path.join(ROOT, "tests"))
import probe_expectations as expected  # noqa: E402

# True for every driver: if the probe says otherwise, the probe is wrong.
ALWAYS = {("cuModuleLoadData", "a cubin"), ("cuModuleUnload", ""), ("cuMemFree", "1 MB"),
          ("cuCtxSynchronize", "")}
NEVER = {("cuStreamQuery", "of the busy stream"), ("cuEventQuery", ""),
         ("cuModuleGetFunction", ""), ("cuLaunchKernel", "into the busy stream")}
# Broken: the probe, not the driver.
BROKEN = ("failed", "hung", "died", "not reached")
LIMIT_S = 90


def named(rows):
    return ", ".join(sorted(" ".join(filter(None, row)) if isinstance(row, tuple) else row
                            for row in rows)) or "none"


def unanimous(rows):
    """Those whose rounds agree: of others, something else on the machine may have decided."""
    return [row for row in rows if row["waited"] in (0, row["rounds"])]


def differences(probe):
    for mode, waits in (("LAZY", expected.WAITS), ("EAGER", expected.EAGER_WAITS)):
        known = {(row["call"], row["with"]) for row in unanimous(expected.rows_of(probe, mode, "gpu"))}
        behind = {row["call"] for row in unanimous(expected.rows_of(probe, mode, "load"))}
        pinning = {row["call"] for beside in expected.PINNING
                   for row in unanimous(expected.rows_of(probe, mode, beside))}
        for found, wanted, place in (
                (expected.waiting(probe, mode) & known, waits & known, "a busy GPU"),
                (expected.waiting_behind(probe, mode) & behind, expected.BEHIND & behind,
                 "another's load"),
                (expected.waiting_behind(probe, mode, expected.PINNING) & pinning,
                 expected.BEHIND_PINNING & pinning, "another's pinning")):
            if found - wanted:
                yield f"{mode}: wait for {place}, unexpectedly: {named(found - wanted)}"
            if wanted - found:
                yield f"{mode}: do not wait for {place}, unexpectedly: {named(wanted - found)}"


@times_itself
def calls_that_wait(bench, folder):
    path = os.path.join(folder, "probe.json")
    variables = {}
    if bench.runtime:
        places = (bench.runtime, os.environ.get("LD_LIBRARY_PATH"))
        variables["LD_LIBRARY_PATH"] = ":".join(filter(None, places))
    done = bench.run([bench.command, "probe", "--json", path], folder, False, **variables)
    check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-300:]}")
    with open(path, encoding="utf-8") as file:
        probe = json.load(file)
    broken = [f"{row['mode']} {row['call']} {row['with']}: {row['status']} {row['error'] or ''}"
              for row in probe["calls"] if row["status"] in BROKEN]
    check(not broken, "; ".join(broken))
    check(probe["took_ns"] < LIMIT_S * 1e9, f"took {probe['took_ns'] / 1e9:.0f} s")
    for mode in ("LAZY", "EAGER"):
        waits = expected.waiting(probe, mode)
        check(ALWAYS <= waits, f"{mode}: no wait in {named(ALWAYS - waits)}")
        check(not NEVER & waits, f"{mode}: a wait in {named(NEVER & waits)}")
    unlike = list(differences(probe))
    where = f"{probe['gpu']}, driver {probe['driver']}"
    check(not unlike or (probe["gpu"], probe["driver"]) != expected.MEASURED_ON,
          f"other than what {where} did before: {'; '.join(unlike)}")
    return (f"{len(probe['calls'])} rows in {probe['took_ns'] / 1e9:.0f} s, {where}, "
            + ("as {}, driver {}".format(*expected.MEASURED_ON) if not unlike else "; ".join(unlike)))


CASES = [("probe", calls_that_wait)]
