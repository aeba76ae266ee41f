"""Programs that a seed leads through CUDA, with a log of their own calls: the same output with the
library and without, and a trace of exactly those calls (tests/soak.py does the same on the simulator)."""

import os
import sys

from ground import ROOT, Failure, check, same_output, trace_of

sys.path.insert(0, os.path.join(ROOT, "tests"))
import soak_logs  # noqa: E402

# (program, seed, steps, features that a real driver can do, GPUVERIFY_GPU)
RUNS = [("soak", 1, 100, "", "auto"), ("soak", 2, 100, "p", "auto"), ("soak", 3, 300, "", "off"),
        ("soak", 4, 60, "x", "auto"), ("soak", 5, 60, "c", "auto"), ("soak", 6, 100, "pa", "auto"),
        ("soak", 7, 60, "xca", "off"), ("soak_runtime", 8, 100, "l", "auto"),
        ("soak_runtime", 9, 300, "", "off")]


def soak_case(program, seed, steps, features, mode):
    def case(bench, folder):
        command = bench.workload(f"soak/{program}") + [str(seed), str(steps), features]
        plain = bench.run(command, folder, False)
        done = same_output(plain, bench.run(command, folder, True, SOAK_LOG=folder, GPUVERIFY_GPU=mode))
        check(done.stderr == "", f"stderr: {done.stderr[-300:]}")
        bench.recover(folder)
        with trace_of(folder) as trace:
            classes = dict(trace.execute("SELECT DISTINCT name, class FROM calls"))
            session = soak_logs.Session(folder, trace, classes, "a" in features)
            try:
                session.check_calls()
                session.check_loads()
                if mode == "auto":
                    session.check_gpu(False)
                session.check_ends()
            except soak_logs.Mismatch as mismatch:
                raise Failure(str(mismatch)) from None
        return ", ".join(f"{count} {what}" for what, count in session.counts.items() if count)
    return case


CASES = [(f"{program}, seed {seed}, features '{features}', {mode}", soak_case(program, seed, steps, features, mode))
         for program, seed, steps, features, mode in RUNS]
