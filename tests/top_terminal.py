#!/usr/bin/env python3
"""gpuverify top in tmux: several sizes, other sizes while it runs, and each way to end it.

  tests/top_terminal.py BUILD
"""

import contextlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LOOP = os.path.join(HERE, "e2e/programs/training_loop.py")
SOON_S = 60
SIZES = ((20, 5), (40, 10), (80, 24), (200, 60))


class Terminal:
    def __init__(self, folder, columns, rows):
        self.socket = os.path.join(folder, "tmux")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                  "env PS1=ready: LANG=C.UTF-8 bash --norc --noprofile")
        self.until("ready:", lambda text: "ready:" in text)

    def tmux(self, *words):
        return subprocess.run(["tmux", "-S", self.socket, *words], check=True, capture_output=True, text=True).stdout

    def shown(self):
        return self.tmux("capture-pane", "-p")

    def until(self, what, condition):
        end = time.monotonic() + SOON_S
        while not condition(text := self.shown()):
            if time.monotonic() > end:
                sys.exit(f"not within {SOON_S} s: {what}; the terminal shows\n{text}")
            time.sleep(0.05)
        return text

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def close(self):
        with contextlib.suppress(subprocess.CalledProcessError):
            self.tmux("kill-server")


def is_drawn(text):
    return text.startswith("training_loop  pid") and "launches/s" in text


def check_restored(terminal):
    """The shell's screen is back, with its echo, lines and cursor."""
    terminal.until("the shell", lambda text: text.rstrip().endswith("ready:"))
    terminal.type("clear; echo status $?; stty -a | grep -o -e '-*icanon' -e '-*echo '", "Enter")
    text = terminal.until("stty", lambda text: re.search(r"^status \d+\n-*icanon\n-*echo *\n", text, re.M))
    if not re.search(r"^icanon\necho *\n", text, re.M) or \
            terminal.tmux("display", "-p", "#{cursor_flag} #{wrap_flag}").split() != ["1", "1"]:
        sys.exit(f"the terminal was not restored:\n{text}")



def begin(terminal, command):
    terminal.type(f"clear; {command}", "Enter")
    return terminal.until("a picture", is_drawn)


def check_sizes(terminal, command):
    begin(terminal, command)
    for columns, rows in SIZES:
        terminal.tmux("resize-window", "-x", str(columns), "-y", str(rows))
        text = terminal.until(f"{columns} columns", lambda text, rows=rows: is_drawn(text) and len(text.splitlines()) <= rows)
        if columns >= 80 and rows >= 24:
            terminal.until("all lists", lambda text: all(re.search(what, text) for what in (
                "THREADS NOW", r"100\.0 % .* spin", r"forward", "SLOW OR IDLE", "cuModuleLoadData")))
        if any(len(line) > columns for line in text.splitlines()):
            sys.exit(f"wider than {columns} columns:\n{text}")
    terminal.tmux("resize-window", "-x", "100", "-y", "30")
    terminal.until("the keys", lambda text: "? explains, q quits" in text)
    terminal.type("?")
    terminal.until("what the parts say", lambda text: "THREADS NOW    calls that have not returned" in text)
    terminal.type("?")
    terminal.until("all lists", lambda text: "GPU TIME" in text)
    terminal.type("q")
    check_restored(terminal)


def check_ends(terminal, command):
    begin(terminal, command)
    terminal.type("C-c")
    check_restored(terminal)
    begin(terminal, command)
    terminal.type("C-z")
    terminal.until("Ctrl-Z", lambda text: "Stopped" in text)
    terminal.type("fg", "Enter")
    terminal.until("a picture again", is_drawn)
    terminal.type("q")
    check_restored(terminal)


def main():
    build = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        trace = os.path.join(folder, "it.db")
        env = {**os.environ, "GPUVERIFY_TRACE": trace, "GPUVERIFY_SPOOL_DIR": folder, "GV_SIM_JIT_NS": "5000000",
               "LD_PRELOAD": os.path.join(build, "preload/libgpuverify.so"), "LD_LIBRARY_PATH": os.path.join(build, "tests/sim"),
               "GPUVERIFY_CUPTI": os.path.join(build, "tests/sim/libcupti.so.13")}
        program = subprocess.Popen([sys.executable, LOOP, "300"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        stack.callback(program.wait)
        stack.callback(program.kill)
        program.stdout.readline()
        terminal = Terminal(folder, 80, 24)
        stack.callback(terminal.close)
        command = f"{shlex.quote(os.path.join(build, 'report/gpuverify'))} top -i 100ms {shlex.quote(trace)}"
        check_sizes(terminal, command)
        check_ends(terminal, command)
        begin(terminal, command)
        program.stdin.close()
        terminal.until("the end", lambda text: "It has ended." in text)
        check_restored(terminal)


if __name__ == "__main__":
    main()
