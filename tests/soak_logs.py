"""Compares the logs that a program of kernels/soak writes of its calls with the trace of its run.

Each call of the log must be a row of the trace, in the order of its thread, with its result, and with
what it launched, loaded or moved. Polls that returned "not ready" may share rows with a count; their
order is then not compared. Calls that a signal handler made during another call may be rows, parts of
that call, or lost.
"""

import collections
import glob
import os
import struct

RUNS, KERNEL, BYTES, LOADS, NESTED, WRITTEN = 1, 2, 4, 8, 16, 128
LEFT = -32768
NOT_READY = 600
PROCESSES = "p AS (SELECT id, pid, row_number() OVER (PARTITION BY pid ORDER BY start_ns) - 1 AS nth FROM processes)"
HEADER = struct.Struct("<8sIIQII16sQ")
HEADER_BYTES = 4096
ENTRY = struct.Struct("<HhI")
TOUR_KERNELS = ("empty", "spin", "fill")

Entry = collections.namedtuple("Entry", "name result detail flags times", defaults=(1,))
Log = collections.namedtuple("Log", "entries calling")
Row = collections.namedtuple("Row", "id name result kernel bytes times")


class Mismatch(AssertionError):
    """The trace differs from what the program did."""


def expect(condition, message):
    if not condition:
        raise Mismatch(message)


def kernel_name(number):
    return TOUR_KERNELS[number] if number < len(TOUR_KERNELS) else f"kernel_{number}"


# --- reading -------------------------------------------------------------------------------------


def read_log(path, names):
    """(pid, image, tid, start, log) of a file; (None, ...) of one that was never begun."""
    with open(path, "rb") as file:
        head = file.read(HEADER_BYTES)
        magic, pid, tid, start_ns, count, calling, _, image = HEADER.unpack_from(head.ljust(HEADER.size, b"\0"))
        if magic != b"soak log":
            return None, None, None, None, None
        data = file.read(min(count * ENTRY.size, os.fstat(file.fileno()).st_size - HEADER_BYTES))
    known = {}  # of a million calls, few differ
    entries = []
    for call, result, bits in ENTRY.iter_unpack(data):
        if bits >> 24 & WRITTEN:
            # One that changes nothing leaves no row.
            may_miss = NESTED if names[call] == "cuCtxSetCurrent" and result == 0 else 0
            entry = Entry(names[call], None if result == LEFT else result, bits & 0xffffff, bits >> 24 | may_miss)
            entries.append(known.setdefault(entry, entry))
    return pid, image, tid, start_ns, Log(entries, names[calling - 1] if calling else None)


def read_logs(folder, recorded=None):
    """{(pid, tid, nth): log} of all processes. nth: how often the process had become another program by exec. A tid
    that several threads had is one thread here, as it is for the trace below: they have it one after the other.
    `recorded`: how many programs the trace has of each process. One whose first call was in flight at its exec may be
    none of them."""
    with open(os.path.join(folder, "names"), encoding="utf-8") as file:
        names = file.read().split()
    found, begun = collections.defaultdict(list), {}
    for path in glob.glob(os.path.join(folder, "*.log")):
        pid, image, tid, start_ns, log = read_log(path, names)
        if pid is not None:
            found[pid, image, tid].append((start_ns, log))
            begun[pid, image] = min(start_ns, begun.get((pid, image), start_ns))
    logs = {}
    images = collections.Counter(pid for pid, _ in begun)
    with_calls = {(pid, image) for (pid, image, _), parts in found.items() if any(log.entries for _, log in parts)}
    for pid, image in list(begun):
        if (pid, image) not in with_calls and recorded and images[pid] > recorded.get(pid, 0):
            del begun[pid, image]
    for (pid, image, tid), parts in found.items():
        if (pid, image) not in begun:
            continue
        parts = [log for _, log in sorted(parts, key=lambda part: part[0])]
        entries = [entry for part in parts for entry in part.entries]
        if entries or parts[-1].calling:
            nth = sum(other[0] == pid and start_ns < begun[pid, image] for other, start_ns in begun.items())
            logs[pid, tid, nth] = Log(entries, parts[-1].calling)
    return logs


