#!/usr/bin/env python3
"""The checks of the GPU suite find what they look for, without a GPU."""

import json
import os
import re
import sqlite3
import sys
import unittest

sys.dont_write_bytecode = True
CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(CHECKOUT, "tests", "gpu"))

import cases_probe  # noqa: E402
import chains  # noqa: E402
import ground  # noqa: E402
import run  # noqa: E402
from cases_probe import expected  # noqa: E402


class Order(unittest.TestCase):
    def test_cases_that_compare_times_have_the_gpu_for_themselves(self):
        shared, alone = ([name for name, _ in cases] for cases in run.split(run.CASES))
        self.assertEqual(len(shared) + len(alone), len(run.CASES))
        self.assertIn("clocks stay together", alone)
        self.assertTrue(all(name in alone for name, _ in run.CASES if re.match("stall |lines: |steps: ", name)))
        self.assertGreater(len(shared), len(run.CASES) / 4)


class Launches(unittest.TestCase):
    """A launch without its operation is noticed, and only such a one."""

    def alone(self, *calls, ran=()):
        trace = sqlite3.connect(":memory:")
        trace.execute("CREATE TABLE calls (id INTEGER PRIMARY KEY, name, class, result, stream, start_ns)")
        trace.execute("CREATE TABLE gpu_ops (call)")
        for start_ns, (name, stream, *result) in enumerate(calls):
            trace.execute("INSERT INTO calls (name, class, result, stream, start_ns) VALUES (?, ?, ?, ?, ?)",
                          (name, "launch" if "aunch" in name else "stream", *(result or [0]), stream, start_ns))
        trace.executemany("INSERT INTO gpu_ops VALUES (?)", [(call,) for call in (None, *ran)])
        found = ground.launched_in_vain(trace)
        trace.close()
        return found

    def test_one_is_missing(self):
        launch = ("cuLaunchKernel", 1)
        self.assertEqual(self.alone(launch, launch, ran=[1, 2]), {})
        self.assertEqual(self.alone(launch, launch, launch, ran=[2]), {"cuLaunchKernel": 2})

    def test_what_runs_nothing(self):
        self.assertEqual(self.alone(("cuLaunchHostFunc", 1), ("cudaLaunchHostFunc_ptsz", None),
                                    ("cuLaunchKernel", 1, 700)), {})

    def test_what_is_captured(self):
        begin, end = ("cuStreamBeginCapture_v2", 1), ("cuStreamEndCapture", 1)
        launch = ("cuLaunchKernel", 1)
        self.assertEqual(self.alone(begin, launch, launch, end), {})
        self.assertEqual(self.alone(begin, end, begin, launch, end), {})
        self.assertEqual(self.alone(launch, begin, launch, end), {"cuLaunchKernel": 1})
        self.assertEqual(self.alone(begin, launch, end, launch), {"cuLaunchKernel": 1})
        self.assertEqual(self.alone(begin, ("cuLaunchKernel", 2), end), {"cuLaunchKernel": 1})
        self.assertEqual(self.alone(begin, end, ("cuGraphLaunch", 1)), {"cuGraphLaunch": 1})


class Measurement:
    """In place of a bench: its probe finds what the page says, except for `changed` rows."""

    command = "gpuverify"
    runtime = None
    returncode = 0
    stderr = ""

    def __init__(self, changed, gpu):
        self.changed, self.gpu = changed, gpu

    def rows(self):
        for mode, waits in (("LAZY", expected.WAITS), ("EAGER", expected.EAGER_WAITS)):
            for call, what in sorted(waits | expected.WAITS):
                yield mode, "gpu", call, what, (call, what) in waits
            for call in sorted(expected.BEHIND):
                yield mode, "load", call, "", True

    def run(self, command, _folder, _traced, **_variables):
        calls = []
        for mode, beside, call, what, waits in self.rows():
            waited = 3 if waits else 0
            if (beside, call) in self.changed:
                waited = self.changed[(beside, call)]
            calls.append({"mode": mode, "beside": beside, "call": call, "with": what, "status": "measured",
                          "error": None, "rounds": 3, "waited": waited, "waits": waited > 1})
        with open(command[-1], "w", encoding="utf-8") as file:
            json.dump({"gpu": self.gpu, "driver": expected.MEASURED_ON[1], "took_ns": 1, "calls": calls}, file)
        return self


