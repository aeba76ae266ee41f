"""`gpuverify mcp`, which calls main(): the commands as tools of the Model Context Protocol. docs/agents.md says how an agent uses them."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import functools
import importlib
import inspect
import io
import os
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from types import FrameType
from typing import IO, Any, Callable

from ._files import command
from .trace import TraceError, run as ask

ANSWER_BYTES = 4096
NOTE_BYTES = 1024  # of a command that a note names, and of what a command says beside its answer
LINE_BYTES = 120  # a part of a line that is worth showing
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


def _nobody_waits() -> bool:
    """For an answer: its request was cancelled, or the other end of the server's input is closed."""
    try:
        importlib.import_module("anyio.from_thread").check_cancelled()
    except asyncio.CancelledError:
        return True
    poll = select.poll()
    if _input >= 0:
        poll.register(_input, 0)
    return any(events & select.POLLHUP for _, events in poll.poll(0))


class _Said:
    """What a command prints."""

    def __init__(self, last: bool) -> None:
        self.last = last  # the end of it is kept, not the beginning
        self.out, self.notes = b"", b""  # notes: of stderr, if that is a pipe of its own
        self.more, self.late = False, False  # more: than is kept; late: it had to be ended

    def add(self, data: bytes) -> None:
        self.out += data
        if len(self.out) > ANSWER_BYTES:
            self.out, self.more = self.out[-ANSWER_BYTES:] if self.last else self.out[:ANSWER_BYTES], True


def _collect(child: subprocess.Popen[bytes], seconds: float, said: _Said) -> None:
    pipes, end = [pipe for pipe in (child.stdout, child.stderr) if pipe], time.monotonic() + seconds
    while True:
        ended = child.poll() is not None
        if ended:
            end = min(end, time.monotonic() + ENDED_S)
        ready = select.select(pipes, [], [], 0.1)[0] if pipes or not ended else []
        if ended and not ready:  # a child of it may hold the pipe for longer
            return
        for pipe in ready:
            data = os.read(pipe.fileno(), 1 << 16)
            if not data:
                pipes.remove(pipe)
            elif pipe is child.stdout:
                said.add(data)
            else:
                said.notes = (said.notes + data)[:ANSWER_BYTES]
        if said.more and not said.last:
            with contextlib.suppress(subprocess.TimeoutExpired):  # a long refusal ends at once: its exit code says what it is
                child.wait(ENDED_S)
            return
        if time.monotonic() > end or (not said.late and _nobody_waits()):
            if said.late or ended:
                return
            # `gpuverify run` passes it on to the program, and prints what was recorded until now.
            child.terminate()
            said.late, end = True, time.monotonic() + GRACE_S


def _start(words: list[str], seconds: float, stderr: int, last: bool = False,
           stdin: int | IO[bytes] = subprocess.DEVNULL) -> tuple[int, _Said]:
    """A command's exit code, and what it said."""
    try:
        child = subprocess.Popen([command(), *words], stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, start_new_session=True,
                                 preexec_fn=functools.partial(_end_with_server, os.getpid(), ctypes.CDLL(None)))
    except (OSError, ValueError) as why:  # ValueError: a word has a NUL
        raise _Refused(str(why)) from None
    _children.add(child)
    said = _Said(last)
    try:
        with child:
            try:
                _collect(child, seconds, said)
            finally:
                if child.poll() is None:
                    _kill(child)
    finally:
        _children.discard(child)
    return child.returncode, said


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _cut(text: str, room: int) -> str:
    return text.encode()[:room].decode("utf-8", "ignore")


def _end_of(text: str, room: int) -> str:
    return "..." + text.encode()[max(0, len(text.encode()) + 3 - room):].decode("utf-8", "ignore")


def _rows(text: str) -> Iterator[str]:
    """The whole rows of CSV, its header first. A quoted value may have newlines."""
    row = ""
    for line in io.StringIO(text, newline="\n"):
        row += line
        if line.endswith("\n") and row.count('"') % 2 == 0:
            yield row
            row = ""


def _fit(parts: list[str], note: str, last: bool = False) -> str:
    """As many whole lines or rows as fit, from the first or up to the last, and a note: ANSWER_BYTES at most. Up to the last also the end
    of a long line, which may be all that a program said."""
    room, kept = ANSWER_BYTES - len(note.encode()) - 1, ""
    for part in reversed(parts) if last else parts:
        rest = room - len(kept.encode())
        if len(part.encode()) > rest:
            if last and rest >= LINE_BYTES:
                kept = _end_of(part, rest) + kept
            kept = kept or _cut(part, room)
            break
        kept = part + kept if last else kept + part
    kept = kept.rstrip("\n")
    return f"{note}\n{kept}" if last else f"{kept}\n{note}"


def _operand(word: str) -> str:
    """One that does not become an option."""
    if word.startswith("-"):
        raise _Refused(f"'{word}' begins with '-'")
    return word


def _shown(words: list[str], rules: list[str] | None) -> str:
    """A command for a shell; one that would leave no room for an answer is only described."""
    text = shlex.join(["gpuverify", *words])
    if rules is not None:
        text = " | ".join((shlex.join(["printf", "%s\\n", *rules]), text))
    return text if len(text.encode()) <= NOTE_BYTES else f"gpuverify {words[0]} in a shell, with the same arguments"


