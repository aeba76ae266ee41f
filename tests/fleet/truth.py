"""The answers of python/gpuverify/fleet/*.sql for a fleet of generate.py, from its rows, without SQL and without traces."""

import collections
import re

S = 1e9
HOUR = 3600e9


def where(location):
    if isinstance(location, str):
        return location
    return f"{location[0].rsplit('/', 1)[-1]}:{location[1]} {location[2]}" if location else "?"


def code(location):
    return re.sub(r":\d+( |$)", r"\1", where(location), count=1)


def sums(rows, key, value):
    found = collections.defaultdict(int)
    for row in rows:
        found[key(row)] += value(row)
    return found


def traces(rows, key):
    found = collections.defaultdict(set)
    for row in rows:
        found[key(row)].add(row.of.trace)
    return {name: len(sessions) for name, sessions in found.items()}


def top_stalls(fleet):
    def key(row):
        return row.of.program, row.cause, row.call, where(row.location)

    lost = sums(fleet.stalls, key, lambda row: row.times * row.each_ns)
    count, seen = sums(fleet.stalls, key, lambda row: row.times), traces(fleet.stalls, key)
    most = {name: max(row.each_ns for row in fleet.stalls if key(row) == name) for name in lost}
    rows = [(*name, seen[name], count[name], lost[name] / S, most[name] / 1e6) for name in lost]
    return sorted(rows, key=lambda row: (-round(row[6], 3), *row[:4]))[:20]


def idle_by_team(fleet):
    def key(row):
        return row.of.team or "?", row.what

    held = sums(fleet.processes, lambda row: row.team or "?", lambda row: row.duration_ns * row.gpus)
    idle, seen = sums(fleet.idle, key, lambda row: row.idle_ns), traces(fleet.idle, key)
    rows = [(*name, seen[name], idle[name] / HOUR, 100 * idle[name] / held[name[0]]) for name in idle]
    return sorted(rows, key=lambda row: (row[0], -round(row[3], 6), row[1]))


def build_regressions(fleet):
    rows = []
    for program in {row.program for row in fleet.processes}:
        own = [row for row in fleet.processes if row.program == program and row.build and row.start_unix_ns is not None]
        builds = sorted({row.build for row in own}, key=lambda build: min(row.start_unix_ns for row in own if row.build == build))
        if len(builds) < 2:
            continue
        shares = []
        for build in builds[-2:]:
            run = sum(row.duration_ns for row in own if row.build == build)
            held = sum(row.duration_ns * row.gpus for row in own if row.build == build)
            share = sums([row for row in fleet.stalls if (row.of.program, row.of.build) == (program, build)],
                         lambda row: ("stall", row.cause, code(row.location)), lambda row, run=run: row.times * row.each_ns / run)
            share.update(sums([row for row in fleet.idle if (row.of.program, row.of.build) == (program, build)],
                              lambda row: ("idle", row.what, code(row.location)),
                              lambda row, held=held: row.idle_ns / held))
            shares.append(share)
        before, after = shares
        rows += [(program, *builds[-2:], *name, 100 * before[name], 100 * after[name]) for name in sorted({*before, *after})
                 if after[name] > 1.1 * before[name] and after[name] - before[name] >= 0.01]
    return sorted(rows, key=lambda row: (-round(row[7], 3) + round(row[6], 3), row[0], *row[3:6]))[:50]


def slow_ranks(fleet):
    own = [row for row in fleet.processes if row.rank is not None and row.job]
    idle = sums([row for row in fleet.idle if row.of in set(own)], lambda row: (row.of.job, row.of.rank), lambda row: row.idle_ns)
    rows = []
    for process in own:
        others = [row for row in own if row.job == process.job and row.rank != process.rank]
        if not others:
            continue
        mean = sum(idle[row.job, row.rank] for row in others) / len(others)
        behind = idle[process.job, process.rank] - mean
        reasons = sums([row for row in fleet.idle if row.of == process], lambda row: (row.what, where(row.location)),
                       lambda row: row.idle_ns)
        chief = min(reasons, key=lambda name: (-reasons[name], name))
        if behind > 0:
            rows.append((process.job, process.rank, process.host, process.duration_ns / S, idle[process.job, process.rank] / S,
                         mean / S, behind / S, *chief, reasons[chief] / S))
    return sorted(rows, key=lambda row: (-round(row[6], 3), row[0], row[1]))[:20]


def gpu_hours(fleet):
    def key(row):
        return row.of.program, row.what, row.location and code(row.location)

    held = sum(row.duration_ns * row.gpus for row in fleet.processes) / HOUR
    saved, seen = sums(fleet.findings, key, lambda row: row.saves_ns), traces(fleet.findings, key)
    best = sorted((name for name in saved if name[2] and name[1] != "unknown"), key=lambda name: (-saved[name], *name))[:10]
    lost = sum(row.idle_ns for row in fleet.idle) / HOUR
    return [(turn + 1, *name, seen[name], saved[name] / HOUR, sum(saved[other] for other in best[:turn + 1]) / HOUR, lost, held)
            for turn, name in enumerate(best)]


def top_findings(fleet):
    def key(row):
        return row.of.program, row.key, row.phase

    lost, seen = sums(fleet.findings, key, lambda row: row.lost_ns), traces(fleet.findings, key)
    saved = sums(fleet.findings, key, lambda row: row.saves_ns)
    most = {name: max(row.lost_ns / row.phase_ns for row in fleet.findings if key(row) == name) for name in lost}
    rows = [(*name, seen[name], lost[name] / S, saved[name] / S, 100 * most[name]) for name in lost]
    return sorted(rows, key=lambda row: (-round(row[5], 3), *row[:3]))[:20]


def late_loads(fleet):
    late = [row for row in fleet.loads if row.late]

    def key(row):
        return row.of.driver, row.library

    seen, count = traces(late, key), sums(late, key, lambda row: row.times)
    took = sums(late, key, lambda row: row.times * row.each_ns)
    waited = sums(late, key, lambda row: row.times * row.each_wait_ns)
    most = {name: max(row.each_ns for row in late if key(row) == name) for name in took}
    rows = [(*name, seen[name], count[name], took[name] / S, waited[name] / S, most[name] / 1e6) for name in took]
    return sorted(rows, key=lambda row: (-round(row[4], 3), *row[:2]))[:20]


QUESTIONS = {answer.__name__: answer for answer in (top_stalls, top_findings, idle_by_team, build_regressions, slow_ranks,
                                                      gpu_hours, late_loads)}


def differences(wanted, found):
    """What differs between two answers: rows in order; numbers are rounded, so the last digit may differ."""
    said = [f"{len(found)} rows, not {len(wanted)}"] if len(wanted) != len(found) else []
    for number, (one, other) in enumerate(zip(wanted, found), 1):
        if len(one) != len(other) or not all(map(_alike, one, other)):
            said.append(f"row {number}: {tuple(other)}, not {tuple(one)}")
    return said


def _alike(one, other):
    if isinstance(one, float) or isinstance(other, float):
        return one is not None and other is not None and abs(float(one) - float(other)) <= 0.0011 + 1e-9 * abs(float(one))
    return one == other
