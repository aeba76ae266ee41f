"""A trace that is removed, moved or replaced while it is written: writing stops, and no record that comes then is lost."""

import os
import subprocess

import harness
import test_collector

LAUNCH = "cuLaunchKernel"
LAUNCHES = 2000


class TakenTrace(harness.Case):
    def flood(self, take):
        """Runs a program, and `take` while its trace is written; returns the name of its session."""
        path = self.path("trace.db")
        process = self.start([harness.program("flood"), str(LAUNCHES), "3"], stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        harness.wait_for(lambda: test_collector.Collector.has_calls(path), "the first calls")
        take(path)
        harness.wait_for(lambda: not self.collectors(), "the collector stops")
        _, err = process.communicate(b"\n", timeout=harness.PROGRAM_S)
        self.assertEqual(process.returncode, 0, err)
        session, = [name for name in self.spool_files() if name.endswith(".session")]
        self.assertEqual(err.decode(),
                         f"gpuverify: cannot write the trace {path}: it was removed, moved or replaced; "
                         f"name another with GPUVERIFY_TRACE. The records are in shared memory until this "
                         f"machine or container ends: gpuverify recover -o FILE {os.path.join(self.spool, session)}\n")
        return os.path.join(self.spool, session)

    def test_removed(self):
        session = self.flood(os.unlink)
        self.assertFalse(os.path.exists(self.path("trace.db")))
        self.command("recover", "-o", self.path("rest.db"), session)
        self.assertEqual(self.trace(self.path("rest.db")).count(LAUNCH), LAUNCHES)

    def test_a_moved_trace_gets_the_rest(self):
        moved = self.path("moved.db")
        self.flood(lambda path: os.rename(path, moved))
        self.command("report", moved)
        self.assertEqual(self.trace(moved).count(LAUNCH), LAUNCHES)

    def test_replaced(self):
        letter = self.write("letter", "Dear all,\n")
        session = self.flood(lambda path: os.replace(letter, path))
        self.command("recover", session)
        self.assertEqual(self.trace(self.path("trace-2.db")).count(LAUNCH), LAUNCHES)
        with open(self.path("trace.db"), encoding="utf-8") as text:
            self.assertEqual(text.read(), "Dear all,\n")

    def test_a_finished_trace_may_be_taken(self):
        self.run_well([harness.program("ending")])
        os.unlink(self.path("trace.db"))
        self.settle()
        self.assertFalse(os.path.exists(self.path("trace.db")))
