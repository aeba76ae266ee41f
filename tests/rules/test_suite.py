#!/usr/bin/env python3
"""What scripts/test prints and returns must be what its parts found."""

import contextlib
import io
import os
import sys
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import suite  # noqa: E402


def part(name, function, after=None):
    return suite.Part(f"self-{name}", function, suite.QUICK, after)


class Suite(unittest.TestCase):
    def run_suite(self, *parts):
        output = io.StringIO()
        with mock.patch.object(suite, "PARTS", parts), \
                mock.patch.object(sys, "argv", ["suite"]), contextlib.redirect_stdout(output):
            status = suite.main()
        return status, output.getvalue()

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


if __name__ == "__main__":
    unittest.main()
