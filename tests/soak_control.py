#!/usr/bin/env python3
"""Runs the programs of tests/soak.py while commands control them at random times.

  tests/soak_control.py [--build FOLDER] [--seconds N] [--from SEED] [--without LETTERS] [-v]
  tests/soak_control.py [--build FOLDER] --seed SEED [--times N] [--keep]

The commands are start, stop, mark and snapshot; some are killed, and now and then the collector is. The program's
output must not change. Each snapshot must be a whole trace, whose calls are the first ones of the trace. If nobody
stopped recording, the trace must have exactly the calls that the program logged.
"""

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import soak
import soak_logs
from soak_logs import expect

LONGER, STEPS_MOST = 20, 8000  # than in soak.py
KILLED_AFTER_S = (0.001, 0.01, 0.05)


def rows_of(path, query, *values):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60)) as trace:
        return trace.execute(query, values).fetchall()


class Commands:
    """Commands at random times, until the program has ended."""

    def __init__(self, build, folder, program, dice):
        self.gpuverify, self.folder, self.program, self.dice = build("report", "gpuverify"), folder, program, dice
        self.stops, self.kills = dice.random() < 0.5, dice.random() < 0.3
        self.ended = threading.Event()
        self.number, self.failure = 0, None
        self.snapshots, self.marks, self.changes, self.killed = [], [], 0, []
        self.thread = threading.Thread(target=self.work)

    def path(self, name):
        return os.path.join(self.folder, name)

    def work(self):
        try:
            while not self.ended.wait(self.dice.random() * 0.1):
                self.one()
                if self.kills and self.dice.random() < 0.05:
                    self.kill_collector()
        except Exception as failure:  # pylint: disable=broad-except
            self.failure = failure

    def one(self):
        self.number += 1
        what = self.dice.choice(("snapshot", "mark") + (("start", "stop") if self.stops else ()))
        operand = self.dice.choice((self.path("trace.db"), str(self.program.pid)))
        also = {"snapshot": ["-o", self.path(f"snapshot-{self.number}.db")], "mark": [f"mark {self.number}."]}
        with subprocess.Popen([self.gpuverify, what, operand, *also.get(what, ())], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE,
                              env=dict(os.environ, GPUVERIFY_SPOOL_DIR=self.path("spool"))) as command:
            if self.dice.random() < 0.1:
                time.sleep(self.dice.choice(KILLED_AFTER_S))
                command.kill()
                self.killed.append(f"snapshot-{self.number}.db")
            try:
                out, err = command.communicate(timeout=soak.LIMIT_S)
            except subprocess.TimeoutExpired:
                command.kill()
                raise soak_logs.Mismatch(f"{what} {operand}: no answer for {soak.LIMIT_S} s") from None
        if command.returncode == 0:
            self.done(what, out)
        # It may be too early, or too late.
        elif command.returncode != -signal.SIGKILL and not any(
                word in err for word in ("recorded", "nobody reads", "No such file")):
            raise soak_logs.Mismatch(f"{what}: {command.returncode} {err!r}")

    def done(self, what, out):
        if what == "snapshot":
            self.snapshots.append(self.path(f"snapshot-{self.number}.db"))
        elif what == "mark":
            self.marks.append((f"mark {self.number}.", out.count("\n")))
        else:
            self.changes += len([line for line in out.splitlines() if not line.endswith("as before")])

    def kill_collector(self):
        """Only while the program runs: it says at its end that its collector is gone."""
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        for pid in pids:
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as line:
                    words = line.read().split("\0")
                if words[1:2] == ["collect"] and self.folder in words[2]:
                    os.kill(pid, signal.SIGKILL)


class Controlled(soak.Soak):

    commands = None

    @staticmethod
    def plan(seed):
        plan = soak.plan_of(seed)
        return plan._replace(steps=min(plan.steps * LONGER, STEPS_MOST))

    def beside(self, program, folder):
        self.commands.program, self.commands.folder = program, folder
        self.commands.thread.start()
        try:
            out, err = super().beside(program, folder)
        finally:
            self.commands.ended.set()
            self.commands.thread.join()
        return out, "" if self.commands.kills and all(
            line.startswith("gpuverify: ") for line in err.splitlines()) else err

    def one(self, seed, folder):
        plan = self.plan(seed)
        self.commands = Commands(self.path, folder, None, random.Random(seed + 1))
        self.both(seed, plan, folder)
        if self.commands.failure:
            raise self.commands.failure
        for path in self.commands.snapshots:
            self.check_snapshot(path, os.path.join(folder, "trace.db"))
        self.check_told(os.path.join(folder, "trace.db"))
        self.check_left(folder)
        self.counts += {"snapshots": len(self.commands.snapshots), "marks": len(self.commands.marks),
                        "stops and starts": self.commands.changes}
        if not self.commands.stops:
            return self.compare(plan, folder)
        self.counts["programs"] += 1
        return {}

    @staticmethod
    def check_snapshot(path, final):
        expect(rows_of(path, "PRAGMA integrity_check") == [("ok",)], f"{path} is damaged")
        state = dict(rows_of(path, "SELECT key, value FROM meta"))["state"]
        expect(state == "complete", f"{path} is {state}")
        last = rows_of(path, "SELECT coalesce(max(id), 0) FROM call")[0][0]
        # Polls that follow each other share a row, and more may have come.
        for query in ("SELECT id, thread, api, start_ns FROM call WHERE id <= ? ORDER BY id",
                      "SELECT id, duration_ns, result FROM call WHERE id <= ?"
                      " AND id NOT IN (SELECT call FROM call_fold) ORDER BY id"):
            before, after = (rows_of(each, query, last) for each in (path, final))
            if "call_fold" in query:
                kept = {row[0] for row in after}
                before = [row for row in before if row[0] in kept]
                kept = {row[0] for row in before}
                after = [row for row in after if row[0] in kept]
            expect(before == after, f"{path}: its {len(before)} calls are not the first ones of the trace")

    def check_told(self, final):
        for text, count in self.commands.marks:
            found = rows_of(final, "SELECT count(*) FROM ranges WHERE kind = 'mark' AND message = ?", text)[0][0]
            expect(found == count, f"{text}: {found} of {count}")
        changes = rows_of(final, "SELECT count(*) FROM recording_change")[0][0]
        expect(self.commands.changes <= changes, f"{changes} changes of at least {self.commands.changes}")

    def check_left(self, folder):
        known = {"trace.db", "spool", "plain", "traced"} | {os.path.basename(path) for path in self.commands.snapshots}
        left = [name for name in os.listdir(folder) if name not in known
                and name.rpartition(".")[0] not in self.commands.killed and name not in self.commands.killed]
        expect(not left, f"left behind: {left}")


if __name__ == "__main__":
    sys.exit(soak.main(Controlled, ("snapshots", "marks", "stops and starts")))
