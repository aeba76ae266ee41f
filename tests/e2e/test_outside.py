"""A trace that a container writes is read outside it: there, its processes and its shared memory do not exist."""

import os
import signal
import subprocess

import harness

PROGRAM = harness.built(harness.PROGRAMS, "e2e_controlled")
NAMESPACES = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
STATE = "SELECT value FROM meta WHERE key = 'state'"
LAUNCHES = "SELECT count(*) FROM calls WHERE name = 'cuLaunchKernel'"


class Outside(harness.Case):

    def begin(self, options="mode=700", folder=""):
        """The program is process 1 in namespaces of its own, and sees the folder `out` as `inside`."""
        harness.need_root(self, "cannot make namespaces")
        for name in ("out", "inside"):
            os.mkdir(self.path(name))
        self.trace_path = self.path("out", "it.db")
        script = f"""mount -t tmpfs -o {options} gv-e2e {self.spool} && mount --bind {self.path("out")} {self.path("inside")} &&
            LD_PRELOAD={harness.library()} exec {PROGRAM} wait"""
        process = self.start([*NAMESPACES, "sh", "-c", script], preload=False, stdin=subprocess.PIPE, text=True,
                             env={"GPUVERIFY_TRACE": self.path("inside", "it.db"),
                                  "GPUVERIFY_SPOOL_DIR": os.path.join(self.spool, folder)})
        if process.stdout.readline() != "ready\n":  # 20 launches
            self.skipTest(process.communicate()[1].strip())
        harness.wait_for(lambda: os.path.exists(self.trace_path) and self.stored() == 20, "the launches are stored")
        return process

    def stored(self):
        try:
            return self.open_trace(self.trace_path).value(LAUNCHES)
        except harness.sqlite3.Error:
            return 0

    def kill(self, process):
        process.kill()
        process.communicate()
        harness.wait_for(lambda: not self.processes(), "all have ended")

    def test_commands_leave_the_trace_of_a_running_program_alone(self):
        process = self.begin()
        self.assertIn("still runs, in another container", self.command("report", self.trace_path).err)
        self.command("recover", self.trace_path)
        self.assertNotEqual(self.open_trace(self.trace_path).value(STATE), "complete")
        process.stdin.write("\n")  # 3 more
        process.communicate()
        trace = self.open_trace(self.trace_path)
        self.assertEqual((process.returncode, trace.value(LAUNCHES), trace.value(STATE)), (0, 23, "complete"))
        self.assertEqual(self.command("report", self.trace_path).err, "")

    def test_killed_with_its_shared_memory(self):
        self.kill(self.begin(folder="gone"))
        result = self.command("report", self.trace_path)
        self.assertIn("in a container that has ended, it is lost", result.err)
        self.assertIn("The trace is not complete.", result.out)

    def test_killed_with_its_records_beside_the_trace(self):
        self.kill(self.begin(options="ro"))
        said = self.command("report", self.trace_path).err
        self.assertIn("the rest of its records is beside it: gpuverify recover -o ", said)
        self.command(*said.split("gpuverify ")[-1].split())
        self.assertEqual(self.command("report", self.trace_path).err, "")
        self.assertEqual(self.open_trace(self.trace_path).value(STATE), "complete")


class FirstProcess(harness.Case):
    """`gpuverify run` is the first process of a container: a signal that stops the container reaches nobody else."""

    def test_it_passes_signals_on(self):
        harness.need_root(self, "cannot make namespaces")
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            with self.subTest(number):
                unshare = self.start([*NAMESPACES, harness.gpuverify(), "run", "-o", self.path("it.db"), "--", PROGRAM, "wait"],
                                     preload=False, stdin=subprocess.PIPE, text=True)
                if unshare.stdout.readline() != "ready\n":
                    self.skipTest(unshare.communicate()[1].strip())
                with open(f"/proc/{unshare.pid}/task/{unshare.pid}/children", encoding="ascii") as children:
                    os.kill(int(children.read()), number)
                unshare.wait(harness.SOON_S)
                err = unshare.communicate()[1]
                self.assertEqual(unshare.returncode, 128 + number, err)
                self.assertEqual(self.open_trace(self.path("it.db")).value(STATE), "complete")
