#!/usr/bin/env python3
"""tests/rules/check-circles must notice files that call each other in a circle."""

import os
import subprocess
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check-circles")
ONE = "int gv_one(void)\n{\n    return gv_two(1);\n}\n"
TWO = "static int\ntwo(int n)\n{\n    return n;\n}\n\nconst int *gv_two(\n    int n)\n{\n    return two(n);\n}\n"
THREE = "int gv_three(void)\n{\n    return gv_list[0](gv_one);\n}\n"


class CheckCircles(unittest.TestCase):
    def check(self, folder, files):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, folder))
            for name, text in files.items():
                with open(os.path.join(root, folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            done = subprocess.run([SCRIPT, root], text=True, stdout=subprocess.PIPE)
        return done.returncode, done.stdout

    def passes(self, folder, files):
        status, output = self.check(folder, files)
        self.assertEqual(status, 0, output)

    def fails(self, folder, files, message):
        status, output = self.check(folder, files)
        self.assertEqual(status, 1, output)
        self.assertIn(message, output)

    def test_one_way(self):
        self.passes("report/show", {"one.c": ONE, "two.c": TWO, "three.c": THREE})

    def test_names_that_are_no_calls(self):
        self.passes("trace", {"one.c": ONE, "two.c": "/* See gv_one(). */\n" + TWO + 'char name[] = "gv_one";\n'})

    def test_a_circle_of_two(self):
        self.fails("report/collect/deep", {"one.c": ONE, "two.c": TWO.replace("two(n)", "gv_one()")},
                   "report/collect/deep: a circle: one.c calls gv_two of two.c, two.c calls gv_one of one.c")

    def test_a_circle_of_three(self):
        self.fails("preload/base", {"one.c": ONE, "two.c": TWO.replace("two(n)", "gv_three()"), "three.c": THREE},
                   "one.c calls gv_two of two.c, two.c calls gv_three of three.c, three.c calls gv_one of one.c")

    def test_a_folder_that_may_and_has_none(self):
        self.passes("report/collect", {"one.c": ONE, "two.c": TWO.replace("two(n)", "gv_one()")})
        self.fails("report/collect", {"one.c": ONE, "two.c": TWO}, "report/collect: no circle is left")


if __name__ == "__main__":
    unittest.main()
