"""The first finding of programs with a known flaw, tests/programs/sim: what it is, where, and what fixing it saves."""

import os
import re
import sys
import unittest

import harness

PROGRAMS = os.path.join(harness.SOURCE, "tests", "programs")
sys.path.insert(0, PROGRAMS)
import known_flaws  # noqa: E402

SIM = os.path.join(PROGRAMS, "sim")
CUPTI = os.path.join(harness.simulator(), "libcupti.so.13")


@harness.depends_on_time("other programs take the CPU from the program")
@unittest.skipUnless(os.path.exists(CUPTI), "no simulated libcupti was built")
class Simulated(harness.Case):
    """One case for each program, made below."""

    gpu = "auto"

    def run_kind(self, name, **options):
        """Its output: how long it took, and how long it had no CPU."""
        path = os.path.join(SIM, name)
        argv = [sys.executable, path] if name.endswith(".py") else [harness.built("tests", "programs", "sim", name[:-2])]
        env = {"GPUVERIFY_CUPTI": CUPTI, **known_flaws.environment(path), **options.pop("env", {})}
        result = self.run_well(argv, env=env, **options)
        self.assertIsNotNone(known_flaws.loop(result.out)[0], str(result))
        return result.out

    def lacked_cpu(self, output):
        return int(re.search(r"^descheduled (\d+) ms$", output, re.M)[1]) > 250 * known_flaws.loop(output)[0]

    def check(self, name):
        truth, _ = known_flaws.read(os.path.join(SIM, name))
        output = self.run_kind(name)
        trace = self.trace()
        found = known_flaws.findings(trace.path)
        if found is None:
            self.skipTest("no view findings")
        loop_s, _ = known_flaws.loop(output)
        # A busy machine takes the CPU from the line at fault, and makes the twins' times mean nothing.
        busy = self.lacked_cpu(output)
        if found and found[0]["what"] == "no-cpu":
            found = found[1:]
        if busy and not (found and known_flaws.judge(truth, name, found[0]) == "right"):
            self.skipTest("the machine is busy")
        self.assertEqual(found and known_flaws.judge(truth, name, found[0]), "right", f"{found}\ninstead of {truth}")
        for word in truth.get("never", ()):
            self.assertNotIn(word, found[0]["title"])
        for word in truth.get("says", ()):
            self.assertIn(word, found[0]["title"])
        if busy:
            return
        plain = self.run_kind(name, preload=False)
        if self.lacked_cpu(plain):
            return
        _, plain_s = known_flaws.loop(plain)
        fixed = self.run_kind(name, preload=False, env={"FIX": "1"})
        if self.lacked_cpu(fixed):
            return
        _, fixed_s = known_flaws.loop(fixed)
        run_s = trace.value("SELECT max(end_ns) - min(start_ns) FROM processes") / 1e9
        saving = known_flaws.saving(found[0], plain_s, fixed_s, loop_s, run_s)
        if truth.get("parallel"):  # the twin saves as much if there is a CPU for each thread
            self.assertGreater(saving["said_s"], 0.5 * saving["twin_s"])
        elif truth.get("claimed"):  # a wait before it claims a part
            self.assertLess(saving["said_s"], 1.25 * saving["twin_s"])
        else:
            self.assertTrue(saving["agree"], f"{saving} of {found[0]}")


class Truths(unittest.TestCase):
    def test_the_marks_are_where_the_truths_say(self):
        for folder in PROGRAMS, SIM:
            for name in known_flaws.programs(folder):
                with self.subTest(name):
                    self.assertIsNone(known_flaws.read(os.path.join(folder, name))[1])

    def test_right_and_half_right(self):
        truth = {"what": ["waits"], "lines": [7, "evaluate"]}
        found = {"what": "waits", "file": "/work/a.py", "line": 9, "function": "Model.evaluate"}
        self.assertEqual(known_flaws.judge(truth, "a.py", found), "right")
        self.assertEqual(known_flaws.judge(truth, "a.py", {**found, "line": 7, "function": "main"}), "right")
        self.assertEqual(known_flaws.judge(truth, "a.py", {**found, "what": "launching"}), "half")
        self.assertEqual(known_flaws.judge(truth, "b.py", found), "half")
        self.assertEqual(known_flaws.judge(truth, "a.py", {**found, "what": "import", "function": None}), "wrong")

    def test_a_program_without_a_flaw(self):
        truth = {"what": [], "lines": [], "none_above": 0.05}
        small = {"what": "data", "phase": "main", "share": 0.04}
        self.assertEqual(known_flaws.judge_first(truth, "a.py", []), "right")
        self.assertEqual(known_flaws.judge_first(truth, "a.py", [{**small, "phase": "start", "share": 0.9}, small]), "right")
        self.assertEqual(known_flaws.judge_first(truth, "a.py", [{**small, "share": 0.06}]), "wrong")
        self.assertEqual(known_flaws.judge_first({"what": ["data"], "lines": [1]}, "a.py", []), "nothing")

    def test_a_printed_summary(self):
        text = ("gpuverify: train.py ran 20.0 s on NVIDIA H100\n\n"
                "  1  launching     41.2 ms  52 %   optim.py:40 update_all          2046 kernels of 2 us each\n"
                "     fix: update all tensors in one call\n"
                "  2  waits         17.9 ms  23 %   loss.py:12 log_loss             .item()\n")
        first, second = known_flaws.in_summary(text)
        self.assertEqual(known_flaws.judge({"what": ["launching"], "lines": ["update_all"]}, "optim.py", first), "right")
        self.assertEqual((second["what"], second["file"], second["line"]), ("waits", "loss.py", 12))


def add(name):
    def case(self):
        self.check(name)
    setattr(Simulated, "test_" + name.split(".")[0], case)


for program in known_flaws.programs(SIM):
    add(program)
