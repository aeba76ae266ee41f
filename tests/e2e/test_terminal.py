"""What the commands do on a terminal: its width, weights, progress, and Ctrl-C."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time

import harness
import stored

# Longer than anybody waits.
ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n"


class Terminal(harness.Case):
    def setUp(self):
        super().setUp()
        self.ours, self.theirs = pty.openpty()
        self.addCleanup(os.close, self.ours)
        self.resize(60)
        stored.make("lazy_launch", self.path("trace.db"))

    def resize(self, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def launch(self, *words, stdout=None, env=None):
        child = subprocess.Popen(
            [harness.gpuverify(), *words], cwd=self.path("."), stdin=subprocess.DEVNULL,
            stdout=stdout or self.theirs, stderr=self.theirs,
            env={"PATH": os.environ["PATH"], "TERM": "xterm", **(env or {})})
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def shown_until(self, done, seconds=30):
        """What the terminal got, until done(text), or nothing comes any more."""
        text, end = "", time.monotonic() + seconds
        while not done(text) and time.monotonic() < end:
            if select.select([self.ours], [], [], 0.1)[0]:
                text += os.read(self.ours, 65536).decode("utf-8", "replace")
        return text

    def shown(self, *words, env=None):
        child = self.launch(*words, env=env)
        self.assertEqual(child.wait(timeout=30), 0)
        return self.shown_until(lambda text: not select.select([self.ours], [], [], 0)[0] and text)

    def test_a_table_fits_the_terminal(self):
        for columns in (60, 72):
            self.resize(columns)
            lines = self.shown("query", "trace.db", "SELECT name, kernel, name AS again, kernel AS more,"
                               " start_ns FROM calls", env={"NO_COLOR": "1"}).splitlines()
            self.assertEqual(len(lines), 42)
            self.assertLessEqual(max(map(len, lines)), columns)
            self.assertIn("...", lines[-1] + lines[39])

    def test_weights_only_where_they_are_wanted(self):
        words = ("query", "trace.db", "SELECT 1 AS one")
        self.assertEqual(self.shown(*words), "\x1b[1mone\x1b[0m\r\n  1\r\n")
        self.assertEqual(self.shown(*words, env={"NO_COLOR": "1"}), "one\r\n  1\r\n")
        self.assertEqual(self.shown(*words, env={"TERM": "dumb"}), "one\r\n  1\r\n")
        self.assertEqual(self.command(*words, sim=False).out, "one\n  1\n")

    def test_values_are_harmless_on_a_terminal(self):
        self.assertEqual(self.shown("query", "trace.db", "--value", "SELECT char(27) || '[2J'"),
                         "\\x1b[2J\r\n")

    def test_progress_and_ctrl_c(self):
        with open(self.path("out"), "wb") as out:
            child = self.launch("query", "trace.db", ENDLESS, stdout=out)
            text = self.shown_until(lambda text: "3 s" in text)
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.wait(timeout=30), -signal.SIGINT)
        self.assertIn("\rgpuverify: asking the trace, 2 s \rgpuverify: asking the trace, 3 s ", text)
        self.assertEqual(os.path.getsize(self.path("out")), 0)

    def test_no_progress_where_nobody_looks(self):
        with open(self.path("err"), "wb") as err:
            child = subprocess.Popen([harness.gpuverify(), "query", self.path("trace.db"), ENDLESS],
                                     stdout=subprocess.DEVNULL, stderr=err)
            time.sleep(2.5)
            child.send_signal(signal.SIGINT)
            child.wait(timeout=30)
        self.assertEqual(os.path.getsize(self.path("err")), 0)
