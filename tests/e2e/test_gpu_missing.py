"""Every launch is found on the GPU or counted as lost, whatever the reason; nothing else is."""

import os
import time
import unittest

import harness
from test_gpu_side import Seen, libcupti


@unittest.skipUnless(os.path.exists(libcupti()),
                     "no simulated libcupti was built: no cupti.h beside the CUDA headers")
class Starting(Seen):
    """No launch is missed while the GPU side starts."""

    def all_found(self, argv, launches, **env):
        os.path.exists(self.path("trace.db")) and os.unlink(self.path("trace.db"))
        self.run_well(argv, quiet=False, env=env)
        trace = self.trace()
        self.assertEqual(trace.value("SELECT count(*) FROM calls WHERE class = 'launch'"), launches)
        self.assertEqual(self.kinds(trace), {"kernel": launches})
        self.all_found_their_call(trace)

    def test_threads_that_make_their_first_calls_at_once(self):
        for threads, start_ms in ((4, 0), (8, 0), (4, 200), (8, 200)):
            self.all_found([harness.workload("threads"), str(threads), "2000", "first"],
                           threads * 2000, GV_SIM_CUPTI_START_MS=str(start_ms))

    def test_threads_that_do_not_initialise(self):
        self.all_found([harness.program("first_calls"), "200"], 1600, GV_SIM_CUPTI_START_MS="300")

    def when(self, how, *arguments, start_ms):
        return self.run_well([harness.program("starting"), how, *arguments],
                             env={"GV_SIM_CUPTI_START_MS": str(start_ms)}).out

    def test_other_calls_wait(self):
        self.assertEqual(self.when("call", start_ms=1000), "after the start\n")

    def test_who_must_not_wait_does_not(self):
        for how, arguments in (("fork", []), ("signal", []),
                               ("constructor", [harness.built(harness.PROGRAMS, "libe2e_constructor.so")])):
            with self.subTest(how):
                self.assertEqual(self.when(how, *arguments, start_ms=9000), "during the start\n")

    def test_thread_that_jumps_out_of_its_wait_can_be_cancelled(self):
        self.assertEqual(self.when("jump-wait", start_ms=9000), "during the start\n")

    def test_who_waits_for_a_thread_that_left_the_start(self):
        """The program checks that the thread can be cancelled then."""
        for how in "jump", "end":
            with self.subTest(how):
                os.path.exists(self.path("trace.db")) and os.unlink(self.path("trace.db"))
                start = time.monotonic()
                self.assertEqual(self.when(how, start_ms=9000), "during the start\n")
                self.assertLess(time.monotonic() - start, 8)
                self.assertEqual(self.trace().rows("SELECT gpu, gpu_why FROM processes"), [
                    ("host-only", "the thread that started CUPTI jumped out of cuInit(), or ended")])


@unittest.skipUnless(os.path.exists(libcupti()),
                     "no simulated libcupti was built: no cupti.h beside the CUDA headers")
