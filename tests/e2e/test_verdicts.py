"""Every class of the verdict has a workload; unknown things are not guessed."""

import os
import sys

import harness

sys.path.insert(0, os.path.join(harness.SOURCE, "tests"))
import verdict_expectations as expected  # noqa: E402

# Of a behaviour that depends on the time that things take.
TRIES = 5
REALISTIC = {"GV_SIM_JIT_NS": "5000000", "GV_SIM_LOAD_NS": "100000"}
BUSY_MACHINE = "on a busy machine, waiting for a CPU comes first"


@harness.depends_on_time(BUSY_MACHINE)
class Verdicts(harness.Case):
    gpu = "auto"

    def ran(self, behaviour, *arguments, **env):
        self.run_well([harness.workload("verdicts/verdict"), behaviour, *arguments],
                      env={**REALISTIC, **env})
        self.settle()
        return self.command("report", self.path("trace.db"), "--format", "json", "-s", "verdict").out

    def left_nothing(self, *argv, **options):
        options.setdefault("preload", False)
        result = self.run_program([harness.gpuverify(), "run", "-o", self.path("trace.db"), "--",
                                   *argv], **options)
        self.assertIn("made no CUDA call", result.err, str(result))
        self.assertFalse(os.path.exists(self.path("trace.db")))
        return " ".join(result.err.split())

    def test_program_that_never_loads_the_driver(self):
        self.assertIn("did not load the CUDA driver", self.left_nothing("/bin/echo", "hello"))

    def test_it_is_called_what_its_trace_would_be(self):
        script = self.write("train.py", "print('hello')\n")
        self.assertRegex(self.left_nothing(sys.executable, script), r"^gpuverify: train made no CUDA call")
        self.assertRegex(self.left_nothing("/bin/echo", "hello"), r"^gpuverify: echo made no CUDA call")

    def test_program_that_loads_the_driver_and_stops_there(self):
        script = "import ctypes; ctypes.CDLL('libcuda.so.1')"
        said = self.left_nothing(sys.executable, "-c", script)
        self.assertIn("loaded the CUDA driver's library, but never initialised it", said)

    def test_driver_of_a_child_counts(self):
        script = ("import subprocess, sys; subprocess.run([sys.executable, '-c', "
                  "'import ctypes; ctypes.CDLL(\"libcuda.so.1\")'])")
        self.assertIn("never initialised it", self.left_nothing(sys.executable, "-c", script))

    def test_program_that_we_did_not_get_into(self):
        static = harness.program("unreached")
        if not os.path.exists(static):
            self.skipTest("programs do not link statically here")
        self.assertIn("could not be preloaded", self.left_nothing(static))

    def test_program_that_could_not_be_started(self):
        result = self.run_program(
            [harness.gpuverify(), "run", "--", harness.workload("driver_tour")], sim=False, preload=False,
            env={"GPUVERIFY_TRACE": None})
        if result.status == 0:
            self.skipTest("there is a driver here")
        said = " ".join(result.err.split())
        self.assertEqual(result.status, 127)
        self.assertIn("The program could not be started", said)
        self.assertIn("NVIDIA's driver, libcuda.so.1, is not on this machine", said)
        self.assertTrue(said.endswith(f"Next: gpuverify doctor {harness.workload('driver_tour')}"), said)
        self.assertNotIn("static", said)

    def test_a_small_stall_is_not_the_next_step(self):
        for behaviour, command in (("idle", r"explain i\d+"), ("stalled", r"explain s\d+")):
            result = self.run_program(
                [harness.gpuverify(), "run", "-o", self.path(f"{behaviour}.db"), "--",
                 harness.workload("verdicts/verdict"), behaviour], preload=False, env=REALISTIC)
            self.assertRegex(result.err, f"Next: gpuverify {command}   trace: {behaviour}.db\n")

    def test_program_that_is_killed_first(self):
        result = self.run_program([harness.gpuverify(), "run", "--", "/bin/sh", "-c", "kill -9 $$"],
                                  preload=False)
        self.assertEqual(result.status, -9)
        self.assertIn("killed before it made a CUDA call", " ".join(result.err.split()))

    def test_initialisation_that_failed(self):
        result = self.run_program([harness.gpuverify(), "run", "-o", self.path("trace.db"), "--",
                                   harness.workload("verdicts/verdict"), "no-kernel"],
                                  env={"GV_SIM_NO_DEVICE": "1"}, preload=False)
        said = " ".join(result.err.split())
        self.assertIn("CUDA could not be initialised", said)
        self.assertIn("CUDA_ERROR_NO_DEVICE (100): this process can use no device", said)
        self.assertIn("CUDA_VISIBLE_DEVICES", said)
        self.trace()

    def test_graphs_are_work_too(self):
        self.run_well([harness.workload("ordinary/graph_launches")], quiet=False)
        self.settle()
        out = self.command("report", self.path("trace.db")).out
        self.assertRegex(out, r"GPU busy .* 100 graphs\s")
        self.assertRegex(out, r"(?m)^\(graphs, launched whole\) +100 ")

    def test_launches_that_fail_are_told_with_what_helps(self):
        result = self.run_program([harness.gpuverify(), "run", "-o", self.path("trace.db"), "--",
                                   harness.workload("verdicts/verdict"), "refused"],
                                  env={"GV_SIM_FAIL": "cuLaunchKernel:1=209,cuLaunchKernel:2=209,"
                                                      "cuLaunchKernel:3=209"}, preload=False)
        said = " ".join(result.err.split())
        self.assertIn("Every launch failed, with CUDA_ERROR_NO_BINARY_FOR_GPU (209)", said)
        self.assertIn("no code for this GPU in that kernel fix: build it for this GPU's", said)
        self.trace()

    def test_kernel_that_was_running_at_a_kill_is_no_idle_gpu(self):
        process = self.start([harness.program("gpu_work"), "waiting", "50"],
                             env={"GPUVERIFY_FLUSH_MS": "20"})
        self.assertEqual(process.stdout.readline(), b"ready\n")
        harness.pause(0.5)
        process.kill()
        process.communicate()
        self.settle()
        report = self.command("report", self.path("trace.db"), "--format", "json", "-s", "verdict").out
        document = expected.findings(report)[0]
        self.assertRegex(document["verdict"]["headline"],
                         "at least .* of the first .*; what it did after that is unknown")
        for finding in document["verdict"]["findings"]:
            if finding["class"] == "GPU mostly idle":
                self.assertIn("of the first", finding["evidence"])
                self.assertLess(finding["weight"], 0.5)
        self.assertIn("1 record is missing",
                      self.command("check", self.path("trace.db"), "--min-gpu-busy", "50%",
                                   status=3).out)

    def test_kernel_that_was_running_when_a_program_ended_itself(self):
        self.run_program([harness.program("gpu_work"), "killed", "50"])
        self.settle()
        self.assertIn("an operation had not ended",
                      self.command("check", self.path("trace.db"), "--min-gpu-busy", "50%",
                                   status=3).out)

    def test_part_is_never_larger_than_the_whole(self):
        for gpu in "auto", "off":
            self.run_well([harness.workload("ordinary/several_processes"), "8"], quiet=False,
                          env={**REALISTIC, "GPUVERIFY_GPU": gpu, "GV_SIM_CONTEXT_NS": "20000000"})
            self.settle()
            out = self.command("report", self.path("trace.db"), "--format", "json", "-s",
                               "verdict").out
            document, told = expected.findings(out)
            self.assertIn("load/JIT-bound", told)
            for finding in document["verdict"]["findings"]:
                self.assertEqual(expected.larger_than_the_whole(finding["evidence"]), [])
                self.assertLessEqual(finding["weight"], 1)
            facts = document["facts"]
            self.assertLess(0, facts["start_ns"])
            self.assertLessEqual(facts["start_ns"], facts["window_ns"])
            os.unlink(self.path("trace.db"))

    def test_thresholds_are_printed(self):
        result = self.command("report", "--explain-verdict")
        for wanted, _ in expected.SEEN.values():
            self.assertIn(f"\n{wanted}\n", "\n" + result.out)
        self.assertIn("from    10 %", result.out)
        # Those beside the shares too.
        for number in "100 kernels", "50.0 us each", "below 300 us", "0.1 % of", "than 25 % of":
            self.assertIn(number, result.out)

    def test_stack_of_the_copies_is_named(self):
        report = self.ran("transfer", GPUVERIFY_STACKS="all")
        self.assertIn("verdict.c:", expected.findings(report)[1]["transfer-bound"])


