"""A trace that is removed, moved or replaced while it is written: what it held is counted."""

import contextlib
import os
import signal
import sqlite3
import struct
import subprocess
import time

import harness
import test_collector
import test_places
from test_gpu_side import libcupti

LAUNCH = "cuLaunchKernel"
has_calls = test_collector.Collector.has_calls
TAKEN = "trace taken away"
BEHIND = ("devices", "kernels", "modules", "contexts", "streams", "processes")


class TakenTrace(harness.Case):
    gpu = "auto" if os.path.exists(libcupti()) else "off"

    def start_flood(self, *folder):
        path = self.path(*folder, "trace.db")
        process = self.start([harness.program("flood"), "2000", "3"], stdin=subprocess.PIPE,
                             env={"GPUVERIFY_TRACE": path})
        self.assertEqual(process.stdout.readline(), b"ready\n")
        harness.wait_for(lambda: has_calls(path), "the first calls")
        return process

    def facts(self, trace):
        return {view: trace.value(f"SELECT count(*) FROM {view}") for view in BEHIND}

    def undisturbed(self):
        self.start_flood().communicate(b"\n", timeout=harness.PROGRAM_S)
        trace = self.trace()
        facts, calls = self.facts(trace), trace.count()
        trace.close()
        os.unlink(self.path("trace.db"))
        return facts, calls

    def finish(self, process):
        _, err = process.communicate(b"\n", timeout=harness.PROGRAM_S)
        self.assertEqual(process.returncode, 0, err)
        return err.decode()

    def check(self, err, path, facts, calls, times=1):
        trace = self.trace(path, losses=True)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertIn("the trace was taken away while it was written", err)
        self.assertIn(path, err)
        lost = {(row["what"], row["class"]): row["count"] for row in trace.lost()}
        self.assertGreater(lost["call", TAKEN], 0)
        self.assertEqual(trace.count() + lost["call", TAKEN], calls, lost)
        self.assertEqual(trace.count(LAUNCH), 2000)
        loads = trace.value("SELECT count(*) FROM loads")
        self.assertEqual(loads + lost.get(("load", TAKEN), 0), 4, lost)
        self.assertEqual(self.facts(trace), facts)
        self.assertEqual(trace.value("SELECT count(*) FROM kernels WHERE name IS NULL"), 0)
        self.assertEqual(trace.value("PRAGMA integrity_check"), "ok")
        meta = trace.meta()
        self.assertEqual(meta["state"], "complete")
        self.assertGreater(meta["taken_away_ns"], 0)
        self.assertRegex(self.command("report", path).out, r"was taken away [0-9.]+ \S+ after the")
        return lost

    def remove_with_journal(self):
        for name in ("trace.db-journal", "trace.db"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path(name))

    def test_removed(self):
        facts, calls = self.undisturbed()
        process = self.start_flood()
        os.unlink(self.path("trace.db"))
        self.check(self.finish(process), self.path("trace.db"), facts, calls)

    def test_removed_with_its_journal_again_and_again_while_it_is_written(self):
        facts, calls = self.undisturbed()
        process = self.start_flood()
        for _ in range(5):
            self.remove_with_journal()
            harness.wait_for(lambda: os.path.exists(self.path("trace.db")), "there is another one")
        self.check(self.finish(process), self.path("trace.db"), facts, calls)

    def test_removed_all_the_time(self):
        """Also between the moments in which another one is made, opened and filled."""
        facts, calls = self.undisturbed()
        process = self.start_flood()
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            self.remove_with_journal()
        self.check(self.finish(process), self.path("trace.db"), facts, calls)

    def test_only_its_journal_is_removed_all_the_time(self):
        facts, calls = self.undisturbed()
        process = self.start_flood()
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path("trace.db-journal"))
        self.assertEqual(self.finish(process), "")
        trace = self.trace()
        self.assertEqual((self.facts(trace), trace.count()), (facts, calls))
        self.assertEqual(trace.value("PRAGMA integrity_check"), "ok")

    def test_moved(self):
        facts, calls = self.undisturbed()
        process = self.start_flood()
        os.rename(self.path("trace.db"), self.path("moved.db"))
        lost = self.check(self.finish(process), self.path("trace.db"), facts, calls)
        moved = self.open_trace(self.path("moved.db"))
        self.assertEqual(moved.count(), lost["call", TAKEN])

    def test_replaced(self):
        facts, calls = self.undisturbed()
        process = self.start_flood()
        os.replace(self.write("letter", "Dear all,\n"), self.path("trace.db"))
        self.check(self.finish(process), self.path("trace-2.db"), facts, calls)
        with open(self.path("trace.db"), encoding="utf-8") as letter:
            self.assertEqual(letter.read(), "Dear all,\n")

    def test_its_folder_is_away_for_a_while(self):
        os.mkdir(self.path("there"))
        process = self.start_flood("there")
        os.rename(self.path("there"), self.path("away"))
        harness.pause(0.3)
        os.mkdir(self.path("there"))
        err = self.finish(process)
        self.assertIn("taken away", err)

    def progress(self):
        """A program that launches until it is killed, and has come far."""
        process = self.start([harness.program("flood"), "--progress", self.path("returned")],
                             env={"GPUVERIFY_GPU": "off"})
        harness.wait_for(lambda: has_calls(self.path("trace.db"), 20000), "many calls")
        return process

    def says_taken(self, path):
        uri = f"file:{path}?mode=ro"
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(uri, uri=True)) as trace:
            return trace.execute("SELECT 1 FROM meta WHERE key = 'taken_away_ns'").fetchone()
        return None

    def test_removed_since_the_disk_is_full(self):
        """Its room is needed for the next one."""
        path = self.path("disk", "trace.db")
        with harness.small_disk(self, self.path("disk"), "4m"):
            process = self.start([harness.program("flood"), "--progress", self.path("returned"), "20"],
                                 env={"GPUVERIFY_GPU": "off", "GPUVERIFY_TRACE": path})
            harness.wait_for(lambda: has_calls(path, 20000), "many calls")
            process.send_signal(signal.SIGSTOP)
            self.await_quiet(path)
            test_places.fill_up(self.path("disk", "fill"))
            os.unlink(path)
            harness.wait_for(lambda: self.says_taken(path), "another one")
            self.check_progress(process, path)

    def check_progress(self, process, path=None, recover=False):
        process.kill()
        process.communicate()
        if recover:
            self.command("recover", self.spool)
        with open(self.path("returned"), "rb") as count:
            made, = struct.unpack("Q", count.read(8))
        trace = self.trace(path, losses=True)
        missing = made - trace.count(LAUNCH)
        lost = sum(row["count"] for row in trace.lost())
        self.assertGreater(missing, 1000)
        # One may not have returned; and there are records that are no launches, a few at first.
        self.assertTrue(missing - 1 <= lost <= missing + 100, (missing, trace.lost()))

    def await_quiet(self, path):
        def quiet():
            before = os.stat(path)
            harness.pause(0.5)
            after = os.stat(path)
            return (before.st_mtime_ns == after.st_mtime_ns and
                    not os.path.exists(path + "-journal"))
        harness.wait_for(quiet, "all is written")

    def test_emptied(self):
        process = self.progress()
        process.send_signal(signal.SIGSTOP)
        # In the middle of a transaction nobody could mend it.
        self.await_quiet(self.path("trace.db"))
        os.truncate(self.path("trace.db"), 0)
        process.send_signal(signal.SIGCONT)
        harness.wait_for(lambda: os.path.getsize(self.path("trace.db")), "another one is begun")
        self.check_progress(process)

    def test_removed_after_its_collector_was_killed(self):
        process = self.progress()
        os.kill(self.await_collector(), signal.SIGKILL)
        harness.wait_for(lambda: not self.collectors(), "it is gone")
        os.unlink(self.path("trace.db"))
        self.check_progress(process, recover=True)

    def test_a_finished_trace_may_be_taken(self):
        """A program that has told its end is not told that its trace is where its user wants it."""
        self.run_well([harness.program("ending")])
        os.unlink(self.path("trace.db"))
        self.settle()
        self.assertFalse(os.path.exists(self.path("trace.db")))
