"""The environment variables that change what CUDA does: which are recorded, and where they are told."""

import json
import os
import re
import sys
import unittest

import harness

RECORDED = {"CUDA_LAUNCH_BLOCKING": "0", "CUDA_MODULE_LOADING": "LAZY", "CUDA_CACHE_DISABLE": "1",
            "CUDA_DEVICE_MAX_CONNECTIONS": "1", "CUDA_VISIBLE_DEVICES": "0",
            "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "PYTORCH_ALLOC_CONF": "a:b",
            "PYTORCH_NO_CUDA_MEMORY_CACHING": "", "NVIDIA_TF32_OVERRIDE": "0", "GPUVERIFY_TEAM": "vision",
            "GPUVERIFY_BUILD": "1f3c"}
SECRETS = {"AWS_SECRET_ACCESS_KEY": "hunter2", "CUDA_LAUNCH_BLOCKING_": "hunter2", "CUDA_LAUNCH": "hunter2",
           "XCUDA_LAUNCH_BLOCKING": "hunter2"}
LAUNCHES = 50
# Two changes before the context, one after it.
SETS_LATER = """
import ctypes, os
cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
assert cuda.cuInit(0) == 0
os.environ["CUDA_MODULE_LOADING"] = "EAGER"
del os.environ["CUDA_CACHE_DISABLE"]
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
assert cuda.cuCtxSynchronize() == 0
"""


class Environment(harness.Case):
    def recorded(self, *argv, **env):
        self.run_well(argv or [harness.workload("launch_loop"), "2"], env=env)
        return dict(self.trace().rows("SELECT name, value FROM environment"))

    def test_these_are_recorded_and_no_others(self):
        with open(os.path.join(harness.SOURCE, "trace", "environment.def"), encoding="utf-8") as table:
            names = re.findall(r"^GV_ENVIRONMENT\((\w+)", table.read(), re.M)
        self.assertEqual(sorted(names), sorted(RECORDED))
        self.assertEqual(self.recorded(**RECORDED, **SECRETS), RECORDED)
        with open(self.path("trace.db"), "rb") as file:
            self.assertNotIn(b"hunter2", file.read())

    def test_without_any(self):
        self.assertEqual(self.recorded(), {})
        self.assertNotIn("Variables that", self.command("report", self.path("trace.db")).out)

    def test_values_may_be_anything(self):
        hostile = "\x1b[31m'; DROP TABLE call\n\udcff"
        recorded = self.recorded(PYTORCH_ALLOC_CONF=hostile, PYTORCH_CUDA_ALLOC_CONF="x" * 100000)
        self.assertEqual(recorded["PYTORCH_ALLOC_CONF"], "\x1b[31m'; DROP TABLE call\n\ufffd")
        self.assertRegex(recorded["PYTORCH_CUDA_ALLOC_CONF"], r"^x{507}\.\.\.$")
        shown = self.command("report", self.path("trace.db"), "--section", "environment").out
        self.assertIn("DROP TABLE call", shown)
        self.assertNotIn("\x1b", shown)

    def test_what_the_program_sets_before_it_makes_a_context(self):
        self.run_well([harness.workload("stalls/launch_blocking"), "idle"],
                      env={"CUDA_LAUNCH_BLOCKING": "0"})
        self.assertEqual(self.trace().rows("SELECT name, value FROM environment"),
                         [("CUDA_LAUNCH_BLOCKING", "1")])

    def test_what_the_program_sets_later_is_not_seen(self):
        self.run_well([sys.executable, "-c", SETS_LATER], env={"CUDA_CACHE_DISABLE": "1"})
        self.assertEqual(self.trace().rows("SELECT name, value FROM environment"),
                         [("CUDA_MODULE_LOADING", "EAGER")])

    def test_each_process_has_its_own(self):
        self.run_well(["/bin/sh", "-c", '"$0" 2 && CUDA_LAUNCH_BLOCKING=1 "$0" 3',
                       harness.workload("launch_loop")], env={"CUDA_LAUNCH_BLOCKING": "0"})
        self.assertEqual(self.trace().rows("SELECT process, value FROM environment ORDER BY 1"),
                         [(1, "0"), (2, "1")])
        out = self.command("report", self.path("trace.db")).out
        self.assertIn("4 launches took", " ".join(out.split()))  # those of the second one


class LaunchBlocking(harness.Case):
    def told(self, **env):
        result = self.run_program([harness.gpuverify(), "run", "-o", self.path("trace.db"), "--",
                                   harness.workload("launch_loop"), str(LAUNCHES)], env=env, preload=False)
        self.assertEqual(result.status, 0, str(result))
        self.trace()
        return " ".join(result.err.split())

    def test_one_finding_however_short_the_launches_are(self):
        for gpu in ("auto", "off"):
            with self.subTest(gpu):
                said = self.told(CUDA_LAUNCH_BLOCKING="1", GPUVERIFY_GPU=gpu)
                self.assertRegex(said, r" launch-blocking CUDA_LAUNCH_BLOCKING=1 makes each launch wait ")
                self.assertIn("fix: unset CUDA_LAUNCH_BLOCKING", said)
                self.assertEqual(said.count("CUDA_LAUNCH_BLOCKING=1"), 1)
                out = self.command("report", self.path("trace.db"), "--format", "json").out
                first = json.loads(out)["facts"][0]
                self.assertEqual(first["name"], "launch-blocking")
                self.assertRegex(first["detail"], "CUDA_LAUNCH_BLOCKING=1 makes each launch wait until the GPU has"
                                                    f" done it: {LAUNCHES + 1} launches took [\\d.]+ [mun]?s$")

    def test_not_without_the_variable(self):
        for value in ("0", None):
            self.assertNotIn("launch-blocking", self.told(CUDA_LAUNCH_BLOCKING=value))

    def test_its_stalls_are_in_the_list(self):
        self.run_well([harness.workload("stalls/launch_blocking"), "50"], env={"GV_SIM_JIT_NS": "0"})
        self.trace()
        out = self.command("report", self.path("trace.db")).out
        self.assertEqual(len(re.findall(r"(?m)^  launch-blocking   ", out)), 1)
        stalls = self.command("stalls", self.path("trace.db"), "--cause", "launch-blocking").out
        self.assertIn("cuGraphLaunch", stalls)
        number = re.search(r"\bs\d+\b", stalls).group()
        told = " ".join(self.command("explain", self.path("trace.db"), number).out.split())
        self.assertIn("Unset CUDA_LAUNCH_BLOCKING: with it,", told)
        self.command("check", self.path("trace.db"), "--no-stall", "launch-blocking", status=1)

    def test_doctor_sees_it(self):
        for value, seen in (("1", True), ("0", False)):
            out = self.command("doctor", "--no-trial", status=None, env={"CUDA_LAUNCH_BLOCKING": value}).out
            self.assertEqual("each launch waits" in " ".join(out.split()), seen, out)


class HiddenDevices(harness.Case):
    def test_the_summary_names_the_variable(self):
        for value in ("", "-1", "NoDevFiles"):
            with self.subTest(value):
                result = self.run_program([harness.gpuverify(), "run", "-o", self.path("trace.db"), "--",
                                           harness.workload("verdicts/verdict"), "no-kernel"],
                                          env={"CUDA_VISIBLE_DEVICES": value}, preload=False)
                self.assertIn(f"CUDA_ERROR_NO_DEVICE (100): CUDA_VISIBLE_DEVICES={value} hides all devices; "
                              "unset it", " ".join(result.err.split()))
                self.trace()


if __name__ == "__main__":
    unittest.main()
