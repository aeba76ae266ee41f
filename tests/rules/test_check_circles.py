#!/usr/bin/env python3
"""tests/rules/check-circles must notice files that call each other in a circle."""

import unittest

from rule_case import RuleCase

ONE = "int gv_one(void)\n{\n    return gv_two(1);\n}\n"
TWO = "static int\ntwo(int n)\n{\n    return n;\n}\n\nconst int *gv_two(\n    int n)\n{\n    return two(n);\n}\n"
THREE = "int gv_three(void)\n{\n    return gv_list[0](gv_one);\n}\n"


class CheckCircles(RuleCase):
    script = "check-circles"

    def test_one_way(self):
        self.passes({"report/show/one.c": ONE, "report/show/two.c": TWO, "report/show/three.c": THREE})

    def test_names_that_are_no_calls(self):
        self.passes({"trace/one.c": ONE, "trace/two.c": "/* See gv_one(). */\n" + TWO + 'char name[] = "gv_one";\n'})

    def test_a_circle_of_two(self):
        self.fails({"report/collect/deep/one.c": ONE, "report/collect/deep/two.c": TWO.replace("two(n)", "gv_one()")},
                   "report/collect/deep: a circle: one.c calls gv_two of two.c, two.c calls gv_one of one.c")

    def test_a_circle_of_three(self):
        self.fails({"preload/base/one.c": ONE, "preload/base/two.c": TWO.replace("two(n)", "gv_three()"), "preload/base/three.c": THREE},
                   "one.c calls gv_two of two.c, two.c calls gv_three of three.c, three.c calls gv_one of one.c")


if __name__ == "__main__":
    unittest.main()
