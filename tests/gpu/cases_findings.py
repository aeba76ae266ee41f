"""What a report says first of workloads on a real GPU."""

import json
import os
import sys

from ground import ROOT, check, times_itself

sys.path.insert(0, os.path.join(ROOT, "tests"))
import finding_expectations as expected  # noqa: E402

# Starting CUDA takes some tenths of a second there.
LENGTH_MS = "2000"


def case(behaviour):
    @times_itself
    def run(bench, folder):
        done = bench.run([*bench.workload("verdicts/verdict"), behaviour, LENGTH_MS], folder, True)
        check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-300:]}")
        bench.recover(folder)
        report = bench.run([bench.command, "report", os.path.join(folder, "trace.db"), "--format",
                            "json", "-s", "findings"], folder, False)
        check(report.returncode == 0, report.stderr[-300:])
        wrong = expected.complaint(behaviour, report.stdout)
        check(wrong is None, wrong)
        return "; ".join(f"{finding['what']}: {finding['title']}" for finding in json.loads(report.stdout)["findings"])
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


CASES = [("findings: the driver is never loaded",
          summary_case(["/bin/echo", "hello"], "did not load the CUDA driver")),
         ("findings: the driver is never initialised",
          summary_case([sys.executable, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1')"],
                       "never initialised it")),
         ("findings: the driver finds no device",
          summary_case([sys.executable, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1').cuInit(0)"],
                       "CUDA_ERROR_NO_DEVICE", CUDA_VISIBLE_DEVICES=""))]
# There, starting CUDA takes longer than loading that code.
CASES += [(f"findings {behaviour}", case(behaviour)) for behaviour in expected.SEEN if behaviour != "load"]
