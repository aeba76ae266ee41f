"""Invented traces: wrong, cut, huge, or harmful to read."""

import contextlib
import glob
import itertools
import json
import os
import re
import sqlite3
import struct
import urllib.request

import harness
import stored

ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {} FROM n"
# Each command that takes a trace: FILE. OUT is what it writes.
EVERY = ("report FILE", "report FILE --range step --from 0s --format json", "stalls FILE --all", "stalls FILE --range step",
         "idle FILE", "idle FILE --range step", "top FILE --once", "explain FILE", "check FILE --min-gpu-busy 1% --max-idle 1%",
         "diff FILE FILE", "diff FILE FILE --by-range", "start FILE", "stop FILE", "mark FILE x", "snapshot FILE -o OUT",
         "merge FILE FILE -o OUT", "recover FILE", "rows FILE processes=1", "export FILE --anonymise -o OUT")
WITHOUT_TRACE = {"run", "look", "fleet", "schema", "probe", "doctor", "jupyter", "mcp", "help", "trial", "collect"}
READING = (["report"], ["stalls"], ["idle"], ["explain"], ["query"])


class Hostile(harness.Case):
    def make(self, *statements, name="lazy_launch"):
        """A stored trace, changed by SQL. Its schema can be changed too."""
        path = self.path("trace.db")
        if os.path.exists(path):
            os.remove(path)
        stored.make(name, path)
        database = sqlite3.connect(path)
        database.execute("PRAGMA writable_schema = ON")
        for statement in statements:
            database.execute(statement)
        database.commit()
        database.close()
        return path

    def read(self, path, status):
        """Every command that reads a trace; what it says, together."""
        said = ""
        for words in READING:
            more = ["SELECT count(*) FROM calls"] if words == ["query"] else []
            result = self.command(*words, path, *more, status=status, sim=False)
            said += result.out + result.err
        self.assertNotRegex(said, "[\x00-\x08\x0b-\x1f\x7f-\x9f]")
        return said

    def test_journal_that_is_no_file_is_not_waited_for(self):
        path = self.make()
        for make in (os.mkfifo, os.mkdir):
            make(path + "-journal")
            self.assertIn("-journal, -wal or -shm is not a regular file", self.read(path, 3))
            result = self.command("recover", path, status=3, sim=False)
            self.assertIn("is not a regular file", result.err)
            if make is os.mkfifo:
                os.remove(path + "-journal")
            else:
                os.rmdir(path + "-journal")
        self.read(path, 0)

    def test_journal_that_names_a_file_deletes_nothing(self):
        """SQLite deletes the file that a journal of several databases names, after it has rolled back."""
        path, victim = self.make(), self.path("precious").encode()
        with open(victim, "w", encoding="utf-8") as file:
            file.write("precious")
        with open(path, "rb") as file:
            page = file.read(4096)
        mark = bytes.fromhex("d9d505f920a163d7")
        header = mark + struct.pack(">5I", 1, 0, os.path.getsize(path) // 4096, 512, 4096)
        record = struct.pack(">I", 1) + page + struct.pack(">I", sum(page[i] for i in range(4096 - 200, 0, -200)))
        name = struct.pack(">I", (1 << 30) // 4096 + 1) + victim + struct.pack(">II", len(victim), sum(victim)) + mark
        with open(path + "-journal", "wb") as file:
            file.write(header.ljust(512, b"\0") + record + name)
        self.assertIn("names other files", self.read(path, 3))
        self.command("recover", path, status=3, sim=False)
        self.assertTrue(os.path.exists(victim))

    def test_no_file_is_opened_that_only_the_trace_names(self):
        """A trace that is not finished names the folder of its records, and the files of its stacks."""
        os.mkfifo(self.path("pipe"))
        path = self.make("UPDATE meta SET value = 'recording' WHERE key = 'state'",
                         "UPDATE meta SET value = '4194999-1-12345678' WHERE key = 'session'",
                         f"INSERT OR REPLACE INTO meta VALUES ('spool_directory', '{self.path('.')}')",
                         "INSERT OR REPLACE INTO object (id, process, base, low, high, path)"
                         f" VALUES (1, 1, 0, 0, 1, '{self.path('pipe')}')",
                         "UPDATE frame SET object = 1, function = NULL", name="lines")
        with open(path, "rb") as file:
            before = file.read()
        self.read(path, 0)
        self.assertIn("nothing to recover", self.command("recover", path, status=0, sim=False).err)
        with open(path, "rb") as file:
            self.assertEqual(before, file.read())

    def test_many_calls_at_once(self):
        """The search for the call that an operation ended in must not visit all of a thread's."""
        many = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) "
        path = self.make(
            many + "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, context) SELECT 1000 + i, 1,"
            " (SELECT id FROM api WHERE name LIKE '%Synchronize' LIMIT 1), 116000000 + i, 1000000000 + i * 1000, 0, 1"
            " FROM n",
            many + "INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns) SELECT 1000 + i, 1, 1, 116000000 + i,"
            " 500000000 + i * 3 FROM n", name="lock_copy")
        result = self.run_program(["sh", "-c", 'ulimit -t 20; exec "$@"', "sh", harness.gpuverify(), "stalls", path, "-n1"],
                                  preload=False, sim=False)
        self.assertEqual(result.status, 0, result.err)

    def test_trace_that_is_cut_is_called_so(self):
        for size in (5000, 40000):
            path = self.make()
            os.truncate(path, size)
            self.assertIn("cut off or damaged", self.read(path, 3))

    def test_views_of_the_file_are_not_run(self):
        self.make()
        for view, columns in (("calls", "i AS id, i AS start_ns, i AS duration_ns"),
                              ("stalls", "i AS id"), ("api_summary", "i AS count"),
                              ("losses", "i AS count")):
            path = self.make(f"DROP VIEW {view}", f"CREATE VIEW {view} AS " + ENDLESS.format(columns))
            self.assertIn("41", self.read(path, 0))

    def test_views_that_ours_query_are_not_run(self):
        """Of a finished trace, whose stored results are used."""
        path = self.path("snapshot.db")
        self.command("snapshot", self.make(name="lines"), "-o", path, sim=False)
        database = sqlite3.connect(path)
        database.execute("DROP VIEW recording")
        database.execute("CREATE VIEW recording AS " + ENDLESS.format("i AS process, 'calls' AS side, 0 AS start_ns, 1 AS end_ns,"
                                                                      " 'stopped' AS gpu"))
        database.close()
        self.command("query", path, "SELECT count(*) FROM minutes", sim=False)
        self.command("stalls", "--range", "step", path, sim=False)

    def content(self, path):
        """The files at the path, which are removed. Of a trace, its tables."""
        found = {}
        for name in sorted(glob.glob(path + "/*") if os.path.isdir(path) else glob.glob(path)):
            with open(name, "rb") as file:
                found[name] = file.read()
            if found[name].startswith(b"SQLite"):
                with contextlib.closing(sqlite3.connect(name)) as database:
                    found[name] = [line for line in database.iterdump() if " VIEW " not in line]
        for name in found:
            os.remove(name)
        if os.path.isdir(path):
            os.rmdir(path)
        return found

    def told(self, path, views):
        """What each command says and writes about the trace."""
        with open(os.path.join(harness.SOURCE, "report/commands/export/formats.def"), encoding="utf-8") as formats:
            exports = re.findall(r"^GV_EXPORT_(?!FLEET)\w+\((\w+),", formats.read(), re.M)
        lines = [line.split() for line in (*EVERY, *(f"export FILE --force --to {name} -o OUT" for name in exports))]
        told = {}
        for words in (*lines, *(["query", "FILE", f"SELECT * FROM {view}"] for view in views)):
            result = self.command(*({"FILE": path, "OUT": self.path("out")}.get(word, word) for word in words), status=None, sim=False)
            told[" ".join(words)] = result.status, result.out, result.err, self.content(self.path("out"))
        server = self.start([harness.gpuverify(), "metrics", "--listen", "127.0.0.1:0", path], preload=False, sim=False, text=True)
        with urllib.request.urlopen(server.stdout.readline().split()[-1], timeout=harness.SOON_S) as answer:
            told["metrics FILE"] = 0, answer.read()
        server.terminate()
        server.communicate()
        return told

    def test_no_command_runs_a_view_of_the_file(self):
        """Whatever compiles one of these views fails. Of a finished trace, whose sums are used, and of one without sums."""
        with open(os.path.join(harness.SOURCE, "report/commands/commands.def"), encoding="utf-8") as table:
            commands = set(re.findall(r"^GV_COMMAND\((\w+),", table.read(), re.M))
        self.assertEqual(commands - WITHOUT_TRACE, {line.split()[0] for line in EVERY} | {"metrics", "query"})
        for finished in (True, False):
            path = self.make(name="lines")
            if finished:
                self.command("snapshot", path, "-o", self.path("snapshot.db"), sim=False)
                os.replace(self.path("snapshot.db"), path)
            with contextlib.closing(sqlite3.connect(path)) as database:
                views = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'view'")]
            wanted = self.told(path, views)
            self.assertLessEqual({words.split()[0] for words, said in wanted.items() if said[0]}, {"start", "stop", "mark", "check"})
            with contextlib.closing(sqlite3.connect(path)) as database:
                for view in views:
                    database.execute(f"DROP VIEW {view}")
                    database.execute(f"CREATE VIEW {view} AS SELECT trap() AS id")
            told = self.told(path, views)
            self.assertEqual([words for words in wanted if told[words] != wanted[words]], [])

    def test_views_are_not_run_to_finish_a_trace(self):
        session = "999999999-1-0123abcd"
        for words in (["report"], ["recover"], ["snapshot", "-o", self.path("snapshot.db")]):
            self.write(session + ".session", "")
            path = self.make("UPDATE meta SET value = 'recording' WHERE key = 'state'", "DROP VIEW frames",
                             "CREATE VIEW frames AS " + ENDLESS.format("i AS stack, i AS depth, 'k' AS kind, 'f' AS function,"
                                                                       " 'l' AS library, 'f' AS file, 1 AS line, 1 AS address"),
                             f"INSERT OR REPLACE INTO meta VALUES ('session', '{session}')",
                             f"INSERT OR REPLACE INTO meta VALUES ('spool_directory', '{self.dir}')")
            self.command(*words, path, sim=False)
            database = sqlite3.connect(path)
            self.assertEqual(database.execute("SELECT value FROM meta WHERE key = 'state'").fetchall(), [("complete",)], words)
            database.close()

    def test_a_view_that_is_gone_is_made_again(self):
        path = self.make("DROP VIEW calls", "DROP VIEW api_summary", "DROP VIEW frames")
        self.assertIn("cudaLaunchKernel", self.read(path, 0))

    def test_tables_have_to_be_tables(self):
        for table in ("call", "process", "meta", "kernel"):
            path = self.make(f"ALTER TABLE {table} RENAME TO hidden_{table}",
                             f"CREATE VIEW {table} AS " + ENDLESS.format("i AS key, i AS value"))
            self.assertRegex(self.read(path, 3), "is not a gpuverify trace|are not those of")

    def test_tables_have_to_be_ours(self):
        path = self.make("DROP TABLE kernel",
                         "CREATE TABLE kernel (id INTEGER PRIMARY KEY, process INTEGER, number"
                         " INTEGER, name TEXT AS (hex(zeroblob(1000000000))), module, handle,"
                         " named_ns)")
        self.assertIn("are not those of this version", self.read(path, 3))
        path = self.make("DROP TABLE loss")
        self.assertIn("are not those of this version", self.read(path, 3))

    def test_what_else_is_in_the_file_is_left_alone(self):
        path = self.make("CREATE VIEW mine AS " + ENDLESS.format("i"),
                         "CREATE TABLE notes (x)",
                         "CREATE TRIGGER t AFTER INSERT ON call BEGIN DELETE FROM call; END")
        self.assertIn("41", self.read(path, 0))

    def test_another_version_is_named(self):
        path = self.make("PRAGMA user_version = 2")
        self.assertIn("another version of gpuverify: its schema is 2", self.read(path, 3))

    def test_a_broken_schema(self):
        for change in ("sql = 'CREATE VIEW calls AS SELECT ' || char(27) || '[2J FROM'",
                       "rootpage = 100000", "type = 'nonsense'", "name = x'ff00'"):
            path = self.make(f"UPDATE sqlite_master SET {change} WHERE name = 'calls'"
                             " OR name = 'call'")
            self.read(path, 3)

    def test_wrong_types_everywhere(self):
        values = ("'text'", "x'00ff'", "-9223372036854775808", "9223372036854775807", "1e308",
                  "char(27) || '[31m' || char(10) || char(155)")
        for value, name in itertools.product(values, ("lazy_launch", "starved")):
            path = self.make("INSERT INTO idle_sample (process, thread, at_ns, about, target, signs)"
                             " VALUES (1, 1, 1, 0, 0, 0), (1, 1, 2, 1, 1, 255)",
                             "INSERT INTO idle_time (process, start_ns, duration_ns, gaps, reason,"
                             " samples, confidence) VALUES (1, 1, 1, 1, 'gil', 1, 'sampled')",
                             "INSERT OR REPLACE INTO gpu_change VALUES (1, 1, 'cupti', 'Proton')",
                             "INSERT OR REPLACE INTO cost VALUES (1, 'thread', 1, 1, 1)", name=name)
            database = sqlite3.connect(path)
            tables = database.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
                " AND name <> 'meta'").fetchall()
            for (table,) in tables:
                for _, column, _, _, _, key in database.execute(f"PRAGMA table_info({table})"):
                    if not key:
                        database.execute(f"UPDATE OR IGNORE {table} SET {column} = {value}")
            database.execute(f"UPDATE meta SET value = {value} WHERE key NOT IN ('session',"
                             " 'spool_directory', 'state')")
            database.commit()
            database.close()
            self.read(path, 0)

    def test_long_texts_are_cut_or_refused(self):
        path = self.make("UPDATE api SET name = printf('%1000000s', 'x')",
                         "UPDATE process SET program = printf('%1000000s', 'x')")
        self.assertLess(len(self.read(path, 0)), 100000)
        path = self.make("UPDATE api SET name = printf('%20000000s', 'x')")
        self.assertRegex(self.command("report", path, status=3, sim=False).err,
                         "too big|too large")

    def test_long_texts_do_not_make_long_explanations(self):
        """A finding and its stall: the names in their stacks, and a fix that is not ours. JSON has all of that."""
        path = self.make("UPDATE frame SET file = '/' || printf('%.*c', 1000000, 'f') WHERE file NOT NULL",
                         "UPDATE frame SET library = '/' || printf('%.*c', 1000000, 'l') WHERE library NOT NULL",
                         "UPDATE stall_advice SET text = printf('%.*c', 1000000, 'a')")
        for name in ("f4", "s1"):
            said = self.command("explain", path, name, sim=False).out
            self.assertRegex(said, r"where   f{200,252}\.\.\.:\d+\s")
            self.assertRegex(said, r"fix     a{8000,8190}\.\.\.\n")
            self.assertLess(len(said), 20000)
        told = self.command("explain", path, "s1", "--format", "json", sim=False).out
        self.assertEqual(json.loads(told)["stall"]["fix"], "a" * 1000000)

    def documents(self, path, *commands):
        """What the commands write as JSON, and its length."""
        outs = [self.command(*words, path, "--format", "json", sim=False).out for words in commands]
        return [json.loads(out) for out in outs], sum(map(len, outs))

    def test_long_texts_do_not_make_long_documents(self):
        path = self.make("UPDATE api SET name = printf('%.*c', 1000000, 'x') || id")
        (report, stalls), length = self.documents(path, ["report"], ["stalls", "--all"])
        self.assertLess(length, 300000)
        for name in (report["sections"]["calls"][0]["call"], stalls["stalls"][0]["name"]):
            self.assertRegex(name, r"^x{8000,8190}\.\.\.$")
        self.make("UPDATE api SET name = printf('%.*c', 9000, 'x')")
        asked = self.command("query", "-f", "json", path, "SELECT name, CAST(name AS BLOB) AS b FROM api", sim=False)
        self.assertEqual(json.loads(asked.out)[0], {"name": "x" * 9000, "b": "x'" + "78" * 9000 + "'"})

    def test_texts_in_the_place_of_sums(self):
        self.run_well([harness.workload("reload")], quiet=False)
        self.settle()
        with sqlite3.connect(self.path("trace.db")) as database:
            self.assertGreater(database.execute(
                "UPDATE fact SET value = printf('%.*c', 100000, 'x')").rowcount, 30)
        database.close()
        (report,), length = self.documents("trace.db", ["report"])
        self.assertLess(length, 300000)
        self.assertIsNone(report["sections"]["run"][0]["calls"])
        (report,), _ = self.documents("trace.db", ["report", "-s", "timeline"])
        self.assertTrue(report["sections"]["timeline"])
        shown = self.command("report", "trace.db", "--section", "run", sim=False).out
        self.assertRegex(shown, r"calls +-\n")

    def test_numbers_that_nothing_has(self):
        """High ids must not make the commands allocate memory for them."""
        for table in ("api", "thread", "gpu_place", "gpu_shape", "stream", "context", "process",
                      "kernel"):
            path = self.make(f"UPDATE {table} SET id = 60000000 WHERE id = (SELECT max(id) FROM {table})")
            for words in (["report"], ["check", "--max-errors=9"], ["stalls"]):
                result = self.run_program(
                    ["sh", "-c", 'ulimit -v 400000; exec "$@"', "sh", harness.gpuverify(), words[0],
                     path, *words[1:]], preload=False, sim=False)
                self.assertIn(result.status, (0, 3) if table in ("thread", "process") else (0,), result.err)
                self.assertNotRegex(result.err, "memory|not an error")

    def test_a_cut_file(self):
        path = self.make()
        size = os.path.getsize(path)
        for kept in (0, 1, 100, 512, 4096, 5000, size // 2, size - 4096, size - 1):
            self.make()
            os.truncate(path, kept)
            for words in READING:
                more = ["SELECT count(*) FROM calls"] if words == ["query"] else []
                result = self.command(*words, path, *more, status=None, sim=False)
                self.assertIn(result.status, (0, 3), result.err)
