"""Programs that orphans are given to: process 1 of a container, and "child subreapers"."""

import os
import subprocess
import sys

import harness

LAUNCH = "cuLaunchKernel"

# Uses CUDA, makes a child that ends, and waits until it has none; says whom it got.
REAPER = """
import ctypes, os, sys, time
subreaper, how = sys.argv[1] == "subreaper", sys.argv[2]
if subreaper:
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
ctypes.CDLL("libcuda.so.1").cuInit(0)
child = os.fork()
if child == 0:
    os._exit(7)
got = []
try:
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG if how == "looks" else 0)
        if pid:
            got.append((pid == child, status))
        else:
            time.sleep(0.01)
except ChildProcessError:
    print("nobody left but", got)
"""

# Uses no CUDA itself: its child does, and ends, and its collector has become one of its children.
LAUNCHER = """
import os, subprocess, sys
assert subprocess.run(sys.argv[1:]).returncode == 4
try:
    while True:
        os.wait()
except ChildProcessError:
    print("nobody left")
"""

CHILDREN = """
import ctypes, os, sys
if len(sys.argv) > 1:
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
ctypes.CDLL("libcuda.so.1").cuInit(0)
children = open(f"/proc/self/task/{os.getpid()}/children").read().split()
print("ready", *children, flush=True)
sys.stdin.readline()
"""


class Orphans(harness.Case):

    def in_namespace(self, argv, **options):
        """As process 1; skips the case where that cannot be had."""
        probe = self.run_program(["unshare", "--pid", "--fork", "--mount-proc", "true"],
                                 preload=False)
        if probe.status != 0:
            self.skipTest(f"no pid namespaces: {probe.err.strip()}")
        return self.run_well(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "env",
                              f"LD_PRELOAD={harness.library()}", *argv],
                             preload=False, **options)

    def test_subreaper_waits_for_its_own_children_only(self):
        script = self.write("reaper.py", REAPER)
        for how in ("waits", "looks"):
            with self.subTest(how):
                result = self.run_twice([sys.executable, script, "subreaper", how])
                self.assertEqual(result.out, "nobody left but [(True, 1792)]\n", str(result))
                self.assertEqual(self.trace().meta()["state"], "complete")

    def test_first_process_waits_for_its_own_children_only(self):
        script = self.write("reaper.py", REAPER)
        for how in ("waits", "looks"):
            with self.subTest(how):
                result = self.in_namespace([sys.executable, script, "first", how])
                self.assertEqual(result.out, "nobody left but [(True, 1792)]\n", str(result))
                trace = self.trace()
                self.assertEqual(trace.meta()["state"], "complete")
                self.assertEqual(trace.rows("SELECT pid, ended FROM processes"), [(1, "exit")])

    def test_first_process_whose_child_alone_uses_cuda(self):
        script = self.write("launcher.py", LAUNCHER)
        result = self.in_namespace([sys.executable, script, harness.program("ending"), "exit"])
        self.assertIn("nobody left", result.out)
        self.assertEqual(self.trace().count(LAUNCH), 3)

    def test_subreaper_under_a_subreaper_that_waits_for_all(self):
        """When it ends, its collector and the collector's parent are given to the one above."""
        script = self.write("launcher.py", LAUNCHER)
        inner = self.write("inner.py", "import ctypes, os\n"
                                       "ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n"
                                       "ctypes.CDLL('libcuda.so.1').cuInit(0)\n"
                                       "raise SystemExit(4)\n")
        outer = self.write("outer.py", "import ctypes, os, sys\n"
                                       "ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n"
                                       "sys.argv[:] = sys.argv[1:]\n"
                                       "exec(open(sys.argv[0]).read())\n")
        result = self.run_well([sys.executable, outer, script, sys.executable, inner])
        self.assertEqual(result.out, "nobody left\n")

    def children(self, *how):
        """A program that has used CUDA, and its children as the kernel knows them."""
        if not os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
            self.skipTest("the kernel does not list children")
        script = self.write("children.py", CHILDREN)
        process = self.start([sys.executable, script, *how], stdin=subprocess.PIPE)
        self.await_collector()
        word, *children = process.stdout.readline().decode().split()
        self.assertEqual(word, "ready")
        return process, children

    def test_parent_of_the_collector_holds_nothing_of_the_program(self):
        process, children = self.children("subreaper")
        self.assertEqual(len(children), 1, children)
        with open(f"/proc/{children[0]}/comm", encoding="utf-8") as name:
            self.assertEqual(name.read(), "gpuverify-wait\n")
        self.assertEqual(os.readlink(f"/proc/{children[0]}/cwd"), "/")

        def gone():
            with open(f"/proc/{children[0]}/statm", encoding="utf-8") as sizes:
                pages = int(sizes.read().split()[0])
            return pages < 1024 and os.listdir(f"/proc/{children[0]}/fd") == []
        harness.wait_for(gone, "memory and descriptors are given back")
        process.communicate(b"\n", timeout=harness.PROGRAM_S)
        self.assertEqual(process.returncode, 0)
        harness.wait_for(lambda: harness.is_dead(int(children[0])), "it has ended too")

    def test_any_other_program_has_no_child_of_ours(self):
        process, children = self.children()
        self.assertEqual(children, [])
        process.communicate(b"\n", timeout=harness.PROGRAM_S)

    def test_program_outlives_a_collector_that_is_killed(self):
        """The parent of the collector ends with it, and nobody is told."""
        process, children = self.children("subreaper")
        os.kill(self.await_collector(), 9)
        harness.wait_for(lambda: harness.is_dead(int(children[0])), "it has ended too")
        process.communicate(b"\n", timeout=harness.PROGRAM_S)
        self.assertEqual(process.returncode, 0)
        self.command("recover", status=None)
