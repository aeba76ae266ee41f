"""A signal handler calls CUDA at every instruction of the library that a call runs through.

programs/single_step.c does it; here its lines are held against the trace. What the handler calls is a
row, or a part of the call that it interrupted, or counted as lost; the interrupted call is always
whole: one row, with its own number, stack, load and name.
"""

import os
import re
import unittest

import harness

LINE = re.compile(r"outer (\d+) of \w+ fill (\d+) step (\d+) of \d+ driver (\d+) inner (\d+) lost (\d+)$", re.M)
MADE = re.compile(r"made (\d+) inner, (\d+) outer, (\d+) fillers$", re.M)


@unittest.skipUnless(os.uname().machine == "x86_64", "needs the trap flag of x86-64")
class SingleStep(harness.Case):
    gpu = "on"

    def step(self, mode, *arguments, **env):
        env = {"LD_BIND_NOW": "1",  # what the library calls is then reached in one jump
               # Other threads of ours run into the breakpoints in the library, with signals blocked.
               "GPUVERIFY_IDLE_HZ": "0", "GPUVERIFY_FLUSH_MS": "60000",
               "GPUVERIFY_STACKS": "off",
               "GPUVERIFY_STALL_US": "10000000",  # a stepped call takes long, and must go the same way as others
               "GPUVERIFY_CUPTI": os.path.join(harness.simulator(), "libcupti.so.13"), **env}
        done = self.run_well([harness.program("single_step"), mode, *map(str, arguments)], env=env)
        self.lines = [dict(zip(("outer", "fill", "at", "driver", "inner", "lost"), map(int, line)))
                      for line in LINE.findall(done.out)]
        self.inner, self.outer, self.fillers = map(int, MADE.search(done.out).groups())
        self.assertEqual(len(self.lines), self.outer, str(done)[-2000:])

    def check_inner(self, trace, story_is="^r+l*n+l+r+$"):
        """Each of the handler's calls is a row (r) before the call is entered and after it, a part of the
        call (n) while that is made, and lost (l) while its records are written."""
        rows = {row[0] for row in trace.rows("SELECT bytes FROM calls WHERE class = 'set' AND bytes % 2")}
        lost = sum(line["lost"] for line in self.lines)
        for fill in {line["fill"] for line in self.lines if line["at"]}:
            lines = [line for line in self.lines if line["fill"] == fill and line["inner"]]
            story = "".join("r" if line["inner"] in rows else "l" if line["lost"] else "n" for line in lines)
            self.assertRegex(story, story_is, f"fill {fill}")
            around = [line for line in lines if abs(line["at"] - line["driver"] - 0.5) < 1]
            self.assertFalse([line for line in around if line["inner"] in rows or line["lost"]], "in the driver")
        self.assertGreater(lost, 0)
        self.assertEqual([tuple(row.values())[1:] for row in trace.lost()], [("call", "set", lost)])
        self.assertEqual(trace.count("cuEventRecord"), self.fillers)

    def check_operations(self, trace):
        """Each operation is its own call's: the bytes of a set are different in each. What a handler starts
        in the middle of another call is that call's, or nobody's."""
        self.assertEqual(trace.rows("SELECT o.bytes, c.bytes FROM gpu_ops o JOIN calls c ON c.id = o.call"
                                    " WHERE c.class = 'set' AND o.bytes IS NOT c.bytes"), [])
        self.assertEqual(trace.rows("SELECT c.id FROM calls c LEFT JOIN gpu_ops o ON o.call = c.id WHERE"
                                    " c.class IN ('set', 'launch') GROUP BY c.id HAVING count(o.id) <> 1 OR"
                                    " min(o.kind) <> replace(c.class, 'launch', 'kernel')"), [])

    def check_outer_sets(self, trace):
        self.assertEqual([row[0] for row in trace.rows(
            "SELECT bytes FROM calls WHERE class = 'set' AND bytes % 2 = 0 ORDER BY id")],
            [2 * i for i in range(1, self.outer + 1)])

    def test_the_fast_path_and_the_ends_of_segments(self):
        self.step("copy", 253, 254, 255)
        trace = self.trace(losses=True)
        self.check_inner(trace)
        self.check_operations(trace)
        self.check_outer_sets(trace)

    def test_a_runtime_call_and_the_driver_call_in_it(self):
        self.step("runtime", 0)
        trace = self.trace(losses=True)
        self.check_inner(trace)
        self.check_outer_sets(trace)
        self.assertEqual(trace.count("cudaMemsetAsync"), self.outer)

    def names(self, trace):
        """By the instruction before which the handler came: the call's name, its driver call's, or none."""
        named = dict(trace.rows("SELECT bytes, substr(name, 1, 3) FROM calls WHERE class = 'set'"))
        return "".join({"cud": "c", "cuM": "d", None: "-"}[named.get(line["outer"])] for line in self.lines)

    @harness.depends_on_time("a clock that is steered while it is read is read again, and then an instruction comes once more often")
    def test_recording_is_stopped_in_a_call(self):
        self.step("stop", 0)
        self.assertRegex(self.names(self.trace()), "^cc-+c+$")  # the first two without a handler

    @harness.depends_on_time("CUPTI's thread of ours, which it wakes, may run into a breakpoint")
    def test_recording_is_started_in_a_call(self):
        self.step("start", 0)
        self.assertRegex(self.names(self.trace()), "^--c+d+-*$")

    def test_a_handler_with_a_stack_of_its_own(self):
        self.step("high", 0)
        trace = self.trace(losses=True)
        self.check_inner(trace)
        self.check_operations(trace)
        self.check_outer_sets(trace)

    def test_a_call_that_was_left_is_one_row(self):
        self.step("left", 0, GPUVERIFY_GPU="off")
        trace = self.trace(losses=True)
        self.check_inner(trace, "^r+l+r+n+l+r+$")  # until the left one is written, then as ever
        self.check_outer_sets(trace)
        self.assertEqual(trace.rows("SELECT result, count(*) FROM calls WHERE name LIKE 'cuOccupancy%' GROUP BY 1"),
                         [(None, self.outer)])

    def test_a_call_that_a_handler_jumps_out_of_is_one_row(self):
        """It has no bytes until the call's end is written; until it is entered, there is no row. No later call is lost."""
        self.step("jump", 0, GPUVERIFY_GPU="off")
        trace = self.trace()
        rows = dict(trace.rows("SELECT bytes, count(*) FROM calls WHERE class = 'set' AND bytes % 2 = 0 GROUP BY 1"))
        self.assertEqual(set(rows.values()), {1})
        self.assertEqual(rows.get(self.lines[-1]["outer"]), 1)
        self.assertEqual(trace.value("SELECT count(*) - count(DISTINCT start_ns) FROM calls WHERE class = 'set'"), 0)
        self.assertGreater(trace.value("SELECT count(*) FROM calls WHERE class = 'set' AND result IS NULL"), 100)

    def test_polls_are_counted(self):
        self.step("poll", 0, 254)
        trace = self.trace(losses=True)
        self.check_inner(trace)
        self.check_operations(trace)
        self.assertEqual(trace.value("SELECT sum(count) FROM calls WHERE name = 'cuStreamQuery'"), self.outer)

    def test_launches(self):
        self.step("launch", 254)
        trace = self.trace(losses=True)
        self.check_inner(trace)
        self.check_operations(trace)
        self.assertEqual(trace.rows("SELECT kernel, count(*) FROM calls WHERE class = 'launch'"),
                         [("empty", self.outer)])

    def test_a_call_is_chosen_and_put_between_events(self):
        self.step("pair", 0, GPUVERIFY_GPU="sampled")
        trace = self.trace(losses=True)
        # A call whose budget is used up is not put between events. The stub of pthread_setcanceltype, which its events need,
        # too, is then first met when its record is written.
        self.check_inner(trace, "^r+l*n+(ln+)?l+r+$")
        self.assertEqual(trace.value("SELECT count(DISTINCT kernel) FROM calls WHERE class = 'launch'"), self.outer)
        self.assertEqual(trace.value("SELECT count(*) FROM calls WHERE class = 'launch'"), self.outer)
        # A handler's call may be chosen, too, and be lost.
        self.assertLessEqual(trace.value("SELECT count(*) FROM gpu_sample WHERE call IS NULL"),
                             sum(line["lost"] for line in self.lines))
        chosen = trace.value("SELECT count(*) FROM gpu_sample s JOIN calls c ON c.id = s.call WHERE c.class = 'launch'")
        self.assertGreater(chosen, 0.7 * self.outer)

    def test_loads_names_and_unloads(self):
        self.step("load", 0)
        trace = self.trace(losses=True)
        self.check_inner(trace, "^r+n+l+r[rnl]+r$")  # three calls, and searches whose length changes
        self.check_operations(trace)
        self.assertEqual(trace.value("SELECT count(*) FROM loads l JOIN calls c ON c.id = l.call WHERE"
                                     " c.name = 'cuModuleLoadData' AND c.module = l.module"), self.outer + 1)
        self.assertEqual(trace.rows("SELECT c.id FROM loads l JOIN calls c ON c.id = l.call"
                                    " WHERE c.class <> 'load'"), [])
        self.assertEqual([row[0] for row in trace.rows(
            "SELECT name FROM kernels WHERE name LIKE 'step%' ORDER BY number")],
            [f"step_{i}" for i in range(1, self.outer + 1)])
        self.assertEqual(trace.value("SELECT count(unloaded_ns) FROM modules"), self.outer)

    @harness.depends_on_time("a call that waits for room for its stack takes more steps")
    def test_stacks_stay_with_their_calls(self):
        self.step("deep", 0, GPUVERIFY_STACKS="all")
        trace = self.trace(losses=True)
        self.check_inner(trace)
        self.check_outer_sets(trace)
        found = trace.rows(
            "SELECT c.bytes, count(CASE WHEN f.function = 'recurse' THEN 1 END),"
            " count(CASE WHEN f.function = 'call_inner' THEN 1 END) FROM calls c JOIN frames f"
            " ON f.stack = c.stack WHERE c.class = 'set' AND f.address IS NOT NULL GROUP BY c.id ORDER BY c.bytes")
        outer = [row for row in found if row[0] % 2 == 0]
        self.assertEqual(outer, [(2 * i, (i - 1) % 40 + 1, 0) for i in range(1, self.outer + 1)])
        self.assertEqual({row[2] for row in found if row[0] % 2}, {1})

    def test_a_full_spool_counts_everything(self):
        self.step("copy", 256, GPUVERIFY_SPOOL_MB=1, GPUVERIFY_COLLECTOR="off", GPUVERIFY_GPU="off")
        self.run_well([harness.gpuverify(), "recover", self.spool], preload=False, sim=False, quiet=False)
        trace = self.trace(losses=True)
        rows = trace.value("SELECT count(*) FROM calls WHERE class = 'set'")
        # Both calls are lost, but where the handler's is a part of the outer one.
        stepped = "".join(str(line["lost"]) for line in self.lines if line["inner"])
        self.assertRegex(stepped, "^2+1+2+$")
        self.assertEqual(rows + sum(row["count"] for row in trace.lost()),
                         self.inner + self.outer + self.fillers - stepped.count("1"))
