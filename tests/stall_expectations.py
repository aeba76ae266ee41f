"""What a trace must say of a workload of kernels/stalls: its NAME.expect against the stalls found.

An expectation is JSON: {"busy": {LABEL: WHAT, ...}, "idle": {...}}. The labels are those of the lines
"timed LABEL CALL MILLISECONDS" that the program prints. WHAT:

  cause             of the stall that the timed call is; null: it is none
  kernel            name of the kernel that the call was for
  expected          whether the program asked to wait; default false
  waited_for        name of the kernel that had to end (not in host-only mode, where it is not seen)
  host_function     name of the host function that most of the wait was for
  blocked_by        name of the call that stood in the way
  other_did         what another process did: call, start, end or use
  wait_ms "busy"    the wait is as long as the GPU was kept busy
  own_ms            what the call takes by itself at most: without the GPU's side nobody knows, and the wait may
                    be told longer, or shorter, by as much
  lost "timed"      waiting and compiling are as long as the program timed the call, but for `own_ms`
  confidence        default: measured if the GPU's side was recorded
  jit               true: part of the time went into compiling
  drained_at_least  operations that had to end
  drained_ms "busy" from the first one's start to the last one's end it took that long
  may_be_absent     true: no such stall is fine too, another cause is not

What is not said for a label on an idle GPU: no stall. "in_flight": the call that the program was killed
in; "killed": it was killed outside of one. "unknown_ms": busy, at least one call that takes so long is
found and not explained. "longest": busy, the cause of most of the time that was
lost once timing began. "environment": variables that the program needs on the simulator; "machine": true: its
processes share a simulated machine.

From the first timed call on, or from the end of the call that the program names in a line "timing begins
after CALL", the trace may have no other finding. A program that says so times every call, and says
"slow CALL MILLISECONDS" of each that took a stall's time: then there may be as many that nothing explains,
or that had no processor.
"""

import json
import os
import re
import sqlite3

HERE = os.path.dirname(os.path.abspath(__file__))
EXPECTATIONS = os.path.join(os.path.dirname(HERE), "kernels", "stalls")
TIMED = re.compile(r"^timed (\S+) (\S+) ([\d.]+)$", re.M)
BEGINS = re.compile(r"^timing begins after (\S+)$", re.M)
SLOW = re.compile(r"^slow (\S+) ([\d.]+)$", re.M)
# What a call may take of its own account around the wait, and what clocks may differ by: milliseconds,
# and the part of the time; and whether the program may have been held up by more than CUDA, so that
# a wait may be as long as the program says that the call took.
STRICT = (2.0, 0.05, False)
# On a machine that does other things beside, as continuous integration's.
WIDE = (10.0, 0.15, True)
# A call that only asks, and is not as slow as a stall, is not in the trace.
QUICK_MS = 0.1
# Causes while a program sets itself up, before anything is timed.
SETTING_UP = ("jit", "context", "module-load", "lazy-load", "lock", "unknown", "descheduled")
# Causes of a busy machine.
OTHERS_DOING = ("unknown", "descheduled")


class Mismatch(AssertionError):
    """The trace differs from the expectation."""


def names():
    return sorted(name[:-len(".expect")] for name in os.listdir(EXPECTATIONS)
                  if name.endswith(".expect"))


def load(name):
    with open(os.path.join(EXPECTATIONS, name + ".expect"), encoding="utf-8") as file:
        return json.load(file)


def need(condition, message):
    if not condition:
        raise Mismatch(message)


def base(name):
    """cuMemcpyDtoH_v2_ptds is what a program calls cuMemcpyDtoH."""
    return re.sub(r"(_ptsz|_ptds)$", "", re.sub(r"(_v\d+)?(_ptsz|_ptds)?$", "", name))


