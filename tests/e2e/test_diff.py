"""gpuverify diff: what changed between runs, and whether that is more than noise."""

import json
import os
import re
import sqlite3

import harness
import stored


class Diff(harness.Case):
    def trace(self, name, *statements):
        """A changed copy of the stored trace `add`; its sums are made when it is read."""
        path = self.path(name + ".db")
        stored.make("add", path)
        database = sqlite3.connect(path)
        for statement in statements:
            database.execute(statement)
        database.commit()
        database.close()
        return name + ".db"

    def slower(self, name, factor):
        return self.trace(name, "UPDATE gpu_op SET duration_ns = duration_ns * "
                                f"{factor} WHERE kind = 1",
                          "UPDATE process SET gpu = 'cupti', gpu_why = NULL")

    def changes(self, *words):
        """{(area, what, unit): change} of all that changed."""
        out = self.command("diff", "--all", "--top", "0", "--format", "json", *words, sim=False).out
        document = json.loads(out)
        return document, {(row["area"], row["what"], row["unit"]): row
                          for row in document["changes"]}

    def test_stall_that_became_a_wait_that_was_asked_for(self):
        for name, words in (("before", ()), ("after", ("early",))):
            self.run_well([harness.workload("load_while_busy"), "300", *words],
                          env={"GPUVERIFY_TRACE": self.path(name + ".db"), "GPUVERIFY_GPU": "auto"}, quiet=False)
            self.settle()
        out = self.command("diff", "before.db", "after.db").out
        said = " ".join(out.split())
        self.assertRegex(said, r"Stalls cost \d+ ms less than before, but requested waits take \d+ ms more")
        self.assertRegex(out, r"(?m)^cuStreamSynchronize .* far more$")
        self.assertRegex(out, r"(?m)^module-load, calls +1 +0 +-1 +gone$")
        self.assertNotIn("requested waits take", self.command("diff", "after.db", "before.db").out)

    def test_same_trace_twice(self):
        one = self.slower("one", 1)
        document, changes = self.changes(one, one)
        self.assertEqual(changes, {})
        self.assertEqual(document["before"], document["after"])
        self.assertIn("Nothing changed", self.command("diff", one, one, sim=False).out)

    def test_slower_kernels(self):
        _, changes = self.changes(self.slower("one", 1), self.slower("two", 3))
        row = changes["kernels", "scale", "ns"]
        self.assertEqual((row["before"], row["after"], row["change"]), (3500, 10500, 7000))
        self.assertIsNone(row["more_than_noise"])
        self.assertNotIn(("kernels", "scale", "count"), changes)
        self.assertNotIn(("calls", "cuLaunchKernel", "ns"), changes)

    def test_perhaps_more_than_noise(self):
        before = [self.slower(f"a{i}", factor) for i, factor in enumerate((10, 11, 12))]
        after = [self.slower(f"b{i}", factor) for i, factor in enumerate((13, 14, 15))]
        document, changes = self.changes(*before, "--", *after)
        row = changes["kernels", "scale", "ns"]
        self.assertEqual((row["before_min"], row["before"], row["before_max"]),
                         (35000, 38500, 42000))
        self.assertEqual((row["after_min"], row["after"], row["after_max"]), (45500, 49000, 52500))
        self.assertIsNone(row["more_than_noise"])
        self.assertEqual(document["before"]["traces"], before)

    def test_a_trace_that_is_named_twice_on_a_side_is_told(self):
        before, after = self.slower("a", 10), self.slower("b", 13)
        for words in ((before, f"./{before}", "--", after), (before, "--", after, after)):
            self.assertIn("is named twice on one side", self.command("diff", *words, sim=False).err)

    def test_noise(self):
        before = [self.slower(f"a{i}", factor) for i, factor in enumerate((10, 14, 12))]
        after = [self.slower(f"b{i}", factor) for i, factor in enumerate((13, 14, 15))]
        _, changes = self.changes(*before, "--", *after)
        self.assertEqual(changes["kernels", "scale", "ns"]["more_than_noise"], 0)
        out = self.command("diff", *before, "--", *after, sim=False).out
        self.assertNotIn("scale", out)
        self.assertIn("none beyond the noise", out)

    def test_new_and_gone(self):
        one = self.slower("one", 1)
        two = self.trace("two", "UPDATE process SET gpu = 'cupti', gpu_why = NULL",
                         "UPDATE gpu_name SET name = 'other' WHERE name = 'scale'")
        _, changes = self.changes(one, two)
        self.assertEqual(changes["kernels", "scale", "count"]["after"], 0)
        self.assertEqual(changes["kernels", "other", "count"]["before"], 0)
        out = self.command("diff", "--all", one, two, sim=False).out
        self.assertRegex(out, r"scale, runs +2 +0 +-2 +gone")
        self.assertRegex(out, r"other, runs +0 +2 +\+2 +new")

    def test_gpu_side_that_was_not_seen(self):
        _, changes = self.changes(self.slower("one", 1), self.trace("two", "DELETE FROM gpu_op"))
        self.assertFalse([key for key in changes if key[0] in ("kernels", "copies", "findings", "ledger", "ledger_lines")])
        out = self.command("diff", "one.db", "two.db", sim=False).out
        self.assertIn("not recorded completely on both sides", out)

    def test_what_a_killed_run_did_not_tell_is_not_new(self):
        """Only CUPTI reports compilation, and an unfinished wait is in no table of calls."""
        seen = "UPDATE process SET gpu = 'cupti', gpu_why = NULL, ended = 'exit'"
        killed = self.trace("killed", seen, "UPDATE process SET ended = 'killed'", "DELETE FROM jit",
                            "UPDATE flight SET api = 9",
                            "INSERT INTO loss VALUES (1, 'GPU operation', 'last flush', 1)")
        _, changes = self.changes(killed, self.trace("ended", seen, "DELETE FROM flight"))
        self.assertFalse([key for key in changes if key[1] in ("jit", "requested waits")])
        _, changes = self.changes(self.trace("plain", seen, "DELETE FROM jit", "DELETE FROM flight"), "ended.db")
        self.assertEqual(changes["stalls", "jit", "count"]["before"], 0)
        # Inferred on both sides, it can be compared.
        unseen = "UPDATE process SET gpu = 'off'"
        short = [f"UPDATE {table} SET duration_ns = 1000 WHERE start_ns = 300000000" for table in ("call", "load")]
        _, changes = self.changes(self.trace("one", unseen, *short), self.trace("two", unseen))
        self.assertEqual(changes["stalls", "jit", "count"]["after"], 1)

    def job(self, name, *statements):
        """Four ranks; one reads data, data.py:41, for 80 % of six steps, while the others wait."""
        stored.make_anew("job", self.path(name + ".db"), *statements)
        return name + ".db"

    def test_ledgers_side_by_side(self):
        before = self.job("before")
        after = self.job("after", "UPDATE frame SET file = '/home/u/other.py' WHERE function = '__getitem__'")
        document, changes = self.changes(before, after)
        lost = changes["findings", "python data.py __getitem__", "ns_each"]
        self.assertEqual((lost["after"], lost["different"]), (0, 1))
        self.assertEqual(changes["findings", "python other.py __getitem__", "ns_each"]["after"], lost["before"])
        self.assertEqual(changes["ledger_lines", "main python data.py:41", "ns_each"]["after"], 0)
        self.assertNotIn("ledger", {area for area, *_ in changes})  # an account without its lines is as before
        self.assertEqual(document["before"]["findings"][0], document["before"]["runs"][0]["findings"][0]["key"])
        [found] = [finding for finding in document["after"]["runs"][0]["findings"]
                   if (finding["key"], finding["phase"]) == ("python other.py __getitem__", "main")]
        self.assertEqual((found["line"], found["process"], found["steps"]), (41, 3, 6))
        out = self.command("diff", before, after, sim=False).out
        self.assertRegex(out, r"(?m)^before  before.db: ran 342 ms, 6 steps of .*; the GPU was busy [\d.]+ % of it\n        findings: ")
        self.assertRegex(out, r"(?m)^python data.py __getitem__, a step +[\d.]+ ms +0 ns +-[\d.]+ ms +gone$")

    def finished(self, name, lost_ns, error_ns):
        """A trace whose sums say that six steps lost so much in all."""
        with open(os.path.join(stored.ROOT, "report/analyse/totals/totals.h"), encoding="utf-8") as header:
            version = re.search(r"GV_TOTALS_VERSION (\d+)", header.read()).group(1)
        return self.trace(
            name, f"INSERT OR REPLACE INTO meta VALUES ('totals', {version})",
            "INSERT INTO lane (process, device, begin_ns, main_ns, main_end_ns, end_ns, series, steps) VALUES (1, 0, 0, 0, 8e8, 8e8, 1, 6)",
            "INSERT INTO finding (id, key, process, device, phase, what, lost_ns, phase_ns, error_ns, count, steps, confidence)"
            f" VALUES (1, 'python a.py f', 1, 0, 1, 'python', {lost_ns}, 800000000, {error_ns}, 6, 6, 'sampled')")

    def test_standard_errors(self):
        """They are of all steps together."""
        before = self.finished("before", 60_000_000, 1)
        for error_ns, different in ((100_000_000, 1), (400_000_000, 0)):
            after = self.finished(f"after-{error_ns}", 600_000_000, error_ns)
            self.assertEqual(self.changes(before, after)[1]["findings", "python a.py f", "ns_each"]["different"], different)
            self.assertEqual(" ".join(self.command("diff", before, after, sim=False).out.split()).count(
                "Large, but within twice the standard error: python a.py f, a step (+90.0 ms)"), not different)

    def test_wrong_use(self):
        one = self.slower("one", 1)
        for words in ((one,), (one, one, one), ("--", one, one), (one, one, "--")):
            with self.subTest(words):
                self.command("diff", *words, status=2, sim=False)
        self.command("diff", one, "nowhere.db", status=3, sim=False)
        self.assertFalse(os.path.exists(self.path("nowhere.db")))

    def test_hostile_names(self):
        stored.make("hostile", self.path("hostile.db"))
        one = self.slower("one", 1)
        for form in ("text", "csv", "json", "markdown"):
            result = self.command("diff", "--all", "--format", form, one, "hostile.db", sim=False)
            self.assertNotIn("\x1b", result.out)


