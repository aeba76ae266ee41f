"""Sessions that were killed with their collector, and that nobody recovers."""

import os
import signal
import subprocess

import harness


class LeftSessions(harness.Case):
    SAID = "sessions left in shared memory: 1, "

    def kill_all(self):
        process = self.start([harness.program("flood"), "2000", "3"], stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        os.kill(self.await_collector(), signal.SIGKILL)
        process.kill()
        process.wait()
        harness.wait_for(lambda: not self.processes(), "everybody is gone")

    def test_they_are_told_and_discarded(self):
        self.kill_all()
        self.assertIn(self.SAID, self.command("doctor", status=None).out)
        self.assertIn(self.SAID, self.command("run", "--", "true").err)
        self.assertIn("sessions discarded: 1, ", self.command("recover", "--discard").out)
        self.assertEqual(self.spool_files(), [])
        self.assertNotIn(self.SAID, self.command("run", "--", "true").err)

    def test_a_living_one_is_not_discarded(self):
        process = self.start([harness.program("flood"), "2000", "3"], stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        self.assertNotIn(self.SAID, self.command("run", "--", "true").err)
        self.assertIn("it is not over", self.command("recover", "--discard").err)
        process.communicate(b"\n", timeout=harness.PROGRAM_S)
        self.assertEqual(self.trace().count("cuLaunchKernel"), 2000)
