"""CUDA calls in constructors of libraries that a program opens: the dynamic loader's lock is taken
meanwhile, and a thread for which the constructor waits must not need it."""

import json
import os
import unittest

import harness
import test_gpu_side

# Every call is slow enough for a stack.
STACKS = {"GPUVERIFY_STACKS": "all"}


class Constructors(harness.Case):

    def opened(self, how, *arguments, **env):
        self.run_well([harness.program("constructing"),
                       harness.built(harness.PROGRAMS, "libe2e_constructor.so"), *arguments],
                      env={"CONSTRUCTOR": how, **STACKS, **env})
        trace = self.trace()
        self.assertEqual(trace.count("cuLaunchKernel"), 60)
        return trace

    def stacks_after(self, trace):
        """Some time after loading the library, calls have stacks."""
        self.assertIsNotNone(trace.value("SELECT stack FROM calls WHERE name = 'cuLaunchKernel' "
                                         "ORDER BY start_ns DESC LIMIT 1"))

    def check_gpu(self, trace, state, why=None):
        """Checks the GPU side."""
        wanted = ("off", "GPUVERIFY_GPU=off") if self.gpu == "off" else (state, why)
        self.assertEqual(trace.rows("SELECT gpu, gpu_why FROM processes"), [wanted])

    def test_in_a_thread_that_is_waited_for(self):
        trace = self.opened("thread")
        self.stacks_after(trace)
        self.check_gpu(trace, "host-only", "the dynamic loader was busy: a library's constructor "
                       "waits for this thread")

    def test_in_a_thread_that_is_waited_for_with_cuda_initialised_before(self):
        """The first stack is taken in the constructor."""
        trace = self.opened("thread", "init", GPUVERIFY_STACKS=None, GV_SIM_LOAD_NS="3000000")
        self.check_gpu(trace, "cupti")

    def test_failures_in_it_have_stacks(self):
        """A stack needs no lock of the loader."""
        trace = self.opened("thread", GPUVERIFY_STACKS=None)
        self.assertEqual([stack is not None for stack, in trace.rows(
            "SELECT stack FROM calls WHERE name = 'cuMemAlloc_v2' AND result <> 0 ORDER BY start_ns")],
                         [True] * 5)
        errors = json.loads(self.command("report", trace.path, "-s", "errors", "-f", "json").out)["sections"]["errors"]
        first = trace.value("SELECT min(start_ns) FROM calls WHERE result <> 0")
        self.assertEqual([(row["times"], row["first_ns"], bool(row["where"])) for row in errors],
                         [(5, first, True)])

    def test_in_the_constructor_itself(self):
        trace = self.opened("here")
        self.assertEqual(trace.value("SELECT count(*) FROM calls WHERE stack IS NULL"), 0)
        self.check_gpu(trace, "cupti")


@unittest.skipUnless(os.path.exists(test_gpu_side.libcupti()), "no simulated libcupti was built")
class ConstructorsWithCupti(Constructors):
    """The same with the GPU side, whose library is opened inside cuInit()."""

    gpu = "auto"
