#!/usr/bin/env python3
"""tests/rules/check-includes must notice an include that breaks a rule."""

import os
import subprocess
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check-includes")


class CheckIncludes(unittest.TestCase):
    def check(self, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            done = subprocess.run([SCRIPT, root], text=True, stdout=subprocess.PIPE)
        return done.returncode, done.stdout

    def passes(self, files):
        status, output = self.check(files)
        self.assertEqual(status, 0, output)

    def fails(self, files, message):
        status, output = self.check(files)
        self.assertEqual(status, 1, output)
        self.assertIn(message, output)

    def test_what_is_allowed(self):
        self.passes({"preload/hooks.c": '#include "trace/spool.h"\n#include <cuda.h>\n',
                     "trace/spool.h": "#include <stdint.h>\n#include <sys/mman.h>\n",
                     "report/store/database.c": '#include "trace/spool.h"\n#include <sqlite3.h>\n',
                     "tests/sim/profiler.c": "#include <cupti.h>\n"})

    def test_sqlite_in_the_preload(self):
        self.fails({"preload/hooks.c": "#include <sqlite3.h>\n"}, "preload/hooks.c:1: sqlite3.h")

    def test_sqlite_in_a_header_that_the_preload_uses(self):
        self.fails({"preload/hooks.c": '#include "trace/spool.h"\n',
                    "trace/spool.h": "#include <sqlite3.h>\n"}, "through preload/hooks.c")

    def test_sqlite_in_the_source_behind_such_a_header(self):
        self.fails({"preload/hooks.c": '#include "trace/spool.h"\n', "trace/spool.h": "",
                    "trace/spool.c": "#include <sqlite3.h>\n"}, "trace/spool.c:1: sqlite3.h")

    def test_cupti_outside_its_rooms(self):
        self.fails({"report/read.c": "#include <cupti.h>\n"}, "cupti.h belongs in")

    def test_the_preload_using_the_report(self):
        self.fails({"preload/hooks.c": '#include "report/read.h"\n', "report/read.h": ""},
                   "preload/ may not use report/")

    def test_the_trace_using_the_preload(self):
        self.fails({"trace/spool.c": '#include "preload/hooks.h"\n', "preload/hooks.h": ""},
                   "trace/ may not use preload/")

    def test_an_include_relative_to_its_file(self):
        self.fails({"report/read.c": '#include "read.h"\n', "report/read.h": ""},
                   "includes start at the project's root")


if __name__ == "__main__":
    unittest.main()
