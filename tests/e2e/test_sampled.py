"""GPUVERIFY_GPU=sampled: some calls are measured with events; what all did is estimated. test_scaled.c shows that the errors
are right."""

import csv
import json
import sqlite3

import harness
import stored
import test_control


class Sampled(harness.Case):
    gpu = "sampled"

    def work(self, how, count, **options):
        self.run_twice([harness.program("sampled"), how, str(count)], **options)
        return self.trace()

    @harness.depends_on_time("on a busy machine, the simulator's clock and the program's drift apart")
    def test_sums_of_kernels_graphs_and_copies(self):
        trace = self.work("sums", 1500)
        self.assertEqual(trace.rows("SELECT gpu, gpu_why FROM processes"), [("sampled", "GPUVERIFY_GPU=sampled")])
        self.assertEqual(trace.value("SELECT count(*) FROM gpu_ops"), 0)
        rows = {row[0]: row[1:] for row in trace.rows("SELECT name, count, samples, total_ns, error_ns FROM scaled")}
        for name, each_ns in (("spin", 60000), ("graph", 40000)):
            count, samples, total_ns, error_ns = rows[name]
            self.assertEqual(count, 1500, name)
            self.assertGreater(samples, 20, name)
            self.assertLess(samples, 1000, name)
            self.assertLess(abs(total_ns - 1500 * each_ns), 4 * error_ns + 0.02 * total_ns, name)
            self.assertLess(error_ns, total_ns / 5, name)
        self.assertEqual(rows["cuMemcpyHtoDAsync_v2"][0], 1500)
        self.assertEqual(trace.value("SELECT count(*) FROM gpu_sample WHERE call IS NULL"), 0)
        # What a call took, and when, is in order with the call.
        self.assertEqual(trace.value("SELECT count(*) FROM gpu_sample s JOIN call c ON c.id = s.call"
                                     " WHERE s.start_ns + 50000 < c.start_ns"), 0)
        self.assertEqual(trace.value("SELECT count(*) > 20 FROM gpu_sample WHERE queued"), 1)
        self.assertEqual(trace.value("SELECT count FROM own_cost WHERE what = 'events'"),
                         trace.value("SELECT count(*) FROM gpu_sample"))
        # The ledger moves what is not known to the GPU, and still adds up.
        [(run_ns, busy_ns, sampled_ns)] = trace.rows(
            "SELECT sum(total_ns), total(CASE WHEN what IN ('kernel', 'graph', 'copy') THEN total_ns END),"
            " total(CASE confidence WHEN 'sampled' THEN total_ns END) FROM ledger")
        self.assertEqual(run_ns, trace.value("SELECT sum(end_ns - start_ns) FROM processes"))
        self.assertEqual(busy_ns, sampled_ns)
        total_ns = sum(row[2] for row in rows.values() if row[2])
        self.assertGreater(busy_ns, 0.9 * total_ns)  # a wait that returns late counts, too
        [(lines, error)] = trace.rows("SELECT total(gpu_ns), total(error) FROM gpu_lines")
        self.assertLess(abs(lines - total_ns), 0.05 * total_ns)
        self.assertGreater(error * lines, 0.3 * sum(row[3] for row in rows.values() if row[2]))

    def ledger(self, path):
        told = self.command("query", path, "--format=csv", "SELECT what, sum(total_ns) FROM ledger GROUP BY 1", sim=False).out
        return {what: int(total_ns) for what, total_ns in list(csv.reader(told.splitlines()))[1:]}

    def test_what_was_not_recorded_is_no_part_of_the_run(self):
        path = self.path("stopped.db")

        def ledger_of_a_stop(work_again_ns):
            stored.make_anew("sampled", path, f"DELETE FROM call WHERE start_ns >= 1000000000 AND start_ns < {work_again_ns}",
                             "INSERT INTO recording_change VALUES (1, 1, 1000000000), (1, 2, 2000000000)",
                             "INSERT INTO gpu_change (process, at_ns, gpu) VALUES (1, 1000000000, 'stopped'), (1, 2000000000, 'seen')")
            return self.ledger(path)

        stored.make_anew("sampled", self.path("whole.db"))
        part, whole = ledger_of_a_stop(2_000_000_000), self.ledger(self.path("whole.db"))
        self.assertEqual(part["not-seen"], 1_000_000_000)
        self.assertAlmostEqual(part["kernel"], whole["kernel"] * 2 / 3, delta=0.02 * whole["kernel"])
        # Calls were recorded from the start on, also before there was work again.
        self.assertEqual(ledger_of_a_stop(2_500_000_000)["not-seen"], 1_000_000_000)

    @harness.depends_on_time("a call that is held up makes the error larger than what NVML says")
    def test_what_people_read(self):
        self.run_well([harness.program("sampled"), "sums", "600"])
        self.settle()
        summary = self.command("report", self.path("trace.db"), "-s", "findings", sim=False).out
        self.assertRegex(summary, r"GPU busy about \d[\d.]* ± \d[\d.]* %, by \d+ of 1800 launches\s+and copies")
        self.assertNotIn("not recorded", summary)
        self.assertNotIn("NVML", summary)
        with sqlite3.connect(self.path("trace.db")) as trace:
            trace.execute("INSERT INTO sample (uuid, at_ns, gpu_percent) SELECT uuid, value + i.id, 3"
                          " FROM device, fact, (SELECT id FROM call LIMIT 30) i WHERE key = 'first_ns'")
        summary = self.command("report", self.path("trace.db"), "-s", "findings", sim=False).out
        self.assertRegex(" ".join(summary.split()), r"launches and copies; NVML says 3 %")
        kernels = self.command("report", self.path("trace.db"), "-s", "kernels", "--format=csv", sim=False).out
        self.assertRegex(kernels, r"spin,600,\d+,\d+,,,,")
        sampled = json.loads(self.command("report", self.path("trace.db"), "--format=json", sim=False).out)["sampled"]
        self.assertEqual((sampled["calls"], sampled["unknown_calls"]), (1800, 0))
        self.assertGreater(sampled["kernels_ns"], 600 * 40000)
        unknown = self.command("check", self.path("trace.db"), "--min-gpu-busy=5%", status=3, sim=False).out
        self.assertIn("was not recorded: GPUVERIFY_GPU=sampled", unknown)

    def test_a_context_that_ends_before_its_events_are_read(self):
        """They are read each 20 to 160 ms. On a busy machine that may be in time."""
        self.run_well([harness.workload("ordinary/tiny_kernels")])
        trace = self.trace()
        if trace.value("SELECT count(*) FROM gpu_sample"):
            self.skipTest("they were read")
        count = trace.value("SELECT count FROM own_cost WHERE what = 'events'")
        self.assertGreater(count, 0)
        summary = self.command("report", self.path("trace.db"), "-s", "findings", sim=False).out
        self.assertIn(f"None of the {count} measured calls gave a time, so", " ".join(summary.split()))

    def test_graphs_are_not_told_as_kernels(self):
        for mode in ("sampled", "off"):
            with self.subTest(mode):
                self.run_well([harness.workload("ordinary/graph_launches"), "50"],
                              env={"GPUVERIFY_GPU": mode, "GPUVERIFY_TRACE": self.path(f"{mode}.db")})
                self.settle()
                summary = self.command("report", self.path(f"{mode}.db"), "-s", "findings", sim=False).out
                self.assertIn("made 50 launches of graphs, and captured 10 launches of 1 kernel into graphs.", " ".join(summary.split()))

    def test_a_part_of_the_run(self):
        trace = self.work("sums", 1000)
        middle = trace.value("SELECT start_ns FROM calls WHERE name = 'cuGraphLaunch' ORDER BY start_ns LIMIT 1 OFFSET 500")
        out = self.command("report", self.path("trace.db"), "--to", f"{middle / 1e9:.9f}s", "-s", "kernels", "--format=csv",
                           sim=False).out
        rows = {row[0]: row for row in csv.reader(out.splitlines())}
        self.assertEqual(rows["(graphs, launched whole)"][1], "500")
        same = self.command("diff", self.path("trace.db"), self.path("trace.db"), sim=False).out
        self.assertIn("has samples of the GPU side", same)
        self.assertNotRegex(same, "spin .*(gone|new)")

    def test_captures_are_untouched(self):
        trace = self.work("captures", 200)
        self.assertGreater(trace.value("SELECT count(*) FROM gpu_sample"), 10)
        self.assertEqual(trace.value("SELECT count(*) FROM gpu_sample s JOIN calls c ON c.id = s.call JOIN calls g"
                                     " ON g.stream = c.stream AND g.name = 'cuGraphLaunch' WHERE c.kernel = 'spin'"), 0)

    def test_attributes_that_an_event_would_change(self):
        trace = self.work("attributes", 300)
        self.assertEqual(trace.rows("SELECT DISTINCT kernel FROM calls WHERE id IN (SELECT call FROM gpu_sample)"), [("spin",)])

    @harness.depends_on_time("the kernel that keeps the events may end before all are launched")
    def test_no_events_left(self):
        trace = self.work("full", 1)
        self.assertLess(trace.value("SELECT count(*) FROM gpu_sample"), 161)
        self.assertGreater(trace.value("SELECT spared FROM own_cost WHERE what = 'events'"), 0)

    def test_contexts_that_end(self):
        trace = self.work("contexts", 20)
        self.assertEqual(trace.value("SELECT count(*) FROM gpu_sample s JOIN calls c ON c.id = s.call WHERE c.result <> 0"), 0)
        self.run_twice([harness.program("gpu_work"), "reset", "30"])
        self.run_twice([harness.program("gpu_work"), "contexts", "20"])

    def test_a_context_that_is_retained_and_released_keeps_its_events(self):
        log = self.path("calls")
        trace = self.work("retained", 1, env={"GV_SIM_LOG": log})
        self.assertGreater(trace.value("SELECT count(*) FROM gpu_sample"), 4)
        with open(log, encoding="utf-8") as file:
            self.assertEqual(file.read().count("cuEventCreate "), 259)  # two for each of 128 pairs, and three

    def test_forked_children(self):
        trace = self.work("forks", 200)
        self.assertGreater(trace.value("SELECT count(*) FROM gpu_sample"), 10)
        self.assertEqual(trace.value("SELECT count(DISTINCT process) FROM gpu_sample"), 1)

    def test_nothing_is_measured_while_recording_is_stopped(self):
        self.run_twice([test_control.PROGRAM, "parts"])
        trace = self.trace()
        self.assertEqual(trace.value("SELECT count(*) FROM gpu_sample s WHERE NOT EXISTS (SELECT 1 FROM recording r"
                                     " WHERE r.side = 'calls' AND s.start_ns >= r.start_ns)"), 0)

    def test_other_work(self):
        for how in ("streams", "own_streams", "graphs", "blocking_copies", "lazy", "never_idle"):
            with self.subTest(how=how):
                self.run_twice([harness.program("gpu_work"), how, "100"])
                self.trace()

    def test_windows_are_refused_with_a_word_about_what_replaces_them(self):
        result = self.run_program([harness.program("sampled"), "sums", "1"], env={"GPUVERIFY_GPU": "windows",
                                                                                 "GPUVERIFY_LOG": "error"})
        self.assertEqual(result.status, 0)
        self.assertIn("GPUVERIFY_GPU=windows is ignored: allowed is auto|on|off|sampled; sampled replaces it\n", result.err)


