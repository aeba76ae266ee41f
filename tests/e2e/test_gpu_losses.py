"""Missing parts of the GPU side are reported, and kept small."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

import harness
from test_gpu_side import Seen, libcupti
from test_lifecycle import no_core


@unittest.skipUnless(os.path.exists(libcupti()),
                     "no simulated libcupti was built: no cupti.h beside the CUDA headers")
class Lost(Seen):
    """Missing operations are counted."""

    def test_records_that_cupti_drops(self):
        _, trace = self.work("own-streams", 25, losses=True, GV_SIM_CUPTI_DROP=10)
        self.assertEqual(trace.value("SELECT count(*) FROM gpu_ops"), 90)
        self.assertEqual(trace.value("SELECT sum(count) FROM losses WHERE process = 1"), 10)

    def test_records_that_come_late(self):
        _, trace = self.work("streams", 20, GV_SIM_CUPTI_LATE_MS=60000)
        self.assertEqual(self.kinds(trace), {"kernel": 20, "copy": 20, "set": 20})
        self.all_found_their_call(trace)

    def test_flush_that_hangs_does_not_hold_the_program(self):
        result = self.run_well([harness.program("gpu_work"), "streams"],
                               env={"GV_SIM_CUPTI_HANG": "cuptiActivityFlushAll",
                                    "GPUVERIFY_EXIT_WAIT": "2"})
        self.assertEqual(result.out, "10 kernels, 10 copies, 10 sets\n")
        trace = self.trace(losses=True)
        self.assertEqual(trace.count("cuLaunchKernel"), 10)
        self.assertEqual(trace.rows("SELECT * FROM gpu_ops"), [])
        self.assertNotEqual(trace.lost(), [])

    def killed(self, sig):
        process = self.start([harness.program("gpu_work"), "stuck", "50"],
                             env={"GPUVERIFY_FLUSH_MS": "50"})
        self.assertEqual(process.stdout.readline(), b"ready\n")
        harness.pause(1)
        process.send_signal(sig)
        process.communicate()
        trace = self.trace(losses=True)
        self.assertEqual(self.kinds(trace), {"kernel": 50})
        self.all_found_their_call(trace)
        told = self.command("report", self.path("trace.db")).out
        self.assertRegex(told, r"took +[1-9]")
        self.assertRegex(told, r"^gpuverify: e2e_gpu_work ran [1-9]")
        # Only its parent can know the signal, and that was not gpuverify run.
        self.assertEqual(trace.rows("SELECT ended, exit_signal FROM processes"), [("killed", None)])
        self.assertIn("killed or crashed", told)

    def test_full_buffers_do_not_wait_for_the_next_fetch(self):
        """They would take the program's memory."""
        process = self.start([harness.program("gpu_work"), "stuck", "20000"],
                             env={"GPUVERIFY_FLUSH_MS": "60000"})
        self.assertEqual(process.stdout.readline(), b"ready\n")
        harness.wait_for(lambda: self.stored_operations() > 1000, "operations are in the trace")
        process.kill()
        process.communicate()
        trace = self.trace(losses=True)
        seen = trace.value("SELECT count(*) FROM gpu_ops")
        self.assertEqual(trace.rows("SELECT what, class, count FROM losses"),
                         [("GPU operation", "last flush", 20000 - seen)])

    def stored_operations(self):
        try:
            with contextlib.closing(sqlite3.connect(f"file:{self.path('trace.db')}?mode=ro",
                                                    uri=True)) as reader:
                return reader.execute("SELECT count(*) FROM gpu_ops").fetchone()[0]
        except sqlite3.Error:
            return 0

    def test_last_flush_of_a_killed_program_is_told(self):
        process = self.start([harness.program("gpu_work"), "stuck", "50"],
                             env={"GPUVERIFY_FLUSH_MS": "60000"})
        self.assertEqual(process.stdout.readline(), b"ready\n")
        time.sleep(0.1)  # nothing is fetched meanwhile
        process.kill()
        process.communicate()
        trace = self.trace(losses=True)
        self.assertEqual(trace.count("cuLaunchKernel"), 50)
        self.assertEqual(trace.rows("SELECT * FROM gpu_ops"), [])
        self.assertEqual(trace.rows("SELECT what, class, count FROM losses"),
                         [("GPU operation", "last flush", 50)])
        self.assertIn("50 records were lost; of these, 50 that CUPTI had not delivered when the process ended",
                      self.command("check", trace.path, "--max-losses", "0", status=1).out)

    def test_what_a_running_kernel_kept_back_is_told(self):
        """However long ago it was launched: CUPTI returns no buffer with a running kernel."""
        process = self.start([harness.program("gpu_work"), "held", "50"],
                             env={"GPUVERIFY_FLUSH_MS": "20"})
        self.assertEqual(process.stdout.readline(), b"ready\n")
        harness.pause(0.5)
        process.kill()
        process.communicate()
        trace = self.trace(losses=True)
        self.assertEqual(trace.value("SELECT count(*) FROM calls WHERE class = 'launch'"), 52)
        seen = trace.value("SELECT count(*) FROM gpu_ops")
        self.assertLess(seen, 51, "nothing was kept back")
        self.assertEqual(trace.rows("SELECT what, class, count FROM losses"),
                         [("GPU operation", "last flush", 51 - seen)], "all but the captured one")

    def test_killed_program_whose_gpu_was_never_idle(self):
        """CUPTI returns complete buffers; on a GPU that is never idle only full ones, so they must fill
        soon."""
        process = self.start([harness.program("gpu_work"), "never-idle", "1000"])
        self.assertEqual(process.stdout.readline(), b"ready\n")
        harness.pause(0.5)
        process.kill()
        process.communicate()
        seen = self.trace(losses=True).value("SELECT count(*) FROM gpu_ops")
        self.assertGreater(seen, 700)

    GPU_RULES = ("--no-jit", "--max-gpu-gap", "1us", "--max-copy-ratio", "0.1", "--min-kernels", "1000",
                 "--min-gpu-busy", "90%", "-a")

    def outcomes(self, *rules, path="trace.db"):
        rows = json.loads(self.command("check", self.path(path), *rules, "--format", "json", status=None,
                                       sim=False).out)
        return {row["rule"]: row["outcome"] for row in rows}

    def test_nothing_is_claimed_of_what_is_missing(self):
        """Neither while the program runs nor after it was killed."""
        process = self.start([harness.program("gpu_work"), "held", "50"],
                             env={"GPUVERIFY_FLUSH_MS": "20"})
        self.assertEqual(process.stdout.readline(), b"ready\n")
        for end in (lambda: harness.pause(1), lambda: (process.kill(), process.communicate(), self.settle())):
            end()
            self.assertEqual(set(self.outcomes(*self.GPU_RULES).values()), {"not known"})
            facts = json.loads(self.command("report", self.path("trace.db"), "-f", "json", sim=False).out)["numbers"]
            for fact in ("kernels_run", "devices", "busy_ns", "computing_ns", "copies", "compiling_ns"):
                self.assertIsNone(facts[fact], fact)
            out = self.command("report", self.path("trace.db"), sim=False).out
            self.assertRegex(out, r"\n  ! +GPU activity after \S+ \S+ is unknown")
            self.assertNotIn("compiling it", out)
        self.run_well([harness.program("gpu_work"), "streams", "20"],
                      env={"GPUVERIFY_TRACE": self.path("whole.db")})
        self.settle()
        changes = json.loads(self.command("diff", "--all", "--top", "0", "-f", "json", self.path("whole.db"),
                                          self.path("trace.db"), sim=False).out)["changes"]
        self.assertEqual([row for row in changes if row["after"] == 0
                          and row["area"] in ("kernels", "copies", "verdict", "run")
                          and row["what"] not in ("stalls", "stalled")], [])

    def test_what_was_seen_is_enough_for_some_rules(self):
        """Of two kernels, at least one ran; none of the missing ones may have been late."""
        process = self.start([harness.program("gpu_work"), "stuck", "50"],
                             env={"GPUVERIFY_FLUSH_MS": "20"})
        self.assertEqual(process.stdout.readline(), b"ready\n")
        harness.pause(1)
        rules = ("--min-kernels", "50", "--no-jit")
        for end in (lambda: None, lambda: (process.kill(), process.communicate(), self.settle())):
            end()
            self.assertEqual(self.outcomes(*rules), {"min-kernels": "kept", "no-jit": "broken"})

    def test_what_earlier_exit_handlers_start_is_told(self):
        """They run after CUPTI's last flush."""
        self.run_well([harness.program("gpu_work"), "at-exit", "50"])
        trace = self.trace(losses=True)
        self.assertEqual(trace.value("SELECT count(*) FROM calls WHERE class = 'launch'"), 60)
        self.assertEqual(trace.value("SELECT count(*) FROM gpu_ops"), 10)
        self.assertEqual(trace.rows("SELECT what, class, count FROM losses"),
                         [("GPU operation", "last flush", 50)])

    def test_errors_after_the_start_are_told(self):
        for step in ("cuptiActivityFlushAll", "cuptiActivityGetNextRecord"):
            with self.subTest(step):
                os.path.exists(self.path("trace.db")) and os.unlink(self.path("trace.db"))
                self.run_well([harness.program("gpu_work"), "streams", "20"],
                              env={"GV_SIM_CUPTI_FAIL": f"{step}=1"})
                trace = self.trace(losses=True)
                gpu, why = trace.rows("SELECT gpu, gpu_why FROM processes")[0]
                self.assertEqual(gpu, "cupti")
                self.assertIn(f"{step} failed with 1", why)
                self.assertEqual(trace.rows("SELECT what, class, count FROM losses"),
                                 [("GPU operation", "last flush", 60)])

    def test_a_thread_that_works_on_is_no_other_profiler(self):
        for ask_us in (0, 4000, 4000, 4000):
            self.run_well([harness.program("gpu_work"), "racing"],
                          env={"GV_SIM_CUPTI_ASK_US": str(ask_us)})
            trace = self.trace(losses=True)
            self.assertEqual(trace.rows("SELECT gpu, gpu_why FROM processes"), [("cupti", None)])
            os.unlink(self.path("trace.db"))

    def test_end_that_does_not_wait_loses_nothing(self):
        """GPUVERIFY_EXIT_WAIT=0 concerns the collector: what CUPTI has is fetched anyway."""
        self.run_well([harness.program("gpu_work"), "streams", "40"],
                      env={"GPUVERIFY_EXIT_WAIT": "0", "GPUVERIFY_FLUSH_MS": "60000"})
        self.assertEqual(self.kinds(self.trace()), {"kernel": 40, "copy": 40, "set": 40})

    def test_cupti_is_left_alone_after_the_last_flush(self):
        """Its exit handlers have run when ours wait for the collector."""
        slow = self.write("slow", "#!/bin/sh\nexec sleep 3\n", 0o755)
        start = time.monotonic()
        result = self.run_well([harness.program("gpu_work"), "streams"],
                               env={"GPUVERIFY_FLUSH_MS": "20", "GPUVERIFY_EXIT_WAIT": "1",
                                    "GPUVERIFY_COLLECTOR": slow,
                                    "GV_SIM_CUPTI_AFTER_EXIT": "complain"}, quiet=False)
        self.assertGreater(time.monotonic() - start, 0.9, "it did not wait for the collector")
        self.assertNotIn("libcupti", result.err)
        harness.wait_for(lambda: not self.processes(), "the collector ends")
        self.command("recover", self.spool)

    def test_killed_program_keeps_what_was_flushed(self):
        self.killed(signal.SIGKILL)

    def test_terminated_program_keeps_what_was_flushed(self):
        self.killed(signal.SIGTERM)

    def test_end_of_a_program_loses_nothing(self):
        for how, status in (("return", 0), ("exit", 4), ("_exit", 5), ("quick_exit", 6),
                            ("atexit", 7), ("thread", 9), ("pthread_exit", 8)):
            with self.subTest(how):
                os.path.exists(self.path("trace.db")) and os.unlink(self.path("trace.db"))
                self.run_well([harness.program("ending"), how], status=status,
                              env={"GPUVERIFY_FLUSH_MS": "60000"})
                trace = self.trace(losses=True)
                launches = trace.value("SELECT count(*) FROM calls WHERE class = 'launch'")
                seen = trace.value("SELECT count(*) FROM gpu_ops")
                told = trace.value("SELECT coalesce(sum(count), 0) FROM losses")
                # What exit handlers launch after ours may go by unseen.
                self.assertGreaterEqual(seen, 3)
                self.assertEqual(seen + told, launches, trace.lost())

    def test_program_ends_with_its_last_thread(self):
        """Our thread does not keep it alive when main() has left by pthread_exit."""
        self.run_twice([harness.program("ending"), "last-thread"])
        trace = self.trace()
        self.assertEqual(self.kinds(trace), {"kernel": 5})
        self.assertEqual(trace.rows("SELECT ended, exit_code FROM processes"), [("exit", 0)])

    def ended_by_signal(self, how, sig):
        """Only the program's own end can fetch anything."""
        os.path.exists(self.path("trace.db")) and os.unlink(self.path("trace.db"))
        self.run_well([harness.program("ending"), how], status=-sig, preexec_fn=no_core,
                      env={"GPUVERIFY_FLUSH_MS": "60000"})
        # As the program leaves it: a script's next line may read it.
        trace = self.open_trace()
        self.assertEqual(trace.lost(), [])
        self.assertEqual(self.kinds(trace), {"kernel": 3})
        self.assertEqual(trace.rows("SELECT ended, exit_code, exit_signal FROM processes"),
                         [("killed", None, sig)])
        self.assertEqual(trace.value("SELECT value FROM meta WHERE key = 'state'"), "complete")
        self.assertGreater(trace.value("SELECT end_ns FROM processes"), 0)
        self.settle()

    def test_end_by_a_signal_to_oneself_loses_nothing(self):
        for how, sig in (("term", signal.SIGTERM), ("kill", signal.SIGKILL),
                         ("segv", signal.SIGSEGV), ("abort", signal.SIGABRT), ("assert", signal.SIGABRT),
                         ("kill-pid", signal.SIGINT), ("handler", signal.SIGTERM)):
            with self.subTest(how):
                self.ended_by_signal(how, sig)

    def test_abort_with_a_handler_that_returns_loses_nothing(self):
        self.run_well([harness.program("ending"), "abort-handler"], status=-signal.SIGABRT,
                      preexec_fn=no_core, quiet=False, env={"GPUVERIFY_FLUSH_MS": "60000"})
        trace = self.trace()
        self.assertEqual(self.kinds(trace), {"kernel": 3})
        self.assertEqual(trace.rows("SELECT ended, exit_code FROM processes"), [("killed", None)])

    def test_what_others_did_while_it_waited_for_its_signal(self):
        """Threads continue while the program waits for the trace, here as long as possible."""
        process = self.start([harness.program("ending"), "others-go-on"], stdin=subprocess.PIPE,
                             env={"GPUVERIFY_FLUSH_MS": "60000", "GPUVERIFY_EXIT_WAIT": "3"})
        self.assertEqual(process.stdout.readline(), b"three launches\n")
        collector = self.await_collector()
        os.kill(collector, signal.SIGSTOP)
        try:
            process.communicate(b"\n", timeout=harness.PROGRAM_S)
        finally:
            os.kill(collector, signal.SIGCONT)
        self.assertEqual(process.returncode, -signal.SIGTERM)
        self.assertEqual(self.kinds(self.trace()), {"kernel": 23})

    def test_flush_that_hangs_does_not_keep_a_program_from_its_signal(self):
        self.run_well([harness.program("ending"), "term"], status=-signal.SIGTERM,
                      env={"GV_SIM_CUPTI_HANG": "cuptiActivityFlushAll",
                           "GPUVERIFY_EXIT_WAIT": "1"})
        trace = self.trace(losses=True)
        self.assertEqual(trace.count("cuLaunchKernel"), 3)
        self.assertEqual(trace.rows("SELECT what, class, count FROM losses"),
                         [("GPU operation", "last flush", 3)])

    def test_signal_to_oneself_that_is_outlived(self):
        """It was blocked and waited for: everything continues."""
        self.outlives("outlived")

    def test_abort_that_is_outlived(self):
        """Its handler jumps away."""
        self.outlives("outlived-abort")

    def outlives(self, how):
        self.run_well([harness.program("ending"), how], status=3,
                      env={"GPUVERIFY_FLUSH_MS": "60000"})
        trace = self.trace()
        self.assertEqual(self.kinds(trace), {"kernel": 6})
        self.all_found_their_call(trace)
        self.assertEqual(trace.rows("SELECT ended, exit_code FROM processes"), [("exit", 3)])

    def test_interrupted_python_loses_nothing(self):
        """An unhandled KeyboardInterrupt: Python ends itself by SIGINT."""
        script = os.path.join(harness.SOURCE, "tests", "e2e", "programs",
                              "interrupted_training.py")
        process = self.start([sys.executable, script], env={"GPUVERIFY_FLUSH_MS": "60000"})
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.send_signal(signal.SIGINT)
        process.communicate()
        self.assertEqual(process.returncode, -signal.SIGINT)
        trace = self.trace()
        self.assertEqual(self.kinds(trace), {"set": 100})
        self.assertEqual(trace.rows("SELECT ended, exit_code FROM processes"), [("killed", None)])


if __name__ == "__main__":
    unittest.main()
