"""GPU time by line: export, and what report, check and diff say of a stored trace. Whole outputs are in
stored.py."""

import json
import os
import re
import sqlite3
import subprocess
import xml.etree.ElementTree

import harness
import stored

SVG = "{http://www.w3.org/2000/svg}"
FOLDED = re.compile(r"[^;]+(;[^;]+)+ \d+")
# Names that would break a line, a document or a terminal. Each has a wish: what must be seen of it.
HOSTILE = (("'a;b' || char(10) || 'c d 5'", r"a\\x3bb\\nc d 5"), ("'<script>alert(1)</script>&amp;'", "<script>"),
           ("'\"' || char(39) || ']]>'", "\"']]>"), ("CAST(x'66ff80' AS TEXT)", r"f\\xff\\x80"),
           ("printf('%.*c', 10000, 'x')", "x" * 30), ("''", r"\?"), ("char(65534) || 'end'", ".end"),
           ("char(27) || '[31m'", r"\\x1b\[31m"))
UNSEEN = ("UPDATE process SET gpu = 'host-only', gpu_why = 'no libcupti'", "DELETE FROM gpu_op", "DELETE FROM gpu_place")


class Lines(harness.Case):
    def make(self, *changes, name="trace.db"):
        stored.make_anew("lines", self.path(name), *changes)
        return name

    def read(self, *words, status=0):
        return self.command(words[0], self.path("trace.db"), *words[1:], status=status, sim=False)

    def folded(self, *words):
        """{stack: nanoseconds}"""
        lines = self.read("export", "--to", "folded", *words).out.splitlines()
        for line in lines:
            self.assertTrue(FOLDED.fullmatch(line), line)
        return {stack: int(ns) for stack, ns in (line.rsplit(" ", 1) for line in lines)}

    def boxes(self):
        """(title, shown text, width) of each frame of the flame graph."""
        svg = self.read("export", "--to", "svg").out
        self.assertNotRegex(svg, "[\x00-\x09\x0b-\x1f]|<script")
        [frames] = xml.etree.ElementTree.fromstring(svg).findall(f"{SVG}g[@class='f']")
        return [(box.find(SVG + "title").text, box.find(SVG + "text").text or "",
                 float(box.find(SVG + "rect").get("width"))) for box in frames]


