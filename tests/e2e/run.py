#!/usr/bin/env python3
"""Runs the end-to-end tests: run.py [--build DIR] [-k PATTERN]... [-j N] [--list] [-v]

Each case runs in a process of its own, several at a time. A line for each failed or skipped case
says why; the last line is 'N passed, N failed, N skipped'.
"""

import argparse
import fnmatch
import io
import os
import pickle
import select
import signal
import sys
import time
import traceback
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
CASE_LIMIT_S = int(os.environ.get("E2E_LIMIT_S", "120"))


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item


def title(case):
    return case.id()


def chosen(cases, patterns):
    if not patterns:
        return cases
    return [case for case in cases
            if any(fnmatch.fnmatch(title(case).lower(), f"*{pattern.lower()}*")
                   for pattern in patterns)]


class Outcome(unittest.TestResult):
    """The first thing worth saying about one case."""

    def __init__(self):
        super().__init__()
        self.kind = "passed"
        self.reason = ""

    def note(self, kind, reason):
        if self.kind in ("passed", "skipped"):
            self.kind, self.reason = kind, reason

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note("failed", self.describe(err))

    def addError(self, test, err):
        super().addError(test, err)
        self.note("failed", self.describe(err))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.note("skipped", reason)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.note("failed", f"{subtest._subDescription()}: {self.describe(err)}")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.note("failed", "passed, but was expected to fail")

    @staticmethod
    def describe(err):
        kind, value, trace = err
        place = ""
        for frame in traceback.extract_tb(trace):
            if os.path.dirname(frame.filename) == HERE and "harness" not in frame.filename:
                place = f"{os.path.basename(frame.filename)}:{frame.lineno}: "
        name = "" if issubclass(kind, AssertionError) else kind.__name__ + ": "
        return f"{place}{name}{value}"


class Running:
    """One case in its own process."""

    def __init__(self, case):
        self.case = case
        self.started = time.monotonic()
        self.data = b""
        self.pipe, write_end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.pipe)
            self.body(write_end)
        os.close(write_end)

    def body(self, write_end):
        try:
            os.setpgid(0, 0)
            outcome = Outcome()
            sys.stdout = sys.stderr = io.StringIO()
            self.case.run(outcome)
            with os.fdopen(write_end, "wb") as file:
                file.write(pickle.dumps((outcome.kind, outcome.reason)))
        finally:
            os._exit(0)

    def read(self):
        """Takes what the case has said; True when it is done."""
        piece = os.read(self.pipe, 65536)
        self.data += piece
        return not piece

    def finish(self):
        os.close(self.pipe)
        os.waitpid(self.pid, 0)
        try:
            kind, reason = pickle.loads(self.data)
        except (pickle.PickleError, EOFError):
            kind, reason = "failed", "the test itself died"
        return kind, reason, time.monotonic() - self.started

    def stop(self):
        import harness  # found through sys.path, once the build is known

        os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        harness.remove_places(self.pid)
        os.close(self.pipe)
        return "failed", f"still not done after {CASE_LIMIT_S} s", CASE_LIMIT_S


def report(counts, case, kind, reason, seconds, verbose):
    counts[kind] += 1
    if kind != "passed":
        first, *rest = reason.strip().splitlines() or ["no reason"]
        print(f"{kind} {title(case)}: {first}")
        for line in rest if kind == "failed" else []:
            print(f"    {line}")
    elif verbose:
        print(f"passed {title(case)} ({seconds:.1f} s)")
    sys.stdout.flush()


def run_all(cases, jobs, verbose):
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    waiting = list(cases)[::-1]
    running = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            one = Running(waiting.pop())
            running[one.pipe] = one
        ready, _, _ = select.select(list(running), [], [], 0.2)
        for pipe in ready:
            one = running[pipe]
            if one.read():
                del running[pipe]
                report(counts, one.case, *one.finish(), verbose)
        for pipe, one in list(running.items()):
            if time.monotonic() - one.started > CASE_LIMIT_S:
                del running[pipe]
                report(counts, one.case, *one.stop(), verbose)
    return counts


def main():
    # A shell's background job ignores it, and so would every program that is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(description="Run the end-to-end tests.")
    parser.add_argument("--build", help="build directory (default: build/ of the checkout)")
    parser.add_argument("-k", metavar="PATTERN", action="append", default=[],
                        help="only cases whose name contains the pattern; can be repeated")
    parser.add_argument("-j", metavar="N", type=int, default=os.cpu_count() or 2,
                        help="cases at a time")
    parser.add_argument("-v", action="store_true", help="say what passed, and how long it took")
    parser.add_argument("--list", action="store_true", help="list the cases")
    arguments = parser.parse_args()
    if arguments.build:
        os.environ["GV_BUILD"] = os.path.abspath(arguments.build)
    # The tests find the parts of a build through the environment, so it comes first.
    sys.path.insert(0, HERE)
    sys.dont_write_bytecode = True
    loader = unittest.TestLoader()
    cases = chosen(list(flatten(loader.discover(HERE, "test_*.py", HERE))), arguments.k)
    for error in loader.errors:
        print(error)
    if arguments.list:
        print("\n".join(title(case) for case in cases))
        return 0
    counts = run_all(cases, max(1, arguments.j), arguments.v)
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] or loader.errors or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
