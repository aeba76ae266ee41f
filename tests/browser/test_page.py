#!/usr/bin/env python3
"""What a user sees and does on the page of `gpuverify export --to html`, in a headless Chromium.

    tests/browser/test_page.py BUILD

Skipped, with exit status 77, without Chromium.
"""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import exported  # noqa: E402
import stored  # noqa: E402

MARKUP = "</script><img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"

# Everywhere where a trace has a text: markup, and a character that turns the direction of writing.
HOSTILE = """
UPDATE meta SET value = '{0}' WHERE key = 'program';
UPDATE api SET name = name || '{0}';
UPDATE kernel SET name = 'k{0}' || char(0x202e) || 'x';
UPDATE process SET program = '{0}';
UPDATE thread SET name = '{0}';
UPDATE frame SET function = 'f{0}', file = '{0}.py';
UPDATE stall SET cause = cause || '{0}';
UPDATE stall_advice SET text = '{0}' || text;
""".format(MARKUP.replace("'", "''"))

# All Python stacks are deep in an import.
IMPORTING = (
    "UPDATE frame SET depth = depth + 1000",
    "INSERT INTO frame (stack, depth, kind, function, file, line) SELECT DISTINCT stack, 0, kind, '_find_and_load', "
    "'<frozen importlib._bootstrap>', 488 FROM frame WHERE kind = 'python'",
)


