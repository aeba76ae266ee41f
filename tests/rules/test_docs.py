#!/usr/bin/env python3
"""The links of the documents lead somewhere, and the indexes of docs/ name every page."""

import glob
import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = [path for pattern in ("*.md", "docs/*.md", "docs/internals/*.md") for path in sorted(glob.glob(os.path.join(CHECKOUT, pattern)))]


def text_of(path):
    """The page without its code."""
    with open(path, encoding="utf-8") as file:
        return re.sub(r"^```.*?^```", "", file.read(), flags=re.M | re.S)


def anchors(path):
    """The names that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", text_of(path), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


class Docs(unittest.TestCase):
    def test_links_lead_to_files_and_headings(self):
        for page in PAGES:
            for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
                name, _, anchor = link.partition("#")
                if re.match(r"\w+:", name):
                    continue
                target = os.path.normpath(os.path.join(os.path.dirname(page), name)) if name else page
                with self.subTest(page=os.path.relpath(page, CHECKOUT), link=link):
                    self.assertTrue(os.path.exists(target))
                    if anchor and target.endswith(".md"):
                        self.assertIn(anchor, anchors(target))

    def test_the_indexes_name_every_page(self):
        for folder in ("docs", "docs/internals"):
            index = text_of(os.path.join(CHECKOUT, folder, "README.md"))
            for page in PAGES:
                if os.path.relpath(os.path.dirname(page), CHECKOUT) == folder and os.path.basename(page) != "README.md":
                    with self.subTest(page=os.path.relpath(page, CHECKOUT)):
                        self.assertIn(f"({os.path.basename(page)})", index)


if __name__ == "__main__":
    unittest.main()
