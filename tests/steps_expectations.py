"""What a trace must say of a program whose steps are known: a workload of kernels/steps prints how many there are."""

import re

CASES = ["turns", "nested", "jittered", "epochs", "graph", "threads", "spoken", "random", "pipeline"]
SAID = re.compile(r"^steps (\d+) kinds (\d+)$", re.M)


class Mismatch(AssertionError):
    """The trace differs from the expectation."""


def check(trace, output):
    """All steps are one series. Returns what was found, in words."""
    steps, kinds = map(int, SAID.search(output).groups())
    found = trace.execute("SELECT source, message, count(*), count(DISTINCT kind) FROM steps GROUP BY series").fetchall()
    if [row[2:] for row in found] != ([(steps, kinds)] if steps else []):
        raise Mismatch(f"{steps} steps of {kinds} kinds, but the trace has {found}")
    return f"{steps} steps of {kinds} kinds"