class Told:
    """One trace and its program's output."""

    def __init__(self, path, output, mode, state, busy_ms, margin):
        self.database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
        self.database.row_factory = sqlite3.Row
        self.timed = [(label, call, float(ms)) for label, call, ms in TIMED.findall(output)]
        self.begins = BEGINS.search(output)
        self.slow = [(name, float(ms)) for name, ms in SLOW.findall(output)]
        self.mode = mode  # "measured" or "inferred"
        self.state = state  # "busy" or "idle"
        self.busy_ms = busy_ms
        self.margin = margin

    def close(self):
        self.database.close()

    def near(self, found_ms, wanted_ms, more_ms=0.0):
        least_ms, part, _ = self.margin
        return abs(found_ms - wanted_ms) <= max(least_ms, part * wanted_ms) + more_ms

    def rows(self, sql, *values):
        return [dict(row) for row in self.database.execute(sql, values)]

    def calls_of(self, name):
        """By their names first: a trace may have a million of others."""
        names = [row["name"] for row in self.rows("SELECT DISTINCT name FROM calls")
                 if base(row["name"]) == base(name)]
        return self.rows("SELECT id, name, start_ns, duration_ns FROM calls WHERE name IN"
                         f" ({','.join('?' * len(names))}) ORDER BY start_ns", *names)

    def find_calls(self, labels):
        """The call of each timed line: of that name, as long as the program says. Of several that are, the
        last: those that set the program up come before."""
        found = {}
        taken = set()
        for label, name, ms in reversed(self.timed):
            fits = [call for call in self.calls_of(name) if call["id"] not in taken]
            if not fits and ms < QUICK_MS:
                continue
            need(fits, f"{label}: no call {name} in the trace")
            off = {call["id"]: abs(call["duration_ns"] / 1e6 - ms) for call in fits}
            same = [call for call in fits if off[call["id"]] <= max(0.2, 0.02 * ms)]
            call = same[-1] if same else min(fits, key=lambda call: off[call["id"]])
            # What stopped the program may have stopped it beside the call.
            if labels.get(label, {}).get("may_be_absent") and not self.near(call["duration_ns"] / 1e6, ms):
                continue
            need(self.near(call["duration_ns"] / 1e6, ms),
                 f"{label}: {name} took {ms} ms, the trace says {call['duration_ns'] / 1e6:.3f}")
            taken.add(call["id"])
            found[label] = (call, ms)
        return found

    def stall_of(self, call):
        rows = self.rows("SELECT s.*, o.name AS op, b.name AS blocker, h.name AS host FROM stalls s"
                         " LEFT JOIN host_functions h ON h.id = s.host_function"
                         " LEFT JOIN gpu_ops o ON o.id = s.waited_for"
                         " LEFT JOIN calls b ON b.id = s.blocked_by WHERE s.call = ?", call["id"])
        need(len(rows) <= 1, f"call {call['id']} has {len(rows)} stalls")
        return rows[0] if rows else None

    def is_noise(self, stall):
        """What a machine that does other things makes of a call that would be short: with a strict margin
        one that is said not to be explained."""
        least_ms, _, disturbed = self.margin
        if disturbed and stall["cause"] == "descheduled":
            return True
        return ((disturbed or stall["cause"] in OTHERS_DOING) and stall["duration_ns"] / 1e6 <= least_ms)

    def check_label(self, label, what, call, ms):
        stall = self.stall_of(call)
        told = f"{label}: {stall}"
        if what["cause"] is None:
            need(stall is None or stall["expected"] or self.is_noise(stall),
                 f"{told} should be no stall")
            return
        if stall is None and what.get("may_be_absent"):
            return
        need(stall, f"{label}: no stall, {what['cause']} wanted; the call took {ms} ms")
        need(stall["cause"] == what["cause"], f"{told}: cause {what['cause']} wanted")
        need(bool(stall["expected"]) == what.get("expected", False), f"{told}: expected is wrong")
        self.check_parts(told, what, stall, ms)
        if "kernel" in what:
            need(what["kernel"] in (stall["kernel"] or "") and what["kernel"] in stall["advice"],
                 f"{told}: kernel {what['kernel']} wanted")
        if self.mode == "measured" and "waited_for" in what:
            need(stall["op"] and what["waited_for"] in stall["op"],
                 f"{told}: waited for {what['waited_for']}")
        if "host_function" in what:
            need(stall["host"] and what["host_function"] in stall["host"],
                 f"{told}: waited for host function {what['host_function']}")
        need("host_function" in what or not stall["host_function"], f"{told}: no host function was in its way")
        if "blocked_by" in what:
            need(stall["blocker"] and base(stall["blocker"]) == what["blocked_by"],
                 f"{told}: blocked by {what['blocked_by']}")
        if "other_did" in what:
            need(stall["other_did"] == what["other_did"], f"{told}: the other process did {what['other_did']}")
        if self.mode == "measured" and "drained_at_least" in what:
            need((stall["drained_count"] or 0) >= what["drained_at_least"],
                 f"{told}: {what['drained_at_least']} operations had to end")
        if self.mode == "measured" and what.get("drained_ms") == "busy":
            drained_ms = (stall["drained_ns"] or 0) / 1e6
            need(self.near(drained_ms, self.busy_ms), f"{told}: {drained_ms} ms of work had to end")
        if not stall["expected"]:
            need(stall["advice"], f"{told}: no advice")

    def check_parts(self, told, what, stall, timed_ms):
        parts = [stall["wait_ns"], stall["work_ns"], stall["jit_ns"]]
        need(all(part >= 0 for part in parts), f"{told}: a part is negative")
        need(sum(parts) == stall["duration_ns"], f"{told}: the parts do not add up")
        # A stall that waits for nothing on the GPU is measured too, when the GPU was seen.
        confidence = what.get("confidence", self.mode)
        need(stall["confidence"] == confidence, f"{told}: confidence {confidence} wanted")
        if what.get("wait_ms") == "busy":
            wait_ms = stall["wait_ns"] / 1e6
            more_ms = what.get("own_ms", 3) if confidence == "inferred" else 0
            disturbed = self.margin[2] and self.busy_ms <= wait_ms <= timed_ms
            need(disturbed or self.near(wait_ms, self.busy_ms, more_ms),
                 f"{told}: the wait should be {self.busy_ms} ms")
        if what.get("lost") == "timed":
            more_ms = what.get("own_ms", 0) if confidence == "inferred" else 0
            need(self.near((stall["wait_ns"] + stall["jit_ns"]) / 1e6, timed_ms, more_ms),
                 f"{told}: {timed_ms} ms should be lost")
        if what.get("jit") and self.mode == "measured":
            need(stall["jit_ns"] > 0, f"{told}: nothing was compiled")

    def begins_ns(self, calls):
        """When the program had finished its setup."""
        if self.begins:
            ends = [row["start_ns"] + row["duration_ns"] for row in self.calls_of(self.begins.group(1))]
            need(ends, f"no call {self.begins.group(1)} in the trace")
            return max(ends)
        return min((call["start_ns"] for call in calls), default=float("inf"))

    def is_borne_out(self, stall, labels):
        """A call that may be such a stall, of which the program timed one that took as long: it is not sure
        which of them it was."""
        return any(name == base(stall["name"]) and labels.get(label, {}).get("may_be_absent")
                   and labels[label]["cause"] == stall["cause"] and ms >= stall["duration_ns"] / 1e6
                   for label, name, ms in self.timed)

    def check_others(self, calls, labels):
        """Checks that each finding agrees with the program's own timing."""
        begins_ns = self.begins_ns(calls)
        known = {call["id"] for call in calls}
        slow = list(self.slow)
        for stall in self.rows("SELECT * FROM stalls WHERE expected = 0 ORDER BY duration_ns DESC"):
            if stall["call"] in known or self.begins is None and self.is_noise(stall):
                continue
            if stall["start_ns"] < begins_ns:
                need(stall["cause"] in SETTING_UP, f"before anything was timed: {stall}")
                continue
            if self.is_borne_out(stall, labels):
                continue
            need(stall["cause"] in OTHERS_DOING, f"nobody was to be held up: {stall}")
            # The program's own time is the longer one: the call is within it.
            fits = [one for one in slow if one[0] == base(stall["name"])
                    and one[1] >= stall["duration_ns"] / 1e6 * 0.99 - 0.01]
            need(fits, f"the program's own time does not bear this out: {stall}")
            slow.remove(min(fits, key=lambda one: one[1]))

    def check(self, name, expectation):
        labels = expectation.get(self.state, {})
        calls = self.find_calls(labels)
        for label, what in labels.items():
            need(label in calls or what.get("may_be_absent"), f"{name} did not time {label}")
        for label, (call, ms) in calls.items():
            self.check_label(label, labels.get(label, {"cause": None}), call, ms)
        self.check_others([call for call, _ in calls.values()], labels)

    def check_unknown(self, least_ms):
        need(self.rows("SELECT 1 FROM stalls WHERE cause = 'unknown' AND NOT expected AND wait_ns >= ?",
                       int(least_ms * 1e6)), f"no call of {least_ms} ms that nothing explains")

    def check_longest(self, cause):
        rows = self.rows("SELECT cause, sum(wait_ns + jit_ns) AS lost FROM stalls WHERE NOT expected AND"
                         " start_ns >= ? GROUP BY cause ORDER BY lost DESC", self.begins_ns([]))
        need(rows and rows[0]["cause"] == cause, f"most was to be lost to {cause}: {rows}")

    def check_in_flight(self, wanted):
        rows = self.rows("SELECT * FROM in_flight")
        need(len(rows) >= 1, "no call in flight")
        fits = [row for row in rows if base(row["name"]) == wanted["name"]]
        need(fits, f"{rows}: {wanted['name']} wanted")
        need(fits[0]["cause"] == wanted["cause"], f"{fits[0]}: cause {wanted['cause']} wanted")
        need(wanted["waits_for"] in (fits[0]["state"] or ""), f"{fits[0]}: {wanted['waits_for']} wanted")
        need(fits[0]["advice"], f"{fits[0]}: no advice")
        need((fits[0]["elapsed_ns"] or 0) > 50e6, f"{fits[0]}: for how long?")


def is_killed(name, state):
    """Whether the program kills itself."""
    expectation = load(name)
    return state == "busy" and ("in_flight" in expectation or expectation.get("killed", False))


def longest_ms(output):
    """Of the calls that the program timed."""
    return max((float(ms) for _, _, ms in TIMED.findall(output)), default=0.0)


def check(name, path, output, mode, state, busy_ms, margin=STRICT):
    expectation = load(name)
    told = Told(path, output, mode, state, busy_ms, margin)
    try:
        told.check(name, expectation)
        if state == "busy" and "unknown_ms" in expectation:
            told.check_unknown(expectation["unknown_ms"])
        if state == "busy" and "longest" in expectation:
            told.check_longest(expectation["longest"])
        if state == "busy" and "in_flight" in expectation:
            told.check_in_flight(expectation["in_flight"])
    finally:
        told.close()
