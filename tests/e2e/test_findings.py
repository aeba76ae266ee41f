"""What a report says first: facts and findings of workloads; unknown things are not guessed."""

import contextlib
import json
import os
import re
import sqlite3
import sys

import harness

sys.path.insert(0, os.path.join(harness.SOURCE, "tests"))
import finding_expectations as expected  # noqa: E402

# Of a behaviour that depends on the time that things take.
TRIES = 5
REALISTIC = {"GV_SIM_JIT_NS": "5000000", "GV_SIM_LOAD_NS": "100000"}
BUSY_MACHINE = "on a busy machine, waiting for a CPU comes first"


@harness.depends_on_time(BUSY_MACHINE)
class Findings(harness.Case):
    gpu = "auto"

    def ran(self, behaviour, *arguments, **env):
        self.run_well([harness.workload("verdicts/verdict"), behaviour, *arguments],
                      env={**REALISTIC, **env})
        self.settle()
        return self.command("report", self.path("trace.db"), "--format", "json", "-s", "findings").out

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

    def told(self, behaviour, **env):
        result = self.run_program(
            [harness.gpuverify(), "run", "-o", self.path(f"{behaviour}.db"), "--",
             harness.workload("verdicts/verdict"), behaviour], preload=False, env={**REALISTIC, **env})
        return result.err

    def test_the_summary_shows_one_step_and_what_it_loses(self):
        told = self.told("idle")
        self.assertRegex(" ".join(told.split()), r"gpuverify: verdict ran [^ ]+ ms on a simulated GPU: (?:[^ ]+ ms before CUDA, )?"
                                                 r"start [^ ]+ ms, \d+ steps of [^ ]+ ms, end ")
        self.assertRegex(told, r"\n  one step   [^ ]{40}   GPU busy [^ ]+ [um]s, idle [^ ]+ ms\n")
        self.assertRegex(" ".join(told.split()), r" 1 sleep [^ ]+ ms \d+ % verdict\.c:\d+ idle: sleeping fix: Sleep less; instead")
        self.assertRegex(told, r"\n     busy +[^ ]+ [um]s +[\d.]+ %  ")
        self.assertRegex(told, r"\n  Start: ")
        self.assertIn("Next: gpuverify explain f1   trace: idle.db\n", told)
        self.assertNotIn("0 errors", told)

    def test_what_a_run_without_a_kernel_loses_is_told(self):
        for gpu in ("auto", "off"):
            told = self.told("no-kernel", GPUVERIFY_GPU=gpu)
            self.assertRegex(" ".join(told.split()), r" no kernel no launch, .* 1 (host-code|starting-cuda|no-cpu) [^ ]+ ms \d+ % ")
            self.assertIn("Next: gpuverify explain f1 ", told)

    def test_a_start_that_lost_little_does_not_hide_the_steps(self):
        self.told("idle")
        for lost, shown in (("1", "one step"), ("(SELECT sum(total_ns) FROM ledger_row)", "the run")):
            with contextlib.closing(sqlite3.connect(self.path("idle.db"))) as database, database:
                database.execute("DELETE FROM finding WHERE id > 1")
                database.execute(f"UPDATE finding SET phase = 0, lost_ns = {lost}")
            said = self.command("report", self.path("idle.db")).out
            self.assertRegex(said, rf"\n  {shown}   ")
            self.assertEqual("of the steps.\n" in said, shown == "one step")

    def test_explain_begins_with_the_first_finding(self):
        self.told("idle")
        said = self.command("explain", self.path("idle.db")).out
        self.assertRegex(said, r"^finding f1   sleep   [^ ]+ ms   \d+ % of main   \w+\n")
        self.assertRegex(said, r"\n  a step +[^ ]+ ms  sleep +verdict\.c:\d+ idle\n")
        self.assertRegex(said, r"\n  where   verdict\.c:\d+ idle <- ")
        self.assertRegex(said, r"\n\nidle i\d+   sleep ")
        self.assertEqual(self.command("explain", self.path("idle.db"), "f1").out, said)
        self.assertIn("has no finding f99", self.command("explain", self.path("idle.db"), "f99", status=3).err)
        document = json.loads(self.command("explain", self.path("idle.db"), "f1", "-f", "json").out)
        self.assertEqual(document["finding"]["what"], "sleep")
        self.assertEqual(sum(row["total_ns"] for row in document["finding"]["ledger"]), document["finding"]["lost_ns"])

    def test_a_wait_that_costs_the_gpu_nothing_is_only_counted(self):
        told = " ".join(self.told("stalled").split())
        self.assertRegex(told, r"but waited: \d+, the worst for\s+[^ ]+ ms\s+\(module-load,\s+verdict\.c:\d+ load; explain s\d+\)")

    def test_kernels_that_leave_most_of_the_gpu_empty(self):
        self.assertRegex(" ".join(self.told("underfilled").split()), r"busy .* the GPU's SMs filled to [\d.]+ %")

    def test_each_account_is_documented(self):
        with open(os.path.join(harness.SOURCE, "report/analyse/ledger/accounts.def"), encoding="utf-8") as table:
            names = re.findall(r'^GV_ACCOUNT\(\w+, "([^"]+)"', table.read(), re.M)
        with open(os.path.join(harness.SOURCE, "docs/ledger.md"), encoding="utf-8") as page:
            text = page.read()
        self.assertEqual([name for name in names if f"`{name}`" not in text], [])

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
        self.assertRegex(" ".join(out.split()), r" busy .* 100 graphs ")
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
        self.assertRegex(self.command("report", self.path("trace.db"), "-s", "findings").out,
                         r"(?s)GPU busy .* not seen\n.*\n  !  GPU activity after .* is unknown")
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
            document = json.loads(self.command("report", self.path("trace.db"), "--format", "json", "-s", "findings").out)
            for finding in document["findings"]:
                self.assertLessEqual(finding["share"], 1)
                self.assertLessEqual((finding["saves_ns"] or 0) * finding["share"], finding["lost_ns"] * 1.001)
            numbers = document["numbers"]
            self.assertLess(0, numbers["start_ns"])
            self.assertLessEqual(numbers["start_ns"], numbers["window_ns"])
            os.unlink(self.path("trace.db"))


@harness.depends_on_time(BUSY_MACHINE)
class HostOnly(harness.Case):
    """It says nothing of the GPU that the calls do not show."""

    def check(self, behaviour):
        self.run_well([harness.workload("verdicts/verdict"), behaviour], env=REALISTIC)
        self.settle()
        document = json.loads(self.command("report", self.path("trace.db"), "--format", "json", "-s", "findings").out)
        facts = {fact["name"] for fact in document["facts"]}
        self.assertEqual(facts, {expected.UNSEEN[behaviour]} if behaviour in expected.UNSEEN else set())
        self.assertEqual({finding["confidence"] for finding in document["findings"]} - {"inferred"}, set())
        self.assertIsNone(document["numbers"]["busy_ns"])


def add(behaviour):
    def seen(self):
        # On a busy machine, threads wait for a processor now and then.
        for _ in range(TRIES):
            complaint = expected.complaint(behaviour, self.ran(behaviour))
            if not complaint:
                return
        self.fail(complaint)

    def unseen(self):
        self.check(behaviour)
    name = behaviour.replace("-", "_")
    setattr(Findings, f"test_{name}", seen)
    setattr(HostOnly, f"test_{name}", unseen)


for one in expected.SEEN:
    add(one)
del one
