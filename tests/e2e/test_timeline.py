"""The timeline of an exported page shows what the trace's views say. report/commands/export/slices.h has the code."""

import json
import re

import harness
import stored

# A track's kind: what it shows, as (start, duration, name, id, another id).
VIEWS = {
    "idle": "SELECT start_ns, duration_ns, reason, id, next_call FROM idle WHERE gap IS NOT NULL",
    "stream": "SELECT start_ns, duration_ns, name, id, call FROM gpu_ops WHERE start_ns IS NOT NULL",
    "steps": "SELECT start_ns, duration_ns, coalesce(message, 'step'), number, NULL FROM steps",
    "ranges": "SELECT start_ns, duration_ns, coalesce(domain || ': ', '') || coalesce(message, 'range'), id, NULL FROM ranges",
    "thread": "SELECT start_ns, span_ns, name, id, NULL FROM calls UNION ALL "
             "SELECT start_ns, elapsed_ns, name || ' (did not return)', 0, NULL FROM in_flight",
    "stalls": "SELECT start_ns, duration_ns, cause, id, NULL FROM stalls WHERE NOT expected",
}




def samples(count):
    """Every 500 ms, of 400 ms each, beside one without GPM."""
    return ("INSERT INTO sample (id, uuid, at_ns, gpu_percent) VALUES (100000, 'GPU-1', 7, 50)",
            f"INSERT INTO sample (id, uuid, at_ns) WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < {count}) "
            "SELECT i, 'GPU-1', i * 500000000 FROM n",
            "INSERT INTO sample_gpm (sample, duration_ns, sm_tenths, tensor_tenths, dram_tenths, pcie_tx_mib) "
            "SELECT id, 400000000, 960, 30, min(id, 1000), 2048 FROM sample WHERE id < 100000")


class Numbers:
    def __init__(self, text, digits):
        self.text, self.at, self.digits, self.half = text, 0, {digit: i for i, digit in enumerate(digits)}, len(digits) // 2

    def number(self):
        value, scale = 0, 1
        while True:
            digit = self.digits[self.text[self.at]]
            self.at += 1
            value += digit * scale
            scale *= self.half
            if digit < self.half:
                return value

    def signed(self):
        value = self.number()
        return -(value + 1) // 2 if value % 2 else value // 2


def slices(data, row):
    """(start, duration, name, id, link, count) of each, and what the groups say of them."""
    groups, body = Numbers(row["groups"], data["digits"]), Numbers(row["slices"], data["digits"])
    found = []
    start, number, link, offset = 0, 0, 0, 0
    for first in range(0, row["count"], data["group"]):
        start += groups.number() * data["unit_ns"]
        span = groups.number() * data["unit_ns"]
        busy, name = groups.number() / (groups.half - 1), groups.number()
        length = groups.number()
        number += groups.signed()
        link += groups.signed()
        assert body.at == offset
        offset += length
        at, own, other = start, number, link
        group = []
        while body.at < offset:
            at += body.number() * data["unit_ns"]
            duration = body.number() * data["unit_ns"]
            code, count = body.number(), 1
            if code == 0:
                count, _, code = body.number(), body.number(), body.number()
            own += body.signed()
            step = body.number() if data["tracks"][row["track"] - 1]["links"] else 0
            if step:
                other += step // 2 * -1 if step % 2 == 0 else (step - 1) // 2
            group.append((at, duration, data["names"][code - 1][0], own, other if step else None, count))
        assert len(group) == min(data["group"], row["count"] - first)
        assert max(begin + length for begin, length, *_ in group) - start <= span + 2 * data["unit_ns"]
        assert name - 1 < len(data["names"]) and 0 <= busy <= 1
        found += group
    return found


