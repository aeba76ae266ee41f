"""Processes with the number of another one whose memory they have."""

import os
import subprocess
import sys

import harness

COMMON = """
import ctypes, os, signal, struct, sys, time
libc, cuda = ctypes.CDLL(None, use_errno=True), ctypes.CDLL("libcuda.so.1")
def child_calls():
    cuda.cuInit(0)
    os._exit(0)
cuda.cuInit(0)
"""

# Process 1, whose child is process 1 of a namespace inside.
INNER = COMMON + """
assert os.getpid() == 1 and libc.unshare(0x20000000) == 0
if os.fork() == 0:
    assert os.getpid() == 1
    child_calls()
os.wait()
"""

# A grandchild gets the number of its grandfather, who has ended.
AGAIN = COMMON + """
number = os.getpid()
if os.fork():
    os._exit(0)
for output in 1, 2:
    os.dup2(os.open("/dev/null", os.O_WRONLY), output)
while os.path.exists(f"/proc/{number}"):
    time.sleep(0.01)
wanted = ctypes.c_int(number)
arguments = (ctypes.c_uint64 * 11)()
arguments[4], arguments[8], arguments[9] = signal.SIGCHLD, ctypes.addressof(wanted), 1  # clone_args: exit_signal, set_tid
child = libc.syscall(435, arguments, 88)
if child == 0:
    assert os.getpid() == number
    child_calls()
open(sys.argv[1], "w").write(str(os.waitpid(child, 0)[1]) if child == number else "cannot choose a number")
"""


class ReusedPid(harness.Case):
    def setUp(self):
        super().setUp()
        harness.need_root(self, "cannot choose process numbers")

    def test_process_1_in_process_1(self):
        inside = ["unshare", "--pid", "--fork", "--mount-proc"]
        if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no pid namespaces")
        self.run_well([*inside, "env", f"LD_PRELOAD={harness.library()}", sys.executable, "-c", INNER], preload=False)
        for name in "trace.db", "trace-2.db":
            self.assertEqual(self.trace(self.path(name)).count("cuInit"), 1)

    def test_number_of_a_process_that_has_ended(self):
        said = self.path("said")
        self.run_well([sys.executable, "-c", AGAIN, said])
        harness.wait_for(lambda: os.path.exists(said) and os.path.getsize(said), "the grandchild's end")
        with open(said, encoding="ascii") as file:
            if (came := file.read()) != "0":
                self.skipTest(came)
        self.assertEqual(self.trace().count("cuInit"), 2)
