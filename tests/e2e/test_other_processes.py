"""Processes outside the session that use its GPU: who is listed, and what waits for them."""

import contextlib
import fcntl
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import harness
import stored

# Asks for the free memory until told to end; argument: seconds.
ASK = """
import ctypes, os, sys, time
cuda = ctypes.CDLL("libcuda.so.1")
context, size = ctypes.c_void_p(), ctypes.c_size_t()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
if "hidden" in sys.argv:
    os.unlink(os.path.join(os.environ["GV_SIM_MACHINE"], str(os.getpid())))
assert cuda.cuCtxSetCurrent(context) == 0
memory = ctypes.c_uint64()
assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4096)) == 0
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    assert cuda.cuMemGetInfo_v2(ctypes.byref(size), ctypes.byref(size)) == 0
    time.sleep(0.002)
"""
# Frees much memory at once, for which the driver needs 15 us for each MB.
FREE = """
import ctypes, time
cuda = ctypes.CDLL("libcuda.so.1")
context, memory, left, size = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_size_t(), ctypes.c_size_t()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemGetInfo_v2(ctypes.byref(left), ctypes.byref(size)) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(left.value // 5 * 2)) == 0
time.sleep(0.7)
assert cuda.cuMemFree_v2(memory) == 0
time.sleep(0.3)
"""
HELD_S = 0.3
# A name may have any bytes.
NAME = "a\x1b[31m'b"


