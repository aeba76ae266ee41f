"""Ranges and marks of the program's own, through NVTX and gpuverify.h: what the trace says, and that the
program, and another NVTX tool, notice nothing."""

import glob
import importlib.machinery
import json
import os
import shutil
import signal
import sys
import unittest

import harness

RANGES = harness.program("ranges")
TOOL = harness.built(harness.PROGRAMS, "libe2e_nvtx_tool.so")
MODULE = harness.built(harness.PROGRAMS, "libe2e_ranges_module.so")
THIN = os.path.realpath(harness.built("nvtx", "libgpuverify-nvtx.so"))

# Python's package nvtx: this Python's, or the one that scripts/setup installs.
SITES = (None, [os.path.join(harness.SOURCE, ".venv", f"lib/python{sys.version_info.major}.{sys.version_info.minor}", "site-packages")])
PACKAGE = next(filter(None, (importlib.machinery.PathFinder.find_spec("nvtx", site) for site in SITES)), None)

NVTX_2 = glob.glob(os.path.join(harness.SOURCE, ".venv", "lib", "python3*", "site-packages", "nvidia", "nvtx", "lib",
                                "libnvToolsExt.so.1"))

PYTHON = """
import ctypes, os, subprocess, sys
import nvtx
cuda = ctypes.CDLL("libcuda.so.1")

@nvtx.annotate("decorated", color="green", domain="mine", category="reading", payload=5)
def work():
    raise KeyError

@nvtx.annotate()
def its_name():
    pass

with nvtx.annotate("around"):
    assert cuda.cuInit(0) == 0
    try:
        work()
    except KeyError:
        its_name()
nvtx.mark("a mark", color=0x123456)
nvtx.push_range("pushed", domain="mine", category=7, payload=0.25)
nvtx.pop_range("mine")
nvtx.end_range(nvtx.start_range("started"))
domain = nvtx.get_domain("fast")
said = domain.get_event_attributes("said often", "red", "reading", -1)
for _ in range(2):
    domain.push_range(said)
    domain.pop_range()
domain.mark(said)
domain.end_range(domain.start_range(said))
if sys.argv[1:] != ["child"]:
    subprocess.run([sys.executable, "-B", sys.argv[0], "child"], check=True)
"""

# `python3 -m nvtx` makes each call of the program's functions a range.
PROFILED = """
import ctypes

def inner():
    pass

def outer():
    inner()

def generator():
    yield from range(3)

assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
for _ in range(2000):
    outer()
list(generator())
"""

# libnvToolsExt.so, as CUDA 11 has it.
PYTHON_NVTX_2 = """
import ctypes, sys
nvtx = ctypes.CDLL(sys.argv[1])
nvtx.nvtxRangeStartA.restype = ctypes.c_uint64
nvtx.nvtxRangeEnd.argtypes = [ctypes.c_uint64]
assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
print(nvtx.nvtxRangePushA(b"pushed"))
nvtx.nvtxMarkW("a mark")
nvtx.nvtxRangePop()
nvtx.nvtxRangeEnd(nvtx.nvtxRangeStartA(b"started"))
"""

# The example of docs/ranges.md.
OWN_PYTHON = """
import ctypes

gpuverify = ctypes.CDLL(None)
if hasattr(gpuverify, "gv_range_push"):
    gpuverify.gv_range_push(b"load the model")
assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
if hasattr(gpuverify, "gv_range_push"):
    gpuverify.gv_range_pop()
"""


def rows(trace, columns="kind, domain, message, depth", where="1"):
    return trace.rows(f"SELECT {columns} FROM ranges WHERE {where} ORDER BY id")


