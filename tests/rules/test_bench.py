#!/usr/bin/env python3
"""Tests scripts/bench: docs/performance.md, ratios, and that it measures other profilers."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(CHECKOUT, "tests", "bench"))

import gpu  # noqa: E402
import ground  # noqa: E402
import programs  # noqa: E402
import publish  # noqa: E402
import slices  # noqa: E402
import store  # noqa: E402
import svg  # noqa: E402

MACHINE = {"processor": "A", "processors": 4, "gpu": None, "driver": None, "kernel": "6", "libc": "g"}


def result(found, **more):
    return {"machine": MACHINE, "date": "2026-01-01", "commit": "abc", "scale": 1.0, "load": 0.1,
            "command": "scripts/bench host", "found": found, "notes": [], "charts": [], **more}


def spread(median):
    return {"median": median, "min": median / 2, "max": median * 2, "unit": "ns", "runs": 3,
            "what": "a launch"}


class Document(unittest.TestCase):
    def test_it_says_what_the_stored_numbers_say(self):
        with open(publish.DOCUMENT, encoding="utf-8") as file:
            text = file.read()
        for name in sorted(os.listdir(publish.FOLDER)):
            if name.endswith(".json"):
                group = name[:-len(".json")]
                stored = store.read(os.path.join(publish.FOLDER, name))
                self.assertEqual(publish.filled(text, group, stored), text,
                                 f"{group}: scripts/bench --publish makes it")
                for chart in stored["charts"]:
                    with open(os.path.join(publish.FOLDER, chart["name"] + ".svg"),
                              encoding="utf-8") as file:
                        self.assertEqual(file.read(), svg.draw(chart), chart["name"])

    def test_a_table_holds_medians(self):
        text = publish.filled("x\n<!-- begin host -->\nold\n<!-- end host -->\ny\n", "host",
                              result({"a": spread(30)}))
        self.assertIn("| a launch | 30 ns | 15 to 60 |", text)
        self.assertNotIn("old", text)
        with self.assertRaises(LookupError):
            publish.filled("nothing", "host", result({}))

    def test_what_charts_show_and_ratios_are_in_no_table(self):
        text = publish.section("programs", result({"parallel_2_plain_ns": spread(146), "a": spread(30)}, tables=[
            {"columns": ["one step", "plain"], "rows": [["x: end to end, us", 7.0], ["x: p10, us", 6.0]]},
            {"columns": ["ratio", "measured", "goal", "reached"], "rows": [["y", "1.1", "1.05", "no"], ["z", "1.2", None, None]]}]))
        self.assertEqual([line.split(" | ")[0] for line in text.splitlines() if line.startswith("| ")],
                         ["| what", "| a launch", "| one step", "| x: end to end, us"])

    def test_tables_of_several_columns(self):
        text = publish.section("gpu", result({"b": {"median": 2, "min": 1, "max": 3, "runs": 3}}, tables=[
            {"columns": ["graph", "plain", "default"], "rows": [["of 20", 1250.0, None]]}]))
        self.assertIn("| graph | plain | default |\n|---|---|---|\n| of 20 | 1 250 | - |", text)
        self.assertNotIn("lowest", text, "no table of single numbers")


class Ratios(unittest.TestCase):
    def test_runs_of_one_round_are_compared(self):
        # The machine is twice as slow in the second round, and the default mode always 10 % slower than plain.
        self.assertAlmostEqual(ground.paired([1.1, 2.2, 1.1], [1, 2, 1]), 1.1)
        self.assertAlmostEqual(ground.paired([1.1, 2.2, 3.3, 1.1], [1, 2, 3, 1]), 1.1)
        self.assertIsNone(ground.paired([1, 2], [0, -1]))

    def test_goals(self):
        self.assertEqual(ground.judged(1.0512, 1.05), ["1.051", "1.05", "no"])
        self.assertEqual(ground.judged(0.4, 0.5), ["0.400", "0.50", "yes"])
        self.assertEqual(ground.judged(2.0, None), ["2.000", None, None])
        self.assertEqual(ground.judged(None, 0.5), [None, "0.50", None])

    def test_modes_take_turns_in_both_directions(self):
        order = []
        found = gpu.in_rounds(2, ("a", "b", "c"), lambda mode: order.append(mode) or len(order))
        self.assertEqual(order, ["a", "b", "c", "c", "b", "a"])
        self.assertEqual(found, {"a": [1, 6], "b": [2, 5], "c": [3, 4]})

    def test_slices_of_a_pair_are_compared(self):
        # Recorded takes 10 % more time, and twice the CPU time of the thread; the machine is slower in the second pair.
        found = [("off", 100, 10, 0, 10), ("on", 110, 20, 0, 10), ("on", 330, 60, 0, 10), ("off", 300, 30, 0, 10)]
        ratios = [slices.ratio_of(pairs) for pairs in slices.in_pairs(found)]
        self.assertAlmostEqual(ratios[0][0], 1.1)
        self.assertAlmostEqual(ratios[0][1], 0)
        self.assertAlmostEqual(ratios[1][0], 2)
        self.assertEqual(ratios[2], (None, None))
        ratio, error = slices.ratio_of([(1.1, 1), (1.2, 1)])
        self.assertTrue(1.1 < ratio < 1.2 and 0.03 < error < 0.07, (ratio, error))


# Stands for bench_gpu_calls: says what it runs under, and takes the longer for it.
CALLS = """#!/bin/sh
case $UNDER_NSYS$LD_PRELOAD in yes*) ns=300 ;; *librpd_tracer.so*) ns=400 ;; *libgpuverify.so*) ns=200 ;; *) ns=100 ;; esac
echo "$ns $RPDT_FILENAME $*" >> {log}
[ -z "$CUDA_INJECTION64_PATH" ] || echo "asks $BENCH_CUPTI_ASKS" >> {log}
for loop in launch copy graph_1 graph_20 graph_100 graph_1000 sync memcpy; do echo "$loop $ns $ns"; done
echo "end_ns 1 1"
"""
NSYS = """#!/bin/sh
echo "nsys $*" >> {log}
while [ "${{1##*/}}" != bench_gpu_calls ]; do shift; done
UNDER_NSYS=yes exec "$@"
"""


class OtherProfilers(unittest.TestCase):
    """The columns of nsys and rpd_tracer, with programs in their place."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuverify-test-bench-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.log = os.path.join(self.folder, "log")
        self.program("build/tests/bench/bench_gpu_calls", CALLS)

    def program(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.format(log=self.log))
        os.chmod(path, 0o755)
        return path

    def measure(self, run=gpu.bench_gpu, **environment):
        """The benchmark, and what the programs wrote down."""
        bench = ground.Bench(os.path.join(self.folder, "build"), 0.01)
        lacking = {name: value for name, value in os.environ.items()
                   if name not in ("RPD_TRACER", "LD_PRELOAD")}
        path = os.path.join(self.folder, "bin")  # what this machine has is not found
        with unittest.mock.patch.dict(os.environ, {**lacking, "GPUVERIFY_CUPTI": "/none", "PATH": path,
                                                   **environment}, clear=True), \
                unittest.mock.patch.object(gpu, "has_gpu", lambda: True), \
                unittest.mock.patch.object(gpu, "bench_gpu_million", lambda bench, cupti: None), \
                contextlib.redirect_stdout(io.StringIO()):
            run(bench)
        with open(self.log, encoding="utf-8") as file:
            return bench, file.read().splitlines()

    def test_columns_of_what_is_there(self):
        self.program("bin/nsys", NSYS)
        tracer = os.path.join(self.folder, "librpd_tracer.so")
        bench, log = self.measure(RPD_TRACER=tracer)
        series = bench.charts[0]["series"]
        self.assertEqual(list(series), [*gpu.GPU_MODES, "nsys", "rpd_tracer"])
        for mode, ns in (("plain", 100), ("host-only", 200), ("default", 200), ("nsys", 300), ("rpd_tracer", 400)):
            self.assertEqual(set(series[mode]), {ns}, mode)
            for loop in gpu.LOOPS:
                found = bench.found[f"gpu_{mode}_{loop}"]
                self.assertEqual((found["median"], found["runs"]), (ns, 2), (mode, loop))
        nsys = [line for line in log if line.startswith("nsys ")]
        self.assertEqual(len(nsys), 2)
        # CUDA calls, no sampling of the CPU, and its files where this run's are.
        for line in nsys:
            self.assertRegex(line, r"^nsys profile -t cuda -s none .*-o \S*/gpuverify-bench-\w+/trace "
                                   r"\S*/bench_gpu_calls 10$")
        traces = [line.split()[1] for line in log if line.startswith("400 ")]
        self.assertEqual(len(set(traces)), 2, "each run has a trace of its own")
        self.assertTrue(all(trace.endswith("/trace.rpd") for trace in traces), traces)
        # nsys adds 200 ns, the default mode 100.
        ratios = {row[0]: row[1:] for row in bench.tables[1]["rows"]}
        self.assertEqual(ratios["launch: added by default / added by nsys"], ["0.500", "0.50", "yes"])
        self.assertEqual(ratios["graph of 1000: default / lean CUPTI"], ["2.000", "1.05", "no"])
        self.assertEqual(ratios["stream sync: default / lean CUPTI"], ["2.000", None, None])

    def test_no_columns_of_what_is_not_there(self):
        bench, _ = self.measure()
        self.assertEqual(list(bench.charts[0]["series"]), list(gpu.GPU_MODES))
        self.assertFalse([name for name in bench.found if "nsys" in name or "rpd" in name])

    def test_lean_cupti_asks_for_kernels_copies_sets_and_graphs(self):
        _, log = self.measure()
        self.assertEqual([line for line in log if line.startswith("asks")], ["asks 10,1,2,51"] * 2)


