"""export --to html and run --html: the file that is written. tests/browser/ tests what a reader sees of it."""

import base64
import hashlib
import json
import os
import re

import harness
import stored

MARKUP = "</script><img src=x onerror=alert(1)><!--"
DATA = re.compile(r'<script type="application/json" id="(\w+)-data">(.*?)</script>', re.S)


class Page(harness.Case):
    def page(self, trace, *changes):
        stored.make_anew(trace, self.path("trace.db"), *changes)
        self.command("export", self.path("trace.db"), "--to", "html", "-o", self.path("page.html"), sim=False)
        with open(self.path("page.html"), encoding="utf-8") as file:
            return file.read()

    def test_needs_no_network_and_allows_no_other_script(self):
        page = self.page("lazy_launch")
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        for kind in ("script", "style"):
            embedded = re.findall(rf"<{kind}>(.*?)</{kind}>", page, re.S)
            self.assertGreater(len(embedded), 0)
            hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in embedded]
            self.assertIn(f"{kind}-src " + " ".join(f"'sha256-{value}'" for value in hashes) + ";", policy)
        self.assertNotRegex(page, r"(src|href)=\"?(https?:|//)")

    def test_data_cannot_end_their_element(self):
        for trace in ("lazy_launch", "hostile", "hang"):
            with self.subTest(trace):
                page = self.page(trace, f"UPDATE kernel SET name = '{MARKUP}'", f"UPDATE api SET name = name || '{MARKUP}'",
                                 f"UPDATE meta SET value = '{MARKUP}' WHERE key = 'program'",
                                 f"UPDATE frame SET function = '{MARKUP}'")
                self.assertNotIn("<img", page)
                found = dict(DATA.findall(page))
                self.assertGreater(len(found), 4)
                for name, text in found.items():
                    self.assertNotIn("<", text, name)
                    json.loads(text)

    def test_says_as_much_of_the_gpu_as_the_summary(self):
        for trace, of, said in (("other_profiler", "a step", {"busy": 742500000, "rest": 5165593, "not seen": 750001500}),
                                ("hang", "the run", {"f1": 1000000000, "not known": 8000000000})):
            found = json.loads(dict(DATA.findall(self.page(trace)))["findings"])
            self.assertEqual(found["of"], of)
            budget = {part["name"] if part["kind"] == "aside" else part["kind"]: part["ns"] for part in found["budget"]}
            self.assertEqual({kind: budget.get(kind) for kind in said}, said)

    def test_the_parts_of_a_run_are_all_of_it(self):
        found = json.loads(dict(DATA.findall(self.page("add")))["findings"])
        accounts = [(name, ns) for _, name, _, ns, *_ in found["accounts"]]
        self.assertEqual(sum(part["ns"] for part in found["budget"]), sum(ns for _, ns in accounts))
        self.assertEqual(found["budget"][0], {"kind": "busy", "name": "useful GPU work",
                                              "ns": sum(ns for name, ns in accounts if name in ("kernel", "graph", "copy", "set"))})

    def test_its_headline_is_what_matters_most(self):
        for trace, said in (("lines", "data.py:7 batches costs 9.91 ms of each 99.0 ms step: the host's own code, at which nobody looked"),
                            ("other_profiler", "1.01 s of the 4.00 s of all steps: the host waits in cuModuleLoadData, then the GPU is"
                                               " idle: the host's own code, at which nobody looked; most of it in one idle time, not"
                                               " in each step"),
                            ("days", "No findings: the GPU was busy for 33 % of the run, where it was seen"),
                            ("lazy_launch", "4.20 s of the 6.00 s run: the host's own code, at which nobody looked"),
                            ("hang", "cuLaunchKernel had not returned when its process ended, after 6.00 s of 7.00 s")):
            self.assertEqual(json.loads(dict(DATA.findall(self.page(trace)))["findings"])["headline"], said)

    def test_without_scripts_the_summary_has_its_lines(self):
        text = re.search(r"<noscript>.*?<pre>(.*?)</pre>", self.page("lines"), re.S)[1]
        self.assertGreater(text.count("\n"), 10)
        self.assertNotIn("\ufffd", text)

    def test_each_finding_has_a_story(self):
        found = dict(DATA.findall(self.page("starved")))
        stories = [story for story in json.loads(found["stories"]) if story["kind"] == "finding"]
        findings = json.loads(found["report"])["findings"]
        self.assertGreater(len(findings), 2)
        self.assertEqual([(story["id"], story["title"]) for story in stories], [(one["id"], one["title"]) for one in findings])
        for story in stories:
            self.assertTrue(story["told"])

    def test_a_full_disk_is_not_the_fault_of_the_trace(self):
        self.page("lazy_launch")
        result = self.command("export", self.path("trace.db"), "--to", "html", "-o", "/dev/full", sim=False, status=3)
        self.assertEqual(result.err, "gpuverify: cannot write /dev/full: No space left on device\n")

    def test_without_scripts_there_is_the_summary(self):
        self.assertIn("fix: See what it does between these calls", self.page("lazy_launch"))

    def test_overwrites_only_a_page(self):
        self.page("lazy_launch")
        self.page("lazy_launch")
        with open(self.path("page.html"), "w", encoding="utf-8") as file:
            file.write("<!doctype html><p>mine")
        result = self.command("export", self.path("trace.db"), "--to", "html", "-o", self.path("page.html"), sim=False, status=3)
        self.assertIn("is not an earlier export as html", result.err)

    def test_of_a_run(self):
        result = self.command("run", "--html", "-o", self.path("here.db"), "--", harness.workload("driver_tour"))
        self.assertIn("page: ", result.err)
        self.assertTrue(os.path.exists(self.path("here.html")))

    def test_of_a_run_with_a_strange_name(self):
        """The name is for a terminal and a shell; what is no file is not waited for."""
        result = self.command("run", "--html", "-o", "a\x1b[31mb.db", "--", harness.workload("driver_tour"))
        self.assertNotIn("\x1b", result.err)
        self.assertIn("page: $'a\\x1b[31mb.html'\n", result.err)
        self.assertTrue(os.path.exists(self.path("a\x1b[31mb.html")))
        os.mkfifo(self.path("pipe.html"))
        result = self.command("run", "--html", "-o", "pipe.db", "--", harness.workload("driver_tour"))
        self.assertIn("no page is written: pipe.html exists, and is not an earlier one\n", result.err)
