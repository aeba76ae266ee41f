"""Tests of exported pages, which share a browser."""

import os
import subprocess
import sys
import tempfile
import unittest

import chromium


class Exported(unittest.TestCase):
    gpuverify = None  # set by main()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.browser = chromium.Browser()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.addClassCleanup(cls.browser.__exit__)

    def export_file(self, path):
        page = os.path.join(self.folder.name, f"{self.id()}.html")
        subprocess.run([self.gpuverify, "export", path, "--to", "html", "-o", page], check=True, stderr=subprocess.DEVNULL)
        return page

    def open_page(self, path, **how):
        page = self.browser.open("file://" + path, **how)
        self.addCleanup(lambda: self.assertEqual(page.problems, []))
        return page


def main():
    Exported.gpuverify = os.path.join(os.path.abspath(sys.argv.pop(1)), "report/gpuverify")
    if not chromium.program():
        print("no Chromium here")
        sys.exit(77)
    unittest.main(verbosity=2)
