"""Programs under a tracer that follows their children: it must not get the collector, and wait for it."""

import shutil

import harness


class Tracers(harness.Case):
    def trace_with(self, tracer, *options):
        if not shutil.which(tracer):
            self.skipTest(f"no {tracer}")
        traced = [tracer, *options, "-o", "/dev/null", harness.program("ending"), "exit"]
        for path, argv in ("preloaded.db", traced), ("run.db", [harness.gpuverify(), "run", "--", *traced]):
            with self.subTest(path):
                self.run_program(argv, preload=argv is traced, env={"GPUVERIFY_TRACE": self.path(path)})
                self.assertEqual(self.trace(self.path(path)).count("cuLaunchKernel"), 3)

    def test_strace(self):
        self.trace_with("strace", "-f")

    def test_ltrace(self):
        self.trace_with("ltrace", "-f")

    def test_breakpoints_in_libc(self):
        """The children share the program's memory, and with it the breakpoints."""
        self.trace_with("ltrace", "-f", "-x", "open+close+dup+dup2+fcntl+setsid+execve+syscall+clone@libc.so*")
