"""A trace that is moved or deleted while it is written: writing stops. Of a moved one, no record that comes then is lost."""

import os
import subprocess

import harness
import test_collector

LAUNCH = "cuLaunchKernel"
LAUNCHES = 2000


class TakenTrace(harness.Case):
    def flood(self, take):
        """Runs a program, and `take` while its trace is written; returns what it says on stderr."""
        path = self.path("trace.db")
        process = self.start([harness.program("flood"), str(LAUNCHES), "3"], stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        harness.wait_for(lambda: test_collector.Collector.has_calls(path), "the first calls")
        take(path)
        harness.wait_for(lambda: not self.collectors(), "the collector stops")
        _, err = process.communicate(b"\n", timeout=harness.PROGRAM_S)
        self.assertEqual(process.returncode, 0, err)
        return err.decode()

    def test_a_moved_trace_gets_the_rest(self):
        path, moved = self.path("trace.db"), self.path("moved.db")
        said = self.flood(lambda path: os.rename(path, moved))
        session, = [name for name in self.spool_files() if name.endswith(".session")]
        self.assertEqual(said, f"gpuverify: cannot write the trace {path}: it was moved or emptied; "
                               f"name another with GPUVERIFY_TRACE. The records are in shared memory until this "
                               f"machine or container ends: gpuverify recover -o FILE {os.path.join(self.spool, session)}\n")
        self.command("report", moved)
        self.assertEqual(self.trace(moved).count(LAUNCH), LAUNCHES)

    def test_nobody_wants_the_rest_of_a_deleted_one(self):
        self.assertEqual(self.flood(os.unlink), "")
        self.assertEqual((self.spool_files(), os.listdir(self.dir)), ([], []))

    def test_replaced(self):
        letter = self.write("letter", "Dear all,\n")
        self.assertEqual(self.flood(lambda path: os.replace(letter, path)), "")
        self.assertEqual((self.spool_files(), os.listdir(self.dir)), ([], ["trace.db"]))
        with open(self.path("trace.db"), encoding="utf-8") as text:
            self.assertEqual(text.read(), "Dear all,\n")

    def test_a_finished_trace_may_be_taken(self):
        self.run_well([harness.program("ending")])
        os.unlink(self.path("trace.db"))
        self.settle()
        self.assertFalse(os.path.exists(self.path("trace.db")))
