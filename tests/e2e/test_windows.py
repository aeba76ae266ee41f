"""GPUVERIFY_GPU=windows: the GPU side is recorded in short windows, everything else all the time."""

import os
import time
import unittest

import harness
import test_control
import test_gpu_side

OFTEN = {"GPUVERIFY_WINDOW_MS": "20", "GPUVERIFY_WINDOW_EVERY": "0.1"}
FIRST_ALONE = {"GPUVERIFY_WINDOW_MS": "50", "GPUVERIFY_WINDOW_EVERY": "3600"}

IN_A_WINDOW = """(SELECT 1 FROM recording r WHERE r.gpu = 'seen' AND c.start_ns >= r.start_ns
    AND c.start_ns + c.duration_ns < coalesce(r.end_ns, 1 << 62))"""


@unittest.skipUnless(os.path.exists(test_gpu_side.libcupti()),
                     "no simulated libcupti was built: no cupti.h beside the CUDA headers")
class Windows(harness.Case):
    gpu = "windows"

    def work(self, how, count, windows, **options):
        result = self.run_well([harness.program("gpu_work"), how, str(count)], env={**windows, **options})
        return result, self.trace()

    def periods(self, trace):
        return [row[0] for row in trace.rows("SELECT gpu FROM recording WHERE side = 'gpu' ORDER BY start_ns")]

    def test_every_call_is_recorded_and_the_gpu_side_of_those_in_windows(self):
        captured, count = 12, 1000
        self.run_twice([harness.program("gpu_work"), "busy", str(count)], env=OFTEN)
        trace = self.trace()
        self.assertEqual(trace.rows("SELECT class, count(*) FROM calls WHERE class IN ('launch', 'copy') GROUP BY class"),
                         [("copy", 4 * count), ("launch", 8 * count + captured)])
        periods = self.periods(trace)
        self.assertEqual(periods, [("seen", "between")[number % 2] for number in range(len(periods))])
        self.assertGreater(trace.value("SELECT count(*) FROM gpu_window"), 1)
        self.assertEqual(trace.value("SELECT count(*) FROM gpu_window w WHERE NOT EXISTS (SELECT 1 FROM recording r "
                                     "WHERE r.gpu = 'seen' AND w.start_ns BETWEEN r.start_ns AND r.end_ns)"), 0)
        share = trace.value("SELECT 1.0 * sum(end_ns - start_ns) / (max(end_ns) - min(start_ns)) FROM recording "
                            "WHERE side = 'gpu' AND gpu = 'seen'")
        self.assertGreater(share, 0.05)
        self.assertLess(share, 0.6)
        in_windows = (f"FROM calls c WHERE class IN ('launch', 'copy') AND EXISTS {IN_A_WINDOW} AND start_ns > "
                      "(SELECT max(start_ns) FROM calls WHERE class = 'graph')")
        self.assertGreater(trace.value(f"SELECT count(*) {in_windows}"), count / 10)
        self.assertEqual(trace.rows(f"SELECT id, name {in_windows} AND id NOT IN (SELECT call FROM gpu_ops WHERE call NOTNULL)"), [])
        self.assertEqual(trace.rows("SELECT DISTINCT kind FROM gpu_ops ORDER BY kind"), [("copy",), ("kernel",)],
                         "graphs that are made between windows are not known to CUPTI")
        self.assertLess(trace.value("SELECT count(DISTINCT call) FROM gpu_ops"), 0.7 * 12 * count)

    def test_no_launch_is_under_way_when_a_window_begins_or_ends(self):
        result = self.run_well([harness.built("tests", "bench", "bench_eight_threads"), "900"],
                               env={**OFTEN, "GPUVERIFY_WINDOW_MS": "5", "GPUVERIFY_WINDOW_EVERY": "0.015", "GV_SIM_CUPTI_STRICT": "1"})
        self.assertEqual(result.err, "")
        self.assertGreater(self.periods(self.trace()).count("seen"), 20)

    def test_work_that_runs_after_its_window_is_whole(self):
        _, trace = self.work("measured", 60, FIRST_ALONE)  # 0.3 s of work
        self.assertEqual(self.periods(trace), ["seen", "between"])
        self.assertEqual(trace.rows("SELECT count(*), min(duration_ns), max(duration_ns) FROM gpu_ops"),
                         [(60, 5000000, 5000000)])

    def test_a_stall_opens_a_window(self):
        _, trace = self.work("frees", 20, FIRST_ALONE)
        self.assertEqual(self.periods(trace), ["seen", "between"] * 2)
        self.assertEqual(trace.value("SELECT count(*) FROM stalls WHERE cause = 'free'"), 20)
        seen = trace.rows("SELECT start_ns, end_ns FROM recording WHERE gpu = 'seen' ORDER BY start_ns")
        self.assertEqual(len(seen), 2, "a program that always stalls is not always in a window")
        begin_ns, end_ns = seen[1]
        self.assertGreater(trace.value(f"SELECT count(*) FROM stalls WHERE start_ns + duration_ns < {begin_ns}"), 0)
        self.assertGreater(trace.value("SELECT count(*) FROM stalls s JOIN gpu_ops o ON o.id = s.waited_for "
                                       f"WHERE s.start_ns BETWEEN {begin_ns} AND {end_ns}"), 0, "the next one is measured")

    def test_killed_between_two_windows(self):
        process = self.start([harness.program("gpu_work"), "stuck", "10"], env=FIRST_ALONE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        time.sleep(0.5)
        process.kill()
        process.wait()
        trace = self.trace()
        self.assertEqual(trace.value("SELECT count(*) FROM gpu_ops"), 10)
        self.assertEqual(self.periods(trace), ["seen", "between"])

    def test_recording_that_goes_on_begins_with_a_window(self):
        self.run_twice([test_control.PROGRAM, "parts"], env={**FIRST_ALONE, "GPUVERIFY_WINDOW_MS": "10000"})
        trace = self.trace()
        self.assertEqual(trace.rows("SELECT count(*), count(call) FROM gpu_ops"), [(12, 12)])
        self.assertEqual(self.periods(trace), ["seen", "stopped", "seen"])

    def test_a_window_that_cannot_begin_is_explained(self):
        result = self.run_well([harness.program("gpu_work"), "busy", "300"],
                               env={**OFTEN, "GV_SIM_CUPTI_FAIL": "cuptiActivityEnable:6=999"})
        self.assertEqual(result.err, "")
        trace = self.trace(losses=True)
        self.assertEqual(self.periods(trace), ["seen", "between", "other"])
        self.assertRegex(trace.value("SELECT gpu_why FROM processes"), "^cuptiActivityEnable failed with 999")

    def test_without_cupti_only_the_calls_are_recorded(self):
        result = self.run_well([harness.program("gpu_work"), "busy", "10"],
                               env={**OFTEN, "GV_SIM_CUPTI_FAIL": "cuptiSubscribe_v2=999"})
        self.assertEqual(result.err, "")
        self.assertEqual(self.trace().value("SELECT gpu FROM processes"), "host-only")

    def test_another_profiler_sees_what_it_sees_without_us(self):
        result = self.run_twice([harness.program("own_profiler"), test_gpu_side.libcupti(), "unsubscribes"],
                                env={"GPUVERIFY_WINDOW_MS": "5", "GPUVERIFY_WINDOW_EVERY": "0.015"})
        self.assertEqual(result.err, test_gpu_side.OwnProfiler.SESSION.format(0))
        periods = self.periods(self.trace())
        self.assertEqual(periods.count("other"), 1)
        self.assertGreater(periods.count("between"), 3)
