"""gpuverify query and schema: harmless SQL on a trace, and the views in words."""

import csv
import io
import json
import os
import sqlite3

import harness
import stored


class Query(harness.Case):
    def query(self, *words, status=0, trace="lazy_launch"):
        path = self.path(trace + ".db")
        if not os.path.exists(path):
            stored.make(trace, path)
        return self.command("query", path, *words, status=status, sim=False)

    def named(self):
        listed = self.command("query", "--list", "--format", "csv", sim=False).out
        return {row["name"]: row for row in csv.DictReader(io.StringIO(listed))}

    def test_every_named_query_runs(self):
        queries = self.named()
        self.assertGreater(len(queries), 10)
        for name in queries:
            self.query(name)

    def test_folded_polls_are_no_slow_call(self):
        self.assertIn("  853000000 ", self.query("slow-calls").out)
        trace = sqlite3.connect(self.path("lazy_launch.db"))
        with trace:
            trace.execute("INSERT INTO call_fold VALUES (39, 1000, 853000000)")
        trace.close()
        self.assertNotIn("  853000000 ", self.query("slow-calls").out)

    def test_minutes_have_stalls_and_idle_time_that_are_found_again(self):
        for what, real in (("stall", "sum(wait_ns + jit_ns) FROM stalls WHERE NOT expected"), ("idle", "sum(duration_ns) FROM idle")):
            found, expected = self.query("--format=csv", f"SELECT sum(total_ns) FROM minutes WHERE what = '{what}'"
                                         f" UNION ALL SELECT {real}").out.splitlines()[1:]
            self.assertEqual(found, expected)
            self.assertGreater(int(found), 0)

    def test_table_without_rows_says_whether_anything_was_seen(self):
        nothing = self.query("SELECT * FROM gpu_ops WHERE id = -1")
        self.assertEqual(nothing.err, "gpuverify: no row\n")
        self.assertEqual(len(nothing.out.splitlines()), 1)
        database = sqlite3.connect(self.path("lazy_launch.db"))
        with database:
            database.execute("DELETE FROM gpu_op")
            database.execute("UPDATE process SET gpu = 'off', gpu_why = NULL")
        database.close()
        for name in ("kernels", "copies", "gpu-busy", "gpu-gaps", "jit"):
            self.assertRegex(self.query(name).err,
                             r"^gpuverify: no row: GPU activity of process \d+ was not recorded: GPUVERIFY_GPU=off$")
            for form in ("csv", "json", "markdown"):
                self.assertEqual(self.query(name, "--format", form).err, "")
        # Of calls, all is known.
        self.assertEqual(self.query("SELECT * FROM calls WHERE id = -1").err, "gpuverify: no row\n")
        self.assertEqual(self.query("calls").err, "")

    def test_rates_of_copies_are_whole_bytes_per_second(self):
        path = self.path("add.db")
        stored.make("add", path)
        rows = json.loads(self.command("query", path, "copies", "--format", "json", sim=False).out)
        self.assertTrue(rows)
        for row in rows:
            self.assertIsInstance(row["bytes_per_second"], int)
            self.assertAlmostEqual(row["bytes_per_second"], row["bytes"] * 1e9 / row["total_ns"], delta=1)

    def test_an_allocation_that_failed_is_none(self):
        path = self.path("add.db")
        stored.make("add", path)
        database = sqlite3.connect(path)
        database.execute("INSERT INTO call SELECT 33, thread, api, 1600000000, 100, 2, stream, context, 1 << 50, NULL,"
                         " kernel, correlation FROM call WHERE id = 4")
        database.execute("DELETE FROM meta WHERE key = 'totals'")
        database.commit()
        database.close()
        rows = json.loads(self.command("query", path, "allocations", "--format", "json", sim=False).out)
        self.assertEqual(rows, [
            {"name": "cuMemAlloc_v2", "count": 2, "bytes": 12582912, "largest_bytes": 8388608, "failed": 1,
             "largest_failed_bytes": 1 << 50},
            {"name": "cuMemAllocHost_v2", "count": 1, "bytes": 4194304, "largest_bytes": 4194304, "failed": 0,
             "largest_failed_bytes": None}])

    def test_a_device_is_known_by_what_it_is(self):
        """One process's device 1 is the other's device 0; their devices 0 are two."""
        path = self.path("two.db")
        stored.make("add", path)
        database = sqlite3.connect(path)
        database.executescript("""
            DELETE FROM gpu_op; DELETE FROM gpu_place; DELETE FROM device;
            INSERT INTO device (id, process, device, uuid) VALUES (1, 1, 0, 'u'), (2, 1, 1, 'v'), (3, 2, 0, 'v');
            INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7), (2, 1, 1, 1, 7), (3, 2, 0, 1, 7);
            INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns) VALUES
                (1, 1, 4, 1000, 100), (2, 2, 4, 1000, 100), (3, 3, 4, 1050, 200), (4, 3, 4, 2000, 10);""")
        database.commit()
        database.close()
        busy, gaps = (json.loads(self.command("query", path, name, "--format", "json", sim=False).out)
                      for name in ("gpu-busy", "gpu-gaps"))
        self.assertEqual([(row["uuid"], row["device"], row["busy_ns"]) for row in busy],
                         [("u", 0, 100), ("v", 0, 260)])
        self.assertEqual([(row["uuid"], row["gap_start_ns"], row["gap_ns"]) for row in gaps], [("v", 1250, 750)])

    def test_columns_of_one_name_are_told_apart_in_json(self):
        sql = "SELECT 1 AS a, 2 AS a, 3 AS a_2, 4 AS a, 5 AS b"
        self.assertEqual(json.loads(self.query(sql, "--format", "json").out, object_pairs_hook=list),
                         [[("a", 1), ("a_3", 2), ("a_2", 3), ("a_4", 4), ("b", 5)]])
        self.assertEqual(self.query(sql, "--format", "csv").out.splitlines()[0], "a,a,a_2,a,b")

    def test_every_named_query_runs_in_plain_sqlite(self):
        for trace in "lazy_launch", "starved":
            stored.make(trace, self.path("written.db"))
            # Merging writes what the trace as it is written by hand lacks.
            self.command("merge", self.path("written.db"), "-o", self.path(trace + ".db"), sim=False)
            os.remove(self.path("written.db"))
            database = sqlite3.connect(self.path(trace + ".db"))
            for name, query in self.named().items():
                rows = database.execute(query["sql"]).fetchall()
                shown = json.loads(self.query(name, "--format", "json", trace=trace).out)
                self.assertEqual([tuple(one.values()) for one in shown], rows, name)
            database.close()

    def test_hostile_values_are_harmless(self):
        for name in self.named():
            for how in ("table", "csv", "json", "markdown"):
                result = self.query(name, "--format", how, trace="hostile")
                self.assertNotRegex(result.out, "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", name)

    def test_formats(self):
        sql = "SELECT 1 AS a, NULL AS b, 'x,\"y' AS c, 2.5 AS d, x'01ff' AS e"
        self.assertEqual(self.query(sql, "--format=csv").out,
                         'a,b,c,d,e\n1,,"x,""y",2.5,x\'01ff\'\n')
        self.assertEqual(json.loads(self.query(sql, "--format=json").out),
                         [{"a": 1, "b": None, "c": 'x,"y', "d": 2.5, "e": "x'01ff'"}])
        self.assertEqual(self.query(sql).out, "a  b  c       d  e\n1  -  x,\"y  2.5  x'01ff'\n")

    def test_one_value(self):
        self.assertEqual(self.query("--value", "SELECT count(*) FROM calls").out, "41\n")
        self.assertEqual(self.query("-v", "SELECT 'a' || char(9)").out, "a\t\n")
        self.assertEqual(self.query("-v", "SELECT NULL").out, "\n")
        self.assertIn("one column", self.query("-v", "SELECT 1, 2", status=2).err)
        self.assertIn("no row", self.query("-v", "SELECT 1 WHERE 0", status=3).err)

    def test_nothing_but_reading(self):
        for sql in ("DELETE FROM call", "DROP VIEW calls", "INSERT INTO meta VALUES ('a', 1)",
                    "CREATE TEMP TABLE x (y)", "ATTACH 'other.db' AS other", "VACUUM INTO 'x.db'",
                    "PRAGMA user_version = 9", "PRAGMA user_version", "BEGIN;", "REINDEX;",
                    "SELECT load_extension('x')", "SELECT * FROM pragma_table_info('call')",
                    "SELECT 1; DELETE FROM call", "UPDATE main.sqlite_master SET sql = ''"):
            result = self.query(sql, status=2)
            self.assertEqual(result.out, "", sql)
            self.assertIn("the query failed", result.err)
        self.assertEqual(sorted(name for name in os.listdir(self.path("."))
                                if name in ("x.db", "other.db")), [])

    def test_errors_say_what_to_do(self):
        self.assertIn("'gpuverify schema'", self.query("SELECT 1 FROM nowhere", status=2).err)
        self.assertIn("did you mean 'kernels'", self.query("kernel", status=2).err)
        self.assertIn("--list", self.query("something-else", status=2).err)
        self.assertIn("is missing", self.query(status=2).err)
        self.assertIn("no SQL", self.query(" ;", status=2).err)
        for words in ("kernels", "SELECT 1"):
            self.assertIn(f"FILE is missing before '{words}'", self.command("query", words, status=2, sim=False).err)


