"""`gpuverify export --to parquet DIR TRACE...`, which calls main(). docs/fleets.md says what it writes."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import errno
import fcntl
import hashlib
import importlib
import itertools
import os
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import IO, Any

from .._files import command
from ..trace import TraceError, connect
from .tables import FOLDER, LABELS, ON_REQUEST, TABLES, VERSION

_BLOCK_BYTES = 1 << 20
_GROUP_ROWS = 1 << 17
_PIPE_BYTES = 1 << 20
# A hostile file may have an endless query as its `meta`.
_META_STEPS = 1_000_000
_NAME_BYTES = 200
_FULL = (errno.ENOSPC, errno.EDQUOT)
_SPECIAL = re.compile(r"[^A-Za-z0-9._\u0080-\U0010ffff-]")
_ERRORS_BYTES = 1 << 16


class Problem(Exception):
    """Why a trace, or all of them, cannot be exported."""


def _folder_name(text: str) -> str:
    """A text as a part of a path, as Hive writes it and engines read it back: %2F is a slash."""
    name = _SPECIAL.sub(lambda found: f"%{ord(found[0]):02X}", text).encode("utf-8", "replace")[:_NAME_BYTES]
    return re.sub(r"%.?\Z", "", name.decode("utf-8", "ignore"))


def _check_file(path: str) -> None:
    """Only a regular file is opened as a trace: a pipe would be waited for."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as why:
        raise Problem(why.strerror) from None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise Problem("it is not a regular file")
    finally:
        os.close(file)


def _meta(path: str) -> dict[str, Any]:
    connection = connect(os.path.abspath(path))
    with contextlib.closing(connection):
        connection.set_progress_handler(lambda: 1, _META_STEPS)
        return dict(connection.execute("SELECT key, value FROM meta LIMIT 1000"))


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        digest = hashlib.sha256()
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()[:32]


def _day(meta: dict[str, Any]) -> str:
    """In UTC. A copy for strangers has none."""
    start_ns = meta.get("start_unix_ns", meta.get("unix_offset_ns"))
    try:
        return datetime.datetime.fromtimestamp(start_ns / 1e9, datetime.timezone.utc).date().isoformat()  # type: ignore[operator]
    except (TypeError, ValueError, OverflowError, OSError):
        return "none"


def _traces(paths: list[str]) -> Iterator[str]:
    unreadable: list[str] = []
    for path in paths:
        if not os.path.isdir(path):
            yield path
            continue
        for folder, folders, names in os.walk(path, onerror=lambda why: unreadable.append(why.filename)):
            folders.sort()
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".db"))
    yield from unreadable  # folders; exporting them says why


class Rows:
    """What `gpuverify rows` writes of a trace: tables, one after the other, each through a pipe."""

    def __init__(self, path: str, names: list[str]) -> None:
        self._errors = tempfile.TemporaryFile()
        self._pipes: dict[str, IO[bytes]] = {}
        writers: dict[str, int] = {}
        try:
            for name in names:
                reader, writers[name] = os.pipe()
                self._pipes[name] = os.fdopen(reader, "rb", _BLOCK_BYTES)
                with contextlib.suppress(OSError):  # more than a user may have
                    fcntl.fcntl(reader, 1031, _PIPE_BYTES)  # F_SETPIPE_SZ
            environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
            self._process = subprocess.Popen(
                [command(), "rows", os.path.abspath(path), *(f"{name}={writer}" for name, writer in writers.items())],
                env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._errors,
                pass_fds=list(writers.values()))
        finally:
            for writer in writers.values():
                os.close(writer)

    def batches(self, arrow: Any, csv: Any, name: str, more: tuple[str, ...] = ()) -> Iterator[Any]:
        types = {column: arrow.type_for_alias(kind) for column, kind in {**TABLES[name], **dict.fromkeys(more, "string")}.items()}
        return iter(csv.open_csv(
            self._pipes[name], csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES), csv.ParseOptions(newlines_in_values=True),
            csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=[""], strings_can_be_null=True,
                               quoted_strings_can_be_null=False)))

    def end(self) -> tuple[int, str]:
        """Waits for the command. Its exit status, and what it said."""
        for pipe in self._pipes.values():
            pipe.close()
        status = self._process.wait()
        self._errors.seek(0)
        text = self._errors.read(_ERRORS_BYTES).decode("utf-8", "replace").strip()
        self._errors.close()
        return status, text[len("gpuverify: "):] if text.startswith("gpuverify: ") else text