class Pages(exported.Exported):
    def export(self, trace, *statements):
        path = os.path.join(self.folder.name, trace + ".db")
        stored.make_anew(trace, path, *statements)
        return self.export_file(path)

    def open(self, trace, *statements, **how):
        return self.open_page(self.export(trace, *statements), **how)

    def column(self, page, at):
        return page.value(f"[...document.querySelectorAll('#table tbody tr')].map((row) => row.cells[{at}].textContent)")

    def test_the_line_to_change_is_on_top(self):
        page = self.open("lines")
        self.assertEqual(page.value("document.getElementById('headline').innerText"),
                         "data.py:7 batches costs 9.91 ms of each 99.0 ms step: the host's own code, at which nobody looked")
        first = page.value("document.querySelector('#items li').innerText")
        self.assertIn("data.py:7 batches", first)
        self.assertIn("Fix: ", first)
        self.assertNotIn("at which nobody looked", first)  # not twice
        self.assertRegex(first, r"9\.91 ms\s+10 % of a step")
        page = self.open("lazy_launch")  # its third finding has the words of the first one
        self.assertIn("at which nobody looked", page.value("document.getElementById('item-f3').innerText"))

    def test_the_timeline_begins_without_scrolling(self):
        for trace in ("lazy_launch", "starved", "lines", "add", "hang"):
            with self.subTest(trace=trace):
                page = self.open(trace, width=1400, height=1000)
                page.until("document.querySelector('#timeline canvas')")
                self.assertLess(page.value("document.querySelector('#timeline canvas').getBoundingClientRect().top"), 850)

    def test_the_parts_of_a_step_lead_to_their_findings_and_lines(self):
        page = self.open("starved")
        parts = "[...document.querySelectorAll('#budget .parts button')]"
        self.assertEqual(page.value(f"{parts}.map((part) => part.title)"), [
            "GPU busy 743 ms, 38.4 %", "data 945 ms, 48.9 %", "gil 195 ms, 10.1 %", "python 50.0 ms, 2.6 %", "the rest 20.0 µs, 0.0 %"])
        widths = page.value(f"{parts}.map((part) => part.offsetWidth)")
        self.assertAlmostEqual(widths[1] / widths[2], 945 / 195, delta=0.2)
        page.click("#budget .parts button:nth-child(2)")
        self.assertEqual(page.value("document.activeElement.id"), "item-f1")
        page.click("#budget li:nth-child(4) button")
        self.assertEqual(page.value("document.activeElement.id"), "item-f2")
        page.click("#budget li:last-child button")
        self.assertIn("by account and line", page.value("document.querySelector('#table h3').textContent"))
        self.assertIn("train.py:30 next_batch", self.column(page, 2))

    def test_each_finding_has_its_story(self):
        page = self.open("starved")
        page.click("#item-f1 .actions button")
        story = page.value("document.getElementById('story').innerText")
        for words in ("Finding f1", "945 ms lost a step", "waiting for data", "train.py:30 next_batch", "gpuverify explain starved.db f1"):
            self.assertIn(words, story)
        page.key("Escape")
        page.click("#more .link")
        names = self.column(page, 0)
        self.assertEqual(len(names), page.value("JSON.parse(document.getElementById('report-data').textContent).findings.length"))
        for name in names:
            page.value(f"location.hash = '{name}'")
            page.until(f"document.querySelector('.story-bar')?.innerText.startsWith('Finding {name}')")

    def test_a_story_is_one_click_away(self):
        page = self.open("add")
        page.click("#item-f1 .actions button")
        self.assertIn("Finding f1", page.value("document.getElementById('story').innerText"))
        page.click("#story section .link")  # "stall s1", which shows it
        story = page.value("document.getElementById('story').innerText")
        for words in ("jit", "cuLibraryLoadData", "gpuverify explain add.db s1"):
            self.assertIn(words, story)
        page = self.open("lazy_launch")
        page.value("location.hash = 's1'")
        story = page.value("document.getElementById('story').innerText")
        for words in ("lazy-load", "853 ms lost", "only when its context is idle", "train.py:88 main",
                      "thread 2 lost 813 ms", "cudaLaunchKernel of gemm", "gpuverify explain lazy_launch.db s1"):
            self.assertIn(words, story)
        page.click("#story section .link")  # "stall s2", which waited for it
        self.assertIn("Stall s2", page.value("document.getElementById('story').innerText"))
        self.assertEqual(page.value("location.hash"), "#s2")
        page.key("Escape")
        self.assertTrue(page.value("document.getElementById('story').hidden"))

    def test_tables_sort_and_filter(self):
        page = self.open("add")
        page.click("#tab-calls")
        totals = "[...document.querySelectorAll('#table tbody tr')].map((row) => row.cells[1].textContent).map(Number)"
        page.click("#table th:nth-child(2) button")
        down = page.value(totals)
        self.assertEqual(down, sorted(down, reverse=True))
        self.assertEqual(page.value("document.querySelector('#table th[aria-sort]').getAttribute('aria-sort')"), "descending")
        page.click("#table th:nth-child(2) button")
        self.assertEqual(page.value(totals), sorted(down))
        page.click("#table input")
        page.type("cumemcpy")
        names = self.column(page, 0)
        self.assertGreater(len(names), 0)
        for name in names:
            self.assertIn("cuMemcpy", name)
        self.assertIn(f"{len(names)} of ", page.value("document.querySelector('#table [role=status]').textContent"))

    def test_search_finds_what_has_a_name(self):
        page = self.open("lazy_launch")
        page.key("/")
        page.type("gemm")
        self.assertIn("Kernels", page.value("document.getElementById('hits').innerText"))
        while "Kernels" not in page.value("document.querySelector('#hits [aria-selected=true]').innerText"):
            page.key("ArrowDown")
        page.key("Enter")
        self.assertEqual(page.value("document.querySelector('#table h3').textContent"), "Kernels, by their time on the GPU")
        self.assertEqual(self.column(page, 0), ["gemm"])

    def test_keys_lead_through_the_stories(self):
        page = self.open("lazy_launch")
        title = "document.querySelector('#story .story-bar').innerText"
        page.key("f")
        self.assertIn("Finding f1", page.value(title))
        page.value("location.hash = 's1'")
        self.assertIn("Stall s1", page.value(title))
        page.key("n")
        self.assertIn("Stall s2", page.value(title))
        page.key("p")
        self.assertIn("Stall s1", page.value(title))
        page.key("Escape")
        page.key("d")
        self.assertEqual(page.value("document.documentElement.dataset.scheme"), "dark")

    def test_a_flame_graph_zooms(self):
        page = self.open("lines")
        frames = "document.querySelectorAll('.frame').length"
        everything = page.value(frames)
        page.click(".frame.own")
        self.assertEqual(page.value("document.querySelector('.frame.own').style.width"), "100%")
        self.assertLess(page.value(frames), everything)
        page.key("ArrowDown")
        self.assertTrue(page.value("document.activeElement.classList.contains('frame')"))
        page.click(".keys button")
        self.assertEqual(page.value(frames), everything)

    def test_an_unfinished_call_has_a_story(self):
        page = self.open("hang")
        self.assertIn("Fix: Load reach<float> before", page.value("document.querySelector('#items li').innerText"))
        page.click("#notes .link")
        self.assertIn("Unfinished call", page.value("document.getElementById('story').innerText"))

    def test_nothing_of_a_trace_runs(self):
        """Names with markup and with invisible characters are shown as they are."""
        for trace in ("lazy_launch", "hostile"):
            with self.subTest(trace=trace):
                page = self.open(trace, *(line for line in HOSTILE.strip().split("\n")))
                self.assertNotIn("owned", page.value("document.title").replace(MARKUP, ""))
                self.assertEqual(page.value("document.querySelectorAll('img').length"), 0)
                self.assertIn("<script>", page.value("document.body.innerText"))
                self.assertNotRegex(page.value("document.body.innerText"), "[\u202a-\u202e\x1b\x07]")
                page.key("n")
                self.assertEqual(page.value("document.querySelectorAll('#story img').length"), 0)

    def test_scripts_that_are_not_the_pages_own_are_refused(self):
        path = self.export("lazy_launch")
        with open(path, encoding="utf-8") as file:
            page = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(page.replace("<main", "<script>document.title = 'owned'</script><main"))
        opened = self.browser.open("file://" + path)
        self.assertNotEqual(opened.value("document.title"), "owned")
        self.assertIn("Content Security Policy", " ".join(opened.problems))

    def test_phones_do_not_scroll_sideways(self):
        for trace in ("lazy_launch", "hostile", "add"):
            with self.subTest(trace=trace):
                page = self.open(trace, width=360, height=740)
                self.assertEqual(page.value("document.documentElement.scrollWidth"), 360)

    def test_texts_can_be_read(self):
        """WCAG's contrast of 4.5 to 1 in both schemes, and every control has a name."""
        contrast = """[...document.querySelectorAll('main *, #bar *')].filter((e) => e.checkVisibility() && !e.closest('#timeline') &&
            [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())).map((e) => {
                const light = (colour) => { const [r, g, b] = colour.match(/[\\d.]+/g).map((v) => v / 255)
                    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
                let ground = e;
                while (getComputedStyle(ground).backgroundColor === 'rgba(0, 0, 0, 0)') ground = ground.parentElement || document.body;
                const [a, b] = [light(getComputedStyle(e).color), light(getComputedStyle(ground).backgroundColor)].sort((x, y) => y - x);
                return [(a + 0.05) / (b + 0.05), e.outerHTML.slice(0, 120)];
            }).filter(([ratio, text]) => ratio < 4.5)"""
        for dark in (False, True):
            page = self.open("lazy_launch", dark=dark)
            self.assertEqual(page.value(contrast), [])
            self.assertEqual(page.value("[...document.querySelectorAll('button, input')].filter((e) => "
                                        "!e.textContent.trim() && !e.getAttribute('aria-label')).length"), 0)

    def test_lines_are_those_that_the_commands_name(self):
        for trace in ("lazy_launch", "starved"):
            page = self.open(trace, *IMPORTING)
            for command in ("stalls", "idle"):
                told = subprocess.run([self.gpuverify, command, os.path.join(self.folder.name, trace + ".db"),
                                       "--format", "json", "--top", "200"], check=True, capture_output=True, text=True).stdout
                rows = json.loads(told)[command]
                for row in rows:
                    name = f"{command[0]}{row['id']}"
                    shown = page.value(f"""(() => {{
                        gvPage.open({json.dumps(command.removesuffix("s"))}, {row["id"]});
                        return document.querySelector("#story .line")?.textContent;
                    }})()""")
                    self.assertEqual((name, shown), (name, row["where"]))

    def test_paper_cuts_nothing_off(self):
        page = self.open("starved", width=1400)
        page.value("window.dispatchEvent(new Event('beforeprint'))")
        page.send("Emulation.setEmulatedMedia", media="print")
        self.assertEqual(page.value("""(() => {
            const box = document.querySelector(".timeline-tracks");
            box.style.width = "500px";
            return Math.round(box.querySelector("canvas").getBoundingClientRect().width);
        })()"""), 498)  # without the border
        for trace in ("starved", "kernels"):
            page = self.open(trace, width=690)
            page.value("window.dispatchEvent(new Event('beforeprint'))")
            page.send("Emulation.setEmulatedMedia", media="print")
            self.assertEqual(page.value("[...document.querySelectorAll('.paper')].filter((one) => one.scrollWidth > one.clientWidth)"
                                        ".map((one) => one.textContent)"), [])

    def test_paper_has_all_tables(self):
        page = self.open("lazy_launch")
        page.value("window.onbeforeprint = null, window.dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(page.value("document.querySelectorAll('.paper').length"),
                         page.value("document.querySelectorAll('[id^=tab-]').length"))
        self.assertEqual(page.value("document.documentElement.dataset.scheme"), "light")
        page.value("window.dispatchEvent(new Event('afterprint'))")
        self.assertEqual(page.value("document.querySelectorAll('.paper').length"), 0)


if __name__ == "__main__":
    exported.main()
