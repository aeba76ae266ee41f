#!/usr/bin/env python3
"""What a user sees and does in the timeline of the page, in a headless Chromium.

    tests/browser/test_timeline.py BUILD

Skipped, with exit status 77, without Chromium.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../e2e"), os.path.join(HERE, "../bench")]
import exported  # noqa: E402
import report  # noqa: E402
import stored  # noqa: E402

CONTROL = 2  # as a modifier

# Zooms to a millionth of the time, and measures the frames on the way, in ms.
ZOOM = """new Promise((done) => {
    const times = [], middle = %f, whole = %f, frames = 100;
    const step = (now) => {
        times.push(now);
        const span = whole * 1e-6 ** (Math.min(times.length, frames) / frames);
        gvTimeline.zoom(middle - span / 2, middle + span / 2);
        if (times.length <= frames) requestAnimationFrame(step);
        else done(times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b));
    };
    requestAnimationFrame(step);
})"""


# A sample with GPM, and 5 us without work, too short for a row of their own in `idle`.
USED = (
    "INSERT INTO sample VALUES (1, 'GPU-1', 1700000000, 40, NULL, 1000, 250500, 1980, NULL, 41)",
    "INSERT INTO sample_gpm (sample, duration_ns, sm_tenths, occupancy_tenths, tensor_tenths, dram_tenths, pcie_tx_mib, pcie_rx_mib) "
    "VALUES (1, 400000000, 960, 500, 30, 840, 2048, 10)",
    "UPDATE gpu_op SET start_ns = 1600005000 WHERE id = 11",
)


class Timelines(exported.Exported):
    def open_file(self, path, **how):
        page = self.export_file(path)
        opened = self.open_page(page, **how)
        opened.value("document.querySelector('#timeline canvas').scrollIntoView({block: 'center', behavior: 'instant'})")
        opened.bytes = os.path.getsize(page)
        return opened

    def open(self, trace, *changes, **how):
        path = os.path.join(self.folder.name, trace + ".db")
        stored.make_anew(trace, path, *changes)
        return self.open_file(path, **how)

    def box(self, page):
        self.seen(page)  # it has its size
        return page.value("(() => { const box = document.querySelector('#timeline canvas').getBoundingClientRect();"
                          "return [box.left, box.top, box.width, box.height]; })()")

    def seen(self, page):
        """How much time is seen, such as "1.00 s of 1.00 s"."""
        page.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return page.value("document.querySelector('#timeline output').textContent")

    def drag(self, page, *places):
        (x, y), *further = places
        page.mouse("mousePressed", x, y, button="left", clickCount=1)
        for x, y in further:
            page.mouse("mouseMoved", x, y, button="left", buttons=1)
        page.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def chosen(self, page):
        return page.value("document.querySelector('.timeline-status').textContent")

    def story(self, page):
        return page.value("document.getElementById('story').hidden ? '' : document.getElementById('story').innerText")

    def test_pointing_tells_what_it_is(self):
        page = self.open("lazy_launch")
        left, top, width, height = self.box(page)
        tip, told = "document.querySelector('.timeline-tip')", set()
        for y in range(30, int(height), 8):
            for x in range(int(width * 0.2), int(width), 60):
                page.mouse("mouseMoved", left + x, top + y)
                if not page.value(f"{tip}.hidden"):
                    told.add(page.value(f"{tip}.querySelector('b').textContent"))
        self.assertIn("lazy-load", told)
        self.assertIn("cudaLaunchKernel", told)

    def tips(self, page, x_step=10):
        """What pointing at each row tells."""
        left, top, width, height = self.box(page)
        told = []
        for y in range(30, int(height), 8):
            for x in range(int(width * 0.2), int(width), x_step):
                page.mouse("mouseMoved", left + x, top + y)
                if not page.value("document.querySelector('.timeline-tip').hidden"):
                    told.append(page.value("document.querySelector('.timeline-tip').innerText"))
        return told

    def test_short_gaps_and_counters_are_drawn(self):
        page = self.open("starved", *USED)
        page.value("gvTimeline.zoom(1.6e9 - 1e4, 1.6e9 + 1e4)")
        told = self.tips(page, 30)
        self.assertIn("duration: 5.01 µs", next(tip for tip in told if tip.startswith("no work")))
        self.assertTrue(any(tip.startswith("DRAM: 84 %") for tip in told))
        self.assertTrue(any(tip.startswith("PCIe sent: 2.00 GiB/s") for tip in told))

    def test_keys_choose_and_explain(self):
        page = self.open("lazy_launch")
        page.value("document.querySelector('.timeline-tracks').focus()")
        for _ in range(20):
            page.key("ArrowDown")
            if self.chosen(page).startswith("stalls: lazy-load"):
                break
        self.assertIn("stalls: lazy-load", self.chosen(page))
        page.key("Enter")
        self.assertIn("Stall s1", self.story(page))
        page.key("ArrowUp")
        page.value("document.querySelector('.timeline-tracks').focus()")
        page.key("0")
        whole = self.seen(page)
        page.key("+")
        self.assertNotEqual(self.seen(page), whole)
        page.key("0")
        self.assertEqual(self.seen(page), whole)

    def test_a_click_on_gpu_work_tells_of_its_call(self):
        page = self.open("lazy_launch")
        left, top, width, height = self.box(page)
        found = None
        for y in range(30, int(height), 6):
            for x in range(int(width * 0.2), int(width), 10):
                page.mouse("mouseMoved", left + x, top + y)
                if page.value("!document.querySelector('.timeline-tip').hidden && "
                              "/kind: kernel/.test(document.querySelector('.timeline-tip').innerText)"):
                    found = (left + x, top + y)
                    break
            if found:
                break
        self.assertIsNotNone(found)
        self.drag(page, found)
        self.assertIn("launched by", self.story(page))
        self.assertIn("LaunchKernel", self.story(page))

    def test_the_wheel_zooms_and_dragging_moves(self):
        page = self.open("lazy_launch")
        left, top, width, _ = self.box(page)
        whole = self.seen(page)
        page.mouse("mouseWheel", left + width / 2, top + 60, deltaX=0, deltaY=-120, modifiers=CONTROL)
        zoomed = self.seen(page)
        self.assertNotEqual(zoomed, whole)
        before = page.value("document.querySelector('#timeline canvas').toDataURL()")
        self.drag(page, (left + width * 0.6, top + 60), (left + width * 0.5, top + 60), (left + width * 0.4, top + 60))
        self.assertEqual(self.seen(page), zoomed)
        self.assertNotEqual(page.value("document.querySelector('#timeline canvas').toDataURL()"), before)
        self.assertEqual(self.story(page), "")
        page.click(".timeline-buttons button[title^='The whole']")
        self.assertEqual(self.seen(page), whole)
        left, top, width, _ = self.box(page)
        self.drag(page, (left + width * 0.5, top + 8), (left + width * 0.7, top + 8))
        self.assertNotEqual(self.seen(page), whole)

    def test_a_call_that_did_not_return_has_a_story(self):
        page = self.open("hang")
        page.value("document.querySelector('.timeline-tracks').focus()")
        while "did not return" not in self.chosen(page):
            page.key("ArrowDown" if not self.chosen(page).startswith("train 4242") else "n")
        page.key("Enter")
        self.assertIn("Unfinished call", self.story(page))
        self.assertIn("process 4242", self.story(page))

    def test_a_story_is_shown_in_the_timeline(self):
        page = self.open("add")
        page.click("#item-f1 .to-timeline")
        self.assertIn("jit", self.chosen(page))

    def test_it_has_room_on_a_phone_and_follows_the_scheme(self):
        page = self.open("lazy_launch", width=360, height=740)
        self.assertLessEqual(self.box(page)[2], 360)
        light = page.value("document.querySelector('#timeline canvas').toDataURL()")
        page.dark()
        self.seen(page)
        self.assertNotEqual(page.value("document.querySelector('#timeline canvas').toDataURL()"), light)

    def test_a_million_operations(self):
        path = os.path.join(self.folder.name, "million.db")
        report.make(path, 1_000_000)
        page = self.open_file(path)
        self.assertLess(page.bytes, 20e6)
        self.assertIn("of 2.50 s", self.seen(page))
        paint = page.value("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        frames = page.value(ZOOM % (1.2e9, 2.5e9))
        print(f"\n  a million operations: {page.bytes / 1e6:.1f} MB, first paint after {paint:.0f} ms, "
              f"{1000 * len(frames) / sum(frames):.0f} frames a second while zooming, the slowest of 20 took {frames[-5]:.0f} ms")
        self.assertIn("2.50 µs of", self.seen(page))
        self.assertIsNotNone(page.value("gvTimeline.describe('call', 480000)"))


if __name__ == "__main__":
    exported.main()
