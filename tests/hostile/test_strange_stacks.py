"""Programs whose stacks are strange: coroutines, generated code, wrong unwind tables, alternate and tiny stacks,
libraries that come and go. They run as without the library, and chains end where nothing more is known.

GV_HOSTILE_SEEDS: how many seeds each program runs, instead of 20."""

import os
import re
import signal
import subprocess

import harness

SEEDS = int(os.environ.get("GV_HOSTILE_SEEDS", "20"))
AT_ONCE = 20  # seeds in one process
EVERY_CALL = {"GPUVERIFY_STACKS": "all"}
MANY_CALLS = {"GPUVERIFY_STALL_US": "1"}
# The names are those of the programs in tests/hostile/programs.
DEEPER = "strange_call( < strange_deeper)+"


def hostile(name):
    return harness.built("tests", "hostile", "programs", "hostile_" + name)


class Strange(harness.Case):
    def same(self, name, env, first=1, count=AT_ONCE):
        """Runs it without the library and with it."""
        if not os.path.exists(hostile(name)):
            self.skipTest("there is no C++ compiler")
        return self.run_twice([hostile(name), str(first), str(count)], env=env)

    def chains(self):
        """Of each stack of a call: its functions from the innermost on, without inlined ones, and how the chain ended."""
        rows = self.trace().rows("SELECT frames.stack, coalesce(function, library, ''), coalesce(how, 'whole') FROM frames"
                                 " LEFT JOIN stack_end ON stack_end.stack = frames.stack"
                                 " WHERE frames.stack IN (SELECT stack FROM calls) AND address IS NOT NULL ORDER BY frames.stack, depth")
        if not any(function == "main" for _, function, _ in rows):
            self.skipTest("this gpuverify was built without libunwind or elfutils: stacks have no names")
        stacks = {}
        for stack, function, end in rows:
            stacks.setdefault(stack, ([], end))[0].append(function)
        return {f"{' < '.join(functions)}, {end}" for functions, end in stacks.values()}

    def check(self, name, *patterns):
        """Each chain with its end fits one of the patterns, and each pattern has one."""
        patterns += ("main < .*, whole",)
        for first in range(1, SEEDS + 1, AT_ONCE):
            self.same(name, MANY_CALLS, first)
            self.settle()
            os.remove(self.path("trace.db"))
            self.same(name, EVERY_CALL, first)
            chains = self.chains()
            os.remove(self.path("trace.db"))
            fits = {pattern: {chain for chain in chains if re.fullmatch(pattern, chain)} for pattern in patterns}
            self.assertEqual(chains - set().union(*fits.values()), set(), name)
            for pattern, found in fits.items():
                self.assertTrue(found, f"{name}: no chain fits {pattern}\n{harness.dump(sorted(chains))}")

    def test_coroutines(self):
        self.check("coroutines", DEEPER + " < run, whole", DEEPER + " < run, stopped",
                   "(strange_call < ask_back < .* < )?in_callback < run, (whole|stopped)",
                   "strange_call( < strange_run)?, truncated")

    def test_code_that_is_generated(self):
        self.check("generated", DEEPER + ", stopped")

    def test_signals_on_alternate_stacks(self):
        self.check("alternate", DEEPER + " < raise_some < main < .*, whole", DEEPER + " < raise_some < in_frame, truncated",
                   "on_signal < .*, stopped")

    def test_small_stacks_and_stacks_with_holes(self):
        self.check("small_stacks", f"({DEEPER} < )?work < start_thread.*, whole", DEEPER + "( < above_a_hole)?, truncated")

    def test_deep_recursion_and_large_frames(self):
        self.check("recursion", DEEPER + " < main < .*, whole", DEEPER + "( < large)?, truncated")

    def test_tables_that_lie_or_are_missing(self):
        self.check("tables", DEEPER + " < (?!strange|without).*, (whole|stopped|truncated)", DEEPER + " < without_tables, stopped")

    def test_exceptions_and_jumps(self):
        self.check("exceptions", "strange_call < leave.*deep.* < main < .*, whole", "strange_call < strange_run.* < main < .*, whole",
                   "strange_call < deep.* < main < .*, whole")


    def test_sandbox_that_forbids_to_copy(self):
        for name in ("coroutines", "alternate", "recursion", "small_stacks"):
            self.run_twice([hostile(name), "1", str(AT_ONCE)], env=EVERY_CALL,
                           preexec_fn=lambda: harness.refuse("process_vm_readv", "process_vm_writev"))
            chains = self.chains()
            os.remove(self.path("trace.db"))
        self.assertTrue([chain for chain in chains if re.fullmatch(DEEPER + " < work < start_thread.*, whole", chain)], chains)


