"""Every class of the verdict has a workload on a real GPU."""

import os
import sys

from ground import ROOT, check, times_itself

sys.path.insert(0, os.path.join(ROOT, "tests"))
import verdict_expectations as expected  # noqa: E402

# Starting CUDA takes some tenths of a second there.
LENGTH_MS = "2000"


def case(behaviour):
    @times_itself
    def run(bench, folder):
        done = bench.run([*bench.workload("verdicts/verdict"), behaviour, LENGTH_MS], folder, True)
        check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-300:]}")
        bench.recover(folder)
        report = bench.run([bench.command, "report", os.path.join(folder, "trace.db"), "--format",
                            "json", "-s", "verdict"], folder, False)
        check(report.returncode == 0, report.stderr[-300:])
        wrong = expected.complaint(behaviour, report.stdout)
        check(wrong is None, wrong)
        return "; ".join(f"{name}: {evidence}" for name, evidence
                         in expected.findings(report.stdout)[1].items())
    return run


def summary_case(program, words, **environment):
    """What `gpuverify run` prints about a program that came to no kernel."""
    def run(bench, folder):
        done = bench.run([bench.command, "run", "-o", os.path.join(folder, "trace.db"), "--", *program],
                         folder, False, **environment)
        said = " ".join(done.stderr.split())
        check(words in said, f"'{words}' is not in: {said[-400:]}")
        return words
    return run


CASES = [("verdict: the driver is never loaded",
          summary_case(["/bin/echo", "hello"], "did not load the CUDA driver")),
         ("verdict: the driver is never initialised",
          summary_case([sys.executable, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1')"],
                       "never initialised it")),
         ("verdict: the driver finds no device",
          summary_case([sys.executable, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)"],
                       "CUDA_ERROR_NO_DEVICE", CUDA_VISIBLE_DEVICES=""))]
CASES += [(f"verdict {behaviour}", case(behaviour)) for behaviour in expected.SEEN]
