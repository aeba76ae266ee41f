"""pytest --gpuverify: runs the tests under gpuverify; --gpuverify-max-stall 10ms: a test that stalls for longer fails.

What stalls in fixtures does not count: load code and warm up there. Needs pytest 8 or newer.
"""

from __future__ import annotations

import collections
import json
import os
import re
import shutil
import sqlite3
import sys
import time
from collections.abc import Generator
from typing import Any, NamedTuple

import pytest

from . import recording
from ._files import command, trace as _trace_path

_UNITS_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
# Set for the pytest that is started under gpuverify, so that it starts no third one.
_STARTED = "GV_PYTEST_STARTED"
# The collector stores records some 20 times a second, but has the lowest priority.
_STORED_S = 60.0
# In a range, a text has 2048 bytes at most.
_LONGEST_NAME = 500


def _nanoseconds(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ns|us|ms|s)", text)
    if not found:
        raise pytest.UsageError(f"--gpuverify-max-stall: {text!r} is no time such as 10ms")
    return int(float(found[1]) * _UNITS_NS[found[2]])


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gpuverify")
    group.addoption("--gpuverify", action="store_true", help="run the tests under gpuverify, with a range for each test")
    group.addoption("--gpuverify-max-stall", metavar="TIME",
                    help="a test fails if one of its CUDA calls stalls for longer than TIME, such as 10ms; implies --gpuverify")


def _is_wanted(options: Any) -> bool:
    return bool(options.gpuverify or options.gpuverify_max_stall)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Starts this pytest again, under the library: before conftest files, which may use CUDA."""
    if not _is_wanted(early_config.known_args_namespace) or recording.is_recordable():
        return
    if os.environ.get(_STARTED):
        raise pytest.UsageError("--gpuverify: libgpuverify.so was not loaded; `gpuverify doctor` may say why")
    if list(early_config.invocation_params.args) != sys.argv[1:]:
        raise pytest.UsageError("--gpuverify: pytest was started by a program; start that one with `gpuverify run`")
    trace = os.environ["GPUVERIFY_TRACE"] if _trace_path() else f"gpuverify-pytest-{os.getpid()}.db"
    try:
        words = [command(), "run", "-o", trace, "--", sys.executable, *_own_arguments()]
    except OSError as why:
        raise pytest.UsageError(f"--gpuverify: {why}") from None
    capture = early_config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()  # gives stdin, stdout and stderr back
    sys.stdout.flush()
    # What its hints call it.
    os.execve(words[0], ["gpuverify" if shutil.which("gpuverify") else words[0], *words[1:]], {**os.environ, _STARTED: "1"})


def _own_arguments() -> list[str]:
    """This interpreter's arguments: sys.argv lacks its options, and `-m pytest`."""
    if sys.version_info >= (3, 10):
        return sys.orig_argv[1:]
    with open("/proc/self/cmdline", "rb") as file:
        return [os.fsdecode(word) for word in file.read().split(b"\0")[1:-1]]


def pytest_configure(config: pytest.Config) -> None:
    if not _is_wanted(config.option) or not recording.is_recordable():
        return
    limit = config.option.gpuverify_max_stall
    if limit and not _trace_path():
        raise pytest.UsageError("--gpuverify-max-stall: name the trace, as in `gpuverify run -o tests.db -- pytest ...`")
    if limit and os.environ.get("GPUVERIFY_RANGES") == "off":
        raise pytest.UsageError("--gpuverify-max-stall needs ranges: unset GPUVERIFY_RANGES")
    config.pluginmanager.register(_Recorded(_nanoseconds(limit) if limit else None, limit), "gpuverify-recorded")


class _Recorded:
    """The tests of this process."""

    def __init__(self, limit_ns: int | None, limit: str | None) -> None:
        self._limit_ns = limit_ns
        self._limit = limit
        self._runs: collections.Counter[str] = collections.Counter()
        self._checks: dict[int, _Checks] = {}

    def pytest_report_header(self) -> str:
        limit = f"; no stall may be longer than {self._limit}" if self._limit else ""
        return f"gpuverify: {_trace_path() or 'recorded'}{limit}"

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        name = item.nodeid[:_LONGEST_NAME]
        self._runs[name] += 1
        if self._runs[name] > 1:
            name += f" (run {self._runs[name]})"  # a plugin repeats it
        began = time.monotonic_ns()
        with recording.range(name):
            result = yield
        # No call of a shorter test can have lost more.
        if self._limit_ns is not None and time.monotonic_ns() - began >= self._limit_ns:
            self._check(item, name, self._limit_ns)
        return result

    def _check(self, item: pytest.Item, name: str, limit_ns: int) -> None:
        path = _trace_path()
        assert path
        if os.getpid() not in self._checks:  # a plugin may run tests in forked children
            self._checks = {os.getpid(): _Checks(path)}
        try:
            found = self._checks[os.getpid()].stalls(name, limit_ns, str(item.path))
        except TimeoutError:
            pytest.exit(f"gpuverify: after {_STORED_S:.0f} s, {path} does not have this test: its collector may have been killed", 3)
        if found:
            pytest.fail("\n".join(_words(stall, str(self._limit), item.location[0]) for stall in found), pytrace=False)


