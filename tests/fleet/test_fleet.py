#!/usr/bin/env python3
"""A fleet of 500 made-up traces, and one of recorded ones: in DuckDB, on several workers of Spark, and in chDB every question has
the true answer, which is computed from the traces' rows without SQL and without what is exported.

  test_fleet.py BUILD [TEST...]     BUILD has been compiled

Needs pyarrow, duckdb, chdb, sqlglot, pyspark and Java 17: scripts/setup all brings them. Exits 77 without them.
"""

import glob
import importlib.util
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import engines
import generate
import recorded
import truth

BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
COMMAND = os.path.join(BUILD, "report", "gpuverify")
ENVIRONMENT = {**os.environ, "GPUVERIFY_PYTHON": sys.executable, "PYTHONPATH": os.path.join(engines.CHECKOUT, "python")}
MADE, REAL, SECONDS = 500, 20, 120
# Recorded on an H200: stored as they are. Those of tests/fleet/recorded were recorded on an H100.
STORED = ("lock_copy",)


class Fleet(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="gv-fleet-")
        cls.addClassCleanup(shutil.rmtree, cls.place)
        made, real = os.path.join(cls.place, "made"), os.path.join(cls.place, "real")
        cls.fleet, cls.real = generate.make(made, MADE), generate.Fleet()
        os.mkdir(real)
        recorded.unpack(real)
        for name in STORED:
            session = f"UPDATE meta SET value = '{name}' WHERE key = 'session'"
            generate.stored.make_anew(name, os.path.join(real, name + ".db"), session)
        cls.traces = sorted(glob.glob(os.path.join(real, "*.db")))
        for trace in cls.traces:
            recorded.read(COMMAND, trace, cls.real)
        cls.folder, cls.real_folder = os.path.join(cls.place, "fleet"), os.path.join(cls.place, "real-fleet")
        cls.export(cls.folder, made, MADE)
        cls.export(cls.real_folder, real, len(cls.traces))

    @classmethod
    def export(cls, folder, traces, count):
        done = subprocess.run([COMMAND, "export", "--to", "parquet", folder, traces], env=ENVIRONMENT,
                              capture_output=True, text=True, timeout=SECONDS, check=False)
        if done.returncode != 0 or done.stdout != f"{count} added, 0 known already, 0 still being written, 0 failed\n":
            raise AssertionError(str(done))

    def check_truth(self, engine):
        for folder, fleet in ((self.folder, self.fleet), (self.real_folder, self.real)):
            ask = engine(folder)
            for name, answer in truth.QUESTIONS.items():
                with self.subTest(name, folder=os.path.basename(folder)):
                    self.assertEqual(truth.differences(answer(fleet), ask(engines.fleet.question(name))), [])
            self.assertEqual(ask("SELECT COUNT(*) FROM processes"), [(len(fleet.processes),)])
            hosts = {host for host, in ask("SELECT DISTINCT host FROM processes")}
            self.assertEqual(hosts, {row.host or "none" for row in fleet.processes})

    def test_duckdb_says_the_truth(self):
        self.check_truth(engines.duckdb)

    def test_spark_says_the_truth(self):
        self.check_truth(engines.spark)

    def test_chdb_says_the_truth(self):
        self.check_truth(engines.chdb)

    def test_what_the_recorded_traces_are_known_to_hold(self):
        ask = engines.duckdb(self.real_folder)
        self.assertIn(("torch_tanh_busy", "lazy-load"), ask(
            "SELECT p.program, s.cause FROM stalls s JOIN processes p ON p.trace = s.trace AND p.process = s.process"))
        # One rank of two was 40 ms late in each step but the first five.
        self.assertEqual([row[:2] for row in ask(engines.fleet.question("slow_ranks"))], [("a job", 1)])

    def test_twenty_are_from_a_real_gpu(self):
        real = set()
        for trace in self.traces:
            with sqlite3.connect(trace) as database:
                real.update(trace for name, in database.execute("SELECT name FROM devices") if str(name).startswith("NVIDIA "))
        self.assertGreaterEqual(len(real), REAL, real)

    def test_each_question_parses_in_each_dialect_and_has_its_truth(self):
        import sqlglot
        self.assertEqual(sorted(engines.fleet.questions()), sorted(truth.QUESTIONS))
        for name in engines.fleet.questions():
            for dialect in engines.DIALECTS:
                with self.subTest(name, dialect=dialect):
                    self.assertEqual(len(sqlglot.parse(engines.fleet.question(name), dialect=dialect)), 1)

    def test_what_is_planted(self):
        duckdb = engines.duckdb(self.folder)
        self.assertIn(("train.py", "build-2", "build-3", "idle", "data", "data.py load_batch", 5.0, 20.0),
                      duckdb(engines.fleet.question("build_regressions")))
        self.assertEqual({row[:2] for row in duckdb(engines.fleet.question("late_loads"))}, {(12040, "/usr/lib/libcublas.so.12")})
        slow = duckdb(engines.fleet.question("slow_ranks"))
        self.assertEqual({(row[1], row[8]) for row in slow[:5]}, {(2, "augment.py:8 slow_augment")})


if __name__ == "__main__":
    lacking = [name for name in ("pyarrow", "duckdb", "pyspark", "chdb", "sqlglot") if not importlib.util.find_spec(name)]
    if lacking or not shutil.which("java"):
        print(f"{', '.join(lacking or ['java'])} is not installed: scripts/setup all")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], warnings="ignore")