class OtherProcesses(harness.Case):
    def setUp(self):
        super().setUp()
        self.machine = self.path("machine")
        os.mkdir(self.machine)

    @contextlib.contextmanager
    def another(self):
        """A process that uses the GPU, as far as the simulated NVML knows. It lies outside of the case's folder, so
        that nobody waits for its end."""
        with tempfile.TemporaryDirectory() as folder, \
                subprocess.Popen([shutil.copy(shutil.which("sleep"), os.path.join(folder, NAME)), "60"], env={}) as process:
            listed = os.path.join(self.machine, str(process.pid))
            with open(listed, "w", encoding="utf-8"):
                pass
            try:
                yield process.pid
            finally:
                os.unlink(listed)
                process.kill()

    def keep_driver(self, seconds):
        """As a process that frees much memory does."""
        time.sleep(seconds)
        with open(os.path.join(self.machine, "lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            time.sleep(HELD_S)

    def held_by_calls(self):
        """Of the job of two traces: calls that a call of the other process held up."""
        self.command("merge", self.path("ask.db"), self.path("free.db"), "-o", self.path("job.db"))
        return self.open_trace(self.path("job.db")).rows(
            """SELECT x.name, x.other_did, x.other_pid, b.name, b.process <> x.process FROM stalls x
                JOIN calls b ON b.id = x.blocked_by WHERE x.cause = 'other-process' AND x.wait_ns > 20000000""")

    def ask(self, seconds, *words, **env):
        folders = [harness.simulator(), os.path.join(harness.simulator(), "nvml")]
        self.run_well([sys.executable, "-c", ASK, str(seconds), *words],
                      env={"LD_LIBRARY_PATH": ":".join(folders), "GV_SIM_MACHINE": self.machine, **env})
        return self.trace()

    @harness.depends_on_time("processes are listed once a second")
    def test_one_that_uses_the_gpu_explains_a_wait(self):
        for mode in ("auto", "off"):
            with self.another() as pid:
                keeper = threading.Thread(target=self.keep_driver, args=(1.0,))
                keeper.start()
                trace = self.ask(2.5, GPUVERIFY_GPU=mode)
                keeper.join()
            rows = trace.rows("SELECT pid, name, started, ended FROM other_processes")
            self.assertEqual(rows, [(pid, NAME, 0, 0)])
            (wait_ns, other, name, did, confidence, advice), = trace.rows(
                "SELECT wait_ns, other_pid, other_name, other_did, confidence, advice FROM stalls"
                " WHERE cause = 'other-process' AND wait_ns > 50000000")
            self.assertEqual((other, name, did, confidence), (pid, NAME, "use", "inferred"))
            self.assertAlmostEqual(wait_ns / 1e9, HELD_S, delta=HELD_S / 2)
            self.assertIn(f"Process {pid} (", advice)
            told = self.command("explain", self.path("trace.db")).out
            self.assertIn(f"process {pid} (", told)
            self.assertNotIn("\x1b", told)
            os.unlink(self.path("trace.db"))

    @harness.depends_on_time("processes are listed once a second")
    def test_one_that_comes_and_goes(self):
        def visit():
            time.sleep(1.2)
            with self.another():
                time.sleep(1.2)
        visitor = threading.Thread(target=visit)
        visitor.start()
        trace = self.ask(4.5)
        visitor.join()
        (name, started, ended, seen_ns), = trace.rows(
            "SELECT name, started, ended, last_ns - first_ns FROM other_processes")
        self.assertEqual((name, started, ended), (NAME, 1, 1))
        self.assertLess(seen_ns, 3e9)

    def told(self, first_ns, last_ns, *changes):
        """What the summary says of another process that was seen so long, on a device with 0.6 s of queued time."""
        path = self.path("lines.db")
        stored.make_anew("lines", path, "INSERT INTO other_process (id, uuid, pid, name, first_ns, last_ns, started, ended) VALUES"
                         f" (1, 'GPU-1', 77, 'python3', {first_ns}, {last_ns}, 0, 0)", *changes)
        said = self.command("report", path, "-s", "findings", sim=False, env={"COLUMNS": "400"}).out
        return re.findall(r"Another process .*", said)

    def test_the_summary_says_who_was_there_while_work_waited(self):
        told, = self.told(1500000000, 9000000000, "INSERT INTO other_process_memory VALUES (1, 3221225472)")
        self.assertRegex(told, r"^Another process also used the GPU from 1\.50 s to 9\.00 s, with up to 3\.00 GiB: python3, "
                         r"process 77; present for 7\d % of the time in which queued work waited$")
        told, = self.told(1500000000, 9000000000, "UPDATE other_process SET pid = NULL")
        self.assertIn(", in another container; ", told)
        self.assertEqual(self.told(1500000000, 3000000000), [])
        self.assertEqual(self.told(1500000000, 9000000000, "UPDATE other_process SET uuid = 'GPU-2'"), [])
        # The server of MPS does the program's own work.
        self.assertEqual(self.told(1500000000, 9000000000, "UPDATE other_process SET name = 'nvidia-cuda-mps'"), [])

    def test_the_summary_says_who_was_there_when_steps_were_slow(self):
        self.told(3000000000, 4000000000)
        self.command("merge", self.path("lines.db"), "-o", self.path("job.db"), sim=False)
        for slow_from, told in (3000000000, ["7 of 7 slow steps"]), (7000000000, []):
            with contextlib.closing(sqlite3.connect(self.path("job.db"))) as database:
                database.execute("UPDATE step SET duration_ns = iif(start_ns BETWEEN ? AND ? + 600000000, 160000000, 99000000)",
                                 (slow_from, slow_from))
                database.commit()
            said = self.command("report", self.path("job.db"), "-s", "findings", sim=False, env={"COLUMNS": "400"}).out
            self.assertEqual(re.findall(r"; present for (.*)", said), told)

    def test_one_of_another_container_has_no_number(self):
        with open(os.path.join(self.machine, str((1 << 22) + 1)), "w", encoding="utf-8"):
            pass
        self.assertEqual(self.ask(0.5).rows("SELECT pid, name FROM other_processes"), [(None, None)])

    @harness.depends_on_time("the first list may be older than our own context")
    def test_where_our_own_has_another_number_nobody_is_told(self):
        with self.another():
            self.assertEqual(self.ask(0.5, "hidden").rows("SELECT * FROM other_processes"), [])

    def test_our_own_are_not_others(self):
        self.assertEqual(self.ask(0.5).rows("SELECT * FROM other_processes"), [])

    @harness.depends_on_time("both processes have to run at the same time")
    def test_merged_the_trace_names_the_call_of_the_other_process(self):
        folders = [harness.simulator(), os.path.join(harness.simulator(), "nvml")]
        env = {"LD_LIBRARY_PATH": ":".join(folders), "GV_SIM_MACHINE": self.machine, "GV_SIM_FREE_NS_PER_MB": "15000"}
        freer = self.start([sys.executable, "-c", FREE], env={**env, "GPUVERIFY_TRACE": self.path("free.db")})
        self.run_well([sys.executable, "-c", ASK, "1.5"], env={**env, "GPUVERIFY_TRACE": self.path("ask.db")})
        self.assertEqual(freer.wait(), 0)
        freer.stdout.close()
        freer.stderr.close()
        self.settle()
        self.assertIn(("cuMemGetInfo_v2", "call", freer.pid, "cuMemFree_v2", 1), self.held_by_calls())
        self.assertIn("cuMemFree_v2", self.command("stalls", self.path("job.db"), "--all").out)
        # Processes of two machines are in nobody's way.
        with contextlib.closing(sqlite3.connect(self.path("free.db"))) as database:
            database.execute("UPDATE process_rank SET host = 'elsewhere'")
            database.commit()
        self.assertEqual(self.held_by_calls(), [])


if __name__ == "__main__":
    unittest.main()
