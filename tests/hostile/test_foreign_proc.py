"""A namespace of processes with the /proc of another one, in which the program's number is somebody else's."""

import subprocess

import harness


class ForeignProc(harness.Case):
    def test_its_session_ends(self):
        """The shell is process 1 there: its end is that of the collector, too."""
        inside = ["unshare", "--pid", "--fork", "sh", "-c", 'LD_PRELOAD="$0" "$1" exit; exit $?']
        if subprocess.run([*inside[:3], "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("cannot make a namespace")
        self.run_well([*inside, harness.library(), harness.program("ending")], status=4, preload=False)
        self.command("recover", self.spool)
        trace = self.trace()
        self.assertEqual(trace.count("cuLaunchKernel"), 3)
        self.assertEqual(trace.rows("SELECT ended FROM processes"), [("exit",)])
