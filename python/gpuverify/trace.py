"""Reads a trace: every view of docs/views.md as rows or as a data frame, and the findings."""

from __future__ import annotations

import collections
import importlib
import json
import keyword
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from ._files import command

_APPLICATION_ID = 0x47707556
# A text of a trace has 2048 bytes at most; a file that somebody made may claim to have more.
_LONGEST_BYTES = 1 << 24


class TraceError(Exception):
    """The file cannot be read as a trace."""


# What version 0.1 called the same.
_OLD_NAMES = {"verdict": "findings", "class_": "what", "weight": "share", "evidence": "title", "next": "fix"}


def _no_attribute(what: str, name: str) -> AttributeError:
    return AttributeError(f"{what} {name!r}" + (f"; {_OLD_NAMES[name]!r} replaces it" if name in _OLD_NAMES else ""))


class Finding(NamedTuple):
    """One thing that could be saved, as in the view `findings` of docs/views.md."""

    id: int
    key: str
    process: int
    device: int | None
    phase: str
    what: str
    file: str | None
    line: int | None
    function: str | None
    lost_ns: int
    saves_ns: int | None
    share: float | None
    error_ns: int
    count: int  # type: ignore[assignment]
    steps: int
    confidence: str
    title: str | None
    fix: str | None
    then: str | None
    stall: int | None
    idle: int | None
    times: int | None

    if not TYPE_CHECKING:  # type: ignore[misc]  # else type checkers would take any name for a field
        def __getattr__(self, name: str) -> Any:
            raise _no_attribute("a finding has no field", name)

    def __str__(self) -> str:
        where = f"{os.path.basename(self.file)}:{self.line} {self.function}: " if self.file else ""
        steps = 0 if self.times else self.steps
        each = f"{self.lost_ns / 1e6 / max(steps, 1):.3g} ms" + (" a step" if steps else "")
        return f"f{self.id} {self.what}, {each}, {100 * (self.share or 0):.0f} % of {self.phase}: {where}{self.title or ''}"


class Fact(NamedTuple):
    """What is true of the run beside its findings, as in the view `facts`."""

    process: int | None
    name: str
    detail: str


class Rows:
    """The rows of a view or of a query. Each iteration reads them anew and gives named tuples, one at a time."""

    def __init__(self, name: str, read: Callable[[], tuple[list[str], Iterable[Sequence[Any]]]]) -> None:
        self._name = name
        self._read = read

    @property
    def columns(self) -> list[str]:
        return self._read()[0]

    def __iter__(self) -> Iterator[Any]:
        columns, rows = self._read()
        # The column `class` is the field `class_`.
        fields = [column + "_" * keyword.iskeyword(column) for column in columns]
        row = collections.namedtuple(self._name, fields, rename=True)  # type: ignore[misc]
        return map(row._make, rows)

    def frame(self, kind: str = "pandas") -> Any:
        """All rows, as a pandas or Polars DataFrame ("pandas", "polars") or an Arrow table ("arrow").

        Integers stay exact, also in columns with unknown values."""
        if kind not in _FRAMES:
            raise ValueError(f"no data frame is called {kind!r}: {', '.join(_FRAMES)}")
        columns, rows = self._read()
        values: list[Sequence[Any]] = list(zip(*rows)) or [() for _ in columns]
        return _FRAMES[kind]({column: _one_type(each) for column, each in zip(columns, values)})

    def __repr__(self) -> str:
        return f"<rows of {self._name}>"


def _types(values: Iterable[Any]) -> set[type]:
    return set(map(type, values)) - {type(None)}


def _one_type(values: Iterable[Any]) -> list[Any]:
    """A column of a data frame; SQLite's may have several types."""
    values = list(values)
    types = _types(values)
    if len(types) > 1:
        wanted = float if types == {int, float} else str
        return [None if value is None else wanted(value) for value in values]
    return values


def _pandas(columns: dict[str, list[Any]]) -> Any:
    pandas = importlib.import_module("pandas")

    def series(values: list[Any]) -> Any:
        # Without this, pandas makes floating point numbers of integers if one is unknown.
        return pandas.Series(values, dtype="Int64" if None in values and _types(values) == {int} else None)

    return pandas.DataFrame({name: series(values) for name, values in columns.items()})


def _polars(columns: dict[str, list[Any]]) -> Any:
    return importlib.import_module("polars").DataFrame(columns, infer_schema_length=None)


def _arrow(columns: dict[str, list[Any]]) -> Any:
    return importlib.import_module("pyarrow").table(columns)


_FRAMES = {"pandas": _pandas, "polars": _polars, "arrow": _arrow}


