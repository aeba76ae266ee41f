"""What gpuverify itself cost: the view own_cost, the report's line, and the rule."""

import contextlib
import os
import sqlite3
import sys
import unittest

import harness

CALLS = "SELECT coalesce(sum(count), 0) FROM calls"
PARTS = {"hooks", "hooks-unrecorded", "ranges", "stacks", "events", "cpu-waits", "cupti-calls", "cupti-buffers", "thread", "start", "end"}

# Each of their launches wants a stack.
HOST_FUNCTIONS = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
device, context, stream = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
cuda.cuCtxSetCurrent(context)
cuda.cuStreamCreate(ctypes.byref(stream), 1)
nothing = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
for _ in range(int(sys.argv[1])):
    cuda.cuLaunchHostFunc(stream, nothing, None)
cuda.cuStreamSynchronize(stream)
"""


class OwnCost(harness.Case):
    def costs(self, trace):
        """{what: its row}."""
        rows = {row["what"]: row for row in trace.dicts("SELECT * FROM own_cost")}
        self.assertEqual(set(rows), PARTS)
        return rows

    def test_each_call_has_a_hook(self):
        self.run_well([harness.workload("driver_tour")], quiet=False)
        trace = self.trace()
        costs = self.costs(trace)
        self.assertEqual(costs["hooks"]["count"], trace.value(CALLS))
        self.assertGreater(costs["hooks"]["total_ns"], 0)
        # Questions are recorded only if they are slow: how much memory is free, and what a function needs.
        self.assertEqual(costs["hooks-unrecorded"]["count"] + trace.count("cuMemGetInfo_v2") +
                         trace.count("cuFuncGetAttribute"), 2)
        if costs["hooks-unrecorded"]["count"] == 2:
            self.assertIn("Not in this table: 2 calls that only asked", self.command("report", trace.path, "-s", "calls").out)
        self.assertEqual(costs["cupti-calls"]["count"], 0)

    def test_slow_calls_cost_a_look_at_the_scheduler(self):
        self.run_well([harness.workload("driver_tour")], quiet=False, env={"GPUVERIFY_STALL_US": "1"})
        costs = self.costs(self.trace())
        self.assertGreater(costs["cpu-waits"]["count"], 0)
        self.assertGreater(costs["cpu-waits"]["total_ns"], costs["cpu-waits"]["count"])

    def test_calls_without_a_stack_of_their_own_are_counted(self):
        self.run_well([sys.executable, "-c", HOST_FUNCTIONS, "3000"])
        stacks = self.costs(self.trace())["stacks"]
        self.assertGreater(stacks["spared"], 1000)
        self.assertLessEqual(stacks["spared"], 3000 + 10)
        self.assertGreater(stacks["count"], 0)

    def test_end_is_stored_before_it_is_over(self):
        self.run_well([harness.program("ending")], env={"GPUVERIFY_EXIT_WAIT": "60"})
        trace = self.open_trace()
        self.assertEqual(trace.value("SELECT value FROM meta WHERE key = 'state'"), "complete")
        end = self.costs(trace)["end"]
        self.assertEqual(end["count"], 1)
        self.assertGreater(end["total_ns"], 0)

    def killed(self, **env):
        process = self.start([harness.program("flood"), "--blocked"], env=env)
        self.assertEqual(process.stdout.readline(), b"blocked\n")
        process.kill()
        process.communicate()

    def expect_killed(self):
        trace = self.trace(losses=True)
        costs = self.costs(trace)
        self.assertEqual(costs["hooks"]["count"], trace.value(CALLS))
        self.assertGreater(costs["hooks"]["total_ns"], 0)
        self.assertGreater(costs["hooks"]["share"], 0)
        self.assertLess(trace.value("SELECT sum(share) FROM own_cost"), 1)

    def test_killed_program(self):
        self.killed()
        self.expect_killed()

    def test_recovered_program(self):
        self.killed(GPUVERIFY_COLLECTOR="off")
        harness.wait_for(lambda: not self.processes(), "everybody is gone")
        self.command("recover", self.spool)
        self.expect_killed()

    def test_report_and_rule(self):
        self.run_well([harness.program("ending")])
        self.settle()
        path = self.path("trace.db")
        self.assertRegex(self.command("report", path).out, r"\n  gpuverify cost (less than )?[\d.]+ % of this run")
        self.assertRegex(self.command("report", path, "-s", "own_cost").out, r"\nhooks +\d+ ")
        self.command("check", path, "--max-own-cost", "100%")
        self.assertIn("broken: max-own-cost 0%: gpuverify cost ",
                      self.command("check", path, "--max-own-cost", "0%", status=1).out)


@unittest.skipUnless(os.path.exists(os.path.join(harness.simulator(), "libcupti.so.13")),
                     "no simulated libcupti was built: no cupti.h beside the CUDA headers")
class GpuSide(harness.Case):
    gpu = "auto"

    def test_graphs_cost_more_the_more_nodes_they_have(self):
        self.run_well([harness.program("gpu_work"), "graphs", "40"])
        trace = self.trace()
        total_ns = trace.value("SELECT total_ns FROM own_cost WHERE what = 'cupti-calls'")
        others = trace.value("SELECT count(*) FROM calls WHERE correlation IS NOT NULL AND name <> 'cuGraphLaunch'")
        self.assertEqual(total_ns, others * 600 + 40 * (1400 + 3 * 130))

    def test_what_cupti_costs(self):
        self.run_well([harness.program("gpu_work"), "own-streams", "25"], env={"GPUVERIFY_FLUSH_MS": "60000"})
        trace = self.trace()
        costs = {row["what"]: row for row in trace.dicts("SELECT * FROM own_cost")}
        self.assertEqual(costs["cupti-calls"]["count"],
                         trace.value("SELECT count(*) FROM calls WHERE correlation IS NOT NULL"))
        self.assertGreater(costs["cupti-calls"]["total_ns"], 0)
        self.assertGreater(costs["cupti-buffers"]["count"], 0)
        self.assertGreater(costs["cupti-buffers"]["total_ns"], 0)
        self.assertEqual(costs["thread"]["spared"], 0)
        self.assertIsNone(costs["thread"]["share"])
        # What CUPTI costs the GPU is not known.
        self.assertRegex(self.command("report", trace.path).out, r"\n  gpuverify cost at least [\d.]+ % of this run")
        with contextlib.closing(sqlite3.connect(trace.path)) as database:
            database.execute("UPDATE cost SET total_ns = 0")
            database.commit()
        self.assertIn("gpuverify cost less than 0.1 % of this run, without what CUPTI costs the GPU",
                      " ".join(self.command("report", trace.path).out.split()))

    def test_thread_start_and_end(self):
        self.run_well([harness.program("gpu_work"), "streams", "100"],
                      env={"GPUVERIFY_FLUSH_MS": "10", "GV_SIM_CUPTI_START_MS": "20"})
        costs = {row["what"]: row for row in self.trace().dicts("SELECT * FROM own_cost")}
        self.assertEqual(costs["start"]["count"], 1)
        self.assertGreaterEqual(costs["start"]["total_ns"], 20000000)
        for what in ("thread", "end"):
            self.assertGreater(costs[what]["count"], 0)
            self.assertGreater(costs[what]["total_ns"], 0)

    def test_expensive_fetches_are_put_off(self):
        process = self.start([harness.program("gpu_work"), "stuck", "5"],
                             env={"GPUVERIFY_FLUSH_MS": "10", "GV_SIM_CUPTI_FLUSH_US": "2000"})
        self.assertEqual(process.stdout.readline(), b"ready\n")
        harness.wait_for(lambda: self.put_off() > 0, "a fetch is put off")
        process.kill()
        process.communicate()

    def put_off(self):
        """So far: the collector may not have made the trace yet, or hold its lock."""
        try:
            with contextlib.closing(sqlite3.connect(f"file:{self.path('trace.db')}?mode=ro", uri=True)) as trace:
                return trace.execute("SELECT coalesce(sum(spared), 0) FROM own_cost WHERE what = 'thread'").fetchone()[0]
        except sqlite3.OperationalError:
            return 0
