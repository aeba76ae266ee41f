#!/usr/bin/env python3
"""tests/rules/check-sql must notice long SQL in C, and SQL that nobody uses."""

import unittest

from rule_case import RuleCase

USED = "-- define: all\n*\n-- name: first\nSELECT {all} FROM call;\n"


class CheckSql(RuleCase):
    script = "check-sql"

    def good(self, **files):
        """Whether it found nothing, and the output. A file is report/NAME.c, or .sql after sql_."""
        status, output = self.check({"report/" + (name[4:] + ".sql" if name.startswith("sql_") else name + ".c"): text
                                     for name, text in files.items()})
        return status == 0, output

    def test_used(self):
        for use in ('#include "report/a.inc"\nask(sql_first);',
                    '#define GV_SQL(name, help, text) text,\n#include "report/a.inc"',
                    '#define GV_SQL(name, help, text) A_##name,\n#include "report/a.inc"\nask(A_first);'):
            good, output = self.good(sql_a=USED, a=use)
            self.assertTrue(good, output)

    def test_unused(self):
        for use in ('#include "report/a.inc"', 'ask(sql_first);',
                    '#define GV_SQL(name, help, text) A_##name,\n#include "report/a.inc"'):
            good, output = self.good(sql_a=USED, a=use)
            self.assertFalse(good, output)
            self.assertIn("report/a.sql:3: first is not used", output)

    def test_unused_definition(self):
        good, output = self.good(sql_a=USED.replace("{all}", "id"),
                                  a='#include "report/a.inc"\nask(sql_first);')
        self.assertFalse(good, output)
        self.assertIn("report/a.sql:1: all is not used", output)

    def test_readers(self):
        for sql, problem in (("SELECT bytes FROM call WHERE id = ?", None), ("SELECT 1 FROM call", "come from report/pass"),
                             ("SELECT 1 FROM gpu_op o WHERE o.start_ns > ?", "come from report/pass")):
            status, output = self.check({"report/analyse/a.c": f'ask("{sql}");'})
            self.assertEqual(problem is None, status == 0, output)
            self.assertIn(problem or "0 problems", output)

    def test_length(self):
        good, output = self.good(a='ask("SELECT id"\n    " FROM call");\nputs("a" "b" "c");')
        self.assertTrue(good, output)
        good, output = self.good(a='\nask("SELECT id" /* why */\n    " FROM call"\n    " WHERE id");')
        self.assertFalse(good, output)
        self.assertIn("report/a.c:2: SQL of more than 2 lines", output)


if __name__ == "__main__":
    unittest.main()
