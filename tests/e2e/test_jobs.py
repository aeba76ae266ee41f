"""Jobs whose truth is known: which rank is late, for how long and why, and how far clocks are off."""

import os
import signal
import sqlite3
import subprocess
import unittest

import harness
import ranks_of_a_job
from ranks_of_a_job import Clock, Job

LATE_NS = 41_000_000
OFF_NS = 2_000_000_000
OFF_PPM = 50.0


class Jobs(harness.Case):
    def merge(self, job, of_host=4, clock=None, **options):
        """Half of the ranks are on a host whose clock is off."""
        for rank in range(len(job.steps)):
            there = rank >= of_host
            job.write(self.path(f"r{rank}.db"), rank, "there" if there else "here",
                      (clock or Clock(OFF_NS, OFF_PPM)) if there else Clock(), **options)
        self.command("merge", self.dir, "-o", self.path("job.db"))
        return self.open_trace(self.path("job.db"))

    def report(self, *words):
        return self.command("report", self.path("job.db"), *words, env={"COLUMNS": "200"}).out

    def assert_clock_contains_truth(self, trace, job, of_host=4):
        """Every moment of the other host, as the job has it, is where it was in truth, to within the stated error."""
        errors = trace.rows("SELECT DISTINCT error_ns FROM clocks WHERE method = 'collectives'")
        self.assertEqual(len(errors), 1)
        zero = trace.value("SELECT value FROM meta WHERE key = 'unix_offset_ns'") - ranks_of_a_job.UNIX_NS
        for rank in range(of_host, len(job.steps)):
            ends = trace.rows("""SELECT start_ns + duration_ns FROM gpu_ops WHERE name = 'forward'
                AND process = (SELECT id FROM processes WHERE rank = ?) ORDER BY start_ns""", rank)
            self.assertEqual(len(ends), len(job.steps[rank]))
            for (end,), step in zip(ends, job.steps[rank]):
                self.assertLessEqual(abs(end + zero - step[3]), errors[0][0] + 1000)
        return errors[0][0]

    def test_the_late_rank_is_named_with_its_line(self):
        job = Job(ranks=8, steps=100, slow=3, late_ns=LATE_NS)
        trace = self.merge(job)
        finding = self.report("--section", "findings")
        self.assertRegex(finding, r"rank 3 is late by 4[01]\.\d ms in 96 % of steps: .*data\.py:41 __getitem__")
        late = trace.rows("SELECT wait_ns FROM collectives WHERE late_rank = 3 AND reason IS NOT NULL")
        self.assertEqual(len(late), 96)
        truth = [wait for wait in job.waits_ns(3) if wait > LATE_NS / 2]
        self.assertLess(abs(sum(wait for wait, in late) / len(late) / (sum(truth) / len(truth)) - 1), 0.1)
        ranks = trace.rows("SELECT rank, late FROM ranks ORDER BY late_ns DESC LIMIT 1")
        self.assertEqual(ranks, [(3, 96)])

    def test_the_same_finding_of_several_ranks_counts_once(self):
        trace = self.merge(Job(ranks=8, steps=20, slow=3, late_ns=LATE_NS))
        found = trace.rows("SELECT f.id, f.what, f.line, p.rank, f.title FROM findings f JOIN processes p ON p.id = f.process "
                           "ORDER BY f.id")
        self.assertEqual([row[0] for row in found], list(range(1, len(found) + 1)))
        self.assertEqual(found[0][1:4], ("python", 41, 3))
        self.assertEqual(found[0][4], "running Python, in rank 3")
        self.assertIn("and less in 7 others", " ".join(row[4] for row in found))
        self.assertEqual(trace.rows("SELECT key, phase FROM findings GROUP BY 1, 2 HAVING count(*) > 1"), [])
        # The one that waited longest for the late one, and no more than its collectives took.
        waits = trace.rows("SELECT lost_ns, saves_ns, title FROM findings WHERE what = 'collective'")
        self.assertEqual([row[1] for row in waits], [None])
        self.assertRegex(waits[0][2], r"^waiting in collectives for other ranks, mostly rank 3, in rank [0-24-7]$")
        self.assertGreater(waits[0][0], 15 * LATE_NS)
        self.assertLessEqual(waits[0][0], trace.value(
            "SELECT max(ns) FROM (SELECT sum(total_ns) AS ns FROM ledger WHERE what = 'collective' GROUP BY process)"))
        # Each rank has its ledger.
        self.assertEqual(trace.rows("SELECT process, CAST(sum(total_ns) AS INTEGER) FROM ledger GROUP BY 1"),
                         trace.rows("SELECT id, end_ns - start_ns FROM processes"))
        self.assertIn("data.py:41 __getitem__, rank 3\n",
                      self.command("check", self.path("job.db"), "--max-finding", "main=40%", status=1).out)

    def two_ranks(self, arrivals, computes):
        """Traces of two ranks with an all-reduce every 300 ms, to which rank 1 comes late by `arrivals`; before the first
        `computes` its GPU was busy, and before the others nothing says what it did."""
        for rank in (0, 1):
            rows = {table: [] for table in ("call", "gpu_op", "collective")}

            def add(table, *values, rows=rows):
                rows[table].append((len(rows[table]) + 1, *values))
                return len(rows[table])

            for number, late_ns in enumerate(arrivals):
                begin_ns = 100_000_000 + number * 300_000_000
                arrive_ns = begin_ns + rank * late_ns
                if rank and number < computes:
                    launch = add("call", 1, 1, begin_ns - 30_000, 5000, 0, 1, 1, None, None, 1, None)
                    add("gpu_op", 1, 1, 1, begin_ns, late_ns - 1000, launch, None, None, None, None)
                called_ns = (begin_ns if number < computes else arrive_ns) - 20_000
                call = add("call", 1, 3, called_ns, 5000, 0, 1, 1, None, None, None, None)
                operation = add("gpu_op", 1, 1, 2, arrive_ns, begin_ns + 142_000_000 - arrive_ns, call, None, None, None, None)
                add("collective", call, "all-reduce", 77, number, rank, 2, 1 << 20, "float32", 4 << 20, None, operation)
            Job.store(self.path(f"r{rank}.db"), rows, (
                "INSERT INTO meta VALUES ('state', 'complete'), ('session', 'x'), ('program', 't'),"
                f" ('unix_offset_ns', {ranks_of_a_job.UNIX_NS}), ('start_unix_ns', {ranks_of_a_job.UNIX_NS}),"
                " ('stall_threshold_ns', 1000000)",
                "INSERT INTO process (id, identity, pid, parent_pid, program, start_ns, end_ns, ended, exit_code, driver_version,"
                f" gpu, cupti_version) VALUES (1, {rank + 1}, {4000 + rank}, 1, 't', 0, 4000000000, 'exit', 0, 13000, 'cupti', 130000)",
                f"INSERT INTO process_rank VALUES (1, {rank}, {rank}, 2, 'j', 'h', NULL)",
                "INSERT INTO device (id, process, device, name, uuid, multiprocessors)"
                f" VALUES (1, 1, 0, 'H100', 'GPU-{rank}', 132)"))
        self.command("merge", self.dir, "-o", self.path("job.db"))
        return self.report("--section", "findings")

    def test_a_finding_counts_one_reason_where_no_line_is_known(self):
        said = self.two_ranks([40_000_000] * 5 + [140_000_000] * 5, 5)
        self.assertIn("rank 1 is late by 140 ms in 50 % of collectives: nothing recorded explains it; the others waited 700 ms", said)

    def test_a_trace_that_was_never_finished_has_its_collectives_kernels(self):
        job = Job(ranks=2, steps=10, slow=1, late_ns=LATE_NS)
        asked = "SELECT first_ns, last_ns, end_ns, late_rank, wait_ns FROM collectives ORDER BY 1"
        finished = self.merge(job, of_host=1).rows(asked)
        os.remove(self.path("job.db"))
        for rank in (0, 1):
            with sqlite3.connect(self.path(f"r{rank}.db")) as database:
                database.execute("UPDATE meta SET value = 'recording' WHERE key = 'state'")
                database.execute("UPDATE collective SET operation = NULL")
                database.execute("UPDATE api SET kind = 'collective' WHERE name LIKE 'nccl%'")
            database.close()
        self.command("merge", self.dir, "-o", self.path("job.db"))
        self.assertEqual(self.open_trace(self.path("job.db")).rows(asked), finished)

    def test_a_rank_that_loads_code_late_is_seen_in_its_step(self):
        trace = self.merge(Job(ranks=8, steps=100, loader=6))
        longest = trace.rows("""SELECT late_rank, sequence, reason, detail, wait_ns FROM collectives
            ORDER BY wait_ns DESC LIMIT 1""")[0]
        self.assertEqual(longest[:4], (6, 50, "loading", "cuModuleLoadData"))
        self.assertLess(abs(longest[4] / 300e6 - 1), 0.1)

    def test_two_seconds_and_fifty_ppm(self):
        job = Job(ranks=8, steps=400, slow=3, late_ns=LATE_NS)
        trace = self.merge(job)
        self.assertLess(self.assert_clock_contains_truth(trace, job), 3 * ranks_of_a_job.MOVE_NS)
        self.assertEqual(trace.rows("SELECT DISTINCT offset_ns FROM clocks WHERE method = 'reference'"), [(0,)])
        self.assertAlmostEqual(trace.value("SELECT drift_ppm FROM clocks WHERE method = 'collectives'"), OFF_PPM, delta=15)

    def test_captured_collectives_are_matched_by_the_launch_of_their_graph(self):
        job = Job(ranks=4, steps=100, slow=1, late_ns=LATE_NS)
        trace = self.merge(job, of_host=2, graphs=True)
        self.assertEqual(trace.rows("SELECT count(*), max(replay), max(kind) FROM collectives"), [(100, 100, "graph")])
        self.assert_clock_contains_truth(trace, job, of_host=2)
        self.assertIn("rank 1 is late by", self.report("--section", "findings"))

    def test_collectives_that_are_captured_in_each_step(self):
        trace = self.merge(Job(ranks=4, steps=20, slow=1, late_ns=LATE_NS), of_host=2, graphs="each")
        self.assertEqual(trace.rows("SELECT sequence, replay, ranks FROM collectives ORDER BY first_ns"),
                         [(step, 1, 4) for step in range(20)])

    def test_without_collectives_the_wall_clocks_are_taken_and_that_is_said(self):
        trace = self.merge(Job(ranks=2, steps=20), of_host=1, collectives=False)
        self.assertEqual(trace.rows("SELECT method, error_ns FROM clocks ORDER BY id"),
                         [("reference", 0), ("wall clock", None)])
        self.assertEqual(trace.value("SELECT count(*) FROM collectives"), 0)

    def test_wall_clocks_that_are_decades_apart_are_refused(self):
        job = Job(ranks=2, steps=5)
        for rank in range(2):
            job.write(self.path(f"r{rank}.db"), rank, f"host{rank}", collectives=False)
        for value, years in ((0, 54), (None, 54), ("text", 54), (2 ** 63 - 1, 238), (-2 ** 63, 292)):
            with sqlite3.connect(self.path("r1.db")) as database:
                database.execute("UPDATE meta SET value = ? WHERE key = 'unix_offset_ns'", (value,))
            database.close()
            refused = self.command("merge", self.dir, "-o", self.path("job.db"), status=3)
            self.assertRegex(refused.err, f"r[01].db begins {years} years before .*r[01].db: their times do not fit")

    def test_a_rank_whose_waits_overlap_needs_no_negative_time(self):
        self.merge(Job(ranks=2, steps=20), of_host=1)
        with sqlite3.connect(self.path("job.db")) as database:
            database.execute("UPDATE collective_member SET wait_ns = 1000000000000 WHERE process = 1")
        database.close()
        self.assertRegex(self.report("--section", "spread"), r"fastest took +0 ns\nspread +100\.0 %")

    def test_ranks_that_are_alike_are_no_finding(self):
        self.merge(Job(ranks=4, steps=50), of_host=2)
        self.assertNotIn("is late", self.report())
        self.assertNotIn("waiting in collectives", self.report("--section", "findings"))

    def test_clocks_of_one_machine_are_one_clock_unless_a_collective_shows_otherwise(self):
        job = Job(ranks=3, steps=50)
        for rank, clock in enumerate((Clock(), Clock(), Clock(OFF_NS))):
            job.write(self.path(f"r{rank}.db"), rank, "same", clock)
        self.command("merge", self.dir, "-o", self.path("job.db"))
        self.assertEqual(self.open_trace(self.path("job.db")).rows("SELECT method FROM clocks ORDER BY id"),
                         [("reference",), ("same machine",), ("collectives",)])

    def test_any_trace_of_a_machine_may_show_that_another_is_not_of_it(self):
        job = Job(ranks=3, steps=50)
        for rank, clock in enumerate((Clock(), Clock(), Clock(OFF_NS))):
            job.write(self.path(f"r{rank}.db"), rank, "same", clock, collectives=rank > 0)
        self.command("merge", self.dir, "-o", self.path("job.db"))
        self.assertEqual(self.open_trace(self.path("job.db")).rows("SELECT method FROM clocks ORDER BY id"),
                         [("reference",), ("same machine",), ("collectives",)])

    def test_hosts_that_share_nothing_with_the_reference_are_aligned_with_each_other(self):
        job = Job(ranks=3, steps=50)
        for rank, clock in enumerate((Clock(), Clock(OFF_NS), Clock(2 * OFF_NS))):
            job.write(self.path(f"r{rank}.db"), rank, f"host{rank}", clock, collectives=rank > 0)
        self.command("merge", self.dir, "-o", self.path("job.db"))
        trace = self.open_trace(self.path("job.db"))
        self.assertEqual(trace.rows("SELECT method, error_ns FROM clocks ORDER BY id"),
                         [("reference", 0), ("wall clock", None), ("collectives", None)])
        self.assertLess(trace.value("SELECT max(wait_ns) FROM collectives"), OFF_NS / 10)

    def test_runs_one_after_the_other_are_no_job(self):
        job = Job(ranks=2, steps=20)
        later = 3600 * 10**9
        job.write(self.path("one.db"), 0, "here", collectives=False)
        job.write(self.path("two.db"), 1, "here", Clock(-later), collectives=False)
        self.assertNotIn("several runs", self.command("report", "one.db", "two.db", sim=False).err)  # of one job, they say
        for name in ("one.db", "two.db"):
            with sqlite3.connect(self.path(name)) as trace:
                trace.execute("UPDATE process_rank SET job = NULL")
            trace.close()
        for words in (("report", "one.db", "two.db"), ("stalls", "two.db:one.db"), ("check", "one.db", "two.db", "--min-kernels", "1")):
            said = self.command(*words, status=3, sim=False).err
            self.assertIn("these traces are of different runs: the earlier ones ended before two.db began. gpuverify diff", said)
        self.command("merge", "one.db", "two.db", "-o", "both.db", sim=False)  # as asked for

    def test_a_merge_that_is_ended_leaves_no_file(self):
        job = Job(ranks=2, steps=3000)
        for rank in range(2):
            job.write(self.path(f"r{rank}.db"), rank, "here")  # of an earlier analysis: analysed in a file of its own
        before = sorted(os.listdir(self.dir))
        for words in (["merge", self.dir, "-o", self.path("job.db")], ["report", self.dir]):
            for number in (signal.SIGINT, signal.SIGTERM):
                merge = self.start([harness.gpuverify(), *words], env={"SQLITE_TMPDIR": self.dir}, preload=False,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                harness.wait_for(lambda: len(os.listdir(self.dir)) > 3, "both files that are being written")
                merge.send_signal(number)
                merge.communicate(timeout=harness.SOON_S)
                self.assertEqual((merge.returncode, sorted(os.listdir(self.dir))), (-number, before), words)


if __name__ == "__main__":
    unittest.main()
