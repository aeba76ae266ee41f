"""Cells of IPython and of notebooks: each is a range, `In[3]`, and `%%gpuverify` shows what it lost.

The magic is only a line in the cell: code, `await`, errors and output are as without it.
"""

from __future__ import annotations

import collections
import html
import importlib
import math
import os
import re
import shlex
import sqlite3
import threading
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from . import open as open_trace, recording
from ._files import trace as trace_path
from .trace import Trace, TraceError, connect

# CUPTI's records come five times a second (GPUVERIFY_FLUSH_MS). The collector has the lowest priority.
_FETCHED_S = 2.0
_STORED_S = 20.0
_MOST_ROWS = 5
_COLUMNS = 80
# Facts that hold for the calls of a cell; others judge the time around them.
_OF_CALLS = ("out of memory", "launch-blocking", "memory full")
_NOT_RECORDED = (
    "gpuverify is not loaded here, so nothing was recorded. In a notebook, choose the kernel 'Python 3 (gpuverify)', which "
    "`gpuverify jupyter install` adds. In a terminal, start `gpuverify run -o ipython.db -- ipython`. If that is how "
    "it was started, `gpuverify doctor` says what is in the way.")
_NO_TRACE = ("%%gpuverify cannot tell which trace is written: set GPUVERIFY_TRACE to a path without %, or start with "
             "`gpuverify run -o FILE`.")

_IDLE = ("GPU idle", "reason", "what", "where")
_RANGE = """SELECT r.process, r.start_ns, r.start_ns + r.duration_ns AS end_ns FROM ranges r JOIN processes p ON p.id = r.process
    WHERE p.pid = ? AND r.message = ? AND r.duration_ns IS NOT NULL"""
# When the work of a cell's calls ended, and how many of them have none yet.
_GPU_WORK = """SELECT max(g.start_ns + g.duration_ns), count(*) - count(g.call) FROM calls c LEFT JOIN gpu_ops g ON g.call = c.id
    WHERE c.process = ? AND c.start_ns BETWEEN ? AND ? AND c.class IN ('launch', 'copy', 'set') AND c.correlation IS NOT NULL
        AND c.result = 0 AND coalesce(c.bytes, 1) > 0"""
# From ?2 to ?3, in pieces that begin in the same column of ?4 ns, and end in the same one. The report's timeline has columns
# for the whole trace, in which a cell is short.
_TIMELINE = """SELECT lane, min(start_ns) AS start_ns, max(end_ns) - min(start_ns) AS duration_ns, sum(end_ns - start_ns) AS taken_ns
    FROM (SELECT 'busy ' || coalesce(device, 0) AS lane, start_ns, start_ns + duration_ns AS end_ns FROM gpu_ops WHERE process = ?1
        UNION ALL SELECT 'copy', start_ns, start_ns + duration_ns FROM gpu_ops WHERE process = ?1 AND kind = 'copy'
        UNION ALL SELECT class, start_ns, start_ns + duration_ns FROM calls WHERE process = ?1 AND class IN ('load', 'sync'))
    WHERE end_ns > ?2 AND start_ns < ?3 GROUP BY lane, (start_ns - ?2) / ?4, (end_ns - ?2) / ?4 ORDER BY lane"""


class _Stored(NamedTuple):
    """A cell in the trace."""

    process: int
    start_ns: int
    end_ns: int
    finished_ns: int | None  # the last work of its calls
    pending: int  # calls whose work is not known


class _Lane(NamedTuple):
    label: str
    colour: str  # readable on white and on black


_LANES = {"busy": _Lane("GPU busy", "#2f9e61"), "copy": _Lane("copying", "#3f8fc4"), "load": _Lane("host loads", "#a46bd0"),
          "sync": _Lane("host waits", "#8c8c8c"), "stall": _Lane("stalls", "#d8483e")}


class _Cell:
    def __init__(self, name: str) -> None:
        self.name = name
        self.wanted = False  # %%gpuverify
        self.range = recording.range(name)


