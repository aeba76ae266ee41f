"""The build fails at a column of which report/store/schema.def does not say what it has to."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STORE = os.path.join(ROOT, "report", "store")


# Statements that list a table's columns for values that C has, although GV_ADD does not need them: {table: why}.
LISTED = {"meta": "has two columns", "python_code": "its texts do not end with a NUL", "name": "is no table of a trace"}
PLAIN_INSERT = re.compile(r"INSERT (?:OR \w+ )?INTO (?:main\.)?(\w+) \([^)]*\)\s*VALUES \([?\d, ]+\)\s*[;\"]")


class Lists(unittest.TestCase):
    def test_columns_are_not_listed_again(self):
        """But for what the analysis finds, which has its own statements."""
        found = []
        for folder, _, names in os.walk(os.path.join(ROOT, "report")):
            for name in names:
                if name.endswith((".sql", ".c")) and os.sep + "analyse" not in folder:
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        found += [(name, table) for table in PLAIN_INSERT.findall(file.read()) if table not in LISTED]
        self.assertEqual(found, [], "use GV_ADD (report/store/row.h)")


class Schema(unittest.TestCase):
    def build(self, before, after):
        """What is said of the definition, with a line in place of another."""
        with open(os.path.join(STORE, "schema.def"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn(before, text)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "schema.def")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace(before, after, 1))
            result = subprocess.run([sys.executable, os.path.join(STORE, "embed-schema"), "columns", os.devnull, path],
                                    capture_output=True, text=True, check=False)
        return result.returncode, result.stderr.replace(folder + os.sep, "")

    def test_it_is_complete(self):
        self.assertEqual(self.build("\ntable stack", "\ntable stack"), (0, ""))

    def test_what_is_forgotten(self):
        for row, said in (("stream INTEGER", "load.stream: it is 'of stream', or 'plain'"),
                          ("since_ns INTEGER", "load.since_ns: it is a 'time', or a 'span'"),
                          ("owner TEXT", "load.owner: 'as' what is it anonymised?"),
                          ("any", "load.any: 'as' what is it anonymised?"),
                          ("owner INTEGER of person", "load.owner: there is no such table")):
            self.assertEqual(self.build("\ntable load\n", f"\ntable load\n    {row}\n"), (1, f"schema.def: {said}\n"), row)

    def test_what_is_not_understood(self):
        self.assertIn("what is 'off stack'?", self.build("of stack", "off stack")[1])
        self.assertIn("what is 'UNIQ as ours'?", self.build("PRIMARY KEY NOT NULL", "UNIQ")[1])
        self.assertIn("'merged'", self.build(": not merged", ": merged")[1])


if __name__ == "__main__":
    unittest.main()
