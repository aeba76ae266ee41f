"""Programs that the collector cannot see in /proc, as daemons that have dropped root where /proc is mounted with hidepid."""

import os
import subprocess
import sys

import harness

NOBODY = 65534

DAEMON = f"""
import ctypes, os, time
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})  # from here on it is not dumpable
cuda = ctypes.CDLL("libcuda.so.1")
def calls(count):
    for _ in range(count):
        cuda.cuCtxSynchronize()
cuda.cuInit(0)
context = ctypes.c_void_p()
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
calls(1000)
time.sleep(0.5)  # several passes of the collector
calls(1000)
"""


class HiddenProcess(harness.Case):
    def test_every_call_of_a_daemon_that_dropped_root_is_in_the_trace(self):
        harness.need_root(self, "cannot mount /proc")
        for folder in (self.dir, self.spool):
            os.chown(folder, NOBODY, NOBODY)
        script = 'mount -t proc -o hidepid=2 proc /proc && exec env LD_PRELOAD="$0" "$@"'
        daemon = ["unshare", "--mount", "sh", "-c", script, harness.library(), sys.executable, "-c", DAEMON]
        result = subprocess.run(["unshare", "--mount", "sh", "-c", "mount -t proc -o hidepid=2 proc /proc"],
                                capture_output=True, text=True, check=False)
        if result.returncode != 0:
            self.skipTest(f"cannot mount /proc: {result.stderr.strip()}")
        self.run_well(daemon, preload=False)
        self.assertEqual(self.trace().count("cuCtxSynchronize"), 2000)