class Report:
    """What is shown of a cell. The texts have no control characters; HTML is escaped here, and nowhere else."""

    def __init__(self, headline: str) -> None:
        self.headline = headline
        self.findings: list[tuple[str, str]] = []  # what, and the fix
        self.lanes: list[tuple[_Lane, list[float]]] = []
        self.span = ""
        self.idle: list[list[str]] = []  # as in _IDLE
        self.notes: list[str] = []
        self.more = ""  # a command

    def __repr__(self) -> str:
        lines = [self.headline]
        lines += [f"{lane.label:12} {''.join(' ▁▂▃▄▅▆▇█'[math.ceil(level * 8)] for level in levels)}|" for lane, levels in self.lanes]
        lines += [f"{'':12} 0{self.span:>{_COLUMNS - 1}}"] * bool(self.lanes)
        for what, fix in self.findings:
            lines += [what, *[f"  fix: {fix}"] * bool(fix)]
        if self.idle:
            rows = [list(_IDLE), *self.idle]
            widths = [max(map(len, column)) for column in zip(*rows)]
            lines += ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        lines += [f"! {note}" for note in self.notes]
        return "\n".join(lines + ["", self.more] * bool(self.more))

    def _repr_html_(self) -> str:
        text = html.escape
        left = ' style="text-align:left;vertical-align:top"'
        parts = [f"<p><b>{text(self.headline)}</b></p>"]
        if self.lanes:
            parts += ['<table style="width:100%;max-width:60em">', *(
                f'<tr><td style="text-align:left;white-space:nowrap;width:7em">{text(lane.label)}</td><td>{_svg(lane, levels)}</td></tr>'
                for lane, levels in self.lanes)]
            parts.append(f'<tr><td></td><td><span style="float:left">0</span>{text(self.span)}</td></tr></table>')
        if self.findings:
            parts += ["<ul>", *(f"<li>{text(what)}{'<br>fix: ' * bool(fix)}{text(fix)}</li>" for what, fix in self.findings), "</ul>"]
        if self.idle:
            parts += ["<table><tr>", *(f"<th{left}>{text(name)}</th>" for name in _IDLE), "</tr>"]
            parts += ["<tr>" + "".join(f"<td{left}>{text(value)}</td>" for value in row) + "</tr>" for row in self.idle]
            parts.append("</table>")
        parts += [f"<p>! {text(note)}</p>" for note in self.notes]
        return "".join(parts) + (f"<p><code>{text(self.more)}</code></p>" if self.more else "")


def _svg(lane: _Lane, levels: list[float]) -> str:
    bars = "".join(f"M{at} 16V{16 - 16 * level:.1f}h1V16z" for at, level in enumerate(levels) if level > 0)
    return (f'<svg viewBox="0 0 {_COLUMNS} 16" preserveAspectRatio="none" style="display:block;width:100%;height:16px">'
            f'<rect width="{_COLUMNS}" height="16" fill="currentColor" fill-opacity="0.08"/><path d="{bars}" fill="{lane.colour}"/></svg>')


def _levels(pieces: Iterable[tuple[int, int, float]], start_ns: int, end_ns: int) -> list[float]:
    """How much of each column's time the pieces take: each has a start, a duration and how much of that is taken."""
    width = max(end_ns - start_ns, 1) / _COLUMNS
    levels = [0.0] * _COLUMNS
    for from_ns, duration_ns, taken_ns in pieces:
        first, last = (from_ns - start_ns) / width, (from_ns + duration_ns - start_ns) / width
        for column in range(max(int(first), 0), min(math.ceil(last), _COLUMNS)):
            part = min(last, column + 1) - max(first, column)
            levels[column] = min(levels[column] + part * taken_ns / max(duration_ns, 1), 1.0)
    return levels


def _time(ns: float) -> str:
    unit, size = next((unit for unit in (("s", 1e9), ("ms", 1e6), ("us", 1e3)) if ns >= unit[1]), ("ns", 1))
    value = ns / size
    return f"{value:.{max(0, 2 - int(math.log10(max(value, 1))))}f} {unit}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" + "s" * (count != 1)


class _Texts:
    """Texts of a trace, for people: without control characters, and with In[3] for the file that IPython makes of a cell."""

    def __init__(self, trace: Trace, shell: Any) -> None:
        describe = getattr(shell.compile, "format_code_name", None)  # IPython 8
        self._cells = {}
        for file, in trace.query("SELECT DISTINCT file FROM frames WHERE kind = 'python' AND file IS NOT NULL"):
            described = describe and describe(file)
            if described:
                self._cells.update(dict.fromkeys((file, os.path.basename(file)), described[1]))
        names = sorted(map(re.escape, self._cells), key=len, reverse=True)
        self._files = re.compile(rf"(?<!\w)(?:{'|'.join(names)})(?!\w)") if names else None

    def __call__(self, value: str | None) -> str:
        text = "-" if value is None else value
        if self._files:
            text = self._files.sub(lambda found: self._cells[found[0]], text)
        return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


