"""Compares the fields promised in docs/json with what the commands write."""

import csv
import io
import json
import os

import harness
import promises
import stored

# Enough on each side for a rank test.
RANK = ["{}"] * 4 + ["--"] + ["{early_launch}"] * 4
# file in docs/json: command lines about a stored trace, {} being the trace
DOCUMENTS = {
    "check": [("lazy_launch", ["check", "{}", "--no-jit", "--max-errors", "0"]),
              ("hostile", ["check", "{}", "--max-errors", "9", "--no-jit"])],
    "diff": [("lazy_launch", ["diff", "{}", "--all", "{}"]), ("add", ["diff", "{lazy_launch}", "{}"]),
             ("lazy_launch", ["diff", "{}", "{early_launch}", "--all"]), ("add", ["diff", *RANK])],
    "doctor": [("lazy_launch", ["doctor", "--no-trial", "/bin/sh"])],
    "explain": [("lazy_launch", ["explain", "{}"]), ("lazy_launch", ["explain", "{}", "s2"]),
                ("hang", ["explain", "{}"]), ("busy_anyway", ["explain", "{}", "1"]),
                ("unexplained", ["explain", "{}", "3"]), ("hostile", ["explain", "{}"]), ("add", ["explain", "{}"]),
                ("host_function", ["explain", "{}"]), ("starved", ["explain", "{}", "i10"]),
                ("inferred_idle", ["explain", "{}", "i1"]), ("lines", ["explain", "{}"])],
    "idle": [("starved", ["idle", "{}"]), ("inferred_idle", ["idle", "{}"]), ("add", ["idle", "{}"])],
    "query": [("lazy_launch", ["query", "{}", "kernels"])],
    "query-list": [("lazy_launch", ["query", "--list"])],
    "report": [("add", ["report", "{}"]), ("add", ["report", "{}", "-s", "timeline", "-s", "samples"]),
               ("lazy_launch", ["report", "{}"]), ("starved", ["report", "{}"]),
               ("hostile", ["report", "{}"]), ("lines", ["report", "{}"]), ("sampled", ["report", "{}"]),
               ("days", ["report", "{}"]), ("graphs", ["report", "{}"]), ("job", ["report", "{}"])],
    "schema": [("lazy_launch", ["schema"]), ("lazy_launch", ["schema", "--tables"])],
    "stalls": [("lazy_launch", ["stalls", "{}", "--all"]), ("hostile", ["stalls", "{}"])],
}


# Those whose documents are tested elsewhere.
ELSEWHERE = {"probe", "look", "look-several"}  # test_probe.py, test_look.py


# What `gpuverify probe` measured, of which `explain` tells.
PROBE = {"format": "gpuverify probe 1", "unix_s": 1700000000, "driver_version": 13000, "driver": "580",
         "gpu": "NVIDIA H100 80GB HBM3", "calls": [
             {"cause": "jit", "status": "measured", "mode": "LAZY", "call": "cuLibraryLoadData", "with": "", "waits": False,
              "idle_ns": 1000000, "busy_ns": 1000000, "kernel_ns": 50000000}]}


class Json(harness.Case):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path(".local/share/gpuverify"))
        self.write(".local/share/gpuverify/probe-1.json", json.dumps(PROBE))

    def documents(self, command):
        for trace, words in DOCUMENTS[command]:
            words = [words[0], "--format", "json", *words[1:]]
            result = self.command(*stored.make_all(trace, words, self.path("")),
                                  sim=command == "doctor")
            self.assertNotIn("\x1b", result.out)
            yield json.loads(result.out)

    def test_every_document_is_described(self):
        self.assertEqual(promises.commands(), set(DOCUMENTS) | ELSEWHERE)

    def test_documents_have_the_promised_shape(self):
        for command in DOCUMENTS:
            with self.subTest(command):
                promises.check(self, command, self.documents(command))

    def test_columns_of_csv_are_the_fields(self):
        """In their order, with their values."""
        for words, rows in ((["stalls", "{}", "--all"], lambda document: document["stalls"]),
                            (["check", "{}", "--no-jit", "--max-errors", "0"], lambda document: document),
                            (["schema"], lambda document: document),
                            (["doctor", "--no-trial", "/bin/sh"], lambda document: document),
                            (["diff", "{}", "{early_launch}", "--all"], lambda document: document["changes"]),
                            *((["report", "{}", "--section", name],
                               lambda document, name=name: document["sections"][name])
                              for name in ("run", "devices", "kernels", "calls", "sync", "stalls", "processes"))):
            with self.subTest(" ".join(words)):
                words = stored.make_all("lazy_launch", words, self.path(""))
                shown = {form: self.command(words[0], "--format", form, *words[1:], sim=words[0] == "doctor").out
                         for form in ("csv", "json")}
                table = list(csv.reader(io.StringIO(shown["csv"])))
                document = rows(json.loads(shown["json"]))
                self.assertTrue(document)
                self.assertEqual([table[0]] * len(document), [list(row) for row in document])
                for cells, row in zip(table[1:], document):
                    self.assertEqual([cell for cell, value in zip(cells, row.values()) if isinstance(value, (str, int))],
                                     [str(int(value) if isinstance(value, bool) else value)
                                      for value in row.values() if isinstance(value, (str, int))])
