"""--range NAME of report, stalls, idle and export: what the calls in such ranges did, and nothing else."""

import contextlib
import json
import os
import sqlite3
import unittest
import xml.etree.ElementTree

import harness

MS = 1_000_000
# Of programs/steps_in_ranges.c: launches, and what their kernels take at least.
LAUNCHES = {"forward": (6, 12 * MS), "backward": (9, 9 * MS), "load code": (1, 20 * MS), "load batch": (0, 0),
            "step 1": (5, 7 * MS), "step 2": (6, 27 * MS), "step #": (16, 41 * MS), "step *": (16, 41 * MS),
            "*ward": (15, 21 * MS), "*": (16, 41 * MS)}


@unittest.skipUnless(os.path.exists(os.path.join(harness.simulator(), "libcupti.so.13")), "no simulated libcupti was built")
class ByRange(harness.Case):
    gpu = "auto"

    def setUp(self):
        super().setUp()
        self.run_well([harness.program("steps_in_ranges")], env={
            "GPUVERIFY_CUPTI": os.path.join(harness.simulator(), "libcupti.so.13"), "GPUVERIFY_STACKS": "all"})
        self.recorded = self.trace()

    def ask(self, command, name, *words, status=0):
        return self.command(command, self.recorded.path, "--range", name, *words, status=status, sim=False)

    def report(self, name):
        return json.loads(self.ask("report", name, "--format", "json").out)

    def rename(self, name, other):
        with contextlib.closing(sqlite3.connect(self.recorded.path)) as trace, trace:
            trace.execute("UPDATE range_text SET text = ? WHERE text = ?", (other, name))

    def idle_truth(self, like):
        """The time of the ranges in which no kernel ran."""
        busy = self.recorded.rows("SELECT start_ns, start_ns + duration_ns FROM gpu_ops ORDER BY 1")
        return sum(end - start - sum(max(0, min(end, until) - max(start, since)) for since, until in busy)
                   for start, end in self.recorded.rows(
                       "SELECT start_ns, start_ns + duration_ns FROM ranges WHERE kind = 'push' AND message LIKE ?", like))

    def test_a_load_after_a_mark_has_its_line(self):
        said = self.command("check", self.recorded.path, "--no-load-after", "mark ready", status=1, sim=False).out
        self.assertRegex(said, r"1 load of code came later; the first, cuModuleLoadData at steps_in_ranges\.c:\d+ \w+, .* after that")

    def test_sections_have_what_the_ranges_did(self):
        for name, (launches, least_ns) in LAUNCHES.items():
            with self.subTest(name):
                report = self.report(name)
                kernels = report["sections"]["kernels"]
                lines = report["sections"]["gpu_lines"]
                self.assertEqual(report["numbers"]["launches"], launches)
                self.assertEqual(sum(kernel["count"] for kernel in kernels), launches)
                self.assertGreaterEqual(sum(kernel["total_ns"] for kernel in kernels), least_ns)
                self.assertEqual(sum(line["launches"] for line in lines), launches)
                self.assertAlmostEqual(sum(line["gpu_time_ns"] for line in lines),
                                       sum(kernel["total_ns"] for kernel in kernels), delta=10)
                self.assertIn(f"'{name}'", self.command("report", self.recorded.path, "--range", name, sim=False).out)
        sections = self.report("forward")["sections"]
        self.assertEqual({call["call"]: call["count"] for call in sections["calls"]}, {"cuLaunchKernel": 6, "cuMemAlloc_v2": 3})
        # Freed outside of the ranges: no leak.
        self.assertEqual([(line["times"], line["freed"]) for line in sections["memory_lines"]], [(3, 3)])
        self.assertEqual(sections["leaks"], [])
        self.assertEqual(len(self.report("load code")["sections"]["loads"]), 1)
        self.assertEqual(sections["loads"], [])
        # The ranges that share calls with them.
        self.assertEqual({row["range"]: (row["count"], row["launches"], row["gpu_time_ns"] >= 2 * MS * row["launches"], row["idle"])
                          for row in sections["ranges"]},
                         {"forward": (3, 6, True, None), **{f"step {step}": (1, 2, True, None) for step in (1, 2, 3)}})

    def test_stalls(self):
        [stall] = json.loads(self.ask("stalls", "load code", "--format", "json").out)["stalls"]
        self.assertEqual(stall["cause"], "module-load")
        self.assertEqual([row["id"] for row in json.loads(self.ask("stalls", "step 2", "--format", "json").out)["stalls"]],
                         [stall["id"]])
        none = self.ask("stalls", "forward").out
        self.assertRegex(none, r"Only in 3 ranges 'forward', which took [^ ]+ .s\.\nNo unexpected stalls\.")
        [line] = self.ask("export", "load code", "--to", "folded", "--of", "stalls").out.splitlines()
        self.assertIn(";module-load: cuModuleLoadData ", line)
        self.assertIn("no time lost in stalls", self.ask("export", "forward", "--to", "folded", "--of", "stalls", status=3).err)

    def test_idle_time_is_cut_to_the_ranges(self):
        whole = json.loads(self.command("idle", self.recorded.path, "--format", "json", sim=False).out)
        for name, like in (("load batch", "load batch"), ("step 1", "step 1"), ("step #", "step%"), ("forward", "forward")):
            with self.subTest(name):
                found = json.loads(self.ask("idle", name, "--format", "json").out)
                # Kernels may overlap by nanoseconds: the clock of the GPU is converted.
                self.assertAlmostEqual(found["idle_ns"], self.idle_truth(like), delta=1000)
                self.assertEqual(sum(row["duration_ns"] for row in found["idle"]), found["idle_ns"])
                # A name of a row would be that of another row in 'explain'.
                self.assertEqual({row["id"] for row in found["idle"]} | {line["longest"] for line in found["lines"]}, {None})
        self.assertGreaterEqual(self.idle_truth("load batch"), 30 * MS)
        self.assertLess(self.idle_truth("load batch"), whole["idle_ns"])
        self.assertNotIn("explain", self.ask("idle", "load batch").out)

    def test_flame_graphs(self):
        stacks = self.ask("export", "backward", "--to", "folded").out.splitlines()
        self.assertGreaterEqual(sum(int(stack.rsplit(" ", 1)[1]) for stack in stacks), 9 * MS)
        self.assertFalse([stack for stack in stacks if "forward (" in stack], stacks)
        hostile = "*]]><b>&\"'\x1b[31m*"
        self.rename("backward", hostile)
        svg = self.ask("export", hostile, "--to", "svg").out
        self.assertNotIn("\x1b", svg)
        title = xml.etree.ElementTree.fromstring(svg).find("{http://www.w3.org/2000/svg}title").text
        self.assertTrue(title.endswith(" in *]]><b>&\"'\\x1b[31m*"), title)
        for command in ("report", "stalls", "idle"):
            self.assertIn("'*]]><b>&\"'\\x1b[31m*'", self.ask(command, hostile).out)

    def test_names_that_mean_no_range(self):
        for command, more in (("report", ()), ("stalls", ()), ("idle", ()), ("export", ("--to", "svg"))):
            self.assertIn("no range 'forwad'; did you mean 'forward'?", self.ask(command, "forwad", *more, status=2).err)
        for name in ("ready", "'; DROP TABLE range; --", "forward\x1b[31m\n", "", "stepp * of the way"):
            with self.subTest(name):
                err = self.ask("report", name, status=2).err
                self.assertIn("it has: backward, forward, load batch, load code, step #", err)
                self.assertNotIn("\x1b", err)
                self.assertEqual(err.count("\n"), 1)
