"""Limits set by a program or its shell, which its collector inherits: the trace is finished anyway, or the
user is told."""

import os
import resource
import signal
import subprocess
import unittest

import harness

# Loading takes long enough to be worth a stack.
SLOW = {"GV_SIM_LOAD_NS": "3000000", "GV_SIM_CONTEXT_NS": "0"}
SMALL_STACK = 'ulimit -S -s 64; exec "$0" "$@"'


def may_raise_limits():
    """Whether this process may lift a hard limit (CAP_SYS_RESOURCE)."""
    with open("/proc/self/status", encoding="utf-8") as status:
        for line in status:
            if line.startswith("CapEff:"):
                return int(line.split()[1], 16) >> 24 & 1 == 1
    return False


def limit(what, most):
    return lambda: resource.setrlimit(what, (most, most))


class Stack(harness.Case):
    """64 KB of stack: naming frames needs more in one function."""

    def named(self):
        functions = [row[0] for row in self.trace().rows("SELECT function FROM frames")]
        if not any(functions):
            self.skipTest("this gpuverify was built without elfutils: frames have no names")
        self.assertIn("main", functions)

    def test_of_the_program(self):
        self.run_well(["sh", "-c", SMALL_STACK, harness.program("deep")], env=SLOW)
        self.settle()
        self.named()


class ThreadLocal(harness.Case):
    """libc takes the libraries' thread-local memory out of each thread's stack."""

    def test_more_than_the_stacks_of_our_threads(self):
        self.run_well([harness.program("thread_local")], env=SLOW)
        trace = self.trace()
        self.assertNotEqual(trace.value("SELECT count(*) FROM calls WHERE stack IS NOT NULL"), 0)
        self.assertNotIn("thread", str(trace.value("SELECT gpu_why FROM processes")))


class ProcessorTime(harness.Case):

    @unittest.skipUnless(may_raise_limits(), "needs CAP_SYS_RESOURCE to lift a hard limit")
    def test_is_the_programs_own(self):
        process = self.start([harness.program("flood"), "10", "1"], stdin=subprocess.PIPE,
                             preexec_fn=limit(resource.RLIMIT_CPU, 5))
        self.assertEqual(process.stdout.readline(), b"ready\n")
        with open(f"/proc/{self.await_collector()}/limits", encoding="utf-8") as limits:
            self.assertRegex(limits.read(), r"Max cpu time +unlimited +unlimited")
        process.communicate(b"\n", timeout=harness.PROGRAM_S)
        self.assertEqual(process.returncode, 0)


class Descriptors(harness.Case):
    """The collector has as few as the program, and it needs some: for the spool, for the trace."""

    def too_few(self, most):
        result = self.run_well(["sh", "-c", f'ulimit -n {most}; exec "$0"',
                                harness.program("ending")], quiet=False)
        self.assertRegex(result.err, r"^gpuverify: cannot write the trace .*: Too many open files; "
                                     r".*: gpuverify recover -o ")
        # It was abandoned, not tried for ever.
        harness.wait_for(lambda: not self.processes(), "the collector ends")
        self.assertEqual(sorted(name.rsplit(".", 1)[1] for name in self.spool_files()),
                         ["session", "spool"])
        self.command("recover", self.spool)
        self.assertEqual(self.trace().count("cuLaunchKernel"), 3)

    def test_none_is_left(self):
        result = self.run_well(["sh", "-c", 'ulimit -n 4; exec "$0"', harness.program("ending")], quiet=False)
        self.assertEqual(result.err, "gpuverify: cannot record: Too many open files: two descriptors are needed (ulimit -n)\n")

    def test_too_few_for_the_spool(self):
        self.too_few(6)

    def test_too_few_for_the_trace(self):
        self.too_few(7)


class AddressSpace(harness.Case):
    def test_too_little_for_the_records(self):
        limited = ["sh", "-c", 'ulimit -v 60000; exec "$0" exit', harness.program("ending")]
        result = self.run_well(limited, status=4, quiet=False)
        self.assertEqual(result.err, "gpuverify: cannot record: no memory for the records; GPUVERIFY_SPOOL_MB=4 needs less\n")
        self.run_well(limited, status=4, env={"GPUVERIFY_SPOOL_MB": "4"})
        self.assertEqual(self.trace().count("cuLaunchKernel"), 3)


