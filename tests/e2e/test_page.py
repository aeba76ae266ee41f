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
        for trace, said in (("other_profiler", r"One step: GPU busy 742 ms, .* not seen"), ("hang", r"The run: GPU busy at least 0 ns, ")):
            self.assertRegex(json.loads(dict(DATA.findall(self.page(trace)))["findings"])["headline"], said)

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
