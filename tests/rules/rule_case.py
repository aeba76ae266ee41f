"""What the tests of the rules share: a rule is checked on a few files."""

import os
import subprocess
import tempfile
import unittest


class RuleCase(unittest.TestCase):
    script = ""  # its name in tests/rules

    def check(self, files):
        """The exit status and the output for files, each a path and its text."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            script = os.path.join(os.path.dirname(os.path.abspath(__file__)), self.script)
            done = subprocess.run([script, root], text=True, stdout=subprocess.PIPE)
        return done.returncode, done.stdout

    def passes(self, files):
        status, output = self.check(files)
        self.assertEqual(status, 0, output)

    def fails(self, files, message):
        status, output = self.check(files)
        self.assertEqual(status, 1, output)
        self.assertIn(message, output)