@harness.depends_on_time(BUSY_MACHINE)
class HostOnly(harness.Case):
    """It says nothing of the GPU that the calls do not show."""

    def check(self, behaviour, tries=TRIES):
        self.run_well([harness.workload("verdicts/verdict"), behaviour], env=REALISTIC)
        self.settle()
        out = self.command("report", self.path("trace.db"), "--format", "json", "-s", "verdict").out
        document, told = expected.findings(out)
        wanted = expected.UNSEEN.get(behaviour)
        # Where others have the processor, there may be too little left of what is wanted.
        if wanted and wanted not in told and "descheduled" in told and tries > 1:
            os.unlink(self.path("trace.db"))
            self.check(behaviour, tries - 1)
            return
        if wanted and "descheduled" not in told:
            self.assertIn(wanted, told)
        self.assertEqual(set(told) & expected.GUESSES, set())
        if behaviour not in ("no-kernel", "refused"):
            self.assertIn("was not recorded", document["verdict"]["headline"])
        self.assertIsNone(document["facts"]["busy_ns"])


def add(behaviour):
    def seen(self):
        # On a busy machine, the simulated GPU's own threads wait for a processor now and then.
        for _ in range(TRIES):
            complaint = expected.complaint(behaviour, self.ran(behaviour))
            if not complaint:
                return
        self.fail(complaint)

    def unseen(self):
        self.check(behaviour)
    name = behaviour.replace("-", "_")
    setattr(Verdicts, f"test_{name}", seen)
    setattr(HostOnly, f"test_{name}", unseen)


for one in expected.SEEN:
    add(one)
del one
