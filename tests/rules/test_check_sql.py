#!/usr/bin/env python3
"""tests/rules/check-sql must notice long SQL in C, and SQL that nobody uses."""

import os
import subprocess
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check-sql")
USED = "-- define: all\n*\n-- name: first\nSELECT {all} FROM call;\n"


class CheckSql(unittest.TestCase):
    def check(self, **files):
        """The output, and whether it found nothing. A file is report/NAME.c, or .sql after sql_."""
        with tempfile.TemporaryDirectory() as root:
            os.mkdir(os.path.join(root, "report"))
            for name, text in files.items():
                path = name[4:] + ".sql" if name.startswith("sql_") else name + ".c"
                with open(os.path.join(root, "report", path), "w", encoding="utf-8") as file:
                    file.write(text)
            done = subprocess.run([SCRIPT, root], text=True, stdout=subprocess.PIPE)
        return done.returncode == 0, done.stdout

    def test_used(self):
        for use in ('#include "report/a.inc"\nask(sql_first);',
                    '#define GV_SQL(name, help, text) text,\n#include "report/a.inc"',
                    '#define GV_SQL(name, help, text) A_##name,\n#include "report/a.inc"\nask(A_first);'):
            good, output = self.check(sql_a=USED, a=use)
            self.assertTrue(good, output)

    def test_unused(self):
        for use in ('#include "report/a.inc"', 'ask(sql_first);',
                    '#define GV_SQL(name, help, text) A_##name,\n#include "report/a.inc"'):
            good, output = self.check(sql_a=USED, a=use)
            self.assertFalse(good, output)
            self.assertIn("report/a.sql:3: first is not used", output)

    def test_unused_definition(self):
        good, output = self.check(sql_a=USED.replace("{all}", "id"),
                                  a='#include "report/a.inc"\nask(sql_first);')
        self.assertFalse(good, output)
        self.assertIn("report/a.sql:1: all is not used", output)

    def test_length(self):
        good, output = self.check(a='ask("SELECT id"\n    " FROM call");\nputs("a" "b" "c");')
        self.assertTrue(good, output)
        good, output = self.check(a='\nask("SELECT id" /* why */\n    " FROM call"\n    " WHERE id");')
        self.assertFalse(good, output)
        self.assertIn("report/a.c:2: SQL of more than 2 lines", output)


if __name__ == "__main__":
    unittest.main()
