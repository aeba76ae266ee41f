"""The signal that ended a program is reported and stored if it is known."""

import json
import os
import re
import signal

import harness

ENDED = "SELECT ended, exit_signal FROM processes"


class ExitSignal(harness.Case):
    def run_it(self, *words, trace="trace.db"):
        return self.run_program([harness.gpuverify(), "run", "-o", self.path(trace), "--", *words],
                                preload=False)

    def report(self, *options, trace="trace.db"):
        return self.command("report", self.path(trace), *options).out

    def test_crash_is_told_from_a_kill(self):
        """run sees the signal, so the trace has it; also for a fault, of which the library does not know."""
        for how, words, number in (("fault", "crashed (SIGSEGV)", signal.SIGSEGV),
                                   ("segv", "crashed (SIGSEGV)", signal.SIGSEGV),
                                   ("abort", "crashed (SIGABRT)", signal.SIGABRT),
                                   ("kill", "was killed (SIGKILL)", signal.SIGKILL)):
            with self.subTest(how):
                trace = how + ".db"
                result = self.run_it(harness.program("ending"), how, trace=trace)
                self.assertEqual(result.status, -number, str(result))
                self.assertEqual(self.trace(self.path(trace), losses=True).rows(ENDED), [("killed", number)])
                for told in result.err, self.report(trace=trace):
                    self.assertEqual(len(re.findall(r"\n  ! +process \d+ " + re.escape(words), told)), 1, told)
                    self.assertNotIn("or crashed", told.split("Processes")[0])
                report = json.loads(self.report("-s", "processes", "--format", "json", trace=trace))
                self.assertEqual([process["ended"] for process in report["sections"]["processes"]], [words])

    def test_killed_in_a_call(self):
        process = self.start([harness.gpuverify(), "run", "-o", self.path("trace.db"), "--",
                              harness.program("flood"), "--blocked"], preload=False)
        self.assertEqual(process.stdout.readline(), b"blocked\n")
        harness.pause(0.3)  # it says so just before
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as children:
            os.kill(int(children.read().split()[0]), signal.SIGKILL)
        _, err = process.communicate(timeout=harness.PROGRAM_S)
        self.assertEqual(self.trace(losses=True).rows(ENDED), [("killed", signal.SIGKILL)])
        for told in err.decode(), self.report("-s", "findings"):
            self.assertRegex(told, r"process \d+ was killed \(SIGKILL\) in cuStreamSynchronize")
            self.assertEqual(told.count("SIGKILL"), 1, told)

    def test_collector_that_was_killed_too(self):
        """run then stores the records itself."""
        process = self.start([harness.gpuverify(), "run", "-o", self.path("trace.db"), "--",
                              harness.program("flood"), "--blocked"], preload=False)
        self.assertEqual(process.stdout.readline(), b"blocked\n")
        os.kill(self.await_collector(), signal.SIGKILL)
        process.terminate()
        process.communicate(timeout=harness.PROGRAM_S)
        self.assertEqual(self.trace(losses=True).rows(ENDED), [("killed", signal.SIGTERM)])

    def test_without_run_only_the_programs_own_signal_is_known(self):
        for how, known in (("fault", None), ("segv", signal.SIGSEGV)):
            with self.subTest(how):
                trace = self.path(how + ".db")
                self.run_program([harness.program("ending"), how], env={"GPUVERIFY_TRACE": trace})
                self.assertEqual(self.trace(trace, losses=True).rows(ENDED), [("killed", known)])
                told = self.report("-s", "processes", trace=how + ".db")
                self.assertIn("crashed (SIGSEGV)" if known else "killed or crashed", told)

    def test_program_that_ends_by_itself_has_none(self):
        self.run_it(harness.program("ending"), "exit")
        self.assertEqual(self.trace().rows(ENDED), [("exit", None)])

    def test_workers_that_end_badly_are_told(self):
        """Also if the program itself ends well; and check can require it."""
        ending = harness.program("ending")
        result = self.run_it("sh", "-c", f"{ending} fault; {ending} exit; {ending} abort; {ending} _exit; {ending} kill;"
                             " exit 0")
        self.assertEqual(result.status, 0, str(result))
        self.trace(losses=True)
        notes = json.loads(self.report("-s", "findings", "--format", "json"))["notes"]
        for told in result.err, self.report("-s", "findings"), "\n".join("  !  " + note for note in notes):
            self.assertEqual(re.findall(r"^  ! +(?:process \d+ )?(.*(?:killed|crashed|code|badly).*)$", told, re.M),
                             ["was killed or crashed", "crashed (SIGABRT)", "was killed (SIGKILL)",
                              "2 more processes ended badly"], told)
        shown = self.command("check", self.path("trace.db"), "--clean-exit", status=1).out
        self.assertRegex(shown, r"5 processes ended badly; process \d+ was killed or crashed")

    def test_code_other_than_0_is_told(self):
        result = self.run_it(harness.program("ending"), "exit")
        self.assertRegex(result.err, r"\n  ! +process \d+ exited with code 4\n")
        self.assertEqual(result.err.count("exited with"), 1)
