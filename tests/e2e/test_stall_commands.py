"""Stalls as a user sees them: in the summary, in commands, in a trace that is still being written, in a
recovered one, and in one that an older version analysed."""

import json
import os
import re
import signal
import sqlite3

import harness
import stored

BUSY = [harness.workload(os.path.join("stalls", "lock_launch")), "300"]
# One thread: nothing about it changes on a machine that does other things beside.
ALONE = [harness.workload(os.path.join("stalls", "module_load_cubin")), "300"]
CUPTI = {"GPUVERIFY_CUPTI": os.path.join(harness.simulator(), "libcupti.so.13"),
         "GV_SIM_JIT_NS": "3000000"}

# A thread stopped on a busy machine between the load's end and its own call has no known cause.
ATTEMPTS = 5


class Told(harness.Case):

    def stalls(self, *words):
        told = self.command("stalls", self.path("trace.db"), "--format", "json", *words)
        return json.loads(told.out)

    def causes(self):
        return sorted(stall["cause"] for stall in self.stalls("--min", "50ms")["stalls"])

    def test_summary_names_the_worst(self):
        for _ in range(ATTEMPTS):
            result = self.run_program([harness.gpuverify(), "run", "-o", self.path("trace.db"), "--", *BUSY],
                                      preload=False, env=CUPTI)
            self.assertEqual(result.status, 0, str(result))
            if "unknown" not in result.err:
                break
        for told in result.err, self.command("report", self.path("trace.db")).out:
            self.assertRegex(" ".join(told.split()), r"but waited: \d+, the worst for \S+ m?s \(module-load, .*; explain s\d+\)")
        worst = re.search(r"\(module-load, .*?; explain (s\d+)\)", " ".join(result.err.split()))[1]
        self.assertIn("cuModuleLoadData", self.command("explain", worst).out)

    def test_summary_of_a_part_names_the_worst_of_that_part(self):
        stored.make("lazy_launch", self.path("trace.db"))
        start_s = 4.21
        for part, named in (((), "s1"), (("--from", "4.22s"), "s2"), (("--to", "4.22s"), "s1")):
            out = self.command("report", "trace.db", "-s", "findings", *part, sim=False).out
            self.assertRegex(" ".join(out.split()), rf"should return at once, but waited: \d+, the worst .* explain {named}\)")
            self.assertNotIn("explain trace.db", out)
        self.assertNotIn("but waited", self.command("report", "trace.db", "-s", "findings", "--to", f"{start_s}s", sim=False).out)

    def test_a_stall_is_named_before_or_after_its_trace(self):
        stored.make("lazy_launch", self.path("trace.db"))
        told = self.command("explain", "trace.db", "s2", sim=False).out
        self.assertEqual(self.command("explain", "s2", "trace.db", sim=False).out, told)
        self.assertIn("one at a time: s2 or s1", self.command("explain", "s2", "s1", "trace.db", status=2, sim=False).err)
        self.assertNotEqual(self.command("explain", "trace.db", sim=False).out, told)
        os.rename(self.path("trace.db"), self.path("s2"))  # a file is a trace, whatever it is called
        self.assertEqual(self.command("explain", "s2", "./s2", sim=False, status=None).err.count("no finding such as"), 0)
        for words in (("x2", "s2"), ("s2", "x2"), ("./s2", "x2")):
            self.assertNotEqual(self.command("explain", *words, status=None, sim=False).status, 0, words)

    def test_code_that_was_loaded_again_is_told(self):
        """Into the same context: each needs its own."""
        def advice(*changes):
            path = self.path("again.db")
            if os.path.exists(path):
                os.remove(path)
            stored.make("lock_copy", path)
            database = sqlite3.connect(path)
            for change in changes:
                database.execute(change)
            database.commit()
            database.close()
            return json.loads(self.command("stalls", path, "-f", "json", sim=False).out)["stalls"][0]["advice"]
        self.assertIn("The same code was loaded 2 times, 150 ms together: load it once, and keep it.", advice())
        first = "(SELECT call FROM load WHERE hash = (SELECT hash FROM load WHERE call = 26) AND call <> 26)"
        for change in ("UPDATE call SET context = 99 WHERE id = " + first,
                       "UPDATE call SET context = NULL WHERE id = 26 OR id = " + first,
                       "UPDATE load SET hash = 5 WHERE call = 26", "UPDATE load SET hash = NULL",
                       "UPDATE load SET result = 209 WHERE call = " + first):
            self.assertNotIn("same code", advice(change))

    def test_inferred_copy_says_that_its_memory_was_not_seen(self):
        copy = [harness.workload(os.path.join("stalls", "pageable_copy_to_host")), "busy", "200"]
        self.run_well(copy, env={**CUPTI, "GPUVERIFY_GPU": "off"}, quiet=False)
        self.trace()
        stall = next(stall for stall in self.stalls("--min", "50ms")["stalls"] if stall["cause"] == "pageable-copy")
        told = " ".join(self.command("explain", self.path("trace.db"), str(stall["id"])).out.split())
        self.assertIn("Inferred from the calls, as is the kind of host memory", told)
        self.assertIn("Whether its memory is already pinned is unknown", told)

    def test_lost_together_is_lost_once(self):
        self.run_well(BUSY, env=CUPTI, quiet=False)
        self.trace()
        told = self.stalls()
        each = sum(stall["wait_ns"] + stall["jit_ns"] for stall in told["stalls"])
        self.assertGreater(told["count"], 1)
        self.assertLess(told["lost_ns"], 0.8 * each)

    def test_less_than_a_hundredth_is_said_to_be_little(self):
        self.run_well([harness.workload("load_while_busy"), "1"], env={"GPUVERIFY_STALL_US": "60000000"})
        trace = self.trace()
        self.assertEqual(trace.value("SELECT count(*) FROM stalls"), 0)
        self.assertEqual(trace.value("SELECT value FROM meta WHERE key = 'stall_threshold_ns'"), 60_000_000_000)
        self.assertIn("No unexpected stalls.", self.command("stalls", self.path("trace.db")).out)

    def test_line_to_move_is_that_of_the_helpers_caller(self):
        """load_ms() makes a load before the kernel is launched, too: that one did not wait."""
        with open(os.path.join(harness.SOURCE, "kernels", "load_while_busy.c"), encoding="utf-8") as file:
            line = next(number for number, text in enumerate(file, 1) if "loading the same module" in text)
        self.run_well([harness.workload("load_while_busy"), "200"], env=CUPTI, quiet=False)
        trace = self.trace()
        if not trace.rows("SELECT * FROM frames WHERE line IS NOT NULL"):
            self.skipTest("no lines: stripped, or built without elfutils")
        advice = trace.rows("SELECT advice FROM stalls WHERE cause = 'module-load'")
        self.assertEqual(len(advice), 1)
        self.assertIn(f"move cuModuleLoadData at load_while_busy.c:{line} (through load_ms) to", advice[0][0])

    def test_recovered(self):
        self.run_well(ALONE, env={**CUPTI, "GPUVERIFY_COLLECTOR": "off"}, quiet=False)
        self.command("recover", self.spool)
        self.trace()
        self.assertEqual(self.causes(), ["module-load"])

    def test_analysed_by_an_older_version(self):
        self.run_well(ALONE, env=CUPTI, quiet=False)
        self.trace()
        database = sqlite3.connect(self.path("trace.db"))
        with database:
            database.execute("UPDATE meta SET value = 0 WHERE key = 'stalls'")
            database.execute("DELETE FROM stall")
        database.close()
        with open(self.path("trace.db"), "rb") as file:
            before = file.read()
        self.assertEqual(self.causes(), ["module-load"])
        with open(self.path("trace.db"), "rb") as file:
            self.assertEqual(file.read(), before, "a trace that is only read was changed")

    def test_still_being_written(self):
        program = self.start([harness.gpuverify(), "run", "-o", self.path("trace.db"), "--", "/bin/sh", "-c",
                              f'{" ".join(ALONE)}; exec {harness.workload("load_while_busy")} 60000'],
                             preload=False, env=CUPTI)

        def found():
            if not os.path.exists(self.path("trace.db")):
                return False
            try:
                trace = harness.Trace(self.path("trace.db"))
                calls = trace.value("SELECT count(*) FROM calls WHERE name = 'cuModuleLoadData'")
                state = trace.meta()["state"]
                trace.close()
            except sqlite3.Error:
                return False
            return calls >= 3 and state == "recording" and {"module-load"} <= set(self.causes())
        harness.wait_for(found, "the stalls of a program that still runs")
        self.assertIn("results so far, without source lines", self.command("stalls", "trace.db", sim=False).err)
        program.send_signal(signal.SIGTERM)
        program.wait()
        self.trace(losses=True)


