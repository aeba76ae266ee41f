"""A collector that may open few files, because the program may."""

import resource
import sys

import harness

PARENT = """
import ctypes, subprocess, sys
ctypes.CDLL("libcuda.so.1").cuInit(0)
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"""


class FewDescriptors(harness.Case):
    def test_a_child_does_not_wait_until_its_parent_ends(self):
        for most in 10, 11, 12:
            with self.subTest(most):
                path = self.path(f"{most}.db")
                self.run_well([sys.executable, "-c", PARENT, harness.program("ending"), "exit"], status=4,
                              env={"GPUVERIFY_TRACE": path, "GPUVERIFY_EXIT_WAIT": "1000"},
                              preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
                trace = self.trace(path)
                self.assertEqual((trace.count("cuLaunchKernel"), trace.value("SELECT count(*) FROM processes")), (3, 2))
