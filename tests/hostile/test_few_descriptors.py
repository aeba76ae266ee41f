"""A collector that may open few files, because the program may."""

import resource
import sys

import harness

PARENT = """
import ctypes, subprocess, sys
ctypes.CDLL("libcuda.so.1").cuInit(0)
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"""

CROWD = """
import ctypes, os, time
came, go = os.pipe(), os.pipe()
for _ in range(40):
    if not os.fork():
        driver = ctypes.CDLL("libcuda.so.1")
        driver.cuInit(0)
        os.write(came[1], b".")
        os.close(go[1])
        os.read(go[0], 1)
        for _ in range(10):
            time.sleep(0.05)
            driver.cuInit(0)
        os._exit(0)
for _ in range(40):
    os.read(came[0], 1)
os.close(go[1])
for _ in range(40):
    os.wait()
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

    def test_many_processes_leave_some_to_the_trace(self):
        for most in 20, 24, 30:
            with self.subTest(most):
                path = self.path(f"{most}.db")
                self.run_well([sys.executable, "-c", CROWD], env={"GPUVERIFY_TRACE": path},
                              preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
                self.assertEqual(self.trace(path).count("cuInit"), 40 * 11)