class Missing(Seen):
    """Launches without a CUPTI record or message."""

    def test_lost_kernels_are_told_everywhere(self):
        self.run_well([harness.workload("threads"), "4", "250"], quiet=False,
                      env={"GV_SIM_CUPTI_LOSE": "10"})
        trace = self.trace(losses=True)
        self.assertEqual(self.kinds(trace), {"kernel": 900})
        self.assertEqual(trace.rows("SELECT what, class, count FROM losses"),
                         [("GPU record", "missing", 100)])
        path = self.path("trace.db")
        told = " ".join(self.command("report", path).out.split())
        self.assertIn("100 launches succeeded, but CUPTI has no record of them", told)
        self.assertIn("at least 900 kernels", told)
        self.assertRegex(told, r"GPU record missing +100")
        self.assertNotIn("were lost and", told)
        told = self.command("check", path, "--max-losses", "0", "--min-kernels", "1000", status=1).out
        self.assertIn("broken: max-losses 0: 100 records were lost", told)
        self.assertIn("not known: min-kernels 1000", told)

    def test_one_lost_launch_of_a_graph_is_told(self):
        self.run_well([harness.workload("ordinary/graph_launches"), "50"], env={"GV_SIM_CUPTI_LOSE": "50"})
        trace = self.trace(losses=True)
        self.assertEqual(self.kinds(trace), {"graph": 49})
        self.assertEqual(trace.rows("SELECT what, class, count FROM losses"), [("GPU record", "missing", 1)])
        told = " ".join(self.command("report", self.path("trace.db")).out.split())
        self.assertIn("1 launch succeeded, but CUPTI has no record of it", told)

    def test_recovered_and_all_lost(self):
        self.run_well([harness.workload("threads"), "2", "50"], quiet=False,
                      env={"GV_SIM_CUPTI_LOSE": "1", "GPUVERIFY_COLLECTOR": "off"})
        self.command("recover", self.spool)
        trace = self.trace(losses=True)
        self.assertEqual(trace.rows("SELECT what, class, count FROM losses"), [("GPU record", "missing", 100)])
        self.assertIn("GPU activity was not recorded", self.command("report", self.path("trace.db")).out)

    def test_nobody_is_accused_wrongly(self):
        for kind in ("captures", "empty-graphs", "host-work", "cooperative"):
            for graphs in ("whole", "nodes"):
                with self.subTest(kind, graphs=graphs):
                    os.path.exists(self.path("trace.db")) and os.unlink(self.path("trace.db"))
                    self.run_well([harness.workload("no_record"), kind], env={"GPUVERIFY_GRAPHS": graphs})
                    self.trace()

    def test_a_killed_program_s_empty_graphs(self):
        """They are no loss of the last flush if each node is recorded."""
        self.run_well([harness.workload("no_record"), "empty-graphs"],
                      env={"GPUVERIFY_GRAPHS": "nodes", "GV_SIM_CUPTI_HANG": "cuptiActivityFlushAll",
                           "GPUVERIFY_EXIT_WAIT": "1"})
        self.assertEqual(self.trace().meta().get("graphs"), "nodes")


@unittest.skipUnless(os.path.exists(libcupti()),
                     "no simulated libcupti was built: no cupti.h beside the CUDA headers")
class Recording(Seen):
    """The view that says for which time the calls and the GPU's side were recorded."""

    def recording(self, side):
        trace = self.open_trace()
        return trace.rows("SELECT start_ns, end_ns, why FROM recording WHERE side = ?", side)

    def test_a_program_that_ends(self):
        _, trace = self.work("streams", 10)
        (calls,), (gpu,) = self.recording("calls"), self.recording("gpu")
        launches = trace.rows("SELECT min(start_ns), max(start_ns + duration_ns) FROM calls WHERE class = 'launch'")
        self.assertLess(calls[0], gpu[0])
        self.assertLess(gpu[0], launches[0][0])
        self.assertGreater(gpu[1], launches[0][1])
        self.assertGreater(calls[1], gpu[1])
        self.assertEqual((calls[2], gpu[2]), ("exit", "exit"))

    def test_without_the_gpu_s_side(self):
        for env, why in (({"GPUVERIFY_GPU": "off"}, "GPUVERIFY_GPU=off"),
                         ({"GV_SIM_CUPTI_FAIL": "cuptiSubscribe=1,cuptiSubscribe_v2=1"}, "cuptiSubscribe failed")):
            os.path.exists(self.path("trace.db")) and os.unlink(self.path("trace.db"))
            self.run_well([harness.program("gpu_work"), "streams"], env=env)
            self.settle()
            (start_ns, end_ns, said), = self.recording("gpu")
            self.assertEqual((start_ns, end_ns), (None, None))
            self.assertIn(why, said)

    def test_a_killed_program(self):
        process = self.start([harness.program("gpu_work"), "stuck", "5"], env={"GPUVERIFY_FLUSH_MS": "20"})
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.kill()
        process.communicate()
        self.settle()
        (calls,), (gpu,) = self.recording("calls"), self.recording("gpu")
        self.assertEqual((calls[1], calls[2], gpu[2]), (None, "killed", "killed"))


if __name__ == "__main__":
    unittest.main()
