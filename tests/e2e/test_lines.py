"""Which lines asked for the GPU's time: the workloads of kernels/lines on the simulator, which knows."""

import os
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


@harness.depends_on_time("a collector without a CPU for 10 ms costs stacks")
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

    def test_none_of_equal_lines_stands_out(self):
        self.check("c equal", 0.5)
