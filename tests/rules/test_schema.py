"""The build fails at a column of which report/store/schema.def does not say what it has to."""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STORE = os.path.join(ROOT, "report", "store")


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
