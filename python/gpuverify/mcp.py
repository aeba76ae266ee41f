"""`gpuverify mcp`, which calls main(): the commands as tools of the Model Context Protocol. docs/agents.md says how an agent uses them."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import functools
import importlib
import inspect
import os
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from types import FrameType
from typing import Any, Callable

from ._files import command
from .trace import TraceError, run as ask

ANSWER_BYTES = 4096
READ_S, QUERY_S, GRACE_S = 120.0, 20.0, 10.0
ENDED_S = 1.0  # how long the output of an ended child is read: a child of it may go on writing
PR_SET_PDEATHSIG = 1

INSTRUCTIONS = """\
gpuverify says where the time of a CUDA program goes, and which line to change. run records a program; summary and findings say what it \
lost, the most first; explain f1 says why, and what to do. After the change, run again and diff both traces: the saving is proven if the \
finding is gone and the time with it. Each answer has at most 4 KB, and names the command that prints all of it. \
The resources gpuverify://views/NAME describe what query can read."""

_children: set[subprocess.Popen[bytes]] = set()
_input = -1  # the server's, also while the SDK has another file in its place


class _Refused(Exception):
    """What an agent asked for cannot be done."""


def _kill(child: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def _end(number: int, frame: FrameType | None) -> None:
    for child in list(_children):
        _kill(child)
    os._exit(128 + number)


def _end_with_server(server: int, libc: ctypes.CDLL) -> None:
    """In a child: also if the server is killed, it gets SIGTERM, which `gpuverify run` passes on to the program."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != server:
        os._exit(128 + signal.SIGTERM)


def _client_left() -> bool:
    """Whether nobody waits for an answer any more: the other end of the server's input is closed."""
    poll = select.poll()
    if _input >= 0:
        poll.register(_input, 0)
    return any(events & select.POLLHUP for _, events in poll.poll(0))


def _collect(child: subprocess.Popen[bytes], seconds: float, last: bool) -> tuple[bytes, bool, bool]:
    """What it prints: the first bytes, or the last ones; whether it printed more; whether it had to be ended."""
    assert child.stdout
    kept, more, late, end = b"", False, False, time.monotonic() + seconds
    while True:
        ready = select.select([child.stdout], [], [], 0.1)[0]
        data = os.read(child.stdout.fileno(), 1 << 16) if ready else b""
        ended = child.poll() is not None
        if not data and ended:  # a child of it may hold the pipe for longer
            return kept, more, late
        if ended:
            end = min(end, time.monotonic() + ENDED_S)
        kept += data
        if len(kept) > ANSWER_BYTES:
            kept, more = kept[-ANSWER_BYTES:] if last else kept[:ANSWER_BYTES], True
            if not last:
                with contextlib.suppress(subprocess.TimeoutExpired):  # a long refusal ends at once: its exit code says what it is
                    child.wait(ENDED_S)
                return kept, more, late
        if time.monotonic() > end or (not late and _client_left()):
            if late or ended:
                return kept, more, late
            # `gpuverify run` passes it on to the program, and prints what was recorded until now.
            child.terminate()
            late, end = True, time.monotonic() + GRACE_S
        if ready and not data:
            time.sleep(0.1)


def _start(words: list[str], seconds: float, last: bool = False) -> tuple[int, str, bool, bool]:
    """A command's exit code, and what `_collect` says of it."""
    try:
        child = subprocess.Popen([command(), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 start_new_session=True,
                                 preexec_fn=functools.partial(_end_with_server, os.getpid(), ctypes.CDLL(None)))
    except (OSError, ValueError) as why:  # ValueError: a word has a NUL
        raise _Refused(str(why)) from None
    _children.add(child)
    try:
        with child:
            try:
                kept, more, late = _collect(child, seconds, last)
            finally:
                if child.poll() is None:
                    _kill(child)
    finally:
        _children.discard(child)
    return child.returncode, kept.decode("utf-8", "replace"), more, late


def _fit(text: str, note: str, last: bool = False) -> str:
    """Whole lines of a text that is cut, and a note that says so: ANSWER_BYTES at most."""
    data = text.encode()
    room = ANSWER_BYTES - len(note.encode()) - 1
    if len(data) > room:
        cut = data[-room:].partition(b"\n")[2] if last else data[:room].rpartition(b"\n")[0]
        data = cut or data[:room]
    text = data.decode("utf-8", "ignore").rstrip("\n")
    return f"{note}\n{text}" if last else f"{text}\n{note}"


def _read(name: str, *operands: str, options: tuple[str, ...] = (), seconds: float = READ_S, rows: int | None = None) -> str:
    """The answer of a command that reads. Options are NAME=VALUE, and no operand becomes one."""
    for operand in operands:
        if operand.startswith("-"):
            raise _Refused(f"'{operand}' begins with '-'")
    words = [name, *options, *operands]
    status, text, more, late = _start(words, seconds)
    if late:
        raise _Refused(f"no answer within {seconds:.0f} s, so it was ended: ask for less, or use {shlex.join(['gpuverify', *words])}")
    if status > 1:
        raise _Refused(text.strip())
    lines = text.splitlines()
    if rows is not None and len(lines) > rows + 1:
        text, more = "\n".join(lines[:rows + 1]), True
    return _fit(text, f"... all of it: {shlex.join(['gpuverify', *words])}") if more else text


def _tools(run_s: float) -> list[Callable[..., str]]:
    """The tools; an agent reads what is said of each. The first one starts programs."""

    def run(program: list[str], trace: str = "") -> str:
        """Runs a program with its arguments, without a shell, and records it. Answers its exit code, the end of its output, the summary.

        trace: the file to record in; an older trace there is replaced. Default: a new file, whose name the summary says."""
        words = ["run", *([f"--output={trace}"] if trace else []), "--", *program]
        status, text, more, late = _start(words, run_s, last=True)
        said = f"exit code {status}" + f"; it was ended after {run_s:.0f} s, the limit" * late + "; this is the end of its output" * more
        return _fit(text, said, last=True)

    def summary(trace: str, section: str = "findings") -> str:
        """What a run did with its GPU, what lost the most time, and the fix. section: another part of the report, such as steps, kernels,
        launches, copies, gpu_lines, idle, memory, errors or processes."""
        return _read("report", trace, options=(f"--section={section}",))

    def findings(trace: str) -> str:
        """All findings as CSV, the largest saving first: what it is, time lost and saved (ns), share of its phase, line, fix."""
        return _read("query", trace, "findings", options=("--format=csv",))

    def explain(trace: str, name: str = "f1") -> str:
        """Why a finding (f1), a stalled call (s5) or an idle time (i3) cost time, where in the program, and how to fix it."""
        return _read("explain", trace, name)

    def ledger(trace: str) -> str:
        """Where all the time of each device went, as CSV: phase, what, time (ns), line; the most first."""
        return _read("query", trace, "ledger", options=("--format=csv",))

    def stalls(trace: str, cause: str = "", top: int = 20) -> str:
        """The calls that lost time to something other than their work, longest first. cause: only these, such as module-load."""
        return _read("stalls", trace, options=(f"--top={top}", *([f"--cause={cause}"] if cause else [])))

    def diff(before: str, after: str) -> str:
        """What changed between two runs: findings, where time went, stalls, loads, kernels, copies, memory; the largest changes first."""
        return _read("diff", before, after)

    def check(trace: str, rules: list[str]) -> str:
        """Whether a trace keeps rules such as 'max-stall 10ms', 'min-gpu-busy main=80%', 'max-finding main=5%', 'no-stall module-load'.

        Also: max-idle, max-gpu-gap, no-load-after, no-jit, max-copy-ratio, require-kernel, min-launches, max-peak-memory, max-errors."""
        with tempfile.NamedTemporaryFile("w", prefix="gpuverify-", suffix=".rules") as file:
            file.write("\n".join(rules))
            file.flush()
            return _read("check", trace, options=(f"--rules={file.name}", "--all"))

    def query(trace: str, sql: str, rows: int = 50) -> str:
        """The rows of one SELECT, as CSV; it can only read, for 20 s. Views such as calls, gpu_ops, steps, stalls, idle, kernel_summary:
        the resources gpuverify://views/NAME have their columns, and so has the answer to a column that is not there."""
        try:
            return _read("query", trace, " " * sql.startswith("-") + sql, options=("--format=csv",), seconds=QUERY_S, rows=max(rows, 0))
        except _Refused as why:
            if "no such" not in str(why):
                raise
            views = _views()
            named = [text for name, text in views.items() if name in sql]
            raise _Refused("\n\n".join([str(why), f"views: {', '.join(views)}", *named])) from None

    def look(pid: int = 0, seconds: int = 5) -> str:
        """What a running process does with its GPU now, and what it waits for; it need not be recorded. Without pid: who uses a GPU."""
        return _read("look", *([str(pid)] if pid else []), options=(f"--seconds={seconds}",))

    return [run, summary, findings, explain, ledger, stalls, diff, check, query, look]


def _views() -> dict[str, str]:
    """What `gpuverify schema` says of each view."""
    return {block.partition(":")[0]: block for block in ask("schema").strip().split("\n\n")}


def _server(options: argparse.Namespace) -> Any:
    sdk = importlib.import_module("mcp.server.mcpserver")
    problem = importlib.import_module("mcp.server.mcpserver.exceptions").ToolError
    hints = importlib.import_module("mcp.types").ToolAnnotations
    resource = importlib.import_module("mcp.server.mcpserver.resources").TextResource
    server = sdk.MCPServer("gpuverify", instructions=INSTRUCTIONS, log_level="ERROR")

    def told(tool: Callable[..., str]) -> Callable[..., str]:
        @functools.wraps(tool)
        def answer(*words: Any, **named: Any) -> str:
            try:
                return tool(*words, **named)
            except _Refused as why:
                # The SDK puts a few words before it.
                raise problem(str(why).encode()[:ANSWER_BYTES - 100].decode("utf-8", "ignore")) from None

        return answer

    for tool in _tools(options.seconds)[1 if options.no_run else 0:]:
        reads = tool.__name__ != "run"
        server.add_tool(told(tool), description=inspect.getdoc(tool), structured_output=False, annotations=hints(read_only_hint=reads))
    for name, text in _views().items():
        server.add_resource(resource(uri=f"gpuverify://views/{name}", name=name, description=text.partition("\n")[0], text=text))
    return server


def main(words: list[str]) -> int:
    global _input
    parser = argparse.ArgumentParser("gpuverify mcp", add_help=False)
    parser.add_argument("--no-run", action="store_true")
    parser.add_argument("--seconds", type=float, default=600.0)
    options = parser.parse_args(words)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, _end)
    try:
        server = _server(options)
    except ImportError as why:
        print(f"gpuverify: {sys.executable} cannot serve agents: {why}; pip install 'mcp>=2'", file=sys.stderr)
        return 3
    except (OSError, TraceError) as why:
        print(f"gpuverify: {why}", file=sys.stderr)
        return 3
    with contextlib.suppress(OSError):  # it may be closed
        _input = os.dup(0)
    server.run("stdio")
    return 0
