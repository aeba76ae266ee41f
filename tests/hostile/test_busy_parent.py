"""A process that ends waits for its own records, not for those of a busy process of its session."""

import os
import signal
import sqlite3
import subprocess

import harness

LAUNCHES = 600000  # many more than the collector stores at once


class BusyParent(harness.Case):
    def stored(self):
        try:
            trace = sqlite3.connect(f"file:{self.path('trace.db')}?mode=ro", uri=True)
            try:
                return trace.execute("SELECT count(*) FROM call").fetchone()[0]
            finally:
                trace.close()
        except sqlite3.Error:
            return 0

    def test_a_child_ends_before_its_parents_backlog_is_stored(self):
        parent = self.start([harness.program("flood"), str(LAUNCHES), "0"], stdin=subprocess.PIPE,
                            env={"GPUVERIFY_STACKS": "off", "GPUVERIFY_EXIT_WAIT": "1000"})
        self.assertEqual(parent.stdout.readline(), b"ready\n")
        collector = self.await_collector()
        harness.wait_for(self.stored, "the first calls")
        before = self.stored()
        os.kill(collector, signal.SIGSTOP)
        parent.stdin.write(b"\n")
        parent.stdin.flush()
        spool, = [os.path.join(self.spool, name) for name in self.spool_files() if name.endswith(".spool")]
        harness.wait_for(lambda: os.stat(spool).st_blocks * 512 > LAUNCHES * 64, "the backlog")
        os.kill(collector, signal.SIGCONT)
        harness.wait_for(lambda: self.stored() > before, "the first of the backlog")
        os.kill(collector, signal.SIGSTOP)
        session, = [name for name in self.spool_files() if name.endswith(".session")]
        child = self.start([harness.program("ending")], env={"GPUVERIFY_SESSION": session[:-len(".session")],
                                                            "GPUVERIFY_EXIT_WAIT": "1000"})
        os.kill(collector, signal.SIGCONT)
        self.assertEqual(child.wait(harness.PROGRAM_S), 0)
        os.kill(collector, signal.SIGSTOP)
        self.assertLess(self.stored(), LAUNCHES)
        os.kill(collector, signal.SIGCONT)
        parent.communicate(timeout=harness.PROGRAM_S)
        self.assertEqual(self.trace().count("cuLaunchKernel"), LAUNCHES + 3)
