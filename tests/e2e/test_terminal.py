"""The commands on a terminal: width, colours, progress, and Ctrl-C."""

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

# Longer than any wait.
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

    def shown_until(self, done, seconds=harness.SOON_S):
        """What the terminal got, until done(text), or nothing comes any more."""
        text, end = "", time.monotonic() + seconds
        while not done(text) and time.monotonic() < end:
            if select.select([self.ours], [], [], 0.1)[0]:
                text += os.read(self.ours, 65536).decode("utf-8", "replace")
        return text

    def shown(self, *words, env=None):
        child = self.launch(*words, env=env)
        self.assertEqual(child.wait(timeout=harness.PROGRAM_S), 0)
        return self.shown_until(lambda text: not select.select([self.ours], [], [], 0)[0] and text)

    def test_a_table_fits_the_terminal(self):
        """Numbers give way first; then text has lines of its own."""
        for columns in (60, 90, 140):
            self.resize(columns)
            lines = self.shown("query", "trace.db", "SELECT name, kernel, name AS again, kernel AS more,"
                               " start_ns FROM calls", env={"NO_COLOR": "1"}).splitlines()
            self.assertLessEqual(max(map(len, lines)), columns)
            self.assertEqual(any("    more: vectorized" in line for line in lines), columns < 140)
            self.assertIn("vectorized_elementwise_kernel<tanh>", "".join(lines))

    def test_columns_of_the_environment_win(self):
        words = ("query", "trace.db", "SELECT name, kernel, start_ns FROM calls")
        self.assertLessEqual(max(map(len, self.shown(*words, env={"COLUMNS": "40", "NO_COLOR": "1"}).splitlines())), 40)
        for columns, least, most in (("40", 20, 40), ("200", 60, 200), ("0", 60, 200), ("wide", 60, 200)):
            lines = self.command(*words, sim=False, env={"COLUMNS": columns}).out.splitlines()
            self.assertTrue(least < max(map(len, lines)) <= most, f"{columns}: {max(map(len, lines))}")

    def test_nothing_but_paths_is_wider_than_asked_for(self):
        stored.make("add", self.path("add.db"))
        stored.make("early_launch", self.path("after.db"))
        for words in (("report", "trace.db"), ("report", "add.db"), ("stalls", "trace.db"), ("explain", "trace.db"),
                      ("diff", "trace.db", "after.db"), ("diff", "trace.db", "add.db", "--all"),
                      ("query", "add.db", "kernels"),
                      ("help", "explain")):
            for columns in (60, 80):
                out = self.command(*words, sim=False, env={"COLUMNS": str(columns)}).out
                wide = [line for line in out.splitlines() if len(line) > columns]
                self.assertEqual(wide, [], f"{' '.join(words)} in {columns} columns")
        narrow, wide = (self.command("schema", "stalls", sim=False, env={"COLUMNS": columns}).out.splitlines()
                        for columns in ("60", ""))
        self.assertLessEqual(max(map(len, narrow[1:])), 60)
        self.assertLess(len(wide), len(narrow))

    def test_commands_and_quantities_stay_in_one_line(self):
        stored.make("add", self.path("add.db"))
        with open(self.path("start"), "w", encoding="utf-8") as script:
            script.write("#!/bin/sh\n")
        os.chmod(self.path("start"), 0o755)
        path = f"{self.dir}:{os.environ['PATH']}"
        for words, whole in ((("report", "add.db", "-s", "findings"), " --section errors)"),
                             (("doctor", "--no-trial", "start", "x"), "gpuverify run -- start x;")):
            for columns in range(60, 100, 7):
                out = self.command(*words, sim=False, status=None, env={"COLUMNS": str(columns), "PATH": path}).out
                self.assertIn(whole, out, f"{columns} columns")
                self.assertNotRegex(out, r"\(\S*gpuverify\n", f"{columns} columns")

    def test_broken_rules_begin_at_the_left(self):
        out = self.command("check", "trace.db", "--max-stall", "1ms", sim=False, status=1, env={"COLUMNS": "60"}).out
        self.assertRegex(out, r"\Abroken: max-stall 1ms: .*\n    \S")

    def test_a_cut_keeps_what_tells_texts_apart(self):
        names = [f"{start}_of_a_kernel_with_a_long_name_{end}" for start in ("add",) for end in ("one", "two", "six")]
        for rows in (names, [name[::-1] for name in names]):
            sql = " UNION ALL ".join(f"SELECT '{name}', 1234567890123" for name in rows)
            lines = self.command("query", "trace.db", sql, sim=False, env={"COLUMNS": "32"}).out.splitlines()
            cut = [line.split()[0] for line in lines[1:4]]
            self.assertEqual(len(set(cut)), 3, lines)
            self.assertTrue(all("..." in name for name in cut), lines)

    def test_what_differs_far_from_the_start_is_kept(self):
        sql = " UNION ALL ".join(f"SELECT '{'a' * 50}{i}{'b' * 30}' AS name" for i in range(3))
        lines = self.command("query", "trace.db", sql, sim=False, env={"COLUMNS": "40"}).out.splitlines()
        self.assertEqual([line.strip("ab") for line in lines[1:]],
                         [f"...{'a' * 10}{i}" for i in range(3)])

    def test_columns_that_do_not_fit_are_named(self):
        sql = "SELECT " + ", ".join(f"1000000000000 + {i} AS c{i}" for i in range(8))
        out = self.command("query", "trace.db", sql, sim=False, env={"COLUMNS": "50"}).out
        self.assertIn("1000000000002", out)
        self.assertNotIn("1000000000003", out)
        self.assertIn("not shown here: c3, c4, c5, c6, c7", out)
        self.assertNotIn("not shown", self.command("query", "trace.db", sql, sim=False).out)

    def test_weights_only_where_they_are_wanted(self):
        words = ("query", "trace.db", "SELECT 1 AS one")
        self.assertEqual(self.shown(*words), "\x1b[1mone\x1b[0m\r\n  1\r\n")
        self.assertEqual(self.shown(*words, env={"NO_COLOR": "1"}), "one\r\n  1\r\n")
        self.assertEqual(self.shown(*words, env={"TERM": "dumb"}), "one\r\n  1\r\n")
        self.assertEqual(self.command(*words, sim=False).out, "one\n  1\n")

    def test_values_are_harmless_on_a_terminal(self):
        self.assertEqual(self.shown("query", "trace.db", "--value", "SELECT char(27) || '[2J'"),
                         "\\x1b[2J\r\n")

    def test_pages_and_binaries_are_not_for_a_terminal(self):
        for name, shown in (("html", False), ("perfetto", False), ("svg", False), ("folded", True), ("openmetrics", True)):
            child = self.launch("export", "trace.db", "--to", name)
            text = self.shown_until(lambda _, child=child: child.poll() is not None
                                    and not select.select([self.ours], [], [], 0)[0])
            self.assertEqual(child.returncode, 0 if shown else 2, name)
            if not shown:
                self.assertIn(f"--to {name} does not write to a terminal: use -o FILE", " ".join(text.split()))
                self.assertEqual(self.launch("export", "trace.db", "--to", name, "-o", "out", "--force").wait(harness.PROGRAM_S), 0)

    def test_progress_and_ctrl_c(self):
        with open(self.path("out"), "wb") as out:
            child = self.launch("query", "trace.db", ENDLESS, stdout=out)
            text = self.shown_until(lambda text: "3 s" in text)
            child.send_signal(signal.SIGINT)
            self.assertEqual(child.wait(timeout=harness.PROGRAM_S), -signal.SIGINT)
        self.assertIn("\rgpuverify: asking the trace, 2 s \rgpuverify: asking the trace, 3 s ", text)
        self.assertEqual(os.path.getsize(self.path("out")), 0)

    def test_no_progress_where_nobody_looks(self):
        with open(self.path("err"), "wb") as err:
            child = subprocess.Popen([harness.gpuverify(), "query", self.path("trace.db"), ENDLESS],
                                     stdout=subprocess.DEVNULL, stderr=err)
            time.sleep(2.5)
            child.send_signal(signal.SIGINT)
            child.wait(timeout=harness.PROGRAM_S)
        self.assertEqual(os.path.getsize(self.path("err")), 0)
