"""After a program has ended with a complete trace, nobody writes to the trace or locks it."""

import contextlib
import os
import sqlite3
import subprocess

import harness

# This many fit into the default run; without the feature, half of the ends met a lock.
ENDS = int(os.environ.get("E2E_ENDS", "30"))
BUSY_LOOPS = 3


class AfterTheEnd(harness.Case):
    """./app; sqlite3 trace.db 'select ...' on a busy machine."""

    @contextlib.contextmanager
    def busy_machine(self):
        loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(BUSY_LOOPS)]
        try:
            yield
        finally:
            for loop in loops:
                loop.kill()
                loop.wait()

    @staticmethod
    def fingerprint(path):
        with open(path, "rb") as file:
            return os.fstat(file.fileno()).st_mtime_ns, file.read()

    def met_a_lock(self, path):
        """Reads the trace repeatedly while its session ends, without waiting."""
        reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=0)
        try:
            while self.spool_files():
                reader.execute("SELECT count(*) FROM calls").fetchone()
            return False
        except sqlite3.OperationalError as error:
            self.assertIn("locked", str(error))
            return True
        finally:
            reader.close()

    def ends(self, count, *words, reaped=True, status=0, **env):
        """The ends after which the trace was locked, and after which it changed."""
        locked, changed = [], []
        for number in range(count):
            path = self.path(f"{number}.db")
            process = self.start([harness.program("ending"), *words],
                                 env={"GPUVERIFY_TRACE": path, **env})
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            if reaped:
                process.wait()
            before = self.fingerprint(path)
            if self.met_a_lock(path):
                locked.append(number)
            harness.wait_for(lambda: not self.spool_files(), "the session is over")
            if self.fingerprint(path) != before:
                changed.append(number)
            self.assertEqual(self.open_trace(path).meta()["state"], "complete")
            process.communicate()
            self.assertEqual(process.returncode, status)
            self.traces.pop().close()
            os.unlink(path)
        return locked, changed

    def test_it_can_be_read_at_once(self):
        with self.busy_machine():
            self.assertEqual(self.ends(ENDS, "return"), ([], []))

    def test_however_it_ends(self):
        for words, status in ((["exit"], 4), (["_exit"], 5), (["quick_exit"], 6), (["thread"], 9),
                              (["atexit"], 7), (["handler"], -15)):
            with self.subTest(words):
                self.assertEqual(self.ends(2, *words, status=status), ([], []))

    def test_with_the_side_of_the_GPU(self):
        self.assertEqual(self.ends(3, "return", GPUVERIFY_GPU="auto"), ([], []))

    def test_no_samples_of_one_whose_parent_has_not_asked_yet(self):
        nvml = os.path.join(harness.simulator(), "nvml")
        self.assertEqual(self.ends(2, "return", reaped=False,
                                   LD_LIBRARY_PATH=f"{harness.simulator()}:{nvml}"), ([], []))
