"""GPUVERIFY_KEEP: a service of months. bench_records lets the minutes pass faster."""

import os
import subprocess
import unittest

import harness
import stored

RECORDS = harness.built("tests", "bench", "bench_records")
GPUVERIFY = harness.built("report", "gpuverify")

LAUNCHES_PER_MINUTE = 600
LAUNCHES = 120_000  # 200 minutes, in about two seconds


class Keep(harness.Case):

    def kept(self, keep, **env):
        path, spools = self.path("kept.db"), self.path("spools")
        os.mkdir(spools, mode=0o700)
        done = subprocess.run([RECORDS, GPUVERIFY, spools, path, str(2 * LAUNCHES), "4", str(60_000_000_000 // LAUNCHES_PER_MINUTE)],
                              env={**os.environ, "GPUVERIFY_KEEP": keep, **env}, stdout=subprocess.PIPE, text=True, timeout=120)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(os.listdir(spools), [])
        return self.trace(path, losses=True), dict(map(str.split, done.stdout.splitlines()))

    def test_old_minutes_are_sums(self):
        trace, fed = self.kept("10min")
        full_from_ns = trace.value("SELECT value FROM meta WHERE key = 'full_from_ns'")
        self.assertGreater(full_from_ns, 0)
        rows, minutes = trace.rows("SELECT count(*), count(DISTINCT start_ns / 60000000000) FROM calls"
                                   f" WHERE name = 'cuLaunchKernel' AND start_ns >= {full_from_ns}")[0]
        launched, of_minutes = trace.rows("SELECT sum(count), count(DISTINCT minute_ns) FROM minutes"
                                          " WHERE what = 'call' AND name = 'cuLaunchKernel'")[0]
        self.assertLess(minutes, of_minutes)
        self.assertLess(rows, launched)
        # Each launch that was not lost has an operation.
        self.assertEqual(launched, trace.value("SELECT sum(count) FROM minutes WHERE what = 'launch'"))
        self.assertGreaterEqual(trace.value("SELECT sum(count) FROM minutes WHERE what = 'kernel'"), launched)
        self.assertAlmostEqual(launched, int(fed["records"]) / 2, delta=int(fed["records"]) / 20)
        self.assertIn("recorded", self.command("report", trace.path).out.split("\n\n")[0])

    def test_old_minutes_are_not_seen_without_a_gpu_side_either(self):
        trace, _ = self.kept("10min", GPUVERIFY_GPU="off")
        self.assertEqual(trace.value("SELECT count(*) FROM gpu_ops"), 0)
        told = self.command("query", trace.path, "--format=csv", "SELECT sum(total_ns) FROM ledger WHERE what = 'not-seen'").out
        self.assertAlmostEqual(int(told.split()[1]), trace.value("SELECT value FROM meta WHERE key = 'full_from_ns'"), delta=10**9)
        self.assertNotIn("CUPTI", self.command("report", trace.path, "-s", "findings").out)

    def test_what_is_not_an_extent_is_said(self):
        done = self.run_well([harness.built("kernels", "driver_tour")], quiet=False,
                             env={"GPUVERIFY_KEEP": "10", "GPUVERIFY_TRACE": self.path("all.db")})
        self.assertIn("GPUVERIFY_KEEP", done.err)
        self.assertIn("a time from 1min, a size from 10MB, or both: 10min,500MB", done.err)


class Said(harness.Case):
    """What commands say of a trace of which only ten minutes are complete."""

    def setUp(self):
        super().setUp()
        stored.make_anew("days", self.path("days.db"))

    def told(self, *words, status=0):
        return "days.db is complete from 3.00 days after its start" in self.command(*words, sim=False, status=status).err

    def test_what_is_only_of_the_complete_part(self):
        path = self.path("days.db")
        for words in (["stalls", path], ["idle", path], ["explain", path], ["export", path, "--to", "folded"], ["diff", path, path],
                      ["check", path, "--max-errors=0"], ["report", path, "-s", "kernels"]):
            self.assertTrue(self.told(*words), words)
        # These tell of the rest.
        for words in (["report", path], ["report", path, "-s", "minutes"]):
            self.assertFalse(self.told(*words), words)

    def test_sums_by_minute_are_of_no_thread(self):
        said = self.command("report", self.path("days.db"), "-s", "changes", "--device=0", sim=False)
        self.assertIn("sums by minute are not known of a single thread, device or range", said.err)
        self.assertIn("unknown", said.out)
        self.assertNotIn("none", said.out)


if __name__ == "__main__":
    unittest.main()