def run(*words: str) -> str:
    """What the command prints. It uses no GPU, and is no part of a session."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run([command(), *words], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          encoding="utf-8", errors="replace", check=False)
    if done.returncode != 0:
        raise TraceError(done.stderr.strip() or f"gpuverify {words[0]}: exit status {done.returncode}")
    return done.stdout


def _allow(action: int, *_: Any) -> int:
    """ATTACH makes a file that is not there, whatever query_only says."""
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK


def connect(path: str) -> sqlite3.Connection:
    """Opens a trace from anybody: nothing is written, and the file's views call only SQLite's own, harmless functions."""
    for name in (path, f"{path}-journal", f"{path}-wal", f"{path}-shm"):  # SQLite would wait for a pipe, for ever
        if os.path.lexists(name) and not os.path.isfile(name):
            raise TraceError(f"{name} is not a regular file")
    try:
        connection = sqlite3.connect(pathlib.Path(path).as_uri() + "?mode=ro", uri=True, timeout=10)
    except sqlite3.Error as why:
        raise TraceError(f"{path}: {why}") from None
    try:
        if sys.version_info >= (3, 11):
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_BYTES)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
        connection.set_authorizer(_allow)
        if connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
            raise TraceError(f"{path} is not a trace")
    except sqlite3.Error as why:
        connection.close()
        raise TraceError(f"{path}: {why}") from None
    except TraceError:
        connection.close()
        raise
    # A text in a file that somebody made may be no UTF-8.
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    return connection


def _meta(connection: sqlite3.Connection) -> dict[str, Any]:
    return dict(connection.execute("SELECT key, value FROM meta LIMIT 1000"))


class Findings(Rows):
    """The answer at the top of a report: the findings, the most first, the facts, and the notes."""

    def __init__(self, findings: Iterable[Finding], facts: list[Fact], notes: list[str]) -> None:
        self._findings = list(findings)
        super().__init__("findings", lambda: (list(Finding._fields), self._findings))
        self.facts = facts
        self.notes = notes

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._findings)

    def __len__(self) -> int:
        return len(self._findings)

    def __getitem__(self, at: int) -> Finding:
        return self._findings[at]

    def __str__(self) -> str:
        lines = [f"{fact.name}: {fact.detail}" for fact in self.facts]
        for finding in self:
            lines += [str(finding), *[f"  fix: {finding.fix}"] * bool(finding.fix)]
        return "\n".join(lines + [f"! {note}" for note in self.notes])


class Trace:
    """A trace. Every view is an attribute: `trace.calls`, `trace.gpu_ops`, `trace.loads`, ...

    A trace that is still being written is copied first (`gpuverify snapshot`), and the copy does not change."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.abspath(path)
        self._read = self.path
        self._findings: Findings | None = None
        self._connection = connect(self.path)
        try:
            if _meta(self._connection).get("state") != "complete":
                self._take_snapshot()
            self.meta = _meta(self._connection)
            self.views = [name for name, in self._connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'view' ORDER BY name")
                if name.isidentifier() and not keyword.iskeyword(name)]
        except BaseException as why:
            self._connection.close()
            if isinstance(why, sqlite3.Error):
                raise TraceError(f"{self.path}: {why}") from None
            raise

    def _take_snapshot(self) -> None:
        self._connection.close()
        folder = tempfile.mkdtemp(prefix="gpuverify-")
        self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._read = os.path.join(folder, os.path.basename(self.path))
        run("snapshot", self.path, "-o", self._read)
        self._connection = connect(self._read)

    @property
    def findings(self) -> Findings:
        """What `gpuverify report` says first."""
        if self._findings is None:
            said = self._ask("report", "--section", "findings")
            self._findings = Findings((Finding(*(finding[name] for name in Finding._fields)) for finding in said["findings"]),
                                      [Fact(**fact) for fact in said["facts"]], said["notes"])
        return self._findings

    @property
    def stalls(self) -> Rows:
        """What `gpuverify stalls` lists: the calls that lost time, longest first, with their causes and lines."""
        return self._listed("stalls")

    @property
    def idle(self) -> Rows:
        """What `gpuverify idle` lists: the times in which a device had no work, longest first, with their reasons and lines."""
        return self._listed("idle")

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        """The rows of any SQL that only reads."""
        return self._queried("row", sql, parameters)

    def _ask(self, name: str, *words: str) -> Any:
        """What a command prints as JSON. Commands that it offers are for the trace, not for its copy."""
        text = run(name, self._read, *words, "--format", "json")
        if self._read != self.path:
            copy, own = (json.dumps(path, ensure_ascii=False)[1:-1] for path in (self._read, self.path))
            text = text.replace(copy, own)
        return json.loads(text)

    def _listed(self, name: str) -> Rows:
        def read() -> tuple[list[str], Iterable[Sequence[Any]]]:
            listed = self._ask(name)[name]
            if listed:
                return list(listed[0]), (list(row.values()) for row in listed)
            return run(name, self._read, "--format", "csv").strip().split(","), ()

        return Rows(name, read)

    def _queried(self, name: str, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        def read() -> tuple[list[str], Iterable[Sequence[Any]]]:
            cursor = self._connection.execute(sql, parameters)
            return [column[0] for column in cursor.description or ()], cursor

        return Rows(name, read)

    def __getattr__(self, name: str) -> Rows:
        if not name.startswith("_") and name in self.__dict__.get("views", ()):
            return self._queried(name, f'SELECT * FROM "{name}"')
        raise _no_attribute("a trace has no view", name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.views]

    def close(self) -> None:
        self._connection.close()
        if self._read != self.path:
            self._remove()

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<trace {self.path}>"