def _read(name: str, *operands: str, options: tuple[str, ...] = (), seconds: float = READ_S, csv: bool = False, rows: int | None = None,
          rules: list[str] | None = None) -> str:
    """The answer of a command that reads. Options are NAME=VALUE, and no operand becomes one."""
    words = [name, *options, *map(_operand, operands)]
    with contextlib.ExitStack() as opened:
        stdin: int | IO[bytes] = subprocess.DEVNULL
        if rules is not None:  # without a name, so that nothing remains of it
            stdin = opened.enter_context(tempfile.TemporaryFile())
            stdin.write("\n".join(rules).encode("utf-8", "replace"))
            stdin.flush()
        status, said = _start(words, seconds, subprocess.PIPE, stdin=stdin)
    text, notes = _text(said.out), _text(said.notes).strip()
    if said.late:
        raise _Refused(f"no answer within {seconds:.0f} s, so it was ended: ask for less, or use {_shown(words, rules)}")
    if status > 1 or (status < 0 and not said.more):  # a signal ended it, and not for having said enough
        raise _Refused("\n".join(filter(None, (notes, text.strip()))))
    parts, more = list(_rows(text)) or [text] if csv else text.splitlines(keepends=True), said.more
    if rows is not None and len(parts) > rows + 1:
        parts, more = parts[:rows + 1], True
    notes = _cut(notes, NOTE_BYTES)
    more = more or len(text.encode()) + len(notes.encode()) >= ANSWER_BYTES
    note = "\n".join(filter(None, (notes, f"... all of it: {_shown(words, rules)}" if more else "")))
    return _fit(parts, note) if note else text


def _tools(run_s: float) -> list[Callable[..., str]]:
    """The tools; an agent reads what is said of each. The first one starts programs."""

    def run(program: list[str], trace: str = "") -> str:
        """Runs a program with its arguments, without a shell, and records it. Answers its exit code, the end of its output, the summary.

        trace: the file to record in; an older trace there is replaced. Default: a new file, whose name the summary says."""
        words = ["run", *([f"--output={_operand(trace)}"] if trace else []), "--", *program]
        status, said = _start(words, run_s, subprocess.STDOUT, last=True)
        note = f"exit code {status}" + f"; it was ended after {run_s:.0f} s, the limit" * said.late
        return _fit(_text(said.out).splitlines(keepends=True), note + "; this is the end of its output" * said.more, last=True)

    def summary(trace: str, section: str = "findings") -> str:
        """What a run did with its GPU, what lost the most time, and the fix. section: another part of the report, such as steps, kernels,
        launches, copies, gpu_lines, idle, memory, errors or processes."""
        return _read("report", trace, options=(f"--section={section}",))

    def findings(trace: str) -> str:
        """All findings as CSV, the largest saving first: what it is, time lost and saved (ns), share of its phase, line, fix."""
        return _read("query", trace, "findings", options=("--format=csv",), csv=True)

    def explain(trace: str, name: str = "f1") -> str:
        """Why a finding (f1), a stalled call (s5) or an idle time (i3) cost time, where in the program, and how to fix it."""
        return _read("explain", trace, name)

    def ledger(trace: str) -> str:
        """Where all the time of each device went, as CSV: phase, what, time (ns), line; the most first."""
        return _read("query", trace, "ledger", options=("--format=csv",), csv=True)

    def stalls(trace: str, cause: str = "", top: int = 20) -> str:
        """The calls that lost time to something other than their work, longest first. cause: only these, such as module-load."""
        return _read("stalls", trace, options=(f"--top={top}", *([f"--cause={cause}"] if cause else [])))

    def diff(before: str, after: str) -> str:
        """What changed between two runs: findings, where time went, stalls, loads, kernels, copies, memory; the largest changes first."""
        return _read("diff", before, after)

    def check(trace: str, rules: list[str]) -> str:
        """Whether a trace keeps rules such as 'max-stall 10ms', 'min-gpu-busy main=80%', 'max-finding main=5%', 'no-stall module-load'.

        Also: max-idle, max-gpu-gap, no-load-after, no-jit, max-copy-ratio, require-kernel, min-launches, max-peak-memory, max-errors."""
        return _read("check", trace, options=("--rules=/dev/stdin", "--all"), rules=rules)

    def query(trace: str, sql: str, rows: int = 50) -> str:
        """The rows of one SELECT, as CSV; it can only read, for 20 s. Views such as calls, gpu_ops, steps, stalls, idle, kernel_summary:
        the resources gpuverify://views/NAME have their columns, and so has the answer to a column that is not there."""
        try:
            return _read("query", trace, " " * sql.startswith("-") + sql, options=("--format=csv",), seconds=QUERY_S, csv=True,
                         rows=max(rows, 0))
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
    if sys.stdin is None or sys.stdout is None:
        print("gpuverify: mcp talks to its client over standard input and output: one of them is closed", file=sys.stderr)
        sys.exit(3)  # who called would flush the output first
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
    _input = os.dup(0)
    server.run("stdio")
    return 0
