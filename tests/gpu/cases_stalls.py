"""Each workload of kernels/stalls, busy and idle, with the GPU's side and without, against its .expect."""

import os
import sys

from ground import ROOT, Failure, Skip, check

sys.path.insert(0, os.path.join(ROOT, "tests"))
import stall_expectations as expectations  # noqa: E402

BUSY_MS = 150
MODES = {"measured": "auto", "inferred": "off"}
OWN_LENGTH = ("no_stalls", "lazy_deadlock")
MANY_LAUNCHES = "1000000"


def stall_case(name, mode):
    def case(bench, folder):
        said = []
        for state in ("busy", "idle"):
            place = os.path.join(folder, state)
            os.mkdir(place)
            words = ["idle"] if state == "idle" else []
            if name not in OWN_LENGTH:
                words.append(str(BUSY_MS))
            elif name == "no_stalls" and state == "busy":
                words.append(MANY_LAUNCHES)
            program = bench.workload(os.path.join("stalls", name))
            done = bench.run(program + words, place, True, GPUVERIFY_GPU=MODES[mode])
            if done.returncode == 77:
                raise Skip(done.stdout.strip()[-100:])
            killed = state == "busy" and "in_flight" in expectations.load(name)
            check(done.returncode == (-9 if killed else 0),
                  f"{state}: exit code {done.returncode}: {done.stderr[-300:]}")
            bench.recover(place)
            try:
                expectations.check(name, os.path.join(place, "trace.db"), done.stdout, mode, state,
                                   BUSY_MS)
            except expectations.Mismatch as mismatch:
                raise Failure(f"{state}: {mismatch}") from None
            said += [line.split(" ", 1)[1] for line in done.stdout.splitlines()
                     if line.startswith("timed ")]
        return "; ".join(said)
    return case


CASES = [(f"stall {name}, {mode}", stall_case(name, mode))
         for name in expectations.names() for mode in MODES]
