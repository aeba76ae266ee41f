#!/usr/bin/env python3
"""What scripts/bench makes of its numbers: comparisons, charts, and docs/performance.md."""

import contextlib
import io
import os
import sys
import unittest
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True
CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(CHECKOUT, "tests", "bench"))

import publish  # noqa: E402
import store  # noqa: E402
import svg  # noqa: E402

MACHINE = {"processor": "A", "processors": 4, "gpu": None, "driver": None, "kernel": "6", "libc": "g"}


def result(found, **more):
    return {"machine": MACHINE, "date": "2026-01-01", "commit": "abc", "scale": 1.0, "load": 0.1,
            "command": "scripts/bench host", "found": found, "notes": [], "charts": [], **more}


def spread(median):
    return {"median": median, "min": median / 2, "max": median * 2, "unit": "ns", "runs": 3,
            "what": "a launch"}


class Compare(unittest.TestCase):
    def said(self, now, before):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            store.compare(now, before)
        return output.getvalue()

    def test_ratio_and_mark(self):
        said = self.said(result({"a": spread(30), "b": 10.0}), result({"a": spread(20), "b": 10.0}))
        lines = {line.split()[0]: line for line in said.splitlines()[1:]}
        self.assertIn(" 1.50  <--", lines["a"])
        self.assertIn(" 1.00", lines["b"])
        self.assertNotIn("<--", lines["b"])

    def test_other_machines_are_not_compared(self):
        other = result({"a": spread(20)}, machine={**MACHINE, "processors": 8})
        said = self.said(result({"a": spread(30)}), other)
        self.assertIn("not compared", said)
        self.assertNotIn("1.50", said)

    def test_other_scales_are_not_compared(self):
        self.assertIn("not compared", self.said(result({"a": spread(30)}),
                                                result({"a": spread(20)}, scale=0.1)))

    def test_nothing_before(self):
        self.assertEqual(self.said(result({"a": spread(30)}), None), "")


class Charts(unittest.TestCase):
    def draw(self, **chart):
        text = svg.draw({"name": "n", "title": "a < b", "x": "x", "y": "y", **chart})
        return ElementTree.fromstring(text), text

    def test_lines(self):
        root, text = self.draw(kind="lines", x_values=[1, 10, 100], log_x=True,
                               series={"one": [1, 2, 3], "two": [3, None, 1]})
        points = [line.get("points").split() for line in root.iter() if line.tag.endswith("polyline")]
        self.assertEqual([len(each) for each in points], [3, 2])
        xs = [float(point.split(",")[0]) for point in points[0]]
        self.assertAlmostEqual(xs[1] - xs[0], xs[2] - xs[1], delta=0.2)
        self.assertIn("a &lt; b", text)

    def test_bars_are_as_high_as_their_values(self):
        root, _ = self.draw(kind="bars", x_values=["p", "q"], series={"one": [10, 5]})
        bars = [float(bar.get("height")) for bar in root.iter()
                if bar.tag.endswith("rect") and len(bar)]
        self.assertAlmostEqual(bars[0], 2 * bars[1], delta=0.2)

    def test_nothing_but_zeros(self):
        self.draw(kind="lines", x_values=[1], series={"one": [0]})


class Document(unittest.TestCase):
    def test_it_says_what_the_stored_numbers_say(self):
        with open(publish.DOCUMENT, encoding="utf-8") as file:
            text = file.read()
        for name in sorted(os.listdir(publish.FOLDER)):
            if name.endswith(".json"):
                group = name[:-len(".json")]
                stored = store.read(os.path.join(publish.FOLDER, name))
                self.assertEqual(publish.filled(text, group, stored), text,
                                 f"{group}: scripts/bench --publish makes it")
                for chart in stored["charts"]:
                    with open(os.path.join(publish.FOLDER, chart["name"] + ".svg"),
                              encoding="utf-8") as file:
                        self.assertEqual(file.read(), svg.draw(chart), chart["name"])

    def test_a_table_holds_medians(self):
        text = publish.filled("x\n<!-- begin host -->\nold\n<!-- end host -->\ny\n", "host",
                              result({"a": spread(30)}))
        self.assertIn("| a launch | 30 ns | 15 to 60 | 3 |", text)
        self.assertNotIn("old", text)
        with self.assertRaises(LookupError):
            publish.filled("nothing", "host", result({}))


if __name__ == "__main__":
    unittest.main()