@harness.depends_on_time("a collector without a CPU for 0.1 s costs stacks")
class Unloading(harness.Case):
    """Libraries that are unloaded and replaced, in memory and on the disk."""

    def program(self, how, times):
        plugins = [harness.built("tests", "hostile", "programs", f"libhostile_plugin_{name}.so") for name in ("one", "other")]
        return [hostile("unloading"), self.dir, *plugins, str(times), how]

    def run_unloading(self, how, times, **env):
        self.run_twice(self.program(how, times), env={**EVERY_CALL, **env})
        if env:
            self.command("recover", "-o", self.path("trace.db"))

    def innermost(self):
        """The functions that called cuCtxSynchronize, in their order."""
        rows = self.trace().rows(
            "SELECT function FROM calls LEFT JOIN frames ON frames.stack = calls.stack AND frames.depth = 0"
            " WHERE name = 'cuCtxSynchronize' ORDER BY calls.start_ns")
        if not self.traces[-1].value("SELECT count(*) FROM frames WHERE function = 'main'"):
            self.skipTest("this gpuverify was built without libunwind or elfutils: stacks have no names")
        return [function for function, in rows]

    def test_libraries_at_the_same_address(self):
        self.run_unloading("keep", 300)
        self.assertEqual(self.innermost(), ["plugin_one", "plugin_other"] * 150)

    def test_copies_that_waited_for_many_unloads(self):
        self.run_unloading("keep", 100, GPUVERIFY_COLLECTOR="off")
        self.assertEqual(self.innermost(), ["plugin_one", "plugin_other"] * 50)

    def test_collector_that_was_late(self):
        """It reads of the library that is there now before it reads that the one at its address is gone."""
        program = self.start(self.program("wait", 1), env=EVERY_CALL, stdin=subprocess.PIPE)
        self.assertEqual(program.stdout.readline(), b"waiting\n")
        seen = ["query", self.path("trace.db"), "-v", "SELECT count(*) FROM calls WHERE name = 'cuCtxSynchronize'"]
        harness.wait_for(lambda: self.command(*seen, status=None).out == "3\n", "the collector has seen the calls")
        collector, = self.collectors()
        os.kill(collector, signal.SIGSTOP)
        out, _ = program.communicate(b"\n", timeout=harness.PROGRAM_S)
        os.kill(collector, signal.SIGCONT)
        if b"same place" not in out:
            self.skipTest("the libraries were not mapped at the same address")
        self.assertEqual(self.innermost(), ["plugin_one", "plugin_other", "plugin_other", "plugin_one"])

    def test_files_that_are_replaced_deleted_or_cut(self):
        """Nothing is named after another file."""
        for how in ("replace", "delete", "cut"):
            for env in ({}, {"GPUVERIFY_COLLECTOR": "off"}):
                self.run_unloading(how, 20, **env)
                self.assertLessEqual(set(self.innermost()[::2]), {"plugin_one", None}, how)
                self.assertLessEqual(set(self.innermost()[1::2]), {"plugin_other", None}, how)
                os.remove(self.path("trace.db"))
