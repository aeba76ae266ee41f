"""The commands' output for stored traces, compared whole; stored.py updates it."""

import json
import os
import sqlite3

import harness
import stored
import trace_schema


class Stored(harness.Case):
    """One case for each stored output, made below."""

    def check(self, trace, name, words, status, columns):
        words = stored.make_all(trace, words, self.path(""))
        result = self.command(*words, status=status, sim=False, env={"COLUMNS": columns})
        self.assertEqual(stored.comparable(name, result.out), stored.expected(trace, name))
        self.assertNotIn("\x1b", result.out + result.err)


def add(trace, name, *how):
    def case(self):
        self.check(trace, name, *how)
    setattr(Stored, f"test_{trace}_{name.replace('.', '_')}", case)


for output in stored.OUTPUTS:
    add(*output)
del output


class Pages(harness.Case):
    def test_pages_show_what_is_printed(self):
        for name, words in stored.PAGES.items():
            with self.subTest(name):
                self.assertEqual(stored.page_with(name, self.command(*words, sim=False).out),
                                 stored.read(stored.page_path(name)), "tests/e2e/stored.py writes it anew")


class LatestEarlierSchema(harness.Case):
    """What version 6 lacks: the variables of a process."""

    def test_it_has_no_variables(self):
        stored.make_anew("lazy_launch", self.path("trace.db"), "PRAGMA user_version = 6",
                         "DROP VIEW environment", "DROP TABLE variable")
        shown = self.command("report", self.path("trace.db"), "--section", "environment", sim=False).out
        self.assertIn("none", shown)
        self.assertIn("lazy-load", self.command("stalls", self.path("trace.db"), sim=False).out)


class EarlierSchema(harness.Case):
    """A trace that version 5 of the schema wrote: traces/schema_5.sql is the whole file, as SQL."""

    def make(self, *changes):
        path = self.path("earlier.db")
        if os.path.exists(path):
            os.remove(path)
        database = sqlite3.connect(path)
        database.executescript(stored.read(os.path.join(stored.TRACES, "schema_5.sql")))
        for change in changes:
            database.execute(change)
        database.commit()
        database.close()
        return path

    def read(self, path, *words, status=0):
        result = self.command(words[0], path, *words[1:], status=status, sim=False)
        if not status:
            self.assertIn(result.err, ("", "gpuverify: no row\n"))
        return result.out + result.err

    def test_it_is_read(self):
        path = self.make()
        self.assertIn("the worst for 150 ms", self.read(path, "report"))
        self.assertIn("lazy-load", self.read(path, "stalls"))
        self.assertIn("cuModuleLoadData", self.read(path, "explain", "1"))
        self.assertIn("Nothing changed.", self.read(path, "diff", path))
        self.read(path, "check", "--max-losses", "0", "--min-kernels", "6")
        self.assertNotIn("gpuverify cost", self.read(path, "report"))
        self.assertIn("what gpuverify cost is not in this trace",
                      self.read(path, "check", "--max-own-cost", "1%", status=3))

    def test_every_view_answers(self):
        path = self.make()
        own = sqlite3.connect(":memory:")
        own.executescript(trace_schema.sql())
        for (name,) in own.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
            self.read(path, "query", f"SELECT * FROM {name}")
        own.close()
        self.assertIn("22", self.read(path, "query", "SELECT count(*) FROM calls"))
        self.assertIn("0", self.read(path, "query", "SELECT count(*) FROM environment"))

    def test_its_views_say_what_they_said(self):
        """The file's own views, as plain SQLite reads them, against today's, which `query` puts before them."""
        path = self.make()
        database = sqlite3.connect(path)
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
            rows = database.execute(f"SELECT * FROM {name}")
            columns = [column[0] for column in rows.description]
            then = sorted(map(repr, rows))
            words = f"SELECT {', '.join(columns)} FROM {name}"
            found = self.command("query", path, words, "--format", "json", sim=False).out
            now = sorted(repr(tuple(row[column] for column in columns)) for row in json.loads(found))
            self.assertEqual(then, now, name)
        database.close()
        for summary, count in (("api_summary", 12), ("kernel_summary", 3)):
            self.assertIn(f" {count}\n", self.read(path, "query", f"SELECT count(*) AS count FROM {summary}"))

    def test_every_command_reads_it(self):
        path = self.make()
        for words in (["report", "--format", "json"], ["report", "--section", "kernels"], ["stalls", "--format", "json"],
                      ["explain"], ["diff", path, "--format", "json"], ["check", "--min-kernels", "6"]):
            self.read(path, *words)
        for query in json.loads(self.command("query", "--list", "--format", "json", sim=False).out):
            self.read(path, "query", query["name"])

    def test_a_table_that_it_lacks_is_empty(self):
        path = self.make("DROP TABLE sample")
        self.assertRegex(self.read(path, "query", "SELECT count(*) AS n FROM samples"), "n\\s+0\\s")
        self.read(path, "report")

    def test_a_table_that_it_has_otherwise_is_refused(self):
        path = self.make("ALTER TABLE sample ADD COLUMN more")
        self.assertIn("are not those of this version", self.read(path, "report", status=3))

    def test_versions_outside_are_refused(self):
        for version in (4, stored.schema_version() + 1):
            path = self.make(f"PRAGMA user_version = {version}")
            self.assertIn(f"its schema is {version}, this one reads 5 to {stored.schema_version()}",
                          self.read(path, "report", status=3))