def read_rows(trace):
    """{(pid, tid, nth): rows} in the order of the calls. NVIDIA's runtime makes one of its own when its library ends,
    which a driver that has ended answers with 4."""
    rows = collections.defaultdict(list)
    for pid, tid, nth, *row in trace.execute(
            f"WITH {PROCESSES} SELECT p.pid, t.tid, p.nth, c.id, c.name, c.result, c.kernel, c.bytes, c.count FROM calls c"
            " JOIN threads t ON t.id = c.thread JOIN p ON p.id = c.process"
            " WHERE NOT (c.result = 4 AND c.name LIKE 'cuDevicePrimaryCtxRelease%')"
            " ORDER BY p.nth, t.serial, c.id"):
        rows[pid, tid, nth].append(Row(*row))
    return rows


def read_losses(trace):
    """{pid: {(what, class): count}}"""
    losses = collections.defaultdict(collections.Counter)
    for pid, what, kind, count in trace.execute(
            "SELECT p.pid, l.what, l.class, l.count FROM losses l"
            " LEFT JOIN processes p ON p.id = l.process"):
        losses[pid][what, kind] += count
    return losses


# --- comparing the calls of a thread -------------------------------------------------------------


def is_poll(item):
    return item.result == NOT_READY


def runs_of(items):
    """Items as a list of runs: one item each, and the polls between two other calls."""
    runs = []
    for item in items:
        if is_poll(item) and runs and is_poll(runs[-1][-1]):
            runs[-1].append(item)
        else:
            runs.append([item])
    return runs


def polls_of(run):
    counted = collections.Counter()
    for item in run:
        counted[item.name] += item.times
    return counted


def same_run(entries, rows):
    if is_poll(entries[0]) or is_poll(rows[0]):
        return (all(map(is_poll, entries + rows)) and polls_of(entries) == polls_of(rows))
    return (entries[0].name, entries[0].result) == (rows[0].name, rows[0].result)


def same_details(entry, row, unnamed):
    """`unnamed`: names were lost."""
    if entry.flags & KERNEL and entry.result == 0 and not (unnamed and row.kernel is None):
        expect(row.kernel == kernel_name(entry.detail),
               f"call {row.id} launched {kernel_name(entry.detail)}, the trace says {row.kernel}")
    if entry.flags & BYTES:
        expect(row.bytes == entry.detail, f"call {row.id}, {row.name}: {row.bytes} bytes, not {entry.detail}")


def nested_kinds(log):
    return {(entry.name, entry.result) for entry in log.entries if entry.flags & NESTED}


def whole_thread(who, log, rows, cut):
    """Every call is a row; returns [(entry, row)]. `cut`: the process ended in the middle of its calls."""
    musts = [entry for entry in log.entries if not entry.flags & NESTED]
    wanted, found = runs_of(musts), runs_of(rows)
    pairs = []
    for at, (entries, those) in enumerate(zip(wanted, found)):
        if cut and at == len(wanted) - 1 and is_poll(entries[0]) and all(map(is_poll, those)) and (
                polls_of(those) == polls_of(entries) + collections.Counter([log.calling])):
            break  # one more poll, at the very end
        expect(same_run(entries, those),
               f"{who}: run {at} of {len(wanted)}: the program made {entries[:3]}, the trace has {those[:3]}")
        pairs += [(entry, row) for entry, row in zip(entries, those) if not is_poll(entry)]
    more = found[len(wanted):]
    expect(len(found) >= len(wanted),
           f"{who}: the trace ends after {len(found)} of {len(wanted)}: next {wanted[len(found):][:3]}")
    expect(not more or cut and len(more) == 1 and more[0][0].name == log.calling,
           f"{who}: the trace has {len(more)} calls more: {more[:3]}")
    return pairs


def lossy_thread(who, log, rows):
    """Rows are some of the calls, in their order; returns {name: how many are missing}."""
    musts = [entry for entry in log.entries if not entry.flags & NESTED]
    missing = collections.Counter(entry.name for entry in musts)
    for row in rows:
        missing[row.name] -= row.times
    ordered = iter([entry for entry in musts if not is_poll(entry)])
    for row in rows:
        if not is_poll(row):
            expect(any((entry.name, entry.result) == (row.name, row.result) for entry in ordered),
                   f"{who}: the trace has call {row.id}, {row.name}: {row.result}, out of order or of nobody")
    expect(all(count >= 0 for count in missing.values()), f"{who}: more calls than were made: {missing}")
    return missing