class Kept(harness.Case):
    def test_a_trace_of_windows_shows_what_they_saw(self):
        """Of an earlier version; the estimates of the rest are gone."""
        stored.make_anew("lazy_launch", self.path("old.db"))
        trace = sqlite3.connect(self.path("old.db"))
        [(process, first, last)] = trace.execute("SELECT min(p.process), min(start_ns), max(start_ns) FROM gpu_op o"
                                                 " JOIN gpu_place p ON p.id = o.place")
        trace.executescript(
            "CREATE TABLE gpu_window (process, start_ns, end_ns); CREATE TABLE scaled_total (id INTEGER PRIMARY KEY, kind,"
            " number, kernel, api, launches, seen, error_ns); DROP TABLE sampled_total; DROP TABLE gpu_sample;"
            "INSERT OR REPLACE INTO meta VALUES ('totals', 26); PRAGMA user_version = 16")
        trace.execute("INSERT INTO gpu_change VALUES (?, ?, 'between', NULL), (?, ?, 'seen', NULL)",
                      (process, first + (last - first) // 3, process, last - 1))
        trace.commit()
        trace.close()
        report = json.loads(self.command("report", self.path("old.db"), "--format=json", sim=False).out)
        self.assertIsNone(report["sampled"])
        periods = self.command("query", self.path("old.db"), "SELECT gpu FROM recording WHERE side = 'gpu' ORDER BY start_ns",
                               "--format=csv", sim=False).out
        self.assertIn("between", periods)
        self.assertEqual(self.command("query", self.path("old.db"), "SELECT count(*) FROM scaled", "--format=csv",
                                      sim=False).out.split(), ["count(*)", "0"])
        unseen = self.command("check", self.path("old.db"), "--max-gpu-gap=1s", status=3, sim=False).out
        self.assertIn("windows only", unseen)