@unittest.skipUnless(os.path.exists(RANGES), "built without NVTX's headers")
class Nvtx(harness.Case):

    def recorded(self, how, *arguments, **options):
        self.run_twice([RANGES, how, *arguments], **options)
        return self.trace()

    def test_domains_categories_colours_and_payloads(self):
        trace = self.recorded("plain")
        self.assertEqual(rows(trace), [
            ("push", None, "outer", 0), ("push", None, "inner", 1), ("mark", None, "a mark", None),
            ("mark", None, "ein Zeichen \u20ac", None), ("push", "data", "registered", 1),
            ("start", "data", "wide", None)])
        self.assertEqual(rows(trace, "category, category_name, color, payload", "domain = 'data'"),
                         [(3, "reading", "#00ff80", 0.5), (3, "reading", "#00ff80", -7)])
        self.assertEqual(rows(trace, "duration_ns", "kind = 'mark'"), [(0,), (0,)])
        self.assertEqual(rows(trace, "count(*)", "duration_ns IS NULL"), [(0,)])
        inner, outer = (trace.dicts(f"SELECT * FROM ranges WHERE message = '{name}'")[0] for name in ("inner", "outer"))
        self.assertEqual(inner["parent"], outer["id"])
        self.assertGreaterEqual(inner["start_ns"], outer["start_ns"])
        self.assertLessEqual(inner["start_ns"] + inner["duration_ns"], outer["start_ns"] + outer["duration_ns"])
        self.assertEqual(trace.value("SELECT count FROM own_cost WHERE what = 'ranges'"), 10)
        listed = self.command("query", trace.path, "ranges", "--format", "csv").out.splitlines()
        self.assertEqual(len(listed), 7, listed)

    def test_what_is_open_when_recording_begins(self):
        trace = self.recorded("before")
        self.assertEqual(rows(trace), [("start", None, "started before", None), ("push", None, "outer before", 0),
                                       ("push", None, "inner before", 1)])
        self.assertTrue(all(start < trace.value("SELECT min(start_ns) FROM calls") < start + duration
                            for start, duration in rows(trace, "start_ns, duration_ns")))

    def test_threads(self):
        trace = self.recorded("threads")
        self.assertEqual(rows(trace, "message, duration_ns > 0", "1"),
                         [("across threads", 1), ("of the first thread", 1), ("left open by its thread", None)])
        self.assertEqual(trace.value("SELECT count(DISTINCT thread) FROM ranges"), 2)

    def test_killed_in_a_range(self):
        self.assertEqual(self.run_program([RANGES, "killed"]).status, -signal.SIGKILL)
        self.assertEqual(rows(self.trace(), "message, duration_ns"), [("killed in it", None)])

    def test_forked_children_start_in_no_range(self):
        self.assertEqual(rows(self.recorded("fork"), "message, duration_ns > 0"), [("around the fork", 1)])

    def test_child_that_records_and_parent_that_does_not(self):
        self.assertEqual(rows(self.recorded("early-fork"), "message, depth, duration_ns > 0"), [("in the child", 0, 1)])

    def test_odd_texts_and_pops(self):
        trace = self.recorded("odd")
        odd = rows(trace, "message, depth", "message IS NOT 'deep'")
        self.assertEqual([depth for _, depth in odd], [0, 1, 2, 3, 4, 5, None])
        self.assertEqual([message for message, _ in odd if message and not message.startswith("x")], ["in\ufffdvalid"])
        self.assertEqual([len(message) for message, _ in odd if message and message.endswith("x...")], [2048])
        self.assertEqual(rows(trace, "max(depth), count(DISTINCT depth)", "message = 'deep'"), [(299, 300)])

    def test_more_texts_than_numbers(self):
        trace = self.recorded("many")
        self.assertEqual(rows(trace, "count(*), count(DISTINCT message), count(duration_ns)"), [(20000, 20000, 20000)])

    def test_two_modules_have_one_stack(self):
        trace = self.recorded("module", MODULE)
        self.assertEqual(rows(trace, "message, depth"), [("of the program", 0), ("of the library", 1)])

    def test_without_cuda_nothing_is_written(self):
        self.run_twice([RANGES, "no-cuda"])
        self.assertEqual([name for name in os.listdir(self.dir) if name.endswith(".db")], [])

    def test_off(self):
        self.run_twice([RANGES, "plain"], env={"GPUVERIFY_RANGES": "off"})
        self.assertEqual(rows(self.trace()), [])
        said = self.run_program(["sh", "-c", "echo $NVTX_INJECTION64_PATH"], env={"GPUVERIFY_RANGES": "off"})
        self.assertEqual(said.out, "\n")

    def test_a_library_that_asks_for_a_tool(self):
        self.assertEqual(rows(self.recorded("ask")), [])
        self.assertEqual(self.run_well([RANGES, "ask"], env={"GPUVERIFY_RANGES": "all"}).out, "a tool\n")
        self.assertEqual(rows(self.trace(), "domain, message"), [("TSL", "a module")])

    def test_a_library_that_names_each_operation(self):
        for env in ({}, {"NVTX_INJECTION64_PATH": TOOL}):
            trace = self.recorded("each", env=env)
            self.assertEqual(rows(trace, "domain, message, duration_ns > 0"), [(None, "of the program", 1)])
            os.remove(trace.path)
        trace = self.recorded("each", env={"GPUVERIFY_RANGES": "all"})
        self.assertEqual(sorted(rows(trace, "kind, domain, message"), key=str), [
            ("mark", "libcudf", "read_parquet"), ("push", "libcudf", "read_parquet"), ("push", None, "of the program"),
            ("start", "libcudf", "read_parquet")])

    def test_another_tool_gets_everything_too(self):
        counts = os.path.join(self.dir, "counts")
        env = {"NVTX_INJECTION64_PATH": TOOL, "NVTX_TOOL_COUNTS": counts}
        trace = self.recorded("plain", env=env)  # its levels are the tool's
        with open(counts, encoding="utf-8") as file:
            self.assertEqual(file.read(), "modules 1 pushes 3 pops 3 starts 1 ends 1 marks 1 domains 1 strange 0\n")
        self.assertEqual(rows(trace, "count(*), count(duration_ns), count(DISTINCT domain)"), [(6, 6, 1)])

    def test_another_tool_where_the_library_is_not(self):
        counts = os.path.join(self.dir, "counts")
        env = {"NVTX_INJECTION64_PATH": THIN, "GPUVERIFY_NVTX_TOOL": TOOL, "NVTX_TOOL_COUNTS": counts}
        self.assertIn("push 1", self.run_well([RANGES, "plain"], preload=False, env=env).out)
        with open(counts, encoding="utf-8") as file:
            self.assertIn("pushes 3 pops 3", file.read())
        del env["GPUVERIFY_NVTX_TOOL"]
        self.assertIn("push -2", self.run_well([RANGES, "plain"], preload=False, env=env).out)

    def test_a_tool_that_refuses(self):
        trace = self.recorded("plain", env={"NVTX_INJECTION64_PATH": TOOL, "NVTX_TOOL_REFUSES": "1"})
        self.assertEqual(rows(trace, "count(*), count(duration_ns)"), [(6, 6)])

    def test_a_tool_that_is_our_own_by_another_name(self):
        """A symbolic link, a copy: nobody calls himself for ever."""
        for make in (os.symlink, shutil.copy):
            tool = os.path.join(self.dir, make.__name__ + ".so")
            make(THIN, tool)
            self.run_well([RANGES, "plain"], preload=False,
                          env={"NVTX_INJECTION64_PATH": THIN, "GPUVERIFY_NVTX_TOOL": tool})
            self.run_well([RANGES, "plain"], env={"NVTX_INJECTION64_PATH": tool})
            trace = self.trace()
            self.assertEqual(rows(trace, "count(*), count(duration_ns)"), [(6, 6)])
            os.remove(trace.path)