# --- comparing a session -------------------------------------------------------------------------


class Session:
    """The logs of a run and its trace. `cut`: the first process ends in the middle of its calls."""

    def __init__(self, folder, trace, classes, cut):
        self.logs = read_logs(folder, dict(trace.execute("SELECT pid, count(*) FROM processes GROUP BY pid")))
        self.trace = trace
        self.classes = classes
        self.cut = cut
        self.rows = read_rows(trace)
        self.losses = read_losses(trace)
        self.pairs = []
        self.missing = 0
        self.counts = collections.Counter()

    def split(self, key):
        """Rows that are the thread's, and those of handlers that came in the middle of a call."""
        kinds = nested_kinds(self.logs[key])
        rows = self.rows.get(key, [])
        return ([row for row in rows if (row.name, row.result) not in kinds],
                collections.Counter(row.name for row in rows if (row.name, row.result) in kinds))

    def check_process(self, pid):
        lost = collections.Counter()
        for (what, kind), count in self.losses[pid].items():
            if what == "call":
                lost[kind] += count
        missing, may_miss = collections.Counter(), collections.Counter()
        # What handlers made inside a call, and what may leave no row: never more rows than that.
        for key in [key for key in self.logs if key[0] == pid]:
            who = f"process {pid}, thread {key[1]}"
            log, (rows, nested) = self.logs[key], self.split(key)
            made = collections.Counter(entry.name for entry in log.entries if entry.flags & NESTED)
            for name, count in made.items():
                expect(nested[name] <= count,
                       f"{who}: {nested[name]} {name} of handlers in the trace, {count} were made")
                may_miss[self.classes[name]] += count - nested[name]
            if self.cut and log.calling:
                may_miss[self.classes[log.calling]] += 1  # killed before it was logged
            self.counts["handlers'"] += sum(made.values())
            self.counts["calls"] += len(log.entries)
            self.thread(who, key, log, rows, any(lost[kind] > 0 for kind in lost), may_miss, missing)
        for kind in set(lost) | set(missing):
            expect(missing[kind] <= lost[kind] <= missing[kind] + may_miss[kind],
                   f"process {pid}: {missing[kind]} calls of class {kind} are missing (and up to "
                   f"{may_miss[kind]} of handlers or unlogged), losses say {lost[kind]}")
        self.missing += sum(missing.values())
        self.counts["lost"] += sum(lost.values())

    def thread(self, who, key, log, rows, lossy, may_miss, missing):
        """With losses that can be handlers' alone, all else must be there: tried first."""
        try:
            pairs = whole_thread(who, log, rows, self.cut)
        except Mismatch as first:
            if not lossy:
                raise
            try:
                found = lossy_thread(who, log, rows)
            except Mismatch as second:
                raise Mismatch(f"{first}; with losses: {second}") from None
            for name, count in found.items():
                missing[self.classes[name]] += count
            return
        for entry, row in pairs:
            same_details(entry, row, "name" in {what for what, _ in self.losses[key[0]]})
        self.pairs += pairs

    def check_calls(self):
        strangers = set(self.rows) - set(self.logs)
        expect(not strangers, f"the trace has threads that the program did not have: {strangers}")
        pids = {key[0] for key in self.logs}
        for pid in pids:
            self.check_process(pid)
        others = {pid: dict(kinds) for pid, kinds in self.losses.items() if pid not in pids}
        expect(not others, f"losses of nobody: {others}")
        self.counts["processes"] += len(pids)
        self.counts["threads"] += len(self.logs)

    def check_loads(self):
        loads = collections.Counter()
        for call, result in self.trace.execute("SELECT call, result FROM loads WHERE kind <> 'lazy'"):
            loads[call, result] += 1
        for entry, row in self.pairs:
            if entry.flags & LOADS:
                expect(loads.pop((row.id, entry.result), 0) == 1,
                       f"call {row.id}, {row.name}, returned {entry.result}, and is no load")
        # A process that is cut off inside such a call has the load already, and not the call.
        inside = sum(self.cut and self.classes.get(log.calling) == "load" for log in self.logs.values())
        expect(not loads or self.missing or loads.total() <= inside and {call for call, _ in loads} == {None},
               f"loads of no call: {loads}")

    def after_the_gpu(self):
        """Calls of a process that was ending, made by other threads when the GPU's side was fetched already."""
        if not self.cut or not self.trace.execute("SELECT 1 FROM sqlite_master WHERE name = 'recording'").fetchone():
            return set()
        return {row[0] for row in self.trace.execute(
            "SELECT c.id FROM calls c WHERE c.start_ns + c.duration_ns >= (SELECT max(r.end_ns) FROM recording r"
            " WHERE r.process = c.process AND r.side = 'gpu')")}

    def without_gpu(self, excuses):
        """The calls of processes without a GPU side: their reason begins with an excuse, or they were killed in cuInit."""
        pids = set()
        for pid, nth, gpu, why in self.trace.execute(
                f"WITH {PROCESSES} SELECT p.pid, p.nth, gpu, gpu_why FROM processes JOIN p USING (id) WHERE forked = 0"):
            begun = any((key[0], key[2]) == (pid, nth) and any(entry.name == "cuInit" for entry in log.entries)
                        for key, log in self.logs.items())
            if gpu is None and self.cut and not begun or gpu == "host-only" and why.startswith(excuses):
                pids.add((pid, nth))
            else:
                expect(gpu == "cupti", f"process {pid}: the GPU's side is {gpu}: {why}")
        return {row.id for key, rows in self.rows.items() if (key[0], key[2]) in pids for row in rows}

    def check_gpu(self, exact, excuses=(), fetched=None):
        """Each call that starts work has its operation, or is counted as lost. `exact`: there are no others.
        `fetched`: the process that asked CUPTI for all before its end, so nothing of it may be lost."""
        whole = {row.id for key, rows in self.rows.items() if key[0] == fetched for row in rows}
        outside = self.without_gpu(excuses)
        ops = collections.defaultdict(list)
        for call, kind, name, count in self.trace.execute(
                "SELECT call, kind, name, count(*) FROM gpu_ops GROUP BY 1, 2, 3"):
            ops[call] += [(kind, name)] * count
        nodes = self.trace.execute("SELECT 1 FROM meta WHERE key = 'graphs' AND value = 'nodes'").fetchone()
        lost = sum(count for kinds in self.losses.values() for (what, _), count in kinds.items() if what.startswith("GPU"))
        alone = ops.pop(None, [])
        expect(len(alone) <= self.missing or lost or self.cut, f"operations without a call: {alone[:3]} of {len(alone)}")
        absent, late, missed = collections.Counter(), self.after_the_gpu(), False
        for entry, row in self.pairs:
            own = ops.pop(row.id, [])
            if not entry.flags & RUNS or entry.result != 0:
                expect(not own or not exact, f"call {row.id}, {row.name}, has operations: {own}")
                continue
            if not own and row.id not in late and row.id not in outside:
                absent[row.name] += 1
                missed |= row.id in whole
            expect(len(own) <= 1 or not exact or nodes and "Graph" in row.name, f"call {row.id}, {row.name}, has several operations: {own}")
            if own and entry.flags & KERNEL:
                wanted = kernel_name(entry.detail)
                expect(own[0] == ("kernel", wanted), f"call {row.id} launched {wanted}, the GPU ran {own}")
        expect(absent.total() <= lost and not missed, f"no operation: {absent}; {lost} are counted as lost")
        self.counts["operations"] += self.trace.execute("SELECT count(*) FROM gpu_ops").fetchone()[0]

    def check_ends(self):
        if not self.cut:
            flights = self.trace.execute("SELECT count(*) FROM in_flight").fetchone()[0]
            expect(flights == 0, f"{flights} calls in flight of processes that have ended well")
        expect(self.trace.execute("PRAGMA integrity_check").fetchone()[0] == "ok", "the trace is damaged")