# Its steps take 1 ms, and 5 ms with the library.
PROGRAM = """
import os, sys, time
sys.path.insert(0, {folder!r})
import steps
steps.WARM_UP_STEPS = 1
steps.need({package!r})
steps.run(lambda: time.sleep(0.005 if "LD_PRELOAD" in os.environ else 0.001))
"""


class Programs(unittest.TestCase):
    def measure(self, package, gpu_ops=1):
        with tempfile.TemporaryDirectory(prefix="gpuverify-test-bench-") as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(PROGRAM.format(folder=os.path.join(CHECKOUT, "tests", "bench"), package=package))
            bench = ground.Bench(folder, 0.01)
            with unittest.mock.patch.object(programs, "has_gpu", lambda: True), \
                    unittest.mock.patch.object(programs, "PROGRAMS", {"sleep": path}), \
                    unittest.mock.patch.object(programs, "finish", lambda bench, folder: folder), \
                    unittest.mock.patch.object(programs, "query", lambda trace, sql: gpu_ops), \
                    contextlib.redirect_stdout(io.StringIO()):
                programs.bench_programs(bench)
        return bench

    def test_a_gpu_side_without_operations_is_wrong(self):
        self.assertEqual(len(self.measure("os", gpu_ops=0).wrong), 2)

    def test_a_missing_package_is_named(self):
        bench = self.measure("no_such_package")
        self.assertEqual(bench.tables, [])
        self.assertEqual(bench.notes, ["sleep: skipped: No module named 'no_such_package'"])


if __name__ == "__main__":
    unittest.main()
