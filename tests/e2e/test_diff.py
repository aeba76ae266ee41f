"""gpuverify diff: what changed between runs, and whether that is more than noise."""

import json
import os
import sqlite3

import harness
import stored


class Diff(harness.Case):
    def trace(self, name, *statements):
        """A copy of the stored trace `add`, changed; its sums are made when it is read."""
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

    def test_more_than_noise(self):
        before = [self.slower(f"a{i}", factor) for i, factor in enumerate((10, 11, 12))]
        after = [self.slower(f"b{i}", factor) for i, factor in enumerate((13, 14, 15))]
        document, changes = self.changes(*before, "--", *after)
        row = changes["kernels", "scale", "ns"]
        self.assertEqual((row["before_min"], row["before"], row["before_max"]),
                         (35000, 38500, 42000))
        self.assertEqual((row["after_min"], row["after"], row["after_max"]), (45500, 49000, 52500))
        self.assertEqual(row["more_than_noise"], 1)
        self.assertEqual(document["before"]["traces"], before)

    def test_noise(self):
        before = [self.slower(f"a{i}", factor) for i, factor in enumerate((10, 14, 12))]
        after = [self.slower(f"b{i}", factor) for i, factor in enumerate((13, 14, 15))]
        _, changes = self.changes(*before, "--", *after)
        self.assertEqual(changes["kernels", "scale", "ns"]["more_than_noise"], 0)
        out = self.command("diff", *before, "--", *after, sim=False).out
        self.assertNotIn("scale", out)
        self.assertIn("more than the noise", out)

    def test_new_and_gone(self):
        one = self.slower("one", 1)
        two = self.trace("two", "UPDATE process SET gpu = 'cupti', gpu_why = NULL",
                         "UPDATE gpu_name SET name = 'other' WHERE name = 'scale'")
        _, changes = self.changes(one, two)
        self.assertEqual(changes["kernels", "scale", "count"]["after"], 0)
        self.assertEqual(changes["kernels", "other", "count"]["before"], 0)
        out = self.command("diff", "--all", one, two, sim=False).out
        self.assertRegex(out, r"scale +2 +0 +-2 +gone")
        self.assertRegex(out, r"other +0 +2 +\+2 +new")

    def test_gpu_side_that_was_not_seen(self):
        _, changes = self.changes(self.slower("one", 1), self.trace("two", "DELETE FROM gpu_op"))
        self.assertFalse([key for key in changes if key[0] in ("kernels", "copies")])
        out = self.command("diff", "one.db", "two.db", sim=False).out
        self.assertIn("not seen on both sides", out)

    def test_verdicts(self):
        stored.make("lazy_launch", self.path("other.db"))
        out = self.command("diff", self.slower("one", 1), "other.db", sim=False).out
        self.assertRegex(out, r"(?m)^before  one\.db: .*load/JIT-bound")
        self.assertRegex(out, r"(?m)^after   other\.db: stalled, accelerated$")

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
