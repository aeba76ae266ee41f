"""The Python package, python/gpuverify: ranges of a program, traces in Python, and the plugin for pytest."""

import importlib.machinery
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import unittest

import harness

PACKAGE = os.path.join(harness.SOURCE, "python")
IDLE = os.path.join(harness.SOURCE, "kernels", "idle")  # gpu.py
CUPTI = os.path.join(harness.simulator(), "libcupti.so.13")

# This Python's packages, or those that scripts/setup installs.
OWN_SITE = os.path.join(harness.SOURCE, ".venv", f"lib/python{sys.version_info.major}.{sys.version_info.minor}", "site-packages")


def site_of(package):
    """The folder to import it from; None if it is not installed."""
    found = importlib.machinery.PathFinder.find_spec(package) or importlib.machinery.PathFinder.find_spec(package, [OWN_SITE])
    return found and os.path.dirname(os.path.dirname(found.origin))


NAMES = """
import ctypes
import gpuverify

assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 0

@gpuverify.range("decorated")
def work(depth):
    "It works."
    if depth:
        work(depth - 1)
    else:
        raise KeyError

try:
    with gpuverify.range("forw\\u00e4rts"):
        work(1)
except KeyError:
    gpuverify.mark("epoch 2")
print(work.__name__, work.__doc__)
try:
    @gpuverify.range("later")
    async def later():
        pass
except TypeError as why:
    print(why)
"""

PARTS = """
import ctypes
import gpuverify

device, cuda = ctypes.c_int(), ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
gpuverify.stop()
cuda.cuDeviceGetCount(ctypes.byref(device))
gpuverify.start()
"""

# A load behind a busy GPU, which takes some 200 ms, and the trace while the program still runs.
RUNNING = """
import ctypes, os
import gpu, gpuverify

@gpuverify.range("load")
def load():
    gpu.call("cuModuleLoadData", ctypes.byref(ctypes.c_void_p()), gpu.PTX.replace(b"spin(", b"other("))

gpu.start()
gpu.launch(200)
load()
with gpuverify.open(os.environ["GPUVERIFY_TRACE"]) as trace:
    print([range.message for range in trace.ranges])
    print([stall.where for stall in trace.stalls if stall.cause == "module-load"])
    print([call.name for call in trace.calls].count("cuModuleLoadData"))
    print(len(trace.findings) > 0)
    print(trace.path == os.environ["GPUVERIFY_TRACE"], os.environ["TMPDIR"] in str(trace.findings))
print(os.listdir(os.environ["TMPDIR"]))
"""

TESTS = """
import ctypes
import threading
import time
import unittest

import gpu
import pytest


def load(name):
    gpu.call("cuModuleLoadData", ctypes.byref(ctypes.c_void_p()), gpu.PTX.replace(b"spin(", name))


@pytest.fixture(scope="module", autouse=True)
def warm_up():
    gpu.start()
    gpu.launch(200)
    load(b"warm(")


def test_launches():
    gpu.launch(1)
    time.sleep(0.15)


def test_waits():
    gpu.launch(200)
    gpu.call("cuStreamSynchronize", gpu._stream)


class Loads(unittest.TestCase):
    def test_busy(self):
        gpu.launch(300)
        load(b"busy(")


def in_thread():
    gpu.bind()
    gpu.launch(300)
    load(b"thread(")


def test_in_another_thread():
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()


@pytest.mark.xfail
def test_known_to_load():
    gpu.launch(300)
    load(b"known(")
"""


# Integers that no floating point number has, unknown values, and columns with several types.
FRAME = """
SELECT id, name, stack, CASE id WHEN 1 THEN (1 << 62) + 1 END AS large, CASE id WHEN 2 THEN 2 WHEN 3 THEN 2.5 END AS number,
    CASE id WHEN 2 THEN 3 WHEN 3 THEN 'x' END AS mixed, NULL AS unknown
FROM calls"""


