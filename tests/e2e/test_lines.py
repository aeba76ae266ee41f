"""Which lines asked for the GPU's time: the workloads of kernels/lines on the simulator, which knows."""

import contextlib
import json
import os
import sqlite3
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import lines_expectations as expectations  # noqa: E402


@unittest.skipUnless(os.path.exists(os.path.join(harness.simulator(), "libcupti.so.13")), "no simulated libcupti was built")
class LinesCase(harness.Case):
    gpu = "auto"

    def run_workload(self, name, seconds, **env):
        """What its lines asked for, and its trace."""
        words = expectations.command(expectations.WORKLOADS[name], harness.built("kernels"), seconds)
        env["GPUVERIFY_CUPTI"] = os.path.join(harness.simulator(), "libcupti.so.13")
        path = self.path(f"{name} {seconds}.db")
        result = self.run_well(words, env={**env, "GPUVERIFY_TRACE": path})
        return expectations.said(result.out, *expectations.SIMULATED_COPIES), self.trace(path).database


@harness.depends_on_time("a collector without a CPU for 0.1 s costs stacks")
class StackOfEveryCall(LinesCase):
    """The truth itself."""

    def check(self, name):
        truth, trace = self.run_workload(name, 0.2, GPUVERIFY_STACKS="all")
        expectations.check_exact(trace, truth)
        expectations.check_sums(trace)

    def test_layers(self):
        self.check("python layers")

    def test_copies_and_sets(self):
        self.check("c copies")

    def test_graphs_have_the_line_that_launched_and_the_one_that_captured(self):
        self.check("c graphs")

    def test_a_thread_without_python(self):
        self.check("python thread")


class Chosen(LinesCase):
    """The default: stacks of calls chosen at random."""

    def check(self, name, seconds):
        def run(length):
            truth, trace = self.run_workload(name, length)
            expectations.check_sums(trace)
            return expectations.shares(truth), expectations.estimates(trace)

        return expectations.check_chosen(run, seconds, name in expectations.PROMISED)

    def test_what_kernels_times_and_neighbours_tell_apart_keeps_the_promise(self):
        self.check("c layers", 1)

    def test_in_python_too(self):
        self.check("python two", 1)

    def test_lines_that_only_their_stacks_tell_apart(self):
        self.check("python ten", 1.5)

    def test_one_line_has_all(self):
        _, found = self.check("python single", 0.3)
        self.assertEqual([round(one.share, 9) for one in found.values()], [1])

    def test_graphs(self):
        self.check("c graphs", 0.5)

    def test_none_of_equal_lines_stands_out(self):
        self.check("c equal", 0.5)


