"""GPU times of a GPU side that was seen in windows: estimates, and what check and diff say of them. Whole outputs are in
stored.py; test_scaled.c shows that the errors are right."""

import json
import os
import re
import unittest

import harness
import stored
import test_gpu_side

OFTEN = {"GPUVERIFY_WINDOW_MS": "10", "GPUVERIFY_WINDOW_EVERY": "0.1", "GPUVERIFY_STACKS": "off"}


@unittest.skipUnless(os.path.exists(test_gpu_side.libcupti()),
                     "no simulated libcupti was built: no cupti.h beside the CUDA headers")
@harness.depends_on_time("on a busy machine, kernels of the simulator take longer than they are told to")
class Program(harness.Case):
    gpu = "windows"

    def test_what_a_program_did_in_all(self):
        result = self.run_well([harness.built("kernels/lines/lines"), "layers", "2"], env=OFTEN)
        truth_ns = sum(int(ns) for ns in re.findall(r" ns (\d+) ", result.out))
        trace = self.trace()
        launches = trace.value("SELECT count(*) FROM calls WHERE name GLOB 'cuLaunchKernel*' AND kernel <> 'empty'")
        [(count, seen, total_ns, error_ns)] = trace.rows(
            "SELECT sum(count), sum(seen), sum(total_ns), sum(error_ns) FROM scaled WHERE name <> 'empty'")
        self.assertEqual(count, launches)
        self.assertLess(seen, count / 2)
        self.assertLess(abs(total_ns - truth_ns), 4 * error_ns + 0.02 * truth_ns)
        facts = dict(trace.rows("SELECT key, value FROM fact"))
        self.assertLess(abs(facts["gpu_busy_ns"] - truth_ns), 4 * facts["gpu_busy_error_ns"] + 0.02 * truth_ns)
        self.assertGreater(facts["scaled_seen_ppm"], 50_000)
        self.assertLess(facts["scaled_seen_ppm"], 500_000)


class Stored(harness.Case):
    def make(self, *changes, name="windows.db"):
        stored.make_anew("windows", self.path(name), *changes)
        return self.path(name)

    def read(self, *words, **options):
        return self.command(*words, sim=False, **options).out

    def report(self, *changes):
        return json.loads(self.read("report", self.make(*changes), "--format=json"))

    def test_launches_like_none_that_was_seen(self):
        known = self.report()
        self.assertEqual(known["scaled"]["unknown_launches"], 2)
        self.assertEqual(known["numbers"]["kernels_run"], 2997)
        unknown = self.report("UPDATE call SET kernel = 3 WHERE kernel = 1 AND start_ns BETWEEN 1885000000 AND 2120000000")
        self.assertGreater(unknown["scaled"]["unknown_launches"], 100)
        self.assertIsNone(unknown["numbers"]["busy_ns"])
        self.assertRegex(self.read("report", self.path("windows.db"), "-s", "findings"), r"GPU busy at least 3\d")
        self.assertIn("not known: min-gpu-busy 60%", self.read("check", self.path("windows.db"), "--min-gpu-busy=60%", status=3))

    def test_a_window_after_a_stall_stands_for_nothing_else(self):
        # A second in which `layer` takes four times as long: 10 of its 1000 launches more are not in a fair window.
        slow = ("UPDATE gpu_op SET duration_ns = 4 * duration_ns WHERE shape = 1 AND start_ns > 2990000000",
                "INSERT OR REPLACE INTO gpu_change VALUES (1, 2990000000, 'seen', NULL)",
                "INSERT INTO gpu_op SELECT id, 1, 1, 1, start_ns + 5000, 1600000, id, NULL, NULL, NULL, NULL FROM call"
                " WHERE api = 1 AND kernel = 1 AND start_ns >= 2990000000 AND id NOT IN (SELECT call FROM gpu_op)")
        before, after = (next(row for row in report["sections"]["kernels"] if row["kernel"] == "layer")
                         for report in (self.report(), self.report(*slow)))
        added = after["total_ns"] - before["total_ns"]
        self.assertGreater(added, 9 * 1_100_000)
        self.assertLess(added, 10 * 1_300_000)

    def test_a_part_of_the_run(self):
        out = self.read("report", self.make(), "--from", "1s", "--to", "2s", "-s", "kernels", "--format=csv")
        rows = {row.split(",")[0]: row.split(",") for row in out.splitlines()}
        self.assertEqual([rows[name][1] for name in ("layer", "head", "rare")], ["898", "100", "1"])
        self.assertEqual(rows["head"][2], "60000000")

    def test_changes_within_the_error(self):
        first = self.make()
        second = self.make("UPDATE gpu_op SET duration_ns = duration_ns * 1.06 WHERE shape = 1", name="second.db")
        third = self.make("UPDATE gpu_op SET duration_ns = duration_ns * 1.12 WHERE shape = 2", name="third.db")
        self.assertNotIn("layer", self.read("diff", first, second, "-s", "kernels"))
        self.assertIn("head", self.read("diff", first, third, "-s", "kernels"))  # which is exact
        self.assertNotIn("gone", self.read("diff", first, self.make("UPDATE call SET kernel = 3 WHERE kernel = 2",
                                                                  "DELETE FROM gpu_op WHERE shape = 2", name="other.db"),
                                         "-s", "kernels"))

    def test_time_between_windows_is_neither_busy_nor_idle(self):
        waits = ("INSERT INTO api (id, name, class) VALUES (4, 'cuStreamSynchronize', 'sync')",
                 "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream, context)"
                 " SELECT id + 1, 1, 4, start_ns + 10000, 700000, 0, 1, 1 FROM call WHERE api = 1 AND id % 40 <> 39")
        ns = {row["what"]: row["ns"] for row in json.loads(self.read(
            "query", self.make(*waits), "--format=json", "SELECT what, sum(total_ns) AS ns FROM ledger GROUP BY 1"
            " UNION ALL SELECT 'idle ' || reason, sum(duration_ns) FROM idle GROUP BY 1"
            " UNION ALL SELECT 'run', sum(end_ns - start_ns) FROM processes"
            " UNION ALL SELECT 'not seen', sum(end_ns - start_ns) FROM recording WHERE side = 'gpu' AND gpu <> 'seen'"))}
        # 5 us for each of the 15 windows: until its first kernel.
        self.assertAlmostEqual(ns["not-seen"], ns["not seen"], delta=15 * 5000)
        seen_ns = ns["run"] - ns["not-seen"]
        # From each wait's end to the next launch, 290 us of each millisecond that was seen.
        self.assertGreater(ns["idle host-code"], 0.27 * seen_ns)
        self.assertLess(ns["idle host-code"], 0.31 * seen_ns)
        told = {what.partition(" ")[2]: idle_ns for what, idle_ns in ns.items() if what.startswith("idle ")}
        self.assertEqual(told, {what: ns[what] for what in told})
        self.assertEqual(seen_ns - sum(told.values()), ns["kernel"] + ns["copy"])
