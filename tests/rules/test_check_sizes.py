#!/usr/bin/env python3
"""tests/rules/check-sizes must notice a file that is too long."""

import os
import subprocess
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check-sizes")


class CheckSizes(unittest.TestCase):
    def check(self, files):
        with tempfile.TemporaryDirectory() as root:
            for path, lines in files.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write("x\n" * lines)
            done = subprocess.run([SCRIPT, root], text=True, stdout=subprocess.PIPE)
        return done.returncode, done.stdout

    def test_what_is_allowed(self):
        status, output = self.check({
            "report/read.c": 500, "preload/cuda_api.def": 3000, "tests/e2e/traces/a.sql": 600,
            "tests/e2e/traces/a.report.json": 600, "docs/performance/host.json": 600,
            "tests/build-gcc/made.c": 600})
        self.assertEqual(status, 0, output)

    def test_what_is_too_long(self):
        for path in ("report/read.c", "trace/spool.h", "tests/unit/report/test_read.c",
                     "tests/e2e/test_read.py", "scripts/bench", "tests/rules/check-it",
                     "report/other.def", "trace/views.sql"):
            status, output = self.check({path: 501, "report/short.c": 3})
            self.assertEqual(status, 1, path)
            self.assertIn(f"{path}: 501 lines are more than 500", output)

    def test_a_folder_without_sources_is_no_pass(self):
        self.assertEqual(self.check({})[0], 1)


if __name__ == "__main__":
    unittest.main()
