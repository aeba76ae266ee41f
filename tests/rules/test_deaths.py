#!/usr/bin/env python3
"""What tests/deaths.py holds the program to is what the docs promise."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(CHECKOUT, "tests"))

import deaths  # noqa: E402


class Promises(unittest.TestCase):
    def test_each_is_in_its_page(self):
        for death in deaths.DEATHS:
            page, sentence = death.promise.split(": ", 1)
            with self.subTest(death=death.name), open(os.path.join(CHECKOUT, "docs", page + ".md"), encoding="utf-8") as file:
                self.assertIn(sentence, " ".join(file.read().split()))


if __name__ == "__main__":
    unittest.main()