class Schema(harness.Case):
    def rows(self, *words):
        return json.loads(self.command("schema", "--format", "json", *words, sim=False).out)

    def test_every_column_of_every_view_is_described(self):
        for row in self.rows():
            self.assertTrue(row["help"], f"{row['object']}.{row['column']} has no comment")
            self.assertTrue(row["row"], f"{row['object']}: what is a row of it?")

    def test_all_views_are_there(self):
        stored.make("lazy_launch", self.path("t.db"))
        database = sqlite3.connect(self.path("t.db"))
        names = [name for (name,) in database.execute(
            "SELECT name FROM sqlite_master WHERE type = 'view'")]
        columns = {(name, row[1]) for name in names
                   for row in database.execute(f"PRAGMA table_info({name})")}
        database.close()
        self.assertEqual({(row["object"], row["column"]) for row in self.rows()}, columns)

    def test_one_view_and_the_tables(self):
        self.assertEqual({row["object"] for row in self.rows("kernels")}, {"kernels"})
        self.assertIn(("gpu_op", "table"),
                      {(row["object"], row["kind"]) for row in self.rows("--tables")})
        shown = self.command("schema", "stalls", sim=False).out
        self.assertIn("jit_ns                 compiling\n", shown)
        self.command("schema", "nowhere", status=2, sim=False)
