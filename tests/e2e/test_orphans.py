"""Programs that get orphans: process 1 of a container, and "child subreapers"."""

import os
import subprocess
import sys

import harness

LAUNCH = "cuLaunchKernel"

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

# Uses CUDA itself.
WAITER = """
import ctypes, os, sys
if len(sys.argv) > 1:
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
ctypes.CDLL("libcuda.so.1").cuInit(0)
try:
    while True:
        os.wait()
except ChildProcessError:
    print("nobody left", flush=True)
ctypes.CDLL("libcuda.so.1").cuInit(0)
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

LATE = """import ctypes, glob, os, signal, subprocess
@ctypes.CFUNCTYPE(None)
def late():
    collector = next(int(path.split("/")[2]) for path in glob.glob("/proc/[0-9]*/cmdline")
                     if open(path).read().split("\\0")[1:2] == ["collect"])
    os.kill(collector, signal.SIGSTOP)
    cuda.cuCtxSynchronize()
    subprocess.Popen(["sh", "-c", f"sleep 1; kill -CONT {collector}"], env={}, start_new_session=True)
libc, cuda = ctypes.CDLL(None), ctypes.CDLL("libcuda.so.1")
libc.__cxa_at_quick_exit(late, None)
cuda.cuInit(0)
libc.quick_exit(0)
"""


class Orphans(harness.Case):

    def in_namespace(self, argv, **options):
        """As process 1; skips the case if that is impossible."""
        probe = self.run_program(["unshare", "--pid", "--fork", "--mount-proc", "true"],
                                 preload=False)
        if probe.status != 0:
            self.skipTest(f"no pid namespaces: {probe.err.strip()}")
        return self.run_well(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "env",
                              f"LD_PRELOAD={harness.library()}", *argv],
                             preload=False, **options)

    def test_first_process_whose_child_alone_uses_cuda(self):
        script = self.write("launcher.py", LAUNCHER)
        result = self.in_namespace([sys.executable, script, harness.program("ending"), "exit"])
        self.assertIn("nobody left", result.out)
        self.assertEqual(self.trace().count(LAUNCH), 3)

    def test_run_as_first_process_waits_for_a_slow_collector(self):
        """The trace was complete before the program's last call."""
        script = self.write("late.py", LATE)
        self.in_namespace(["env", "LD_PRELOAD=", harness.gpuverify(), "run", "-o", self.path("trace.db"), "--", sys.executable, script],
                          quiet=False)
        trace = self.open_trace()
        self.assertEqual((trace.meta()["state"], trace.count("cuCtxSynchronize")), ("complete", 1))

    def test_subreaper_under_a_subreaper_that_waits_for_all(self):
        """When it ends, its collector is given to the one above."""
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

    def test_cuda_program_that_waits_for_all(self):
        """The collector is its last child, and leaves; at its end it starts another one."""
        script = self.write("all.py", WAITER)
        self.assertEqual(self.run_well([sys.executable, script, "subreaper"]).out, "nobody left\n")
        self.assertEqual(self.trace().count("cuInit"), 2)
        env = {"GPUVERIFY_TRACE": self.path("second.db")}
        self.assertEqual(self.in_namespace([sys.executable, script], env=env).out, "nobody left\n")
        trace = self.trace(self.path("second.db"))
        self.assertEqual(trace.count("cuInit"), 2)
        self.assertEqual(trace.meta()["state"], "complete")

    def test_subreaper_between_two_processes_that_do_not_end_before_it(self):
        """The session's first process, a shell, waits for the subreaper, and that for the collector."""
        script = self.write("launcher.py", "import ctypes\nctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n" + LAUNCHER)
        result = self.run_well(["sh", "-c", '"$@"; true', "sh", sys.executable, script, harness.program("ending"), "exit"])
        self.assertIn("nobody left", result.out)
        self.assertEqual(self.trace().count(LAUNCH), 3)

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

    def test_any_other_program_has_no_child_of_ours(self):
        process, children = self.children()
        self.assertEqual(children, [])
        process.communicate(b"\n", timeout=harness.PROGRAM_S)
