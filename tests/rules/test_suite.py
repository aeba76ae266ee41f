#!/usr/bin/env python3
"""What scripts/test prints and returns must be what its parts found."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import suite  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(suite.__file__), "e2e"))
import harness  # noqa: E402
import run as end_to_end  # noqa: E402


def part(name, function, after=None):
    return suite.Part(f"self-{name}", function, suite.QUICK, after)


class Suite(unittest.TestCase):
    def run_suite(self, *parts, words=()):
        output = io.StringIO()
        with mock.patch.object(suite, "PARTS", parts), \
                mock.patch.object(sys, "argv", ["suite", *words]), contextlib.redirect_stdout(output):
            status = suite.main()
        return status, output.getvalue()

    def test_the_list_installs_nothing(self):
        with tempfile.TemporaryDirectory() as checkout:
            for folder in ("tests", "scripts"):
                os.mkdir(os.path.join(checkout, folder))
            for name in ("scripts/test", "tests/suite.py"):
                os.symlink(os.path.join(suite.CHECKOUT, name), os.path.join(checkout, name))
            with open(os.path.join(checkout, "scripts/setup"), "w", encoding="utf-8") as setup:
                setup.write("#!/bin/sh\necho installs\n")
            os.chmod(setup.name, 0o755)
            for words in ("--list", "--all --list", "--help"):
                listed = subprocess.run([os.path.join(checkout, "scripts/test"), *words.split()],
                                        stdout=subprocess.PIPE, text=True, check=True)
                self.assertNotIn("installs", listed.stdout)
                self.assertIn("valgrind", listed.stdout)

    def test_all_passed(self):
        status, output = self.run_suite(part("a", lambda run: run.passed("one")),
                                        part("b", lambda run: run.test("two", "true")))
        self.assertEqual(status, 0)
        self.assertEqual(output.splitlines()[-1], "2 passed, 0 failed, 0 skipped")

    def test_a_command_that_fails(self):
        status, output = self.run_suite(part("a", lambda run: run.test("one", "false")))
        self.assertEqual(status, 1)
        self.assertIn("FAILED one: exit status 1", output)
        self.assertEqual(output.splitlines()[-1], "0 passed, 1 failed, 0 skipped")

    def test_a_command_with_a_second_try(self):
        with tempfile.TemporaryDirectory() as folder:
            words = ("sh", "-c", "mkdir \"$1\" && echo busy && exit 1 || exit \"$2\"", "sh")
            status, output = self.run_suite(
                part("a", lambda run: run.test("one", *words, os.path.join(folder, "a"), "0", again=True)),
                part("b", lambda run: run.test("two", *words, os.path.join(folder, "b"), "1", again=True)))
        self.assertEqual(status, 1)
        self.assertRegex(output, r"(?m)^flaky one: passed when run again; it had failed with: exit status 1\n +busy$")
        self.assertIn("FAILED two: exit status 1", output)
        self.assertEqual(output.splitlines()[-1], "1 passed, 1 failed, 0 skipped")

    def test_a_skip_says_why(self):
        def skips(run):
            suite.tool("no-such-command-anywhere")
        status, output = self.run_suite(part("a", skips))
        self.assertEqual(status, 0)
        self.assertIn("SKIPPED self-a: no-such-command-anywhere is not installed", output)
        self.assertEqual(output.splitlines()[-1], "0 passed, 0 failed, 1 skipped")

    def test_a_part_that_breaks_is_a_failure(self):
        def breaks(run):
            raise KeyError("oops")
        status, output = self.run_suite(part("a", breaks), part("b", lambda run: run.passed("x")))
        self.assertEqual(status, 1)
        self.assertEqual(output.splitlines()[-1], "1 passed, 1 failed, 0 skipped")

    def test_a_program_that_hangs_is_a_failure(self):
        status, output = self.run_suite(
            part("a", lambda run: run.test("one", "sleep", "60", timeout=0.2)))
        self.assertEqual(status, 1)
        self.assertIn("timed out", output)

    def test_quick_usual_and_all(self):
        parts = [suite.Part(f"self-{name}", lambda run: run.passed("x"), when, None)
                 for name, when in (("quick", suite.QUICK), ("usual", suite.USUAL), ("long", suite.LONG))]
        for words, count in (([], 2), (["--quick"], 1), (["--all"], 3), (["self-long"], 1)):
            _, output = self.run_suite(*parts, words=words)
            self.assertEqual(output.splitlines()[-1], f"{count} passed, 0 failed, 0 skipped", words)


class SecondTry(unittest.TestCase):
    """A failed end-to-end test runs once more, twice if it depends on time, and what passes then is not hidden."""

    def results_of(self, body):
        with tempfile.TemporaryDirectory() as folder:
            before = os.path.join(folder, "before")

            class Example(unittest.TestCase):
                def runTest(self):
                    with open(before, "a+", encoding="utf-8") as file:
                        file.write("x")
                        file.flush()
                        body(self, file.tell())

            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                results = end_to_end.run_all([Example()], 1, False)
        return results.counts, output.getvalue()

    def test_failed_once(self):
        def body(case, time):
            harness.pause(0)
            case.assertGreater(time, 1, "busy")
        counts, output = self.results_of(body)
        self.assertEqual(counts, {"passed": 1, "failed": 0, "skipped": 0})
        self.assertRegex(output, r"^flaky .*Example.*: passed when run again \(it waits a fixed time.*\); it had failed with: .*busy")

    def test_failed_twice(self):
        def body(case, time):
            harness.pause(0)
            case.assertGreater(time, 2, "busy")
        counts, output = self.results_of(body)
        self.assertEqual(counts, {"passed": 1, "failed": 0, "skipped": 0})
        self.assertRegex(output, r"(?s)^flaky .*Example.*with: .*busy.*and then with: .*busy")

    def test_failed_thrice(self):
        def body(case, time):
            harness.pause(0)
            case.fail(("busy", "still", "for ever")[time - 1])
        counts, output = self.results_of(body)
        self.assertEqual(counts, {"passed": 0, "failed": 1, "skipped": 0})
        self.assertRegex(output, r"(?s)^failed .*for ever\n.*before that: .*still\n.*before that: .*busy")

    def test_nobody_has_said_that_it_depends_on_time(self):
        for passes_at, word in ((2, "flaky"), (3, "failed")):
            counts, output = self.results_of(lambda case, time, least=passes_at: case.assertGreaterEqual(time, least, "wrong"))
            self.assertEqual(counts["failed"], word == "failed")
            self.assertRegex(output, rf"(?s)^{word} .*Example.*wrong")
            self.assertEqual("nobody has said" in output, word == "flaky")


class Sandbox(harness.Case):
    def test_kills_no_process_of_a_case_whose_spool_directory_has_the_same_name(self):
        self.spool = self.path("spools")
        env = {"GPUVERIFY_SPOOL_DIR": "/of/another/case/spools"}
        with subprocess.Popen(["sleep", "100"], env=env, stdin=subprocess.DEVNULL) as other:
            try:
                mine = self.start(["sleep", "100"], preload=False)
                self.assertEqual(self.processes(), [mine.pid])
            finally:
                other.kill()


if __name__ == "__main__":
    unittest.main()