class Own(harness.Case):

    def test_header(self):
        self.run_twice([harness.program("own_ranges")])
        self.assertEqual(rows(self.trace(), "kind, message, depth"),
                         [("push", "load the model", 0), ("mark", "ready", None), ("push", "step", 0)])

    def test_ctypes(self):
        self.run_twice([sys.executable, "-c", OWN_PYTHON])
        self.assertEqual(rows(self.trace(), "kind, message, depth"), [("push", "load the model", 0)])

    def test_off(self):
        self.run_twice([harness.program("own_ranges")], env={"GPUVERIFY_RANGES": "off"})
        self.assertEqual(rows(self.trace()), [])


@unittest.skipUnless(PACKAGE, "no Python package nvtx")
class Package(harness.Case):
    """Python's package nvtx."""

    def recorded(self, program, *options, **env):
        script = os.path.join(self.dir, "says.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(program)
        self.run_twice([sys.executable, "-B", *options, script],
                       env={"PYTHONPATH": os.path.dirname(os.path.dirname(PACKAGE.origin)), **env})
        return self.trace()

    def test_all_that_it_can_say_and_a_child(self):
        trace = self.recorded(PYTHON)
        often = ("fast", "said often", "reading", "#ff0000", -1)
        for process in (1, 2):
            self.assertEqual(rows(trace, "kind, domain, message, category_name, color, payload", f"process = {process}"), [
                ("push", None, "around", None, "#0000ff", None),
                ("push", "mine", "decorated", "reading", "#008000", 5),
                ("push", None, "its_name", None, "#0000ff", None),
                ("mark", None, "a mark", None, "#123456", None),
                ("push", "mine", "pushed", None, "#0000ff", 0.25),
                ("start", None, "started", None, "#0000ff", None),
                ("push", *often), ("push", *often), ("mark", *often), ("start", *often)])
        self.assertEqual(rows(trace, "message, category", "category_name IS NULL AND category"), [("pushed", 7)] * 2)
        self.assertEqual(rows(trace, "DISTINCT depth", "message IN ('decorated', 'its_name')"), [(1,)])
        self.assertEqual(rows(trace, "count(*)", "duration_ns IS NULL"), [(0,)])

    def test_each_call_a_range(self):
        """A generator is one each time that it goes on. No more than 16 of what is open before CUDA starts count."""
        trace = self.recorded(PROFILED, "-m", "nvtx", "--no-linenos")
        self.assertEqual(trace.rows("SELECT r.message, p.message, count(*), count(r.duration_ns) FROM ranges r "
                                    "JOIN ranges p ON p.id = r.parent "
                                    "WHERE r.message IN ('outer', 'inner', 'generator') GROUP BY 1, 2"),
                         [("generator", "<module>", 4, 4), ("inner", "outer", 2000, 2000), ("outer", "<module>", 2000, 2000)])

    def test_disabled(self):
        """Objects of domains still speak."""
        self.assertEqual(rows(self.recorded(PYTHON, NVTX_DISABLE="1"), "DISTINCT domain"), [("fast",)])


class Sums(harness.Case):

    def recorded(self):
        self.run_well([harness.program("range_work")], env={"GPUVERIFY_GPU": "on", "GPUVERIFY_IDLE_HZ": "0"})
        return self.trace()

    @harness.depends_on_time("on a busy machine, other calls are stalls, too")
    def test_what_ranges_did(self):
        trace = self.recorded()
        did = {row["message"]: row for row in trace.dicts("SELECT * FROM range_summary")}
        self.assertEqual({name: (row["kind"], row["count"], row["unended"]) for name, row in did.items()},
                         {"setup": ("push", 1, 0), "step #": ("push", 6, 0), "forward": ("push", 6, 0),
                          "backward": ("push", 6, 0), "read": ("push", 6, 0), "step done": ("mark", 6, 0)})
        self.assertEqual({name: (row["gpu_ns"] / 1e6, row["launches"]) for name, row in did.items()},
                         {"setup": (0, 0), "step #": (30, 12), "forward": (18, 6), "backward": (12, 6), "read": (0, 0),
                          "step done": (0, 0)})
        self.assertEqual({name: (row["loads"], row["allocations"], row["allocated_bytes"]) for name, row in did.items()
                          if row["loads"] or row["allocations"]},
                         {"setup": (1, 1, 4 << 20), "step #": (1, 0, 0), "forward": (1, 0, 0)})
        lost = trace.rows("SELECT name, wait_ns + jit_ns FROM stalls WHERE NOT expected ORDER BY start_ns")[-1:]
        self.assertEqual(lost, [("cuModuleLoadData", did["step #"]["stall_ns"])])
        self.assertEqual(did["step #"]["max_stall_ns"], did["forward"]["stall_ns"])
        self.assertEqual(did["read"]["stalls"], 0)
        # The GPU's work in the steps is one after the other, and ends in them. Its clock is converted: it may overlap by nanoseconds.
        self.assertAlmostEqual(did["step #"]["idle_ns"], did["step #"]["total_ns"] - 30000000, delta=1000)
        self.assertEqual(did["read"]["idle_ns"], did["read"]["total_ns"])

    def launches(self, trace, *options):
        report = self.command("report", trace.path, "-s", "ranges", "--format", "json", *options).out
        return {row["range"]: row["launches"] for row in json.loads(report)["sections"]["ranges"]}

    def test_reports(self):
        trace = self.recorded()
        self.assertEqual(self.launches(trace),
                         {"setup": 0, "step #": 12, "forward": 6, "backward": 6, "read": 0, "step done": None})
        second = trace.value("SELECT start_ns FROM ranges WHERE message = 'step 1'")
        self.assertEqual(self.launches(trace, "--to", f"{second}ns"),
                         {"setup": 0, "step #": 2, "forward": 1, "backward": 1, "read": 0, "step done": None})
        self.assertIn("\npush  -       step #         6 ", self.command("query", trace.path, "ranges").out)

    def test_without_the_gpu_side(self):
        self.run_well([harness.program("range_work")], env={"GPUVERIFY_GPU": "off"})
        self.assertEqual(self.trace().rows("SELECT launches, gpu_ns, idle_ns FROM range_summary WHERE message = 'step #'"),
                         [(12, None, None)])


@unittest.skipUnless(NVTX_2, "no libnvToolsExt.so.1")
class LibraryOfNvtx2(harness.Case):

    def test_it_says_all(self):
        self.run_twice([sys.executable, "-c", PYTHON_NVTX_2, NVTX_2[0]])
        self.assertEqual(rows(self.trace(), "kind, message, duration_ns IS NULL"),
                         [("push", "pushed", 0), ("mark", "a mark", 0), ("start", "started", 0)])
