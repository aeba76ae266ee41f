"""gpuverify export --to parquet, and gpuverify fleet: on made-up traces whose truth is known. tests/fleet has more engines."""

import glob
import importlib
import json
import os
import re
import resource
import shlex
import signal
import sqlite3
import subprocess
import sys
import unittest

import harness
import stored
from test_python_package import OWN_SITE, PACKAGE, site_of

sys.path.insert(0, os.path.join(harness.SOURCE, "tests", "fleet"))
engines, generate, truth = map(importlib.import_module, ("engines", "generate", "truth"))

COUNT = 30
PACKAGES = {"GPUVERIFY_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join((PACKAGE, OWN_SITE))}
LACKING = [package for package in ("pyarrow", "duckdb") if site_of(package) is None]


class Case(harness.Case):
    def command(self, *words, env=None, **options):
        return super().command(*words, sim=False, env={**PACKAGES, **(env or {})}, **options)

    def make(self, count=COUNT, **options):
        self.fleet = generate.make(self.path("traces"), count, **options)
        return self.path("traces")

    def export(self, *words, **options):
        return self.command("export", "--to", "parquet", "fleet", *words, **options)

    def added(self):
        return glob.glob(self.path("fleet/v2/processes/**/trace-*.parquet"), recursive=True)

    def ask(self, sql):
        """The rows, from DuckDB in this process."""
        sys.path.append(OWN_SITE)
        return engines.duckdb(self.path("fleet"))(sql)

    def check_truth(self):
        for name, answer in truth.QUESTIONS.items():
            self.assertEqual(truth.differences(answer(self.fleet), self.ask(engines.fleet.question(name))), [], name)


@unittest.skipIf(LACKING, f"{' and '.join(LACKING)} are not installed: scripts/setup all")
class Export(Case):
    def test_every_question_has_the_true_answer(self):
        self.make()
        self.assertEqual(self.export("traces").out, f"{COUNT} added, 0 known already, 0 still being written, 0 failed\n")
        self.assertEqual(os.stat(self.path("fleet")).st_mode & 0o777, 0o700)
        self.check_truth()

    def test_names_of_folders_are_no_patterns(self):
        self.make(1)
        for folder in ("fle?t", "[f]leet", "fleet"):
            self.command("export", "--to", "parquet", folder, "traces")
            self.assertIn(",1,", self.command("fleet", folder, "gpu_hours", "--format", "csv").out, folder)
        os.rename(self.path("fleet"), self.path("team=x"))
        self.assertIn("takes a folder that is called NAME=VALUE", self.command("fleet", "team=x", "gpu_hours", status=3).err)

    def test_a_file_without_a_question(self):
        self.make(1)
        self.export("traces")
        self.write("empty.sql", "-- nothing yet")
        self.assertEqual(self.command("fleet", "fleet", "empty.sql", status=3).err, "gpuverify: the question has no SELECT\n")

    def test_a_second_time_adds_only_what_is_new(self):
        self.make()
        names = sorted(os.listdir(self.path("traces")))
        self.export(*(os.path.join("traces", name) for name in names[:10]))
        self.assertEqual(self.export("traces").out, f"{COUNT - 10} added, 10 known already, 0 still being written, 0 failed\n")
        self.assertIn(f"0 added, {COUNT} known", self.export("traces").out)
        self.check_truth()

    def test_it_goes_on_after_a_kill(self):
        import pyarrow.parquet
        self.make()
        for number in (1, 5, 12):
            process = subprocess.Popen([harness.gpuverify(), "export", "--to", "parquet", self.path("fleet"), self.path("traces")],
                                       env=self.environment(False, False, **PACKAGES),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            harness.wait_for(lambda n=number, it=process: it.poll() is not None or len(self.added()) >= n, "traces")
            process.send_signal(signal.SIGKILL)
            process.wait()
            for path in glob.glob(self.path("fleet/v2/**/*.parquet"), recursive=True):
                self.assertEqual(pyarrow.parquet.read_schema(path).metadata[b"gpuverify.schema"], b"2")
        self.assertIn(" 0 still being written, 0 failed\n", self.export("traces").out)
        self.assertFalse(os.path.exists(self.path("fleet/.part")))
        self.check_truth()

    def test_names_of_hosts_are_no_paths(self):
        self.make(20, hostile_every=2)
        self.export("traces")
        self.assertEqual({name for name in os.listdir(self.path("fleet")) if not name.startswith(".lock")}, {"v2"})
        self.assertFalse(os.path.exists(self.path("etc")) or os.path.exists(self.path("fleet/v2/etc")))
        self.assertEqual({host for host, in self.ask("SELECT DISTINCT host FROM processes")}, self.fleet.hosts)
        self.assertGreater(self.fleet.hosts, set(generate.HOSTILE))

    def test_what_cannot_be_written_leaves_nothing(self):
        self.make(3)
        self.export("traces", status=3, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)))
        self.assertEqual(glob.glob(self.path("fleet/v2/**/trace-*"), recursive=True), [])
        self.assertIn("3 added", self.export("traces").out)
        self.check_truth()

    def test_traces_that_are_none_or_not_finished(self):
        self.make(2)
        with sqlite3.connect(self.path("traces/00001.db")) as database:
            database.execute("UPDATE meta SET value = 'recording' WHERE key = 'state'")
        self.write("traces/text.db", "no database")
        with sqlite3.connect(self.write("traces/evil.db", "")) as database:
            database.executescript(f"PRAGMA application_id = {stored.APPLICATION_ID}; CREATE VIEW meta AS WITH RECURSIVE n(key, value) AS "
                                   "(SELECT 1, 1 UNION ALL SELECT key + 1, 1 FROM n) SELECT sum(key) AS key, value FROM n;")
        stored.make("hostile", self.path("traces/hostile.db"))
        os.mkfifo(self.path("traces/pipe.db"))
        done = self.export("traces", "none.db", status=3)
        self.assertEqual(done.out, "2 added, 0 known already, 1 still being written, 4 failed\n", done.err)
        for name in ("traces/text.db", "none.db", "traces/evil.db", "traces/pipe.db", "traces/00001.db is left for the next time"):
            self.assertIn(name, done.err)

    def test_labels(self):
        self.make(3)
        self.export("traces", "--label", "team=new", "--label=build=abc")
        self.assertEqual(self.ask("SELECT DISTINCT team, build FROM processes"), [("new", "abc")])
        for label in ("job=7", "team=", b"team=\xff"):
            self.assertIn("not one of team=VALUE, build=VALUE", self.export("traces", "--label", label, status=2).err)

    def test_calls_and_operations_on_request(self):
        stored.make("lazy_launch", self.path("lazy.db"))
        self.export("lazy.db", "--with", "calls", "--with", "gpu_ops")
        for view, columns in (("calls", "id, name, class, start_ns, duration_ns, result, kernel"),
                              ("gpu_ops", "id, kind, name, start_ns, duration_ns")):
            with sqlite3.connect(self.path("lazy.db")) as database:
                wanted = database.execute(f"SELECT {columns} FROM {view} ORDER BY id").fetchall()
            self.assertEqual(self.ask(f"SELECT {columns} FROM {view} ORDER BY id"), wanted)

    def test_time_of_which_only_sums_are_kept(self):
        stored.make("days", self.path("days.db"))
        self.export("days.db")
        wanted = [tuple(row.values()) for row in json.loads(self.command(
            "query", self.path("days.db"), "-f", "json", "SELECT name, sum(total_ns) FROM minutes WHERE what = 'idle'"
            " AND name IN ('data', 'python') GROUP BY name UNION ALL SELECT 'stall', sum(total_ns) FROM minutes WHERE what = 'stall'").out)]
        found = self.ask("SELECT what, SUM(account_ns) FROM ledger WHERE state = 'idle' AND what IN ('data', 'python') GROUP BY what "
                         "UNION ALL SELECT 'stall', SUM(lost_ns) FROM stalls")
        self.assertEqual(sorted(found), sorted(wanted))

    def test_one_at_a_time(self):
        import fcntl
        self.make(1)
        self.export("traces")
        with open(self.path("fleet/.lock"), "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertIn("another export writes to", self.export("traces", status=3).err)

    def test_the_commands_of_the_page(self):
        self.make(5)
        with open(os.path.join(harness.SOURCE, "docs", "fleets.md"), encoding="utf-8") as page:
            section = page.read().partition("## From a folder of traces")[2].partition("\n## ")[0]
        commands = re.findall(r"^    (gpuverify .*)$", section, re.M)
        self.assertEqual(len(commands), 3)
        said = [self.command(*shlex.split(line)[1:]).out for line in commands]
        self.assertTrue(said[0].startswith("5 added"))
        for name in truth.QUESTIONS:
            self.assertRegex(said[1], rf"(?m)^{name} +[A-Z]")
            self.assertIn(f"| `{name}` |", section)
        self.assertIn("saves_so_far", said[2])


class Words(Case):
    def test_what_is_wrong(self):
        for words, said in ((("fleet",), "--to parquet needs DIR and at least one TRACE"), (("fleet", "x", "-o", "y"), "-o have no effect"),
                            (("fleet", "x", "--anonymise"), "have no effect on --to parquet")):
            self.assertIn(said, self.command("export", "--to", "parquet", *words, status=2).err)
        self.assertIn("--label and --with need --to parquet", self.command("export", "--to", "folded", "--with", "calls", status=2).err)
        self.assertIn("no question is called 'x': build_regressions,", self.command("fleet", "fleet", "x", status=3).err)
        self.assertIn("nowhere has no exported traces", self.command("fleet", "nowhere", status=3).err)
        self.assertIn("fleet has no exported traces", self.command("fleet", "fleet", "gpu_hours", status=3).err)

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            words = [harness.gpuverify(), "fleet", "fleet", "gpu_hours", "--format=sql"]
            result = self.run_program(words, preload=False, stdout=full, env=PACKAGES)
        self.assertEqual((result.status, result.err), (3, "gpuverify: cannot write the output: No space left on device\n"))

    def test_without_the_package(self):
        """Nor is anything imported from the working folder."""
        os.mkdir(self.path("gpuverify"))
        self.write("gpuverify/__init__.py", "print('imported')")
        result = self.command("fleet", "fleet", status=3, env={"PYTHONPATH": self.path("nowhere")})
        self.assertEqual(result.out, "")
        self.assertIn("this needs gpuverify's Python package", result.err)
        self.assertIn("cannot start", self.command("fleet", "fleet", status=3, env={"GPUVERIFY_PYTHON": self.path("no-python")}).err)