class _Stall(NamedTuple):
    fields: dict[str, Any]  # of docs/json/stalls.json
    line: int | None  # the innermost one in the test's own file
    function: str | None


class _Range(NamedTuple):
    process: int
    start_ns: int
    end_ns: int


class _Checks:
    """Looks for the stalls of one test after the other, in the trace that is being written."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._last_call = 0

    def stalls(self, name: str, limit_ns: int, file: str) -> list[_Stall]:
        if not recording.is_recorded():
            return []
        found = self._await_stored(name)
        if self._rows("SELECT count(*) FROM threads WHERE process = ?", (found.process,))[0][0] > 1:
            # The collector takes one thread's records after the other's: those of the others come with what is said now.
            recording.mark(f"{name} (end)")
            self._await_stored(f"{name} (end)")
        if not self._has_slow_call(found, limit_ns):
            return []
        # All stalls of the trace are found again for this, so it is not done for every test.
        from .trace import run
        listed = json.loads(run("stalls", self._path, "--min", f"{limit_ns}ns", "--format", "json"))["stalls"]
        # That a thread got no CPU is no fault of the test's.
        return [_Stall(stall, *self._line(stall["call"], file)) for stall in listed
                if stall["process"] == found.process and found.start_ns <= stall["start_ns"] < found.end_ns
                and stall["cause"] != "descheduled"]

    def _line(self, call: int | None, file: str) -> tuple[int | None, str | None]:
        rows = self._rows("SELECT f.line, f.function FROM calls c JOIN frames f ON f.stack = c.stack"
                          " WHERE c.id = ? AND f.kind = 'python' AND f.file = ? ORDER BY f.depth LIMIT 1", (call, file))
        return rows[0] if rows else (None, None)

    def _rows(self, sql: str, parameters: tuple[Any, ...]) -> list[Any]:
        from .trace import connect
        connection = connect(self._path)
        try:
            return connection.execute(sql, parameters).fetchall()
        finally:
            connection.close()

    def _await_stored(self, name: str) -> _Range:
        """The range or mark, once the collector has stored its end, and with it all calls that this thread made before."""
        from .trace import TraceError
        deadline = time.monotonic() + _STORED_S
        while time.monotonic() < deadline:
            try:
                rows = self._rows("SELECT p.id, r.start_ns, r.start_ns + r.duration_ns FROM ranges r JOIN processes p ON p.id = r.process"
                                  " WHERE p.pid = ? AND r.message = ? AND r.duration_ns IS NOT NULL", (os.getpid(), name))
            except (TraceError, sqlite3.Error):
                rows = []  # the collector has just begun, or writes
            if rows:
                return _Range(*rows[-1])
            time.sleep(0.005)
        raise TimeoutError

    def _has_slow_call(self, found: _Range, limit_ns: int) -> bool:
        """Whether a call of the test may have stalled; waits that the program asks for are not stalls."""
        last, slow = self._rows(
            "SELECT max(id), max(process = ? AND start_ns >= ? AND start_ns < ? AND duration_ns >= ? AND class <> 'sync')"
            " FROM calls WHERE id > ?", (found.process, found.start_ns, found.end_ns, limit_ns, self._last_call))[0]
        self._last_call = last or self._last_call
        return bool(slow)


def _words(stall: _Stall, limit: str, file: str) -> str:
    fields = stall.fields
    lost = (fields["wait_ns"] + fields["jit_ns"]) / 1e6
    where = fields["where"] if stall.line is None else f"{file}:{stall.line} {stall.function}"
    lines = [f"{where or 'unknown line'}: {fields['name']} lost {lost:.1f} ms ({fields['cause']}), more than {limit}"]
    if where != fields["where"]:
        lines.append(f"    in {fields['where']}")
    if fields["own_stack"] == 0:
        lines.append("    (the lines are those of an earlier call of the same site)")
    if fields["advice"]:
        lines.append(f"    fix: {fields['advice']}")
    return "\n".join(lines)