class NodesOfGraphs(LinesCase):
    """GPUVERIFY_GRAPHS=nodes: what a graph runs is of the line that captured it, or added it by hand."""

    def record(self, cupti="13", **env):
        words = [harness.built("kernels/lines/graph_nodes"), "0.2"]
        result = self.run_well(words, env={"GPUVERIFY_CUPTI": os.path.join(harness.simulator(), f"libcupti.so.{cupti}"),
                                           "GPUVERIFY_GRAPHS": "nodes", **env})
        return expectations.said(result.out), self.trace()

    def check_lines(self, truth, trace):
        found = expectations.estimates(trace.database)
        for line, asked in truth.items():
            self.assertEqual((found[line].launches, found[line].ns, found[line].error), (asked.calls, asked.ns, 0), line)
        self.assertEqual(len(truth), 4)

    def test_each_line_has_what_it_added(self):
        for cupti in ("11.8", "12", "13"):
            with self.subTest(cupti):
                self.check_lines(*self.record(cupti))
                os.remove(self.path("trace.db"))

    def test_the_ledger_and_the_exports_have_these_lines(self):
        truth, trace = self.record()
        # Where two nodes overlap by what clocks differ, the ledger counts that time once.
        booked = dict(trace.rows(
            "SELECT line, sum(total_ns) FROM ledger WHERE what = 'kernel' AND file LIKE '%graph_nodes.c' GROUP BY 1"))
        self.assertEqual(set(booked), {line.line for line in truth})
        for line, asked in truth.items():
            self.assertAlmostEqual(booked[line.line] / asked.ns, 1, delta=0.001)
        self.command("export", self.path("trace.db"), "--to", "perfetto", "-o", self.path("out.pftrace"))
        with open(self.path("out.pftrace"), "rb") as file:
            timeline = file.read()
        folded = self.command("export", self.path("trace.db"), "--to", "folded").out
        for line in truth:
            self.assertIn(f"graph_nodes.c:{line.line}".encode(), timeline)
            self.assertIn(f"(graph_nodes.c:{line.line});spin ", folded)
        self.assertNotIn("captured at", folded)

    def test_lines_are_known_while_the_program_runs(self):
        self.start([harness.built("kernels/lines/graph_nodes"), "60"],
                   env={"GPUVERIFY_CUPTI": os.path.join(harness.simulator(), "libcupti.so.13"), "GPUVERIFY_GRAPHS": "nodes"})

        def have_lines():
            with contextlib.suppress(sqlite3.OperationalError), contextlib.closing(harness.Trace(self.path("trace.db"))) as trace:
                return trace.value("SELECT count(DISTINCT graph_node) FROM gpu_ops WHERE node_stack IS NOT NULL") >= 4

        harness.wait_for(have_lines, "nodes have lines", 10)

    def test_only_with_cupti(self):
        words = ["run", "--graphs", "nodes", "-o", self.path("trace.db"), "--", harness.built("kernels/lines/graph_nodes"), "0.1"]
        result = self.command(*words, env={"GPUVERIFY_GPU": "sampled"})
        self.assertIn("gpuverify: --graphs nodes has no effect with GPUVERIFY_GPU=sampled\n", result.err)
        result = self.command(words[0], *words[3:], env={"GPUVERIFY_GPU": "off", "GPUVERIFY_GRAPHS": "nodes"})
        self.assertIn("gpuverify: GPUVERIFY_GRAPHS=nodes has no effect with GPUVERIFY_GPU=off\n", result.err)

    def test_a_table_of_each_graph(self):
        truth, _ = self.record()
        rows = json.loads(self.command("report", self.path("trace.db"), "--section", "graphs", "--format", "json").out)
        rows = rows["sections"]["graphs"]
        graphs = [row for row in rows if row["line"] is None]
        self.assertEqual([(row["nodes"], row["per_launch_ns"], round(row["share"], 3)) for row in graphs],
                         [(6, 640000, 1), (4, 400000, 1)])
        for row in graphs:
            self.assertAlmostEqual(row["median_ns"], row["per_launch_ns"], delta=1000)
        (_, hand), (_, captured) = [(row["graph"], [each for each in rows if each["graph"] == row["graph"] and each["line"]])
                                    for row in graphs]
        lines = sorted(line.line for line in truth)
        self.assertEqual([(row["line"].split()[0], row["nodes"], row["median_ns"]) for row in captured],
                         [(f"graph_nodes.c:{lines[1]}", 1, 280000), (f"graph_nodes.c:{lines[0]}", 3, 40000)])
        self.assertEqual([(row["line"].split()[0], row["nodes"], row["per_launch_ns"]) for row in hand],
                         [(f"graph_nodes.c:{lines[1]}", 1, 280000), (f"graph_nodes.c:{lines[2]}", 1, 150000),
                          (f"graph_nodes.c:{lines[0]}", 3, 120000), (f"graph_nodes.c:{lines[3]}", 1, 90000)])

    @unittest.skipUnless(os.path.exists(harness.built("kernels", "graph_lines_static")), "nvcc was not there")
    def test_launches_of_the_runtime(self):
        result = self.run_well([harness.built("kernels", "graph_lines_static"), "20"], env={
            "GPUVERIFY_CUPTI": os.path.join(harness.simulator(), "libcupti.so.13"), "GPUVERIFY_GRAPHS": "nodes"})
        found = expectations.estimates(self.trace().database)
        self.assertEqual({line: one.launches for line, one in found.items()},
                         {line: asked.calls for line, asked in expectations.said(result.out).items()})

    def test_without_stacks_there_are_no_lines(self):
        _, trace = self.record(GPUVERIFY_STACKS="off")
        self.assertEqual(trace.rows("SELECT line FROM gpu_lines"), [(None,)])
        self.assertEqual(trace.value("SELECT count(*) FROM graph_total"), 2)

    def test_the_default_says_how_to_see_inside(self):
        words = [harness.built("kernels/lines/graph_nodes"), "0.1"]
        said = self.command("run", "-o", self.path("whole.db"), "--", *words).err
        self.assertIn("gpuverify run --graphs nodes", said)
        self.assertEqual(self.trace(self.path("whole.db")).rows("SELECT count(*) FROM graph_node"), [(0,)])
        said = self.command("run", "--graphs", "nodes", "-o", self.path("nodes.db"), "--", *words).err
        self.assertNotIn("--graphs", said)
        self.assertGreater(self.trace(self.path("nodes.db")).value("SELECT count(*) FROM graph_node"), 0)