class Timeline(harness.Case):
    def data(self, trace, *statements):
        path = self.path("trace.db")
        stored.make_anew(trace, path, *statements)
        self.command("export", path, "--to", "html", "-o", self.path("page.html"), "--force", sim=False)
        with open(self.path("page.html"), encoding="utf-8") as page:
            found = re.search(r'id="timeline-data">(.*?)</script>', page.read(), re.S)
        return json.loads(found[1])

    def rows(self, query):
        """What a reader of the trace gets."""
        return [tuple(row.values()) for row in json.loads(
            self.command("query", self.path("trace.db"), query, "--format", "json", sim=False).out)]

    def near(self, one, other):
        """Times are shown to 16 ns, kernels by their short names."""
        self.assertEqual(one[3:], other[3:])
        self.assertIn(one[2], other[2])
        self.assertLessEqual(abs(one[0] - other[0]), 16)
        self.assertLessEqual(abs(one[1] - other[1]), 16)

    def check(self, trace):
        data = self.data(trace)
        shown = {}
        for row in data["rows"]:
            shown.setdefault(data["tracks"][row["track"] - 1]["kind"], []).extend(one[:5] for one in slices(data, row))
        for kind, query in VIEWS.items():
            with self.subTest(trace=trace, kind=kind):
                rows = [(start, data["until_ns"] - start if duration is None else duration, *rest)
                        for start, duration, *rest in self.rows(query)]
                found = sorted(shown.get(kind, []), key=lambda one: (one[3], one[0]))
                self.assertEqual(len(found), len(rows))
                for one, row in zip(found, sorted(rows, key=lambda row: (row[3], row[0]))):
                    self.near(one, tuple(row))
        self.assertEqual(data["merged_ns"], 0)
        return data

    def test_calls_and_gpu_work(self):
        self.check("lazy_launch")
        self.check("add")

    def test_idle_times_ranges_and_steps(self):
        self.check("starved")
        self.check("lines")

    def test_calls_that_did_not_return(self):
        data = self.check("hang")
        self.assertTrue(any(name.endswith("(did not return)") for name, _ in data["names"]))

    def test_a_stall_leads_to_what_it_waited_for(self):
        data = self.data("lazy_launch")
        for stall, kind, of, start, duration in data["arrows"]:
            (waited_for, blocked_by), = self.rows(f"SELECT waited_for, blocked_by FROM stalls WHERE id = {stall}")
            ids = {one[3] for row in data["rows"] for track in [data["tracks"][row["track"] - 1]]
                   if (track["kind"], track["of"]) == (kind, of) for one in slices(data, row)}
            self.assertTrue({waited_for, blocked_by} & ids)
            self.assertGreater(start + duration, 0)
        self.assertGreater(len(data["arrows"]), 0)

    def test_samples_of_how_the_gpu_is_used_are_counters(self):
        data = self.data("starved", *samples(3))
        counters = {counter["name"]: counter for counter in data["counters"]}
        self.assertEqual(list(counters), ["SMs active", "tensor cores", "DRAM", "PCIe sent"])
        self.assertEqual(counters["DRAM"]["unit"], "%")
        self.assertEqual(counters["DRAM"]["device"], "NVIDIA H100 80GB HBM3, GPU-1")
        # Each: microseconds since the end of the one before, the length, the value.
        self.assertEqual(counters["DRAM"]["points"], [100000, 400000, 0.1, 100000, 400000, 0.2, 100000, 400000, 0.3])

    def test_a_long_trace_has_means_of_samples(self):
        data = self.data("starved", *samples(9000))
        points = data["counters"][0]["points"]
        self.assertEqual(len(points) // 3, 9000 // 4)
        self.assertEqual(points[:3], [100000, 1600000, 96.0])
        self.assertEqual(data["counters"][2]["points"][2], 0.3)  # 0.1 to 0.4: 0.25

    def test_a_time_that_was_not_recorded_is_shown(self):
        data = self.data("other_profiler")
        (row,) = (row for row in data["rows"] if data["tracks"][row["track"] - 1]["kind"] == "unseen")
        self.assertEqual([one[2] for one in slices(data, row)], ["GPU: another profiler", "GPU: only operations"])

    def test_a_trace_of_nothing_has_no_timeline(self):
        self.assertIsNone(self.data("lazy_launch", *(f"DELETE FROM {table}" for table in (
            "call", "gpu_op", "stall", "idle_time", "range", "step", "flight"))))

    def test_impossible_times_and_names_do_no_harm(self):
        data = self.data("hostile")
        calls = [one for row in data["rows"] if data["tracks"][row["track"] - 1]["kind"] == "thread" for one in slices(data, row)]
        (count,), = self.rows("SELECT (SELECT count(*) FROM calls) + (SELECT count(*) FROM in_flight)")
        self.assertEqual(len(calls), count)