class _Cells:
    """The cells of one shell."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        # A notebook may change its folder.
        self._trace = (path := trace_path()) and os.path.abspath(path)
        self._runs: collections.Counter[str] = collections.Counter()
        self._thread = threading.local()  # a kernel can have several: subshells

    @property
    def _open(self) -> list[_Cell | None]:
        """The cell that runs, and a None for each that code in it runs (`run_cell`)."""
        if not hasattr(self._thread, "cells"):
            self._thread.cells = []
        cells: list[_Cell | None] = self._thread.cells
        return cells

    def begin(self, info: Any) -> None:
        if self._open:
            self._open.append(None)
            return
        # It was counted up already, from IPython 9.8 on.
        counted = info.store_history and importlib.import_module("IPython").version_info >= (9, 8)
        name = f"In[{self._shell.execution_count - counted}]"
        self._runs[name] += 1
        cell = _Cell(name if self._runs[name] == 1 else f"{name} (run {self._runs[name]})")  # after %reset
        self._open.append(cell)
        cell.range.__enter__()

    def end(self, result: Any) -> None:
        # IPython does not announce empty cells. That with %load_ext had begun before.
        if not result.info.raw_cell.strip() or not self._open:
            return
        cell = self._open.pop()
        if cell is None:
            return
        cell.range.__exit__(None, None, None)
        if cell.wanted:
            try:
                shown = self.report(cell.name)
            except (TraceError, sqlite3.Error, OSError) as why:
                shown = Report(f"gpuverify: {why}")
            except KeyboardInterrupt:
                shown = Report(f"gpuverify: interrupted while it read {self._trace}")
            importlib.import_module("IPython.display").display(shown)

    def magic(self, line: str, cell: str | None = None) -> Any:
        """Shows what the cell lost on the GPU: its findings, stalls and idle time. %%gpuverify is a cell's first line."""
        if line.strip():
            raise importlib.import_module("IPython.core.error").UsageError("%%gpuverify takes no arguments")
        if self._open and self._open[0]:
            self._open[0].wanted = True
        if cell is None:
            return None
        # Another magic is below it: see _first_line().
        first, _, body = cell.partition("\n")
        name, _, rest = first[2:].partition(" ")
        return self._shell.run_cell_magic(name, rest, body)

    def report(self, name: str) -> Report:
        if not recording.is_recordable():
            return Report(_NOT_RECORDED)
        if not self._trace:
            return Report(_NO_TRACE)
        if not recording.is_recorded():
            return Report(f"{name}: this process has made no CUDA call yet.")
        stored = self._await_stored(name)
        if not stored:
            return Report(f"{name} is not in {self._trace}: its collector may have been killed, or GPUVERIFY_RANGES is off.")
        with open_trace(self._trace) as trace:
            return self._read(trace, name, stored)

    def _await_stored(self, name: str) -> _Stored | None:
        """The cell in the trace that is being written, once it and the work of its calls are there: a snapshot takes longer."""
        assert self._trace
        began = time.monotonic()
        while True:
            waited_s = time.monotonic() - began
            try:
                connection = connect(self._trace)
                try:
                    found = connection.execute(_RANGE, (os.getpid(), name)).fetchall()
                    if found:
                        stored = _Stored(*found[-1], *connection.execute(_GPU_WORK, found[-1]).fetchone())
                        if not stored.pending or waited_s >= _FETCHED_S:
                            return stored
                finally:
                    connection.close()
            except (TraceError, sqlite3.Error):
                if waited_s >= _STORED_S:  # else the collector has just begun the file
                    raise
            if waited_s >= _STORED_S:
                return None
            time.sleep(0.02)

    def _read(self, trace: Trace, name: str, stored: _Stored) -> Report:
        text = _Texts(trace, self._shell)
        start_ns, end_ns = stored.start_ns, max(stored.end_ns, stored.finished_ns or 0)
        process = ("--process", str(os.getpid()))
        said = trace._ask("report", "--section", "findings", *process, "--from", f"{start_ns}ns", "--to", f"{end_ns + 1}ns")
        idle = trace._ask("idle", *process, "--range", name)
        stalls = [row for row in trace._ask("stalls", "--range", name)["stalls"] if start_ns <= row["start_ns"] < end_ns]
        shown = Report(_headline(name, said["numbers"], stalls, stored.end_ns - start_ns, end_ns - start_ns))
        groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for stall in stalls:
            groups.setdefault(tuple(map(text, (stall["name"], stall["where"], stall["cause"]))), []).append(stall)
        worst = sorted(groups.items(), key=lambda group: -sum(map(_lost, group[1])))
        shown.findings = [(f"stalled for {_time(sum(map(_lost, group)))}: {', '.join(key)} ({_counted(len(group), 'call')})",
                           text(group[0]["advice"])) for key, group in worst[:_MOST_ROWS]]
        shown.findings += [(text(f"{fact['name']}: {fact['detail']}"), "") for fact in said["facts"] if fact["name"] in _OF_CALLS]
        shown.idle = [[_time(row["total_ns"]), *map(text, (row["reason"], row["detail"], row["where"]))]
                      for row in idle["lines"][:_MOST_ROWS] if row["total_ns"] * 100 >= idle["run_ns"]]
        shown.span = _time(end_ns - start_ns)
        width_ns = max((end_ns - start_ns) // _COLUMNS, 1)
        shown.lanes = _lanes(trace.query(_TIMELINE, (stored.process, start_ns, end_ns, width_ns)), stalls, start_ns, end_ns)
        # That the trace is a snapshot, and what it lacks of the GPU's work, is always so, and said below.
        shown.notes = [text(note) for note in said["notes"] if not note.startswith(("Snapshot ", "GPU activity after "))]
        if stored.pending:
            shown.notes.append(f"Work of {_counted(stored.pending, 'call')} is missing: the GPU had not finished it, or it was "
                               "captured into a graph. Wait for the GPU in the cell to see all of its work.")
        words = f"{shlex.quote(text(self._trace))} --range {shlex.quote(name)}"
        if len(groups) > _MOST_ROWS:
            shown.notes.append(f"{_counted(len(groups) - _MOST_ROWS, 'more line')} stalled: gpuverify stalls {words}")
        shown.more = f"gpuverify report {words}"
        return shown


def _lost(stall: dict[str, Any]) -> int:
    lost: int = stall["wait_ns"] + stall["jit_ns"]
    return lost


def _headline(name: str, facts: dict[str, Any], stalls: list[dict[str, Any]], cell_ns: int, all_ns: int) -> str:
    took = f"{name} took {_time(cell_ns)}"
    if not facts["calls"]:
        return f"{took} and made no CUDA call."
    busy = "GPU activity unknown"
    if facts["busy_ns"] is not None:  # of all devices together
        busy = f"GPU busy {min(100 * facts['busy_ns'] / (all_ns * max(facts['devices'], 1)), 100):.0f} %"
    return ", ".join([
        took + (f", {_time(all_ns)} until its GPU work was done" if all_ns > cell_ns else ""), busy,
        f"{facts['launches']} launch{'es' * (facts['launches'] != 1)}",
        _counted(len(stalls), "stall") + (f" ({_time(sum(map(_lost, stalls)))})" if stalls else ""),
        *([_counted(facts["failed_calls"], "failed call")] if facts["failed_calls"] else ())]) + "."


def _lanes(timeline: Iterable[Any], stalls: list[dict[str, Any]], start_ns: int, end_ns: int) -> list[tuple[_Lane, list[float]]]:
    pieces: dict[str, list[tuple[int, int, float]]] = {}
    for row in timeline:
        pieces.setdefault(row.lane, []).append(row[1:])
    if stalls:
        pieces["stall"] = [(stall["start_ns"], stall["duration_ns"], _lost(stall)) for stall in stalls]
    lanes = []
    for name, its in pieces.items():
        kind, _, device = name.partition(" ")
        lane = _LANES[kind]
        if device and sum(other.startswith("busy") for other in pieces) > 1:
            lane = lane._replace(label=f"GPU {device} busy")
        lanes.append((lane, _levels(its, start_ns, end_ns)))
    return lanes


def _first_line(lines: list[str]) -> list[str]:
    """The magic as a line of the cell, unless another magic wants the rest of it."""
    if lines and lines[0].split() == ["%%gpuverify"] and not (len(lines) > 1 and lines[1].startswith("%%")):
        return ["%gpuverify\n", *lines[1:]]
    return lines


_loaded: dict[int, _Cells] = {}


def load(shell: Any) -> None:
    cells = _loaded[id(shell)] = _Cells(shell)
    shell.events.register("pre_run_cell", cells.begin)
    shell.events.register("post_run_cell", cells.end)
    shell.input_transformers_cleanup.append(_first_line)
    shell.register_magic_function(cells.magic, "line_cell", "gpuverify")


def unload(shell: Any) -> None:
    cells = _loaded.pop(id(shell))
    shell.events.unregister("pre_run_cell", cells.begin)
    shell.events.unregister("post_run_cell", cells.end)
    shell.input_transformers_cleanup.remove(_first_line)
    for kind in ("line", "cell"):
        del shell.magics_manager.magics[kind]["gpuverify"]