class Many(harness.Case):
    """More stalls than fit on a screen."""

    def setUp(self):
        super().setUp()
        stored.make("lazy_launch", self.path("trace.db"))
        database = sqlite3.connect(self.path("trace.db"))
        with database:
            database.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)"
                             " INSERT INTO stall (id, call, cause, expected, jit_ns, wait_ns, work_ns, confidence)"
                             " SELECT 100 + i, i, 'queue-full', 0, 0, 200000 + i, 0, 'measured' FROM n")
        database.close()

    def stalls(self, *words):
        return self.command("stalls", "trace.db", *words, sim=False).out

    def listed(self, *words):
        return sum("queue-full" in line or "cudaLaunchKernel" in line or "cudaMemcpyAsync" in line
                   for line in self.stalls(*words).splitlines())

    def test_table_has_the_worst_and_says_how_many_more(self):
        out = self.stalls()
        self.assertEqual(self.listed(), 20)
        self.assertIn("lazy-load", out)
        self.assertEqual(out.splitlines()[-1], "12 more not listed; --top 0 lists all.")
        self.assertEqual(self.stalls("--cause", "queue-full", "-n", "29").splitlines()[-1],
                         "1 more not listed; --top 0 lists all.")

    def test_all(self):
        for words in (("--top", "0"), ("-n", "32"), ("-n", "40")):
            self.assertEqual(self.listed(*words), 32)
            self.assertNotIn("more lost", self.stalls(*words))

    def test_programs_get_all(self):
        self.assertEqual(len(json.loads(self.stalls("--format", "json"))["stalls"]), 32)
        self.assertEqual(len(self.stalls("--format", "csv").splitlines()), 33)
        self.assertEqual(len(self.stalls("--format", "markdown").splitlines()), 34)
