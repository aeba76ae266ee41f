"""The collector, and programs whose collector is killed, stopped or slow."""

import contextlib
import ctypes
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import threading
import time

import harness

LAUNCH = "cuLaunchKernel"
PR_SET_CHILD_SUBREAPER = 36
LOCKED_S = 5  # more than GV_DATABASE_BUSY_MS


class Collector(harness.Case):
    """A stopped, killed or slow collector: the program never notices."""

    def flood(self, launches=2000, rest=3, **env):
        process = self.start([harness.program("flood"), str(launches), str(rest)],
                             stdin=subprocess.PIPE, env=env)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def finish(self, process, launches=2000, rest=3):
        out, err = process.communicate(b"\n", timeout=harness.PROGRAM_S)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(out.decode(), f"cuLaunchKernel {launches}\ncuModuleLoadData {rest + 1}\n"
                                       f"cuModuleUnload {rest}\ncuCtxSynchronize {rest}\n")
        return err

    def whole(self, path=None, launches=2000, rest=3):
        trace = self.trace(path)
        self.assertEqual(trace.count(LAUNCH), launches)
        self.assertEqual(trace.count("cuCtxSynchronize"), rest)
        self.assertEqual(trace.value("PRAGMA integrity_check"), "ok")
        return trace

    @staticmethod
    def has_calls(path, at_least=1):
        try:
            with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as reader:
                return reader.execute("SELECT count(*) FROM calls").fetchone()[0] >= at_least
        except sqlite3.Error:
            return False

    def test_killed_before_the_trace_had_a_word_in_it(self):
        self.run_well([harness.program("ending")], env={"GPUVERIFY_COLLECTOR": "off"})
        self.write("trace.db", "", mode=0o600)
        self.command("recover", self.spool)
        self.assertEqual(self.trace().count(LAUNCH), 3)

    def test_killed_in_the_middle(self):
        process = self.flood()
        collector = self.await_collector()
        # The trace must be one already to tell `report` of the session that it belongs to.
        harness.wait_for(lambda: self.has_calls(self.path("trace.db")), "the first calls")
        os.kill(collector, signal.SIGKILL)
        self.finish(process)
        harness.wait_for(lambda: not self.processes(), "everybody is gone")
        self.command("report", self.path("trace.db"))
        self.whole()

    def test_killed_at_the_end(self):
        process = self.flood(GPUVERIFY_EXIT_WAIT="0.5")
        collector = self.await_collector()
        harness.wait_for(lambda: self.has_calls(self.path("trace.db")), "the first calls")
        os.kill(collector, signal.SIGSTOP)
        self.finish(process)
        os.kill(collector, signal.SIGKILL)
        harness.wait_for(lambda: not self.processes(), "everybody is gone")
        self.command("report", self.path("trace.db"))
        self.whole()

    def test_killed_where_nobody_waits_for_it(self):
        """As in a container whose process 1 does not: it stays a zombie."""
        subreaper = ctypes.CDLL(None).prctl
        subreaper(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self.addCleanup(subreaper, PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        process = self.flood(GPUVERIFY_EXIT_WAIT="1000")
        collector = self.await_collector()
        harness.wait_for(lambda: self.has_calls(self.path("trace.db")), "the first calls")
        os.kill(collector, signal.SIGKILL)
        self.assertIn(b"the collector ended too early", self.finish(process))
        os.waitpid(collector, 0)
        self.command("recover", self.spool)
        self.whole()

    def test_killed_at_random_moments_and_recovered(self):
        seed = random.randrange(1 << 30)
        chance = random.Random(seed)
        for turn in range(8):
            with self.subTest(f"seed {seed}, turn {turn}"):
                path = self.path(f"trace-{turn}.db")
                process = self.flood(20000, 1, GPUVERIFY_TRACE=path, GPUVERIFY_EXIT_WAIT="1")
                collector = self.await_collector()
                process.stdin.write(b"\n")
                process.stdin.flush()
                time.sleep(chance.uniform(0, 0.05))
                os.kill(collector, signal.SIGKILL)
                out, err = process.communicate(timeout=harness.PROGRAM_S)
                self.assertEqual(process.returncode, 0, err)
                self.assertIn(b"cuLaunchKernel 20000", out)
                harness.wait_for(lambda: not self.processes(), "everybody is gone")
                self.command("recover", self.spool, status=None)
                self.whole(path, 20000, 1)

    def test_killed_one_is_replaced_by_the_next_process_of_the_session(self):
        process = self.flood()
        first = self.await_collector()
        os.kill(first, signal.SIGKILL)
        harness.wait_for(lambda: harness.is_dead(first), "it is dead")
        session = [name for name in self.spool_files() if name.endswith(".session")][0]
        self.run_well([harness.program("ending")],
                      env={"GPUVERIFY_SESSION": session[:-len(".session")]})
        self.assertTrue(self.collectors(), "the second process was to start a collector")
        self.assertNotIn(first, self.collectors())
        self.finish(process)
        trace = self.trace()
        self.assertEqual(trace.count(LAUNCH), 2003)
        self.assertEqual(trace.value("SELECT count(*) FROM processes"), 2)

    def test_stopped_collector_does_not_hold_the_program(self):
        process = self.flood(GPUVERIFY_EXIT_WAIT="1")
        collector = self.await_collector()
        os.kill(collector, signal.SIGSTOP)
        self.finish(process)
        os.kill(collector, signal.SIGCONT)
        self.whole()

    def test_somebody_locks_the_trace_for_longer_than_is_waited(self):
        """The run continues in the same file, not in another one beside it."""
        process = self.flood(GPUVERIFY_EXIT_WAIT="30")
        harness.wait_for(lambda: self.has_calls(self.path("trace.db")), "the first calls")
        locker = sqlite3.connect(self.path("trace.db"), isolation_level=None,
                                 check_same_thread=False)
        locker.execute("BEGIN EXCLUSIVE")
        unlocking = threading.Timer(LOCKED_S, locker.close)
        unlocking.start()
        self.finish(process)
        unlocking.join()
        self.whole()
        self.assertEqual([name for name in os.listdir(self.dir) if name.endswith(".db")],
                         ["trace.db"])

    def test_commands_wait_for_a_trace_that_is_locked(self):
        """A collector that hardly gets any CPU time locks it for as long."""
        process = self.flood(GPUVERIFY_EXIT_WAIT="0")
        harness.wait_for(lambda: self.has_calls(self.path("trace.db")), "the first calls")
        locker = sqlite3.connect(self.path("trace.db"), isolation_level=None, check_same_thread=False)
        locker.execute("BEGIN EXCLUSIVE")
        unlocking = threading.Timer(LOCKED_S, locker.close)
        unlocking.start()
        self.finish(process)
        self.assertIn(" 2000 launches ", self.command("report", self.path("trace.db")).out)
        unlocking.join()

    def test_somebody_reads_the_trace_and_does_not_stop(self):
        process = self.flood(GPUVERIFY_EXIT_WAIT="1")
        harness.wait_for(lambda: self.has_calls(self.path("trace.db")), "the first calls")
        reader = sqlite3.connect(f"file:{self.path('trace.db')}?mode=ro", uri=True)
        cursor = reader.execute("SELECT id FROM calls")
        cursor.fetchone()
        self.finish(process)
        harness.pause(0.5)
        cursor.close()
        reader.close()
        self.whole()

    @harness.depends_on_time("no wait is told from one of 5 s by how long it takes")
    def test_exit_wait_of_zero_does_not_wait(self):
        process = self.flood(GPUVERIFY_EXIT_WAIT="0")
        collector = self.await_collector()
        os.kill(collector, signal.SIGSTOP)
        start = time.monotonic()
        self.finish(process)
        self.assertLess(time.monotonic() - start, 4)
        os.kill(collector, signal.SIGCONT)
        self.whole()

    def impostor(self, **env):
        """A helper that is not gpuverify, of a program that ignores and blocks signals."""
        script = self.write("deaf.py", "import os, signal, sys\nfor number in (1, 2, 10, 15):\n"
                                       "    signal.signal(number, signal.SIG_IGN)\n"
                                       "signal.pthread_sigmask(signal.SIG_BLOCK, [3, 12, 14])\n"
                                       "os.execv(sys.argv[1], sys.argv[1:])\n")
        env["GPUVERIFY_COLLECTOR"] = shutil.which("yes")
        return self.run_well(["python3", script, harness.program("ending")], quiet=False, env=env)

    def test_helper_that_is_no_collector_hears_signals(self):
        self.impostor(GPUVERIFY_EXIT_WAIT="0")
        helper = harness.wait_for(self.collectors, "the helper runs")[0]
        with open(f"/proc/{helper}/status", encoding="utf-8") as status:
            masks = dict(re.findall(r"(Sig\w+:)\t(\w+)\n", status.read()))
        self.assertEqual([int(masks[name], 16) for name in ("SigBlk:", "SigIgn:")], [0, 0], masks)
        os.kill(helper, signal.SIGTERM)
        harness.wait_for(lambda: harness.is_dead(helper), "it ends")
        self.command("recover", self.spool)
        self.assertEqual(self.trace().count(LAUNCH), 3)

    def crowd(self, **env):
        """20 threads at full speed and a spool that is soon full. Returns what was lost."""
        result = self.run_well([harness.program("threads_mixed"), "20", "8000"],
                               env={"GPUVERIFY_SPOOL_MB": "1", **env})
        self.assertEqual(result.out, "20 threads, 160000 launches\n")
        if env:
            self.command("recover", self.spool)
        trace = self.trace(losses=True)
        lost = {row["class"]: row["count"] for row in trace.lost()}
        self.assertEqual(trace.count(LAUNCH) + lost.pop("launch", 0), 160000)
        self.assertEqual(trace.count("cuCtxSetCurrent") + lost.pop("context", 0), 21)
        self.assertEqual((trace.count("cuCtxSynchronize"), lost), (1, {}))
        return 160000 - trace.count(LAUNCH)

    def test_losses_of_many_threads_are_counted_exactly(self):
        self.assertGreater(self.crowd(GPUVERIFY_COLLECTOR="off"), 100000)

    def test_losses_of_many_threads_beside_the_collector_are_counted_exactly(self):
        self.crowd()

    def test_losses_are_counted_exactly(self):
        process = self.flood(40000, 50, GPUVERIFY_SPOOL_MB="1", GPUVERIFY_EXIT_WAIT="0.2")
        collector = self.await_collector()
        os.kill(collector, signal.SIGSTOP)
        self.finish(process, 40000, 50)
        os.kill(collector, signal.SIGCONT)
        trace = self.trace(losses=True)
        lost = {row["class"]: row["count"] for row in trace.dicts(
            "SELECT class, sum(count) AS count FROM losses GROUP BY class")}
        self.assertGreater(lost.get("launch", 0), 0, lost)
        self.assertEqual(trace.count(LAUNCH) + lost["launch"], 40000)
        # The spool's last part is reserved for calls that explain a stall.
        for kind in ("load", "unload", "sync"):
            self.assertEqual(lost.get(kind, 0), 0, lost)
        self.assertEqual(trace.count("cuModuleLoadData"), 51)
        self.assertEqual(trace.count("cuModuleUnload"), 50)
        self.assertEqual(trace.count("cuCtxSynchronize"), 50)
        self.assertEqual(trace.value("SELECT count(*) FROM loads"), 51)