class Recording(harness.Case):
    def run_text(self, text, **options):
        return self.run_twice([sys.executable, "-B", self.write("program.py", text)], env={"PYTHONPATH": PACKAGE}, **options)

    def test_ranges_and_marks(self):
        result = self.run_text(NAMES)
        self.assertRegex(result.out, r"\Awork It works\.\ngpuverify\.range cannot decorate .* coroutine function")
        self.assertEqual(self.trace().rows("SELECT kind, message, depth, duration_ns IS NULL FROM ranges ORDER BY id"),
                         [("push", "forw\u00e4rts", 0, 0), ("push", "decorated", 1, 0), ("push", "decorated", 2, 0),
                          ("mark", "epoch 2", None, 0)])

    def test_start_and_stop(self):
        self.run_text(PARTS)
        self.assertEqual(self.trace().value("SELECT count(*) FROM recording WHERE side = 'calls'"), 2)

    def test_costs_nothing_without_the_library(self):
        program = "import gpuverify, sys\ndef work(): pass\nprint(gpuverify.range('x')(work) is work, 'sqlite3' in sys.modules)"
        result = self.run_well([sys.executable, "-B", "-c", program], preload=False, env={"PYTHONPATH": PACKAGE})
        self.assertEqual(result.out, "True False\n")


def path_with_command():
    return os.path.dirname(harness.gpuverify()) + os.pathsep + os.environ["PATH"]


class Traces(harness.Case):
    gpu = "auto"

    def setUp(self):
        super().setUp()
        self.run_program([harness.workload("load_in_loop"), "3"], env={"GPUVERIFY_CUPTI": CUPTI})
        self.path_of_trace = self.trace().path
        os.environ["PATH"] = path_with_command()  # a case has a process of its own
        sys.dont_write_bytecode = True
        sys.path.insert(0, PACKAGE)
        import gpuverify
        self.gpuverify = gpuverify

    def open(self, path=None):
        trace = self.gpuverify.open(path or self.path_of_trace)
        self.addCleanup(trace.close)
        return trace

    def test_every_view_has_the_rows_that_sql_has(self):
        trace, plain = self.open(), self.trace()
        self.assertIn("gpu_ops", dir(trace))
        for view in trace.views:
            if view not in ("stalls", "idle"):
                self.assertEqual([tuple(row) for row in getattr(trace, view)], plain.rows(f"SELECT * FROM {view}"), view)
                self.assertEqual(getattr(trace, view).columns, plain.columns(view))
        self.assertEqual([call.class_ for call in trace.calls], [row[0] for row in plain.rows("SELECT class FROM calls")])
        named = trace.query("SELECT name, count(*) AS count FROM calls WHERE name = ? GROUP BY name", ("cuModuleLoadData",))
        self.assertEqual([(row.name, row.count) for row in named], [("cuModuleLoadData", 3)])
        with self.assertRaises(AttributeError):
            trace.other.clear()

    def test_a_name_of_an_earlier_version_gets_what_replaces_it(self):
        trace = self.open()
        for of, name, wanted in ((trace, "verdict", "findings"), (trace.findings[0], "class_", "what"),
                                 (trace.findings[0], "evidence", "title")):
            with self.assertRaisesRegex(AttributeError, f"'{name}'; '{wanted}' replaces it"):
                getattr(of, name)

    def test_findings_stalls_and_idle_are_the_commands(self):
        trace = self.open()
        said = json.loads(self.command("report", self.path_of_trace, "-s", "findings", "-f", "json").out)
        self.assertEqual([finding._asdict() for finding in trace.findings], said["findings"])
        self.assertEqual([fact._asdict() for fact in trace.findings.facts], said["facts"])
        self.assertRegex(str(trace.findings), r"(?m)^f1 \S+, [\d.]+ ms( a step)?, \d+ % of \w+: ")
        for name in ("stalls", "idle"):
            listed = self.command(name, self.path_of_trace, "--format", "csv").out.splitlines()
            self.assertEqual(getattr(trace, name).columns, listed[0].split(","))
            self.assertEqual(len(list(getattr(trace, name))), len(listed) - 1)
        self.assertIn("load_in_loop.c:26 load_filter", [stall.where for stall in trace.stalls])

    def test_writes_nothing_and_refuses_what_is_no_trace(self):
        before = open(self.path_of_trace, "rb").read()
        with self.assertRaises(sqlite3.OperationalError):
            list(self.open().query("DELETE FROM call"))
        with self.assertRaises(sqlite3.DatabaseError):
            list(self.open().query(f"ATTACH '{self.path('new.db')}' AS new"))
        self.assertFalse(os.path.exists(self.path("new.db")))
        self.assertEqual(open(self.path_of_trace, "rb").read(), before)
        other = self.path("other.db")
        with sqlite3.connect(other) as database:
            database.execute("CREATE TABLE meta (key, value)")
        from gpuverify.trace import TraceError
        os.mkfifo(self.path("pipe.db"))
        for path in (other, self.write("text.db", "no database"), self.path("none.db"), self.path("pipe.db")):
            with self.assertRaisesRegex(TraceError, re.escape(path)):
                self.gpuverify.open(path)

    def test_a_strangers_trace(self):
        with sqlite3.connect(self.path_of_trace) as database:
            database.executescript("""
                CREATE VIEW evil AS SELECT CAST(x'ff41' AS TEXT) AS "class", 1 AS "_x", 2 AS "a b", 3 AS "a b";
                CREATE VIEW reads AS SELECT load_extension('/bin/true');
                CREATE VIEW "query" AS SELECT 1; CREATE VIEW "x"" y" AS SELECT 1;""")
        trace = self.open()
        self.assertEqual([tuple(row) for row in trace.evil], [("\ufffdA", 1, 2, 3)])
        with self.assertRaises(sqlite3.OperationalError):
            list(trace.reads)
        self.assertTrue(callable(trace.query))
        self.assertEqual([name for name in trace.views if not name.isidentifier()], [])

    def frame(self, package, kind):
        site = site_of(package)
        if site is None:
            self.skipTest(f"no {package} is installed: scripts/setup all")
        sys.path.append(site)
        return self.open().query(FRAME).frame(kind)

    def check_frame(self, rows, count):
        expected = self.trace().rows(FRAME.replace("WHEN 2 THEN 2 WHEN 3 THEN 2.5", "WHEN 2 THEN 2.0 WHEN 3 THEN 2.5")
                                     .replace("WHEN 2 THEN 3 WHEN 3 THEN 'x'", "WHEN 2 THEN '3' WHEN 3 THEN 'x'"))
        self.assertEqual(count, len(expected))
        self.assertEqual(rows, expected)

    def test_pandas(self):
        frame = self.frame("pandas", "pandas")
        import pandas
        rows = [tuple(None if pandas.isna(value) else value for value in row) for row in frame.itertuples(index=False)]
        self.check_frame(rows, len(frame))

    def test_polars(self):
        frame = self.frame("polars", "polars")
        self.check_frame(frame.rows(), len(frame))

    def test_arrow(self):
        table = self.frame("pyarrow", "arrow")
        self.check_frame([tuple(row.values()) for row in table.to_pylist()], table.num_rows)


