"""Adds up a trace's rows by minute, as the view "minutes" should, and compares.

A minute is shorter here: the view's text says how long it is, so another view can be made of it.
"""

import collections
import re

from soak_logs import expect

MINUTE_NS = 60_000_000_000
KINDS = {1: "kernel", 2: "copy", 3: "set"}


def union(spans):
    """Sorted, without overlaps."""
    joined = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(end, joined[-1][1])
        else:
            joined.append([start, end])
    return joined


class Minutes:
    """{(minute, process, what, name): [count, total_ns, max_ns, bytes]} of a trace of which all is complete."""

    def __init__(self, trace, minute_ns):
        self.trace, self.minute_ns = trace, minute_ns
        self.sums = collections.defaultdict(lambda: [0, 0, 0, 0])
        self.last_ns = trace.execute("SELECT start_ns + duration_ns FROM call ORDER BY id DESC LIMIT 1").fetchone()
        self.last_ns = self.last_ns[0] if self.last_ns else 0
        for each in (self.add_calls, self.add_operations, self.add_samples, self.add_found, self.add_recorded, self.add_busy):
            each()

    def rows(self, query):
        return self.trace.execute(query)

    def add(self, at_ns, key, total_ns, count=1, size=0, max_ns=None):
        row = self.sums[(at_ns // self.minute_ns, *key)]
        row[0] += count
        row[1] += total_ns
        row[2] = max(row[2], total_ns if max_ns is None else max_ns)
        row[3] += size or 0

    def cut(self, start_ns, end_ns):
        while start_ns < end_ns:
            until_ns = min(end_ns, (start_ns // self.minute_ns + 1) * self.minute_ns)
            yield start_ns, until_ns
            start_ns = until_ns

    def add_lasting(self, key, spans):
        for span in spans:
            for start_ns, end_ns in self.cut(*span):
                self.add(start_ns, key, end_ns - start_ns, start_ns == span[0])

    def add_calls(self):
        for start_ns, duration_ns, process, name, work, kernel, count, size in self.rows(
                "SELECT c.start_ns, c.duration_ns, t.process, a.name, a.gpu_work, k.name, f.count, c.bytes FROM call c"
                " JOIN thread t ON t.id = c.thread JOIN api a ON a.id = c.api LEFT JOIN kernel k ON k.id = c.kernel"
                " LEFT JOIN call_fold f ON f.call = c.id"):
            longest = 0 if count else duration_ns
            self.add(start_ns, (process, "call", name), duration_ns, count or 1, size, longest)
            if work in (1, 2):
                launched = "graph" if work == 2 else "?" if kernel is None else kernel
                self.add(start_ns, (process, "launch", launched), duration_ns, count or 1, 0, longest)

    def add_operations(self):
        for start_ns, duration_ns, process, kind, name, copy, size in self.rows(
                "SELECT o.start_ns, o.duration_ns, p.process, o.kind, n.name, y.name, o.bytes FROM gpu_op o"
                " JOIN gpu_place p ON p.id = o.place LEFT JOIN gpu_shape s ON s.id = o.shape LEFT JOIN gpu_name n ON"
                " n.id = s.name LEFT JOIN copy_kind y ON y.id = o.copy_kind & 15 WHERE o.duration_ns IS NOT NULL"):
            name = {1: "?" if name is None else name, 2: "copy" if copy is None else copy, 3: "memset"}.get(kind, "graph")
            self.add(start_ns, (process, KINDS.get(kind, "graph"), name), duration_ns, 1, size)

    def add_samples(self):
        for start_ns, duration_ns, one_of, process, work, klass, kernel, name in self.rows(
                "SELECT s.start_ns, s.duration_ns, s.one_of, s.process, a.gpu_work, a.class, k.name, a.name FROM gpu_sample s"
                " JOIN call c ON c.id = s.call JOIN api a ON a.id = c.api LEFT JOIN kernel k ON k.id = c.kernel"):
            self.add(start_ns, (process, {1: "kernel", 2: "graph"}.get(work, klass), name if kernel is None else kernel),
                     duration_ns * one_of, one_of, 0, duration_ns)

    def add_found(self):
        for start_ns, process, cause, lost_ns in self.rows(
                "SELECT start_ns, process, cause, wait_ns + jit_ns FROM stalls WHERE NOT expected"):
            self.add(start_ns, (process, "stall", cause), lost_ns)
        for start_ns, process, kind, duration_ns, size in self.rows(
                "SELECT start_ns, process, kind, duration_ns, bytes FROM loads"):
            self.add(start_ns, (process, "load", kind), duration_ns, 1, size)
    def calls_recorded(self, process, start_ns, end_ns):
        changes = self.trace.execute("SELECT number, at_ns FROM recording_change WHERE process = ? ORDER BY number",
                                     (process,)).fetchall()
        begun = None if changes and changes[0][0] < 0 else start_ns
        for number, at_ns in changes:
            if number % 2 == 0:
                begun = at_ns
            elif begun is not None:
                yield begun, at_ns
                begun = None
        if begun is not None:
            yield begun, end_ns

    def gpu_recorded(self, process):
        found = self.trace.execute("SELECT start_ns, end_ns FROM gpu_interval WHERE process = ?", (process,)).fetchone()
        if not found:
            return
        seen, begun = True, found[0]
        for at_ns, gpu in self.trace.execute("SELECT at_ns, gpu FROM gpu_change WHERE process = ? ORDER BY at_ns",
                                             (process,)):
            if seen and at_ns > begun:
                yield begun, at_ns
            seen, begun = gpu in ("seen", "operations"), max(at_ns, begun)
        if seen:
            yield begun, self.last_ns if found[1] is None else found[1]

    def add_recorded(self):
        of_all = {"calls": [], "gpu": []}
        for process, start_ns, end_ns, gpu in self.rows("SELECT id, start_ns, end_ns, gpu FROM process").fetchall():
            end_ns = self.last_ns if end_ns is None else end_ns
            for side, spans in (("calls", self.calls_recorded(process, start_ns, end_ns)),
                                ("gpu", self.gpu_recorded(process) if gpu == "cupti" else ())):
                spans = list(spans)
                of_all[side] += spans
                self.add_lasting((process, "recorded", side), spans)
        for side, spans in of_all.items():
            self.add_lasting((None, "recorded", side), union(spans))

    def add_busy(self):
        spans = collections.defaultdict(list)
        for process, number, uuid, start_ns, duration_ns in self.rows(
                "SELECT p.process, p.device, d.uuid, o.start_ns, o.duration_ns FROM gpu_op o JOIN gpu_place p"
                " ON p.id = o.place LEFT JOIN device d ON d.process = p.process AND d.device = p.device"
                " WHERE o.duration_ns IS NOT NULL"):
            spans[uuid or f"{process}:{number}"].append((start_ns, start_ns + duration_ns))
        for device, taken in spans.items():
            self.add_lasting((None, "busy", device), union(taken))


def view_of(trace, minute_ns):
    """The rows of a view with shorter minutes."""
    text = trace.execute("SELECT sql FROM sqlite_master WHERE name = 'minutes'").fetchone()[0]
    trace.execute(re.sub(r"^CREATE VIEW minutes", "CREATE TEMP VIEW shorter", text).replace(str(MINUTE_NS), str(minute_ns)))
    rows = {(minute_ns_ // minute_ns, process, what, name): list(values) for minute_ns_, process, what, name, *values in
            trace.execute("SELECT minute_ns, process, what, name, count, total_ns, max_ns, bytes FROM shorter")}
    trace.execute("DROP VIEW shorter")
    return rows


def check(trace, minute_ns):
    """Returns how many sums there are."""
    real, found = Minutes(trace, minute_ns), view_of(trace, minute_ns)
    lines = {key: found.pop(key) for key in list(found) if key[2] == "line"}
    expect(all(lines[key][1] is None or lines[key][1] >= 0 for key in lines), f"lines {lines}")
    idle = collections.Counter()  # of the ledger, whose minutes stay as long as they are
    for key in [key for key in found if key[2] == "idle"]:
        idle[key[1]] += found.pop(key)[1]
    expect(idle == collections.Counter(dict(trace.execute(
        "SELECT process, sum(duration_ns) FROM idle_time WHERE duration_ns > 0 GROUP BY process"))), f"idle {idle}")
    for key in set(real.sums) | set(found):
        row, shown = real.sums.get(key, [0, 0, 0, 0]), [value or 0 for value in found.get(key, [0] * 4)]
        expect(row[1] == shown[1], f"{key}: {shown}, by its rows {row}")
        if key[1] is not None:  # of all together, parts that do not overlap count
            expect(row == shown or key[2] == "recorded" and row[:3] == shown[:3], f"{key}: {shown}, by its rows {row}")
    return len(found)