class Noise(harness.Case):
    """Tests for noise and their wording."""

    def copies(self, name, factors):
        """Stored traces whose copying calls take longer by these factors."""
        names = []
        for i, factor in enumerate(factors):
            names.append(f"{name}{i}.db")
            stored.make("lazy_launch", self.path(names[-1]))
            database = sqlite3.connect(self.path(names[-1]))
            with database:
                database.execute("UPDATE call SET duration_ns = duration_ns * ? WHERE api = 2", (factor,))
            database.close()
        return names

    def compare(self, *words):
        """The document, and its change of the calls to copy, or None."""
        document = json.loads(self.command("diff", "--format", "json", *words, sim=False).out)
        found = [row for row in document["changes"] if (row["area"], row["what"], row["unit"]) ==
                 ("calls", "cudaMemcpyAsync", "ns")]
        self.assertLessEqual(len(found), 1)
        return document, found[0] if found else None

    def test_rank_test_where_there_are_enough_traces(self):
        before, after = self.copies("a", (1, 1.1, 1.2, 1.3)), self.copies("b", (1.25, 2.2, 2.3, 2.4))
        document, row = self.compare("--all", *before, "--", *after)
        self.assertEqual((document["test"], document["chance"]), ("rank", 0.05))
        self.assertEqual(row["p"], 4 / 70)
        # So close to the limit it is noise, whatever the medians say; --all shows it.
        self.assertEqual((row["more_than_noise"], row["different"]), (0, 0))

    def test_a_value_out_of_the_way_does_not_hide_a_change_from_the_rank_test(self):
        before = self.copies("a", (1, 1.1, 1.2, 1.3, 1.4, 1.5, 3))
        after = self.copies("b", (2, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6))
        document, row = self.compare(*before, "--", *after)
        self.assertEqual(document["test"], "rank")
        self.assertLess(row["p"], 0.05)
        self.assertGreater(row["before_max"], row["after_max"])
        self.assertEqual((row["more_than_noise"], row["different"]), (1, 1))

    def test_ranges_where_there_are_few(self):
        before, after = self.copies("a", (1, 1.1, 1.2)), self.copies("b", (2, 2.2, 2.3))
        document, row = self.compare(*before, "--", *after)
        self.assertEqual((document["test"], document["chance"]), ("ranges", 0.1))
        self.assertEqual((row["p"], row["more_than_noise"], row["different"]), (None, None, 1))
        out = self.command("diff", *before, "--", *after, sim=False).out
        self.assertIn("ranges that do not overlap happen by chance 1 time in 10.", " ".join(out.split()))
        # One against several is a range too.
        document, row = self.compare(before[0], "--", *after)
        self.assertEqual((document["test"], document["chance"]), ("ranges", 0.5))

    def test_what_happens_by_chance_is_never_said_to_be_more_than_noise(self):
        before, after = self.copies("a", (1, 1.1, 1.2)), self.copies("b", (2, 2.2, 2.3))
        for left, right, chance in ((1, 2, "2 times in 3"), (2, 2, "1 time in 3"), (1, 3, "half of the time"),
                                    (2, 3, "1 time in 5"), (3, 3, "1 time in 10")):
            out = self.command("diff", *before[:left], "--", *after[:right], sim=False).out
            self.assertIn(f"ranges that do not overlap happen by chance {chance}. 4 and 4 are enough.", " ".join(out.split()))
            row = next(line for line in out.splitlines() if line.startswith("cudaMemcpyAsync"))
            self.assertTrue(row.endswith("perhaps"), row)
            self.assertNotIn("yes", out)

    def test_one_trace_on_each_side_says_that_noise_is_not_known(self):
        one, two = self.copies("a", (1, 1.5))
        document, row = self.compare(one, two)
        self.assertEqual((document["test"], document["chance"], row["more_than_noise"], row["p"]),
                         ("none", None, None, None))
        self.assertIn("noise is unknown", self.command("diff", one, two, sim=False).out)

    def test_a_quoted_pattern_is_the_files_that_fit_it(self):
        for name, factors in (("a", (1, 1.02)), ("b", (1.5, 1.6))):
            self.copies(name, factors)
        words = [[self.path(f"{name}{number}.db") for number in range(2)] for name in "ab"]
        out = self.command("diff", *words[0], "--", *words[1], sim=False).out
        self.assertEqual(self.command("diff", self.path("a*.db"), self.path("b?.db"), sim=False).out, out)
        self.assertIn("no traces (*.db) there", self.command("diff", self.path("a*.db"), self.path("c*.db"), status=3, sim=False).err)

    def test_exit_code(self):
        one, same, other = self.copies("a", (1, 1, 1.5))
        self.command("diff", one, other, sim=False)
        self.command("diff", "--exit-code", one, same, sim=False)
        self.command("diff", "--exit-code", one, other, sim=False, status=1)
        self.command("diff", "--exit-code", "--section", "calls", "--min-change", "60%", one, other, sim=False)
        self.command("diff", "--exit-code", "--section", "kernels", one, other, sim=False)

    def test_wrong_use(self):
        one, = self.copies("a", (1,))
        for words, said in (([one, one, "-s", "nothing"], "unknown section 'nothing'; choose from: findings run"),
                            ([one] * 64 + ["--", one], "65 traces are too many")):
            self.assertIn(said, self.command("diff", *words, sim=False, status=2).err)