class Export(Lines):
    def test_stacks_add_up(self):
        self.make()
        self.assertEqual(sum(self.folded().values()), 8_400_000_000)
        boxes = self.boxes()
        self.assertAlmostEqual(sum(width for title, _, width in boxes if "GPU work" in title), boxes[0][2], delta=1)

    def test_hostile_names(self):
        for name, wish in HOSTILE:
            with self.subTest(name):
                self.make(f"UPDATE gpu_name SET name = {name}", f"UPDATE kernel SET name = {name}",
                          f"UPDATE frame SET function = {name}, file = {name} WHERE stack = 1",
                          f"UPDATE meta SET value = {name} WHERE key = 'program'")
                self.assertRegex("\n".join(self.folded()), ";" + wish)
                self.assertTrue(any(re.search(wish.replace(r"\\x3b", ";"), title) for title, *_ in self.boxes()))

    def test_a_stack_of_any_depth(self):
        self.make("INSERT OR REPLACE INTO frame (stack, depth, kind, function) WITH RECURSIVE n(i) AS (SELECT 0 UNION"
                  " ALL SELECT i + 1 FROM n WHERE i < 99999) SELECT 1, i, 'native', 'f' || i FROM n")
        longest = max(self.folded(), key=lambda stack: stack.count(";"))
        self.assertIn(";f1;f0;gemm", longest)
        self.assertLess(longest.count(";"), 300)
        self.boxes()

    def test_small_frames_are_drawn_together_or_not(self):
        many = ("INSERT INTO gpu_name SELECT 10 + value, 1, 10 + value, 'tiny' || value, 't' FROM (WITH RECURSIVE n(value)"
                " AS (SELECT 0 UNION ALL SELECT value + 1 FROM n WHERE value < 1999) SELECT value FROM n)")
        shapes = ("INSERT INTO gpu_shape SELECT id, 1, id, id, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0 FROM gpu_name WHERE id >= 10")
        work = ("INSERT INTO gpu_op SELECT 10000 + id, 1, 1, id, 11000000000 + id * 200000, {}, NULL, NULL, NULL, NULL, NULL"
                " FROM gpu_name WHERE id >= 10")
        for ns, titles in ((100_000, 1), (1000, 0)):
            self.make(many, shapes, work.format(ns))
            self.assertEqual(sum("tiny" in stack for stack in self.folded()), 2000)
            self.assertEqual(sum("2000 smaller" in title for title, *_ in self.boxes()), titles)
            self.assertNotIn("tiny", str(self.boxes()))

    def test_one_sample(self):
        self.make("DELETE FROM gpu_op WHERE call <> 12", "DELETE FROM call WHERE id <> 12",
                  "DELETE FROM call_stack WHERE call <> 12", "DELETE FROM call_sample WHERE call <> 12",
                  "INSERT OR REPLACE INTO call_stack VALUES (12, 1)", "INSERT OR REPLACE INTO call_sample VALUES (12, 7)")
        self.assertEqual(len(self.folded()), 1)
        self.assertIn("25.0 ms, 100.0 %, 1 sample", self.boxes()[-1][0])

    def test_text_fits_its_frame(self):
        self.make("UPDATE frame SET function = function || 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'")
        for title, shown, width in self.boxes():
            self.assertLess(6.6 * len(shown), width + 1, title)

    def test_nothing_to_export(self):
        self.make(*UNSEEN)
        result = self.read("export", "--to", "svg", "-o", "x.svg", status=3)
        self.assertIn("nothing to export: GPU activity of process 4242 was not recorded: no libcupti", result.err)
        self.assertEqual([name for name in os.listdir(self.path("")) if "svg" in name], [])
        self.make("DELETE FROM gpu_op")
        for what, said in (("gpu", "GPU time"), ("idle", "idle time of the devices"), ("stalls", "time lost in stalls")):
            result = self.read("export", "--to", "folded", "--of", what, status=3)
            self.assertEqual(result.out, "")
            self.assertRegex(result.err, f"nothing to export: .*trace.db has no {said}")

    def test_only_its_own_files_are_overwritten(self):
        self.make()
        for to, other in (("svg", "folded"), ("folded", "svg")):
            self.write("empty", "")
            self.write("notes", "text\n")
            self.write("numbered", "chapter 1\ntext\n")
            for path in ("new." + to, "new." + to, "empty"):
                self.read("export", "--to", to, "-o", path)
            with open(self.path("new." + to), encoding="utf-8") as file:
                self.assertEqual(file.read(), self.read("export", "--to", to).out)
            self.read("export", "--to", other, "-o", "old." + other)
            for path in ("notes", "numbered", "old." + other):
                with open(self.path(path), "rb") as file:
                    before = file.read()
                self.assertIn(f"is not an earlier export as {to}; --force",
                              self.read("export", "--to", to, "-o", path, status=3).err)
                with open(self.path(path), "rb") as file:
                    self.assertEqual(file.read(), before)
            self.read("export", "--to", to, "-o", "notes", "--force")

    def test_what_cannot_be_written(self):
        self.make()
        for path, why in (("/dev/full", "No space left"), ("/nowhere/x.svg", "No such file"), (".", "Is a directory")):
            result = self.read("export", "--to", "svg", "-o", path, status=3)
            self.assertIn(f"cannot write {path}: {why}", result.err)
        for to, words in (("/dev/full", "cannot write the output"), ("| true", "")):
            shell = subprocess.run(["sh", "-c", f"'{harness.gpuverify()}' export trace.db --to folded >{to}"
                                    if words else f"'{harness.gpuverify()}' export trace.db --to svg {to}"],
                                   cwd=self.path(""), stderr=subprocess.PIPE, text=True, check=False)
            self.assertIn(words, shell.stderr)
            self.assertEqual(shell.stderr.count("\n"), 1 if words else 0, shell.stderr)

    def test_wrong_use(self):
        self.make()
        self.assertIn("--to is missing: folded|svg", self.read("export", status=2).err)
        self.assertIn("did you mean 'folded'", self.read("export", "--to", "folde", status=2).err)


class Hostile(Lines):
    """Values of wrong types, in every column of what this is made of."""

    def test_wrong_types(self):
        for value in ("'text'", "x'00ff'", "-9223372036854775808", "9223372036854775807", "NULL", "1e308"):
            with self.subTest(value):
                self.make()
                database = sqlite3.connect(self.path("trace.db"))
                for table in ("gpu_op", "call_stack", "call_sample", "gpu_name", "frame"):
                    for _, column, _, _, _, key in database.execute(f"PRAGMA table_info({table})").fetchall():
                        if not key:
                            database.execute(f"UPDATE OR IGNORE {table} SET {column} = {value}")
                database.commit()
                database.close()
                self.read("report", "-s", "gpu_lines", "-s", "findings")
                for words in (["export", "--to", "folded"], ["export", "--to", "svg"],
                              ["check", "--max-gpu-of", "model.py=5%"], ["diff", self.path("trace.db")]):
                    self.assertIn(self.read(*words, status=None).status, (0, 1, 3), words)