class Export:
    """A fleet that is being added to. Only one process at a time may do that."""

    def __init__(self, folder: str, labels: dict[str, str], with_rows: list[str]) -> None:
        self._arrow, self._csv, self._parquet = map(importlib.import_module, ("pyarrow", "pyarrow.csv", "pyarrow.parquet"))
        self._labels = labels
        self._names = [name for name in TABLES if name not in ON_REQUEST or name in with_rows]
        self._folder = folder
        self._part = os.path.join(folder, ".part")
        with contextlib.suppress(FileExistsError):  # if it is no folder, the next line says so
            os.makedirs(folder, 0o700)
        self._lock = os.open(os.path.join(folder, ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Problem(f"another export writes to {folder}") from None
        shutil.rmtree(self._part, ignore_errors=True)
        # Engines learn the columns of a table from it, also if no trace has rows of it.
        for name in self._names:
            self._place(name, "none", "none", "none", "schema", self._write(name, "schema", iter(())))
        self._known = {name.removesuffix(".parquet")
                       for _, _, names in os.walk(os.path.join(folder, FOLDER, "processes")) for name in names}

    def close(self) -> None:
        shutil.rmtree(self._part, ignore_errors=True)
        os.close(self._lock)

    def _write(self, table: str, trace: str, batches: Iterator[Any]) -> str:
        """Writes a file that nobody reads yet; the path of it."""
        arrow, labels = self._arrow, self._labels if table == "processes" else {}
        fields = {"trace": "string", **TABLES[table]}
        schema = arrow.schema([(name, arrow.type_for_alias(kind)) for name, kind in fields.items()],
                              {"gpuverify.schema": str(VERSION), "gpuverify.table": table})
        path = os.path.join(self._part, table)
        os.makedirs(self._part, mode=0o700, exist_ok=True)

        def column(batch: Any, name: str) -> Any:
            text = trace if name == "trace" else labels.get(name)
            return batch.column(name) if text is None else arrow.repeat(arrow.scalar(text), batch.num_rows)

        with self._parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            waiting: list[Any] = []
            for batch in batches:
                waiting.append(arrow.record_batch([column(batch, name) for name in fields], schema=schema))
                if sum(len(each) for each in waiting) >= _GROUP_ROWS:
                    writer.write_table(arrow.Table.from_batches(waiting))
                    waiting.clear()
            if waiting:
                writer.write_table(arrow.Table.from_batches(waiting))
        return path

    def _place(self, table: str, day: str, job: str, host: str, name: str, path: str) -> None:
        folder = os.path.join(self._folder, FOLDER, table, f"day={day}", f"job={_folder_name(job)}", f"host={_folder_name(host)}")
        os.makedirs(folder, exist_ok=True)
        os.replace(path, os.path.join(folder, name + ".parquet"))

    def add(self, path: str) -> str:
        """Exports a trace: `added`, `known` or `running`."""
        _check_file(path)
        meta = _meta(path)
        trace = str(meta.get("session") or f"file-{_digest(path)}")
        name = "trace-" + _folder_name(trace)  # engines skip names that begin with a dot, or with _
        if name in self._known:
            return "known"
        if meta.get("state") != "complete":
            return "running"
        rows, written, why = Rows(path, self._names), dict[str, str](), None
        try:
            processes = list(rows.batches(self._arrow, self._csv, "processes", ("process_job", "process_host")))
            job, host = (next((name for batch in processes for name in batch.column(column).to_pylist() if name), "none")
                         for column in ("process_job", "process_host"))
            for table in self._names:
                batches = iter(processes) if table == "processes" else rows.batches(self._arrow, self._csv, table)
                first = next(batches, None)
                if first is not None:
                    written[table] = self._write(table, trace, itertools.chain([first], batches))
        except (OSError, self._arrow.ArrowException) as error:
            why = error
        status, said = rows.end()
        if isinstance(why, OSError) and why.errno in _FULL:
            raise why  # the others would not fit either
        if status or why:
            raise Problem(said or str(why or f"exit status {status}"))
        if "processes" not in written:
            raise Problem("it has no process")
        # The processes come last: a trace whose processes are not there is not there.
        for table in reversed(self._names):
            if table in written:
                self._place(table, _day(meta), job, host, name, written[table])
        self._known.add(name)
        return "added"


def _label(word: str) -> tuple[str, str]:
    name, _, value = word.partition("=")
    if name not in LABELS or not value or not value.isprintable():  # bytes that are not UTF-8 are not
        raise argparse.ArgumentTypeError(f"'{word}' is not one of {', '.join(f'{name}=VALUE' for name in LABELS)}")
    return name, value


def _say(text: str) -> None:
    shown = "".join(character if character.isprintable() else "\ufffd" for character in text)
    print(f"gpuverify: {shown}", file=sys.stderr)


def _run(options: argparse.Namespace) -> int:
    with contextlib.closing(Export(options.folder, dict(options.label), options.tables)) as export:
        return _add_all(export, options.traces)


def _add_all(export: Export, traces: list[str]) -> int:
    counts = {"added": 0, "known": 0, "running": 0, "failed": 0}
    for path in _traces(traces):
        try:
            outcome = export.add(path)
        except (Problem, TraceError, sqlite3.Error) as why:
            outcome = "failed"
            _say(f"cannot export {path}: {why}")
        if outcome == "running":
            _say(f"{path} is left for the next time: its program still runs, or was killed with its collector; "
                 "'gpuverify recover' finishes such traces")
        counts[outcome] += 1
    if not any(counts.values()):
        _say("there is no trace (*.db)")
    print(f"{counts['added']} added, {counts['known']} known already, {counts['running']} still being written, {counts['failed']} failed")
    return 3 if counts["failed"] else 0


def main(words: list[str]) -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # what is written stays, and the next time goes on from there
    parser = argparse.ArgumentParser("gpuverify export --to parquet", "gpuverify export --to parquet DIR TRACE... [OPTION...]",
                                     add_help=False)
    parser.add_argument("--to")
    parser.add_argument("--label", action="append", type=_label, default=[])
    parser.add_argument("--with", action="append", dest="tables", default=[])
    parser.add_argument("folder")
    parser.add_argument("traces", nargs="+")
    options = parser.parse_args(words)
    try:
        return _run(options)
    except ImportError as why:
        _say(f"{sys.executable} cannot write Parquet: {why}; pip install pyarrow")
    except Problem as why:
        _say(str(why))
    except OSError as why:
        _say(f"cannot write to {options.folder}: {why}")
    return 3
