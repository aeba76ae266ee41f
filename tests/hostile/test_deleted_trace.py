"""A script that runs a program, deletes its trace, and runs it again, while the collector still writes."""

import os
import subprocess

import harness

LAUNCHES = 100000  # the collector is not done when the program ends


class DeletedTrace(harness.Case):
    def flood(self, path):
        process = self.start([harness.program("flood"), str(LAUNCHES), "3"], stdin=subprocess.PIPE,
                             env={"GPUVERIFY_TRACE": path, "GPUVERIFY_EXIT_WAIT": "0"})
        _, err = process.communicate(b"\n", timeout=harness.PROGRAM_S)
        self.assertEqual(err.decode(), "")

    def test_its_session_ends_and_frees_its_memory(self):
        path = self.path("trace.db")
        for moment in range(4):
            self.flood(path)
            harness.wait_for(lambda: os.path.exists(path), "the trace")
            harness.pause(moment * 0.1)
            os.unlink(path)
        self.flood(path)
        trace = self.trace(path)
        self.assertEqual(trace.count("cuLaunchKernel"), LAUNCHES)
        self.assertEqual(trace.meta()["state"], "complete")
