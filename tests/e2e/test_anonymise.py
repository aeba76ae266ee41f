"""export --anonymise: nothing of the program's names is in the copy, and every number is as it was."""

import json
import os
import shutil
import sqlite3
import sys

import harness
import stored
import trace_schema

WORD = "sesame"  # in every name of the program
# Numbers of processes and threads. Stored traces have no advice and no sums, which the copy has.
LEFT_OUT = ("process", "thread", "pid", "tid", "parent_pid", "other_pid", "advice", "run_ns", "key", "title", "fix", "then", "detail")
UNDATED = "DELETE FROM meta WHERE key IN ('start_unix_ns', 'unix_offset_ns', 'host', 'arguments')"
READERS = (("report",), ("stalls", "--all"), ("idle",))
TRACES = sorted({trace for trace, *_ in stored.OUTPUTS})


def numbers(value):
    """All numbers of a document, and what is no name, in an order that names do not change."""
    if isinstance(value, dict):
        return sorted((key, numbers(item)) for key, item in value.items()
                      if key not in LEFT_OUT)
    if isinstance(value, list):
        return sorted((numbers(item) for item in value), key=repr)
    return "" if isinstance(value, str) else value


class Anonymised(harness.Case):
    def anonymise(self, path, *words, status=0):
        copy = self.path("copy.db")
        result = self.command("export", path, "--anonymise", "-o", copy, "--force", *words, status=status, sim=False)
        self.assertEqual(os.stat(copy).st_mode & 0o777, 0o600)
        return copy, result

    def read(self, path, *words):
        return json.loads(self.command(*words, "--format", "json", path, sim=False).out)

    def lacks(self, path, word=WORD):
        with open(path, "rb") as file:
            found = file.read()
        for text in (word, word.upper(), word.capitalize()):
            for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
                at = found.find(text.encode(encoding))
                self.assertEqual(at, -1, found[max(0, at - 100):at + 100])

    def check_commands(self, copy):
        """What is made of the copy lacks the names too."""
        for words in (["report"], ["stalls", "--all"], ["idle"], ["explain"]):
            self.command(*words, copy, sim=False)
        for name in ("html", "perfetto"):
            self.command("export", copy, "--to", name, "-o", self.path("out"), "--force", sim=False)
            self.lacks(self.path("out"))

    def test_names_of_a_program(self):
        folder = self.path(WORD + "-folder")
        os.mkdir(folder)
        script = os.path.join(folder, WORD + "_train.py")
        shutil.copy(os.path.join(stored.HERE, "programs", "private_names.py"), script)
        os.symlink(sys.executable, os.path.join(folder, WORD + "-python"))
        path = self.path("trace.db")
        self.run_program([os.path.join(folder, WORD + "-python"), script, WORD], cwd=folder,
                         env={"GPUVERIFY_TRACE": path, "PYTORCH_CUDA_ALLOC_CONF": "pool:" + WORD, "GPUVERIFY_STACKS": "all",
                              "CUDA_VISIBLE_DEVICES": "0", "GPUVERIFY_GPU": "on"})
        self.settle()
        with open(path, "rb") as file:
            held = file.read()
        for text in ("pool:sesame", "sesame_train.py", "sesame_function", "sesame_launch", "spin_sesame",
                     "sesame step 2", "sesame mark", "sesame-folder"):
            self.assertIn(text.encode(), held)
        database = sqlite3.connect(path)
        database.execute("UPDATE meta SET value = ? WHERE key = 'host'", (WORD + "-host",))
        database.execute("UPDATE thread SET name = ?", (WORD + "-thread",))
        database.execute("INSERT INTO other_process VALUES (1, 'GPU-sesame', 77, 'sesame-other', 1, 2, 0, 0)")
        start, session = database.execute("SELECT (SELECT value FROM meta WHERE key = 'start_unix_ns'), value FROM meta"
                                          " WHERE key = 'session'").fetchone()
        database.commit()
        database.execute("CREATE TABLE gone AS SELECT 'sesame-gone'")
        database.execute("DROP TABLE gone")  # in the file's free pages, it is still there
        database.execute("CREATE TABLE notes AS SELECT 'sesame'")
        database.execute("CREATE VIEW sesame AS SELECT 1")
        database.commit()
        database.close()
        copy, _ = self.anonymise(path)
        for word in (WORD, str(session), os.uname().nodename + "\0", folder):
            self.lacks(copy, word)
        self.check_commands(copy)
        told = self.command("explain", copy, "s1", sim=False).out
        self.assertRegex(told, r"file_\d+\.py:\d+ function_\d+")
        self.assertRegex(told, r"kernel_\d+")
        trace = self.open_trace(copy)
        self.assertEqual(trace.rows("SELECT name, value FROM environment ORDER BY name"),
                         [("CUDA_VISIBLE_DEVICES", "0"), ("PYTORCH_CUDA_ALLOC_CONF", "left out")])
        self.assertIn("cuModuleLoadData", trace.names())
        self.assertNotIn("start_unix_ns", trace.meta())
        self.assertIn("/threading.py", " ".join(file for (file,) in trace.rows("SELECT DISTINCT file FROM frames") if file))
        self.assertNotIn(start, [value for (value,) in trace.rows("SELECT value FROM meta")])
        # Each name has one replacement: as many names as there were.
        names = "SELECT count(DISTINCT file), count(DISTINCT function), count(DISTINCT library) FROM frames"
        self.assertEqual(trace.rows(names), self.open_trace(path).rows(names))
        database = sqlite3.connect(path)
        database.execute(UNDATED)
        database.commit()
        database.close()
        for words in READERS:
            self.assertEqual(numbers(self.read(copy, *words)), numbers(self.read(path, *words)), words)

    def test_every_text_column(self):
        """Also those that these traces leave empty, and columns of numbers with texts in them."""
        ours = {(table.name, column.name) for table in trace_schema.tables() for column in table.columns if column.rule == "ours"}
        for trace in ("starved", "days", "hang"):
            path = self.path("trace.db")
            stored.make_anew(trace, path)
            database = sqlite3.connect(path)
            tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
                      if name not in ("copy_kind", "minute_what", "meta")]
            changed = 0
            for table in tables:
                for _, column, kind, _, _, key in database.execute(f"PRAGMA table_info({table})").fetchall():
                    if (table, column) in ours or (kind == "INTEGER" and (key or table in ("gpu_op", "call"))):
                        continue
                    if kind == "INTEGER" and table not in ("load", "range", "object", "frame"):
                        continue
                    changed += database.execute(f"UPDATE OR IGNORE {table} SET {column} = '/x/{WORD}/' || hex(randomblob(4)) || '"
                                                f"{WORD}.py'").rowcount
            database.execute(f"UPDATE meta SET value = '{WORD}' WHERE key IN ('host', 'arguments', 'directory', 'program')")
            database.execute(f"INSERT INTO meta VALUES ('new', '{WORD}')")
            database.commit()
            database.close()
            self.assertGreater(changed, 20)
            copy, _ = self.anonymise(path)
            self.lacks(copy)

    def test_every_number_is_the_same(self):
        for trace in TRACES:
            path = self.path("trace.db")
            stored.make_anew(trace, path, UNDATED)
            copy, _ = self.anonymise(path)
            for words in READERS:
                with self.subTest(trace=trace, words=words):
                    self.assertEqual(numbers(self.read(copy, *words)), numbers(self.read(path, *words)))

    def test_libc_by_two_paths(self):
        stored.make_anew("starved", self.path("trace.db"),
                         "UPDATE frame SET library = iif(depth % 2, '/lib/x/libc.so.6', '/usr/lib/x/libc.so.6')")
        copy, _ = self.anonymise(self.path("trace.db"))
        libraries = {library for (library,) in self.open_trace(copy).rows("SELECT DISTINCT library FROM frames WHERE library IS NOT NULL")}
        self.assertEqual(libraries, {"/libc.so.6", "/library_1/libc.so.6"})

    def test_other_formats(self):
        stored.make_anew("lazy_launch", self.path("trace.db"),
                         f"UPDATE frame SET function = '{WORD}', file = '{WORD}.cu' WHERE file IS NOT NULL")
        os.rename(self.path("trace.db"), self.path(WORD + ".db"))
        for name in ("html", "perfetto", "folded", "openmetrics"):
            words = ("--of", "stalls") if name == "folded" else ()
            self.command("export", self.path(WORD + ".db"), "--to", name, *words, "--anonymise", "-o", self.path("out"), "--force",
                         sim=False)
            self.lacks(self.path("out"))
        self.assertEqual(sorted(os.listdir(self.dir)), ["out", WORD + ".db"])

    def test_wrong_use(self):
        stored.make_anew("add", self.path("trace.db"))
        trace = self.path("trace.db")
        for words, status, said in ((["-o", trace], 3, "is the trace itself"), ([], 2, "-o FILE is missing"),
                                    (["-o", self.write("x", "mine")], 3, "exists; --force"),
                                    (["--of", "gpu", "-o", "y.db"], 2, "no effect on a trace"),
                                    (["-o", "/no/folder/y.db"], 3, "cannot write"),
                                    (["-o", "/dev/null"], 3, "cannot write")):
            self.assertIn(said, self.command("export", trace, "--anonymise", *words, status=status, sim=False).err)
        stored.make_anew("add", trace, "UPDATE meta SET value = 'recording' WHERE key = 'state'")
        self.assertIn("make a snapshot", self.command("export", trace, "--anonymise", "-o", self.path("y.db"), status=3,
                                                      sim=False).err)
        self.assertFalse(os.path.exists(self.path("y.db")))
