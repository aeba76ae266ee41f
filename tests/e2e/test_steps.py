"""The program's steps, on the simulator: how many there are, and how they differ."""

import json
import os
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import steps_expectations as expectations  # noqa: E402

STEPS, US = 40, 20


@unittest.skipUnless(os.path.exists(os.path.join(harness.simulator(), "libcupti.so.13")), "no simulated libcupti was built")
class Steps(harness.Case):
    gpu = "auto"

    def record(self, name, *words):
        result = self.run_well([harness.built("kernels", "steps", "steps"), name, *(words or (str(STEPS), str(US)))],
                               env={"GPUVERIFY_CUPTI": os.path.join(harness.simulator(), "libcupti.so.13")})
        return result.out, self.trace()

    def check(self, name, *words):
        output, trace = self.record(name, *words)
        expectations.check(trace.database, output)
        return trace

    def test_two_kinds_in_turns(self):
        trace = self.check("turns")
        self.assertEqual(trace.rows("SELECT kind, launches, count(*) FROM steps WHERE number > 1 GROUP BY 1, 2"),
                         [(1, 8, STEPS // 2 - 1), (2, 6, STEPS // 2)])

    def test_an_inner_loop(self):
        self.check("nested")

    def test_launches_more_or_less(self):
        self.check("jittered")
        # The first of these that are alike are not like most.
        self.check("jittered", "300", str(US))

    def test_validation_after_each_epoch(self):
        self.check("epochs")

    def test_a_graph_is_a_step(self):
        self.check("graph")

    def test_another_thread_does_half_of_each_step(self):
        trace = self.check("threads")
        self.assertEqual(trace.rows("SELECT DISTINCT launches FROM steps WHERE number > 1"), [(11,)])

    def test_words_of_a_thread_that_does_not_wait(self):
        trace = self.check("spoken")
        self.assertEqual(trace.rows("SELECT DISTINCT source, message FROM steps"), [("range", "step")])

    def test_launches_in_any_order_are_no_steps(self):
        self.check("random")

    def test_a_pipeline_has_no_steps(self):
        self.check("pipeline")

    def test_the_programs_words_come_first(self):
        trace = self.check("words")
        self.assertEqual(trace.rows("SELECT DISTINCT source, message FROM steps"), [("range", "step #")])
        said = trace.rows("SELECT start_ns, duration_ns FROM ranges WHERE message LIKE 'step %' ORDER BY 1")
        self.assertEqual(trace.rows("SELECT start_ns, duration_ns FROM steps ORDER BY number"), said)
        # Other work than that of the ranges is not seen.
        sums = self.command("report", trace.path, "--range", "forward", "--section", "steps", "--format", "json", sim=False).out
        self.assertEqual([value for name, value in json.loads(sums)["sections"]["steps"][0].items() if name.startswith("idle")], [None])

    @harness.depends_on_time("a step that the machine holds up may not look like the others")
    def test_the_first_and_the_slowest_one(self):
        trace = self.record("slow")[1]
        slowest = STEPS * 3 // 4 + 1
        self.assertEqual(trace.rows("SELECT number FROM steps ORDER BY duration_ns DESC LIMIT 1"), [(slowest,)])
        self.assertEqual(trace.rows("SELECT loads, load_ns > 0 FROM steps WHERE number = 1"), [(1, 1)])
        # What happened in the steps is what happened.
        self.assertEqual(trace.rows("SELECT sum(s.launches), sum(s.gpu_ns) FROM steps s"), trace.rows(
            "SELECT count(DISTINCT g.call), sum(g.duration_ns) FROM gpu_ops g JOIN calls c ON c.id = g.call"
            " WHERE c.start_ns >= (SELECT min(start_ns) FROM steps)"))
        said = self.command("report", trace.path, sim=False).out
        self.assertRegex(" ".join(said.split()),
                         rf"{STEPS} steps of .*; the slowest, number {slowest}, took .* longer: the GPU was idle")

    def test_a_part_of_the_trace_has_the_steps_of_the_whole(self):
        trace = self.record("turns")[1]
        start = trace.rows("SELECT start_ns FROM steps WHERE number = 21")[0][0]
        found = json.loads(self.command("report", trace.path, "--from", f"{start}ns", "--section", "steps",
                                        "--format", "json", sim=False).out)
        self.assertEqual([row["steps"] for row in found["sections"]["steps"]], [10, 10])
        self.assertEqual([row["launches"] for row in found["sections"]["steps"]], [8, 6])

    def test_a_step_in_which_recording_was_stopped_does_not_count(self):
        self.run_well([harness.built(harness.PROGRAMS, "e2e_controlled"), "loop"],
                      env={"GPUVERIFY_CUPTI": os.path.join(harness.simulator(), "libcupti.so.13")})
        self.assertEqual(self.trace().rows("SELECT max(number), count(*), min(launches), max(launches) FROM steps"), [(20, 19, 4, 4)])

    def test_killed_in_the_middle_of_a_step(self):
        """Only steps that ended count."""
        program = self.start([harness.built("kernels", "steps", "steps"), "words", "100000", "1000"],
                             env={"GPUVERIFY_CUPTI": os.path.join(harness.simulator(), "libcupti.so.13")})
        harness.pause(0.3)
        program.kill()
        program.communicate()
        trace = self.trace(losses=True)
        ended = trace.value("SELECT count(*) FROM ranges WHERE message LIKE 'step %' AND duration_ns IS NOT NULL")
        self.assertGreater(ended, 0)
        self.assertEqual(trace.rows("SELECT max(number), count(*) FROM steps"), [(ended, ended)])


if __name__ == "__main__":
    unittest.main()