class NoCollector(harness.Case):
    """A collector that starts but fails: the user is told at the program's end."""

    SAID = r"^gpuverify: the collector ended too early; the records are in shared memory until this machine or container ends: " \
           r"gpuverify recover (\S+\.session)\n$"

    def ends_with_word(self, **env):
        result = self.run_well([harness.program("ending")], quiet=False, env=env)
        self.assertRegex(result.err, self.SAID)
        self.command("recover", result.err.split()[-1])
        self.assertEqual(self.trace().count("cuLaunchKernel"), 3)

    def test_it_fails_at_once(self):
        self.ends_with_word(GPUVERIFY_COLLECTOR="/bin/false")

    def test_it_is_killed(self):
        process = self.start([harness.program("flood"), "10", "1"], stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        os.kill(self.await_collector(), signal.SIGKILL)
        _, err = process.communicate(b"\n", timeout=harness.PROGRAM_S)
        self.assertEqual(process.returncode, 0)
        self.assertRegex(err.decode(), self.SAID)
        self.command("recover", self.spool)
        self.assertEqual(self.trace().count("cuLaunchKernel"), 10)

    def test_once_for_all_processes(self):
        result = self.run_well([harness.program("children"), "fork-before"], quiet=False,
                               env={"GPUVERIFY_COLLECTOR": "/bin/false"})
        self.assertEqual(result.err.count("gpuverify:"), 1, result.err)
        self.command("recover", self.spool)

    def test_not_to_those_who_see_to_it(self):
        self.run_well([harness.program("ending")], env={"GPUVERIFY_COLLECTOR": "off"})
        self.command("recover", self.spool)
        self.run_well([harness.program("ending")],
                      env={"GPUVERIFY_COLLECTOR": "/bin/false", "GPUVERIFY_LOG": "off"})
        self.command("recover", self.spool)
        result = self.command("run", harness.program("ending"),
                              env={"GPUVERIFY_COLLECTOR": "/bin/false"}, status=None)
        self.assertNotIn("recover", result.err)


class Small(harness.Case):
    def test_a_process_without_cuda_maps_little(self):
        """It may lock all that it maps, and has a limit."""
        pages = [int(self.run_well(["cat", "/proc/self/statm"], preload=preload).out.split()[0]) for preload in (False, True)]
        self.assertLess((pages[1] - pages[0]) * os.sysconf("SC_PAGE_SIZE"), 8 << 20)


@unittest.skipUnless(os.path.exists(os.path.join(harness.simulator(), "libcupti.so.13")),
                     "no simulated libcupti was built: no cupti.h beside the CUDA headers")
class Memory(harness.Case):
    gpu = "auto"

    def test_gone_after_the_start(self):
        """libcupti has memory for each thread, and the dynamic loader ends a program that has none
        left for it: our thread must have its own before the program runs out."""
        result = self.run_well([harness.program("no_memory")],
                               env={"GPUVERIFY_FLUSH_MS": "60000"})
        self.assertEqual(result.out, "done\n")
        self.assertEqual(self.trace().count("cuLaunchKernel"), 6)

    def test_gone_while_cupti_keeps_all_buffers(self):
        """It gets others, zeroed as promised. What they hold is counted as lost."""
        result = self.run_well([harness.program("no_memory"), "300", "20000"], env={"GV_SIM_CUPTI_LATE_MS": "60000"})
        self.assertEqual(result.out, "done\n")
        trace = self.trace(losses=True)
        self.assertEqual(trace.count("cuLaunchKernel"), 20300)
        self.assertEqual({loss["what"] for loss in trace.lost()}, {"GPU record"})

    def test_gone_while_cupti_keeps_more_buffers_than_there_are(self):
        """It gives them back in time, also with a slow flush: none has two users. What ran in them still is lost."""
        result = self.run_well([harness.program("no_memory"), "300", "60000", "heap"],
                               env={"GV_SIM_CUPTI_LATE_MS": "60000", "GV_SIM_CUPTI_FLUSH_US": "50000"})
        self.assertEqual(result.out, "done\n")
        trace = self.trace(losses=True)
        self.assertEqual(trace.count("cuLaunchKernel"), 60300)
        self.assertEqual(sum(loss["count"] for loss in trace.lost()) + trace.value("SELECT count(*) FROM gpu_ops"), 60300)