class Report(Lines):
    def lines(self, *words):
        shown = json.loads(self.read("report", "-s", "gpu_lines", "--format", "json", *words).out)
        return shown["sections"]["gpu_lines"]

    def test_a_part(self):
        self.make()
        for words, ns in (((), 8_400_000_000), (("--from", "2s", "--to", "3s"), 840_000_000), (("--process", "4242"), 8_400_000_000)):
            self.assertAlmostEqual(sum(line["gpu_time_ns"] for line in self.lines(*words)), ns, delta=2)

    def test_the_unknown_is_last(self):
        self.make("UPDATE gpu_op SET duration_ns = 26000000 WHERE shape = 2")
        self.assertEqual([line["line"] for line in self.lines()][-1], None)
        self.assertEqual([line["line"] for line in self.lines("-n", "2")], ["model.py:41 Model.forward", "train.py:22 step"])

    def test_without_the_gpu_side_there_are_launches(self):
        self.make(*UNSEEN)
        self.assertEqual({line["gpu_time_ns"] for line in self.lines()}, {None})
        self.assertEqual(sum(line["launches"] for line in self.lines()), 600)
        self.assertNotRegex(self.read("report", "-s", "findings").out, r"\n     busy .* model\.py")

    def test_the_summary_names_the_lines_of_the_busy_time(self):
        self.make()
        told = " ".join(self.read("report", "-s", "findings").out.split())
        self.assertRegex(told, r" busy \S+ m?s \d+ % of it (about )?\d+ % model\.py:41 ")


class Check(Lines):
    def check(self, rule, limit, status):
        return self.read("check", "--max-gpu-of", f"{rule}={limit:.4f}", "--all", status=status).out

    def test_limits(self):
        self.make()
        rows = json.loads(self.read("query", "gpu-lines", "-f", "json").out)
        [unknown] = [row["share"] for row in rows if not row["function"]]
        [line] = [row for row in rows if row["line"] == 41]
        model = sum(row["share"] for row in rows if str(row["file"]).endswith("model.py"))
        share, error = line["share"], line["error"]
        for rule, limit, status, said in (
                ("model.py:41", share - 2.1 * error, 1, f"{100 * share:.1f} % of the GPU's time, standard error {100 * error:.1f} %\n"),
                ("model.py:41", share - 1.9 * error, 3, "not known"),
                ("model.py:41", share + 1.9 * error + unknown, 3, f"; of {100 * unknown:.1f} % the line is not known"),
                ("model.py:41", share + 2.1 * error + unknown, 0, "kept"),
                ("u/model.py", 0.3, 1, f"{100 * model:.1f} % of the GPU's time"), ("/home/u/model.py", 0.95, 0, "kept"),
                ("train.py:22", 0.2, 1, "23.8 % of the GPU's time, standard error 0.0 %"),
                # Another file, also by its end; a line that put no work on the GPU.
                ("el.py", 0.01, 3, "no stack of this trace has a line of that file"), ("train.py:18", 0.1, 0, "kept")):
            with self.subTest((rule, limit)):
                self.assertIn(said, self.check(rule, limit, status))

    def test_it_needs_the_gpu_side(self):
        self.make(*UNSEEN)
        self.assertIn("was not recorded: no libcupti", self.check("model.py", 0.5, 3))

    def test_wrong_values(self):
        self.make()
        for rule in ("model.py", "=5%", ":4=5%", "model.py=", "model.py=101%", "model.py=x"):
            self.assertIn("such as model.py:41=30%", self.read("check", "--max-gpu-of", rule, status=2).err)

    def test_junit(self):
        self.make()
        shown = self.read("check", "--max-gpu-of", "model.py:41=30%", "--junit", "-", status=1).out
        [case] = xml.etree.ElementTree.fromstring(shown.encode())
        self.assertEqual(case.attrib["name"], "max-gpu-of model.py:41=30%")


class Diff(Lines):
    def diff(self, *changes):
        after = self.make(*changes, name="after.db")
        self.make()
        return self.read("diff", "-s", "gpu_lines", self.path(after)).out

    def test_more_than_the_errors(self):
        """The lines of gemm have errors, that of quantize has none."""
        for factor, shown in (("11 / 10", False), ("2", True)):
            changed = self.diff(f"UPDATE gpu_op SET duration_ns = duration_ns * {factor} WHERE shape = 1")
            self.assertEqual("model.py:41" in changed, shown, changed)
        self.assertRegex(self.diff("UPDATE gpu_op SET duration_ns = duration_ns * 5 / 4 WHERE shape = 3"),
                         r"model.py:12 +400 ms +500 ms +\+100 ms +\+25.0 %")