class ByRange(harness.Case):
    """The sums of ranges are put into the trace, which then counts as one that has its sums."""

    def trace(self, name, *ranges, **changes):
        """A trace with these rows of range_total: their text, and what of them is not 0."""
        path = self.path(name + ".db")
        stored.make("add", path)
        database = sqlite3.connect(path)
        columns = [column for _, column, *_ in database.execute("PRAGMA table_info(range_total)")][1:]
        with database:
            for text, sums in ranges:
                row = {**dict.fromkeys(columns, 0), "kind": 1, "domain": None, "text": text, **sums, **changes}
                database.execute(f"INSERT INTO range_total ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                                 list(row.values()))
            database.execute("INSERT OR REPLACE INTO meta VALUES ('totals', ?)", (stored.totals_version(),))
            database.execute("INSERT OR REPLACE INTO meta VALUES ('state', 'complete')")
            database.execute("UPDATE process SET gpu = 'cupti', gpu_why = NULL")
        database.close()
        return name + ".db"

    def steps(self, name, count, each_ns, **more):
        return self.trace(name, ("step #", {
            "count": count, "total_ns": count * each_ns, "gpu_ns": count * each_ns // 2, "stalls": 5,
            "stall_ns": count * 1000, "idle_ns": count * 3000, "loads": count // 2, "load_ns": count * 500,
            "allocations": count, "allocated_bytes": count << 10, **more}))

    def changes(self, *words):
        document = json.loads(self.command("diff", "--by-range", "--all", "--top", "0", "--format", "json", *words,
                                           sim=False).out)
        return {(row["area"], row["what"], row["unit"]): row for row in document["changes"]}

    def test_runs_with_other_numbers_of_steps(self):
        before, after = self.steps("before", 100, 10_000_000), self.steps("after", 500, 12_000_000)
        changes = self.changes(before, after)
        step = {(area, unit): (row["before"], row["after"]) for (area, _, unit), row in changes.items()}
        self.assertEqual(step, {
            ("ranges", "ns"): (1e9, 6e9), ("ranges", "ns_each"): (1e7, 1.2e7), ("ranges", "count"): (100, 500),
            ("range_gpu", "ns"): (5e8, 3e9), ("range_gpu", "ns_each"): (5e6, 6e6),
            ("range_stalls", "ns"): (1e5, 5e5), ("range_stalls", "count_each"): (0.05, 0.01),
            ("range_idle", "ns"): (3e5, 15e5), ("range_loads", "ns"): (5e4, 25e4),
            ("range_loads", "count"): (50, 250), ("range_memory", "bytes"): (100 << 10, 500 << 10),
            ("range_memory", "count"): (100, 500)})
        shown = self.command("diff", "--by-range", before, after, sim=False).out
        self.assertRegex(shown, r"(?m)^step #, each +10\.0 ms +12\.0 ms +\+2\.00 ms +\+20\.0 %$")
        self.assertRegex(shown, r"(?m)^step #, stalls, each +0\.05 +0\.01 +-0\.04 +-80\.0 %$")
        self.assertNotIn("cuLaunchKernel", shown)
        self.assertNotIn("Ranges", self.command("diff", "--all", before, after, sim=False).out)
        # A section names an area of either kind; "-" is as good as "_".
        for name in "range_gpu", "range-gpu":
            self.assertEqual({area for area, *_ in self.changes("-s", name, before, after)}, {"range_gpu"})
        self.command("query", after, "gpu_lines", sim=False)

    def test_as_many_steps_are_compared_in_total_only(self):
        changes = self.changes(self.steps("before", 100, 10_000_000), self.steps("after", 100, 12_000_000))
        self.assertEqual(set(changes), {("ranges", "step #", "ns"), ("range_gpu", "step #", "ns")})

    def test_a_range_without_an_end_has_no_time(self):
        changes = self.changes(self.steps("before", 100, 10_000_000),
                               self.steps("after", 101, 0, total_ns=10**9, unended=1))
        self.assertEqual([unit for area, _, unit in changes if area == "ranges"], ["count"])

    def test_several_traces_say_what_is_noise_for_each_step(self):
        before = [self.steps(f"a{i}", 100 + i, 10_000_000 + i * 1000) for i in range(4)]
        after = [self.steps(f"b{i}", 200 + i, 12_000_000 + i * 1000) for i in range(4)]
        changes = self.changes(*before, "--", *after)
        row = changes["ranges", "step #", "ns_each"]
        self.assertEqual((row["before_min"], row["before_max"], row["more_than_noise"]), (10_000_000, 10_003_000, 1))
        row = self.changes(*before[:2], *after[:2], "--", *before[2:], *after[2:])["ranges", "step #", "ns_each"]
        self.assertEqual((row["more_than_noise"], row["different"]), (0, 0))

    def test_what_was_not_seen_is_not_compared(self):
        before, after = self.steps("before", 100, 10_000_000), self.steps("after", 100, 10_000_000, gpu_ns=None,
                                                                          idle_ns=None, stalls=9, loads=0)
        database = sqlite3.connect(self.path(after))
        with database:
            database.execute("UPDATE process SET gpu = 'host-only'")
        database.close()
        self.assertEqual(self.changes(before, after), {})
        # Without a GPU side on both, stalls and loads are found alike.
        database = sqlite3.connect(self.path(before))
        with database:
            database.execute("UPDATE process SET gpu = 'host-only'")
        database.close()
        self.assertEqual({area for area, *_ in self.changes(before, after)}, {"range_stalls", "range_loads"})

    def test_names(self):
        names = [("load", {"count": 1}), ("load", {"count": 2, "domain": "data"}), ("load", {"count": 3, "kind": 3})]
        changes = self.changes(self.trace("before", *names), self.trace("after", *names, count=7))
        self.assertEqual({what: row["before"] for (_, what, _), row in changes.items()},
                         {"load": 1, "data: load": 2, "mark load": 3})

    def test_traces_without_ranges(self):
        one = self.trace("one")
        self.assertIn("Nothing to compare: no trace has anything here.",
                      self.command("diff", "--by-range", one, one, sim=False).out)


class Moved(harness.Case):
    gpu = "auto"

    def record(self, name, **env):
        self.run_well([harness.workload("stalls/lazy_launch"), "100"],
                      env={"GPUVERIFY_CUPTI": os.path.join(harness.simulator(), "libcupti.so.13"), **env,
                           "GPUVERIFY_TRACE": self.path(name)})
        return name

    def test_a_load_that_was_moved_out_takes_its_stall_away(self):
        """The same program with the same work: EAGER loads the kernel with its library."""
        lazy = self.record("lazy.db")
        eager = self.record("eager.db", CUDA_MODULE_LOADING="EAGER")
        out = self.command("diff", "--format", "json", lazy, eager, sim=False).out
        changes = {(row["area"], row["what"], row["unit"]): row for row in json.loads(out)["changes"]}
        gone = changes["stalls", "lazy-load", "ns"]
        self.assertGreater(gone["before"], 50e6)
        self.assertEqual((gone["after"], gone["ratio"]), (0, 0))
        self.assertEqual(changes["loads", "lazy second_empty of lazy_launch", "count"]["after"], 0)
        # The GPU's work is the same, so the program waits where it asks to.
        self.assertGreater(changes["run", "requested waits", "ns"]["change"], 0)
        self.assertNotIn(("kernels", "spin", "count"), changes)
        text = self.command("diff", "-s", "run", "-s", "stalls", lazy, eager, sim=False).out
        # A busy machine delays calls too, but not for so long.
        self.assertRegex(text, r"\nstalled +\S+ ms +\S+ \S+ +-\S+ ms +(gone|-\S+ %)\n")
        self.assertRegex(text, r"\nlazy-load +\S+ ms +0 ns +-\S+ ms +gone\n")
        text = self.command("diff", "-s", "stalls", eager, lazy, sim=False).out
        self.assertRegex(text, r"\nlazy-load +0 ns +\S+ ms +\+\S+ ms +new\n")

    def test_what_was_not_seen_is_not_taken_for_gone(self):
        seen, unseen = self.record("seen.db"), self.record("unseen.db", GPUVERIFY_GPU="off")
        document = json.loads(self.command("diff", "--all", "--top", "0", "--format", "json", seen, unseen,
                                           sim=False).out)
        self.assertFalse(document["after"]["gpu_seen"])
        gone = [row["what"] for row in document["changes"] if row["after"] == 0
                and row["area"] in ("kernels", "copies", "verdict", "loads", "run")]
        self.assertEqual([what for what in gone if what not in ("stalls", "stalled")], [])


class Page(harness.Case):
    def test_it_shows_what_is_printed(self):
        page = stored.read(os.path.join(stored.ROOT, "docs", "diff.md"))
        self.assertIn(stored.expected("lazy_launch", "diff.txt"), page)
