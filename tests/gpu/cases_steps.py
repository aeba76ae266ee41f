"""The program's steps: programs that say how many they made."""

import os
import sys

from ground import ROOT, Failure, check, times_itself, trace_of

sys.path.insert(0, os.path.join(ROOT, "tests"))
import steps_expectations as expected  # noqa: E402

STEPS, US = "300", "100"


def case(name):
    @times_itself
    def run(bench, folder):
        done = bench.run([*bench.workload("steps/steps"), name, STEPS, US], folder, True)
        check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-300:]}")
        bench.recover(folder)
        try:
            with trace_of(folder) as trace:
                return expected.check(trace, done.stdout)
        except expected.Mismatch as mismatch:
            raise Failure(str(mismatch)) from None
    return run


CASES = [(f"steps: {name}", case(name)) for name in [*expected.CASES, "words", "slow"]]
