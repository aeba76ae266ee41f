#!/usr/bin/env python3
"""Tests scripts/bench: comparisons, charts, docs/performance.md, and that it measures other profilers."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True
CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(CHECKOUT, "tests", "bench"))

import gpu  # noqa: E402
import ground  # noqa: E402
import publish  # noqa: E402
import store  # noqa: E402
import svg  # noqa: E402

MACHINE = {"processor": "A", "processors": 4, "gpu": None, "driver": None, "kernel": "6", "libc": "g"}


def result(found, **more):
    return {"machine": MACHINE, "date": "2026-01-01", "commit": "abc", "scale": 1.0, "load": 0.1,
            "command": "scripts/bench host", "found": found, "notes": [], "charts": [], **more}


def spread(median):
    return {"median": median, "min": median / 2, "max": median * 2, "unit": "ns", "runs": 3,
            "what": "a launch"}


class Compare(unittest.TestCase):
    def said(self, now, before):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            store.compare(now, before)
        return output.getvalue()

    def test_ratio_and_mark(self):
        said = self.said(result({"a": spread(30), "b": 10.0}), result({"a": spread(20), "b": 10.0}))
        lines = {line.split()[0]: line for line in said.splitlines()[1:]}
        self.assertIn(" 1.50  <--", lines["a"])
        self.assertIn(" 1.00", lines["b"])
        self.assertNotIn("<--", lines["b"])

    def test_other_machines_are_not_compared(self):
        other = result({"a": spread(20)}, machine={**MACHINE, "processors": 8})
        said = self.said(result({"a": spread(30)}), other)
        self.assertIn("not compared", said)
        self.assertNotIn("1.50", said)

    def test_other_scales_are_not_compared(self):
        self.assertIn("not compared", self.said(result({"a": spread(30)}),
                                                result({"a": spread(20)}, scale=0.1)))

    def test_nothing_before(self):
        self.assertEqual(self.said(result({"a": spread(30)}), None), "")


class Charts(unittest.TestCase):
    def draw(self, **chart):
        text = svg.draw({"name": "n", "title": "a < b", "x": "x", "y": "y", **chart})
        return ElementTree.fromstring(text), text

    def test_lines(self):
        root, text = self.draw(kind="lines", x_values=[1, 10, 100], log_x=True,
                               series={"one": [1, 2, 3], "two": [3, None, 1]})
        points = [line.get("points").split() for line in root.iter() if line.tag.endswith("polyline")]
        self.assertEqual([len(each) for each in points], [3, 2])
        xs = [float(point.split(",")[0]) for point in points[0]]
        self.assertAlmostEqual(xs[1] - xs[0], xs[2] - xs[1], delta=0.2)
        self.assertIn("a &lt; b", text)

    def test_bars_are_as_high_as_their_values(self):
        root, _ = self.draw(kind="bars", x_values=["p", "q"], series={"one": [10, 5]})
        bars = [float(bar.get("height")) for bar in root.iter()
                if bar.tag.endswith("rect") and len(bar)]
        self.assertAlmostEqual(bars[0], 2 * bars[1], delta=0.2)

    def test_nothing_but_zeros(self):
        self.draw(kind="lines", x_values=[1], series={"one": [0]})


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
        self.assertIn("| a launch | 30 ns | 15 to 60 | 3 |", text)
        self.assertNotIn("old", text)
        with self.assertRaises(LookupError):
            publish.filled("nothing", "host", result({}))


# Stands for bench_gpu_calls: says what it runs under, and takes the longer for it.
CALLS = """#!/bin/sh
case $UNDER_NSYS$LD_PRELOAD in yes*) ns=300 ;; *rpd*) ns=400 ;; *gpuverify*) ns=200 ;; *) ns=100 ;; esac
echo "$ns $RPDT_FILENAME $*" >> {log}
for loop in launch copy graph sync memcpy; do echo "$loop $ns $ns"; done
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

    def measure(self, **environment):
        """The benchmark, and what the programs wrote down."""
        bench = ground.Bench(os.path.join(self.folder, "build"), 0.01)
        lacking = {name: value for name, value in os.environ.items()
                   if name not in ("RPD_TRACER", "GV_BENCH_MORE", "LD_PRELOAD")}
        path = os.path.join(self.folder, "bin")  # what this machine has is not found
        with unittest.mock.patch.dict(os.environ, {**lacking, "GPUVERIFY_CUPTI": "/none", "PATH": path,
                                                   **environment}, clear=True), \
                unittest.mock.patch.object(gpu, "has_gpu", lambda: True), \
                unittest.mock.patch.object(gpu, "bench_gpu_million", lambda bench, cupti: None), \
                contextlib.redirect_stdout(io.StringIO()):
            gpu.bench_gpu(bench)
        with open(self.log, encoding="utf-8") as file:
            return bench, file.read().splitlines()

    def test_columns_of_what_is_there(self):
        self.program("bin/nsys", NSYS)
        tracer = os.path.join(self.folder, "librpd_tracer.so")
        bench, log = self.measure(RPD_TRACER=tracer)
        series = bench.charts[0]["series"]
        self.assertEqual(list(series), [*gpu.GPU_MODES, "nsys", "rpd_tracer"])
        for mode, ns in (("plain", 100), ("host-only", 200), ("default", 200), ("nsys", 300), ("rpd_tracer", 400)):
            self.assertEqual(series[mode], [ns] * len(gpu.LOOPS), mode)
            for loop in gpu.LOOPS:
                found = bench.found[f"gpu_{mode}_{loop}"]
                self.assertEqual((found["median"], found["runs"]), (ns, 2), (mode, loop))
        nsys = [line for line in log if line.startswith("nsys ")]
        self.assertEqual(len(nsys), 2)
        # CUDA calls, no sampling of the CPU, and its files where this run's are.
        for line in nsys:
            self.assertRegex(line, r"^nsys profile -t cuda -s none .*-o \S*/gpuverify-bench-\w+/trace "
                                   r"\S*/bench_gpu_calls 200$")
        traces = [line.split()[1] for line in log if line.startswith("400 ")]
        self.assertEqual(len(set(traces)), 2, "each run has a trace of its own")
        self.assertTrue(all(trace.endswith("/trace.rpd") for trace in traces), traces)

    def test_no_columns_of_what_is_not_there(self):
        bench, _ = self.measure()
        self.assertEqual(list(bench.charts[0]["series"]), list(gpu.GPU_MODES))
        self.assertFalse([name for name in bench.found if "nsys" in name or "rpd" in name])


if __name__ == "__main__":
    unittest.main()