class Running(harness.Case):
    """A program that opens its own trace: one case for each version of CPython that is here, made below."""

    gpu = "auto"

    def check(self, python):
        os.mkdir(self.path("tmp"))
        result = self.run_well([python, "-B", self.write("running.py", RUNNING)],
                               env={"PATH": path_with_command(), "PYTHONPATH": PACKAGE + os.pathsep + IDLE, "PYENV_VERSION": None,
                                    "GPUVERIFY_CUPTI": CUPTI, "TMPDIR": self.path("tmp")})
        self.assertEqual(result.out.splitlines()[:6], ["['load']", "['gpu.py:41 call']", "2", "True", "True False", "[]"], str(result))

    def check_version(self, name):
        python = shutil.which(name)
        works = python and subprocess.run([python, "-c", "import ctypes"], capture_output=True, check=False).returncode == 0
        if not works:
            self.skipTest(f"no {name} here")
        self.check(python)

    def test_this_python(self):
        self.check(sys.executable)


def add_python(name):
    def case(self):
        self.check_version(name)
    setattr(Running, "test_" + name.replace(".", "_"), case)


for version in range(9, 16):
    add_python(f"python3.{version}")


@harness.depends_on_time("a call on a busy machine may take longer than the limit")
@unittest.skipIf(site_of("pytest") is None, "no pytest is installed: scripts/setup test")
class Pytest(harness.Case):
    gpu = "auto"

    def pytest(self, *words, preload=False, **env):
        self.write("test_gpu.py", TESTS)
        places = os.pathsep.join((PACKAGE, IDLE, site_of("pytest")))
        return self.run_program(
            [sys.executable, "-B", "-m", "pytest", "-p", "gpuverify.pytest_plugin", "-p", "no:cacheprovider", *words], preload=preload,
            env={"PYTHONPATH": places, "PATH": path_with_command(), "GPUVERIFY_CUPTI": CUPTI, **env})

    def test_a_test_that_stalls_fails_with_its_line(self):
        result = self.pytest("--gpuverify-max-stall", "100ms", "--junitxml", "junit.xml")
        self.assertEqual(result.status, 1, str(result))
        self.assertRegex(result.out, r"\n=+ 2 failed, 2 passed, 1 xfailed in ")
        line = TESTS.splitlines().index('    gpu.call("cuModuleLoadData", ctypes.byref(ctypes.c_void_p()), '
                                        'gpu.PTX.replace(b"spin(", name))') + 1
        self.assertRegex(result.out, rf"\ntest_gpu\.py:{line} load: cuModuleLoadData lost \d+\.\d ms \(module-load\), more than 100ms\n"
                                     r"    in gpu\.py:41 call\n    fix: Load the ptx")
        self.assertEqual(result.out.count(", more than 100ms\n"), 2, "a test has the stalls of others, or of the fixture")
        for name in ("Loads::test_busy", "test_in_another_thread"):
            self.assertIn(f"FAILED test_gpu.py::{name} - Failed: test_gpu.py:{line} load: ", result.out)
        with open(self.path("junit.xml"), encoding="utf-8") as file:
            self.assertIn(f"test_gpu.py:{line} load: cuModuleLoadData lost", file.read())
        self.assertIn("gpuverify explain", result.err)
        self.assertEqual(self.trace().rows("SELECT message FROM ranges WHERE kind = 'push' ORDER BY id"),
                         [(f"test_gpu.py::{name}",) for name in ("test_launches", "test_waits", "Loads::test_busy",
                                                                "test_in_another_thread", "test_known_to_load")])

    def test_records_without_a_limit_and_under_the_library(self):
        result = self.pytest("--gpuverify", "-q", preload=True, GPUVERIFY_COMMAND=harness.gpuverify())
        self.assertEqual(result.status, 0, str(result))
        self.assertEqual(result.err, "")
        self.assertEqual(self.trace().value("SELECT count(*) FROM ranges"), 5)

    def test_says_nothing_unless_asked(self):
        result = self.pytest("-q")
        self.assertEqual((result.status, result.err, os.path.exists(self.path("trace.db"))), (0, "", False), str(result))

    def test_says_what_is_wrong(self):
        for words, options, said in (
                (("--gpuverify-max-stall", "10"), {"preload": True}, "'10' is no time such as 10ms"),
                (("--gpuverify-max-stall", "10ms"), {"preload": True, "GPUVERIFY_TRACE": "%p.db"}, "name the trace"),
                (("--gpuverify-max-stall", "10ms"), {"preload": True, "GPUVERIFY_RANGES": "off"}, "unset GPUVERIFY_RANGES"),
                (("--gpuverify",), {"PATH": "/nowhere"}, "GPUVERIFY_COMMAND can name it"),
                (("--gpuverify",), {"GV_PYTEST_STARTED": "1"}, "libgpuverify.so was not loaded")):
            result = self.pytest(*words, **options)
            self.assertEqual(result.status, 4, str(result))
            self.assertIn(said, result.err)

    def test_a_killed_collector_ends_the_tests(self):
        self.write("conftest.py", "from gpuverify import pytest_plugin\npytest_plugin._STORED_S = 0.5\n")
        result = self.pytest("--gpuverify-max-stall", "100ms", GPUVERIFY_COLLECTOR="off")
        self.assertEqual(result.status, 3, str(result))
        self.assertIn("its collector may have been killed", result.out)
        subprocess.run([harness.gpuverify(), "recover", "-o", self.path("left.db"), self.spool], env=self.environment(False),
                       capture_output=True, check=False)
