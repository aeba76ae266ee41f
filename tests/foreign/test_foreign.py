#!/usr/bin/env python3
"""scripts/foreign with a suite of our own that stands in for Warp's: tests/foreign/test_foreign.py BUILD, under scripts/with-sim."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

CHECKOUT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
BUILD = os.path.realpath(sys.argv.pop(1))

CALLS = '''
import ctypes, os, unittest

def test_of_warp(test, device):
    raise AssertionError("this is no test")

class Calls(unittest.TestCase):
    def test_calls(self):
        assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 0

    def test_differs(self):
        assert "gpuverify" not in os.environ.get("LD_PRELOAD", "")

    def test_fickle(self):
        path = os.path.join(os.path.dirname(__file__), "times")
        with open(path, "a") as file:
            file.write("x")
        assert os.path.getsize(path) != 2
'''

# unittest sorts them by name.
DIES = '''
import os, time, unittest

class Dies(unittest.TestCase):
    def test_1_passes(self):
        pass

    def test_2_dies(self):
        os.abort()

    def test_3_hangs(self):
        time.sleep(60)

    def test_4_passes(self):
        pass

class Ends(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        os.abort()

    def test_passes(self):
        pass

class Last(unittest.TestCase):
    def test_passes(self):
        pass
'''

ENDS = '''
import atexit, os, unittest

if "gpuverify" in os.environ.get("LD_PRELOAD", ""):
    atexit.register(os.abort)

class Ends(unittest.TestCase):
    def test_passes(self):
        pass
'''


class Foreign(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gv-foreign-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.makedirs(os.path.join(self.folder, "warp/tests"))
        for name, text in (("__init__.py", ""), ("tests/test_calls.py", CALLS), ("tests/test_dies.py", DIES),
                           ("tests/test_ends.py", ENDS)):
            with open(os.path.join(self.folder, "warp", name), "w", encoding="utf-8") as file:
                file.write(text)

    def foreign(self, *options, status):
        output = os.path.join(self.folder, "out")
        command = [sys.executable, "scripts/foreign", "-o", output, "--gpuverify", os.path.join(BUILD, "report/gpuverify"), *options]
        run = subprocess.run(command, cwd=CHECKOUT, env=dict(os.environ, PYTHONPATH=self.folder), capture_output=True, text=True,
                             check=False)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        with open(os.path.join(output, "results.json"), encoding="utf-8") as file:
            return json.load(file), run.stdout

    def test_compares_test_by_test(self):
        results, said = self.foreign("--suite", "warp", "--mode", "auto", "--limit", "5", status=0)
        plain, auto = results["warp"]["plain"], results["warp"]["modes"]["auto"]
        # The last ones run in other programs.
        self.assertEqual((plain["passed"], plain["begun"], results["warp"]["tests"]), (8, 2, 10), said)
        self.assertEqual([row[0] for row in auto["differ"]], ["test_calls.py::Calls::test_differs", "test_ends.py::(end)"], said)
        self.assertEqual([row[0] for row in auto["fickle"]], ["test_calls.py::Calls::test_fickle"], said)
        self.assertGreater(auto["calls"], 0)
        self.assertEqual((auto["traces"], auto["lost"], auto["bad"]), (1, 0, []))

    def test_runs_chosen_tests_only(self):
        results, said = self.foreign("--suite", "warp", "--mode", "again", "--choose", "2", status=0)
        self.assertEqual(results["warp"]["tests"], 2, said)

    def test_says_what_it_skips(self):
        results, said = self.foreign("--suite", "pycuda", "--sources", self.folder, status=0)
        self.assertEqual(results, {})
        self.assertRegex(said, "pycuda: skipped: (the package pycuda is not installed|no pycuda-)")


if __name__ == "__main__":
    unittest.main()