class Probe(unittest.TestCase):
    def outcome(self, changed, gpu=expected.MEASURED_ON[0]):
        return run.outcome(cases_probe.calls_that_wait, Measurement(changed, gpu), None, False)

    def test_as_before(self):
        self.assertEqual(self.outcome({})[0], "passed")

    def test_other_than_before(self):
        for changed, words in (({("gpu", "cudaFreeHost"): 0}, "do not wait for a busy GPU"),
                               ({("load", "cuEventCreate"): 0}, "do not wait for another's load")):
            result, said = self.outcome(changed)
            self.assertEqual(result, "failed", said)
            self.assertIn(words, said)
            self.assertIn(next(iter(changed))[1], said)
            # Another GPU may do as it likes.
            result, said = self.outcome(changed, gpu="another GPU")
            self.assertEqual(result, "passed", said)
            self.assertIn(words, said)

    def test_rounds_that_disagree_decide_nothing(self):
        self.assertEqual(self.outcome({("gpu", "cudaFreeHost"): 1})[0], "passed")

    def test_what_no_driver_does(self):
        result, said = self.outcome({("gpu", "cuCtxSynchronize"): 0}, gpu="another GPU")
        self.assertEqual(result, "failed", said)

    def test_the_page_names_the_same_machine(self):
        with open(os.path.join(CHECKOUT, "docs", "blocking-calls.md"), encoding="utf-8") as page:
            after = page.read().split("<!-- measured", 1)[1]
        self.assertIn("\n{}, driver {} ".format(*expected.MEASURED_ON), after)


class Chains(unittest.TestCase):
    """Stacks that differ from backtrace()'s are noticed (chains.py)."""

    LIBRARY, PYTHON, MAIN = ("/lib/libapp.so", 16), ("/lib/libpython3.12.so", 32), ("/bin/app", 48)

    def compare(self, frames, said, python=False, ended=None):
        """One call on a thread, which ended at 100 ns; backtrace() was called at 200 ns."""
        trace = sqlite3.connect(":memory:")
        trace.executescript("""
            CREATE TABLE process (id, pid); CREATE TABLE thread (id, process, tid); CREATE TABLE meta (key, value);
            CREATE TABLE calls (id, name, thread, start_ns, span_ns, stack, own_stack, count);
            CREATE TABLE stack (id); CREATE TABLE stack_end (stack, how); CREATE TABLE object (id, path);
            CREATE TABLE frame (stack, depth, kind, object, address);
            INSERT INTO process VALUES (1, 10); INSERT INTO thread VALUES (1, 1, 11);
            INSERT INTO meta VALUES ('unix_offset_ns', 5000); INSERT INTO stack VALUES (1);
            INSERT INTO calls VALUES (1, 'cuInit', 1, 0, 100, 1, 1, 1)""")
        for depth, (path, offset) in enumerate(frames):
            trace.execute("INSERT INTO object VALUES (?, ?)", (depth, path))
            trace.execute("INSERT INTO frame VALUES (1, ?, 'native', ?, ?)", (depth, depth, offset))
        if python:
            trace.execute("INSERT INTO frame VALUES (1, 1000, 'python', NULL, NULL)")
        if ended:
            trace.execute("INSERT INTO stack_end VALUES (1, ?)", (ended,))
        count, differences = chains.compare(trace, {(10, 11): [chains.Record(4200, len(said), said)]}, 1000)
        trace.close()
        self.assertEqual(count["stacks"], 1)
        return len(differences), count["equal"], count["early"], count["late"]

    def test_each_difference(self):
        whole = [self.LIBRARY, self.PYTHON, self.MAIN]
        self.assertEqual(self.compare(whole, whole), (0, 3, 0, 0))
        self.assertEqual(self.compare(whole[:2], whole), (1, 2, 1, 0))
        self.assertEqual(self.compare(whole[:2], whole, ended="stopped"), (1, 2, 1, 0))
        self.assertEqual(self.compare(whole[:2], whole, ended="truncated"), (0, 2, 0, 0))
        self.assertEqual(self.compare(whole, whole[:2]), (1, 2, 0, 1))
        self.assertEqual(self.compare([self.LIBRARY, ("/lib/libpython3.12.so", 33), self.MAIN], whole), (1, 1, 0, 0))

    def test_an_object_that_is_not_listed_has_one_base(self):
        frames = [self.LIBRARY, (self.LIBRARY[0], 64), self.MAIN]
        self.assertEqual(self.compare(frames, [(None, 0x7000 + 16), (None, 0x7000 + 64), self.MAIN]), (0, 3, 0, 0))
        self.assertEqual(self.compare(frames, [(None, 0x7000 + 16), (None, 0x8000 + 64), self.MAIN]), (1, 1, 0, 0))
        self.assertEqual(self.compare(frames, [(None, 0x7000 + 17), (None, 0x7000 + 65), self.MAIN]), (1, 0, 0, 0))

    def test_python_frames_stand_for_the_interpreter(self):
        whole = [self.LIBRARY, self.PYTHON, self.MAIN]
        self.assertEqual(self.compare([self.LIBRARY, self.MAIN], whole, python=True), (0, 2, 0, 0))
        self.assertEqual(self.compare([self.LIBRARY, self.MAIN], whole), (1, 1, 0, 0))


if __name__ == "__main__":
    unittest.main()
