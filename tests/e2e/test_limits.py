"""Limits that a program or its shell sets, and that its collector inherits: the trace is finished
all the same, or the user is told."""

import resource
import subprocess
import unittest

import harness

# Loading takes long enough to be worth a stack.
SLOW = {"GV_SIM_LOAD_NS": "3000000", "GV_SIM_CONTEXT_NS": "0"}
SMALL_STACK = 'ulimit -s 64; exec "$0" "$@"'


def may_raise_limits():
    """Whether this process may lift a hard limit (CAP_SYS_RESOURCE)."""
    with open("/proc/self/status", encoding="utf-8") as status:
        for line in status:
            if line.startswith("CapEff:"):
                return int(line.split()[1], 16) >> 24 & 1 == 1
    return False


def limit(what, most):
    return lambda: resource.setrlimit(what, (most, most))


class Stack(harness.Case):
    """64 KB of stack: what names the frames of a stack needs more than that in one function."""

    def named(self):
        functions = [row[0] for row in self.trace().rows("SELECT function FROM frames")]
        if not any(functions):
            self.skipTest("this gpuverify was built without elfutils: frames have no names")
        self.assertIn("main", functions)

    def test_of_the_program(self):
        self.run_well(["sh", "-c", SMALL_STACK, harness.program("deep")], env=SLOW)
        self.settle()
        self.named()

    def test_of_recover(self):
        self.run_well([harness.program("deep")], env={**SLOW, "GPUVERIFY_COLLECTOR": "off"})
        self.run_well(["sh", "-c", SMALL_STACK, harness.gpuverify(), "recover", self.spool],
                      preload=False)
        self.named()


class ProcessorTime(harness.Case):

    @unittest.skipUnless(may_raise_limits(), "needs CAP_SYS_RESOURCE to lift a hard limit")
    def test_is_the_programs_own(self):
        process = self.start([harness.program("flood"), "10", "1"], stdin=subprocess.PIPE,
                             preexec_fn=limit(resource.RLIMIT_CPU, 5))
        self.assertEqual(process.stdout.readline(), b"ready\n")
        with open(f"/proc/{self.await_collector()}/limits", encoding="utf-8") as limits:
            self.assertRegex(limits.read(), r"Max cpu time +unlimited +unlimited")
        process.communicate(b"\n", timeout=60)
        self.assertEqual(process.returncode, 0)
