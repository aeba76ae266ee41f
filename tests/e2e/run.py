#!/usr/bin/env python3
"""Runs the end-to-end tests: run.py [--build DIR] [-k PATTERN]... [-j N] [--slowest N] [--list] [-v]

Each case runs in a process of its own, several at a time. A line for each failed or skipped case
says why; the last line is 'N passed, N failed, N skipped'.

A failed case runs once more, alone, after all others, and a third time if it depends on time (`@harness.depends_on_time`,
`harness.pause()`). If it passes then, it counts as passed, and a line 'flaky ...' names it with its first failure, and says
why it depends on time, or that nobody has said so.
"""

import argparse
import collections
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
FOLDERS = (HERE, os.path.join(os.path.dirname(HERE), "hostile"))
CASE_LIMIT_S = float(os.environ.get("E2E_LIMIT_S", "300")) * float(os.environ.get("E2E_SLOWER", "1"))


def flatten(suite):
    for item in suite:
        if isinstance(item, (list, unittest.TestSuite)):
            yield from flatten(item)
        else:
            yield item


def title(case):
    return case.id()


def time_matters(case):
    """Why the case depends on time, or None; asked in the process that ran it."""
    import harness  # found through sys.path, once the build is known

    method = getattr(case, getattr(case, "_testMethodName", ""), None)
    return getattr(method, "depends_on_time", None) or getattr(case, "depends_on_time", None) or harness.pause.why


def chosen(cases, patterns):
    if not patterns:
        return cases
    return [case for case in cases
            if any(fnmatch.fnmatch(title(case).lower(), f"*{pattern.lower()}*")
                   for pattern in patterns)]


class Outcome(unittest.TestResult):
    """The first relevant result of one case."""

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
            if os.path.dirname(frame.filename) in FOLDERS and "harness" not in frame.filename:
                place = f"{os.path.basename(frame.filename)}:{frame.lineno}: "
        name = "" if issubclass(kind, AssertionError) else kind.__name__ + ": "
        return f"{place}{name}{value}"


Came = collections.namedtuple("Came", "case kind reason depends_on_time seconds cpu_seconds")


class Running:
    """Runs one case in its own process."""

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
                file.write(pickle.dumps((outcome.kind, outcome.reason, time_matters(self.case))))
        finally:
            os._exit(0)

    def read(self):
        """Reads the case's output; True when it is done."""
        piece = os.read(self.pipe, 65536)
        self.data += piece
        return not piece

    def finish(self):
        os.close(self.pipe)
        _, _, usage = os.wait4(self.pid, 0)
        try:
            kind, reason, why = pickle.loads(self.data)
        except (pickle.PickleError, EOFError):
            kind, reason, why = "failed", "the test itself died", None
        return Came(self.case, kind, reason, why, time.monotonic() - self.started, usage.ru_utime + usage.ru_stime)

    def stop(self):
        import harness  # found through sys.path, once the build is known

        os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        harness.remove_places(self.pid)
        os.close(self.pipe)
        return Came(self.case, "failed", f"still not done after {CASE_LIMIT_S:.0f} s", None, CASE_LIMIT_S, 0.0)


class Results:
    """What the cases came to: counts, times, and those that get another chance."""

    def __init__(self, verbose):
        self.verbose = verbose
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.times = []
        self.again = []

    def take(self, came, *before):
        """before: what the same case came to when it failed."""
        tries = [*before, came]
        if not before:
            self.times.append((came.seconds, came.cpu_seconds, title(came.case)))
        if came.kind == "failed" and len(tries) < (3 if came.depends_on_time else 2):
            self.again.append(tries)
            return
        if came.kind == "failed":
            came = came._replace(reason="\nand before that: ".join(one.reason for one in tries[::-1]))
        self.report(came)
        if came.kind == "passed" and before:
            why = next((one.depends_on_time for one in tries if one.depends_on_time),
                       "nobody has said that it depends on time: find out why")
            reasons = "\nand then with: ".join(one.reason for one in before)
            self.say("flaky", came.case, f"passed when run again ({why}); it had failed with: {reasons}")

    def report(self, came):
        self.counts[came.kind] += 1
        if came.kind != "passed":
            self.say(came.kind, came.case, came.reason)
        elif self.verbose:
            print(f"passed {title(came.case)} ({came.seconds:.1f} s)", flush=True)

    @staticmethod
    def say(kind, case, reason):
        first, *rest = reason.strip().splitlines() or ["no reason"]
        print(f"{kind} {title(case)}: {first}")
        for line in rest if kind != "skipped" else []:
            print(f"    {line}")
        sys.stdout.flush()


def run_each(cases, jobs, take):
    """Runs the cases, so many at a time; take() gets what each of them came to."""
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
                take(one.finish())
        for pipe, one in list(running.items()):
            if time.monotonic() - one.started > CASE_LIMIT_S:
                del running[pipe]
                take(one.stop())


def run_all(cases, jobs, verbose):
    results = Results(verbose)
    run_each(cases, jobs, results.take)
    while results.again:
        tries = results.again.pop(0)
        run_each([tries[0].case], 1, lambda came, tries=tries: results.take(came, *tries))
    return results


def main():
    # A shell's background job ignores them, and so would every program that is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    parser = argparse.ArgumentParser(description="Run the end-to-end tests.")
    parser.add_argument("--build", help="build directory (default: build/ of the checkout)")
    parser.add_argument("-k", metavar="PATTERN", action="append", default=[],
                        help="only cases whose name contains the pattern; can be repeated")
    parser.add_argument("-j", metavar="N", type=int, default=os.cpu_count() or 2,
                        help="cases at a time")
    parser.add_argument("-v", action="store_true", help="say what passed, and how long it took")
    parser.add_argument("--slowest", metavar="N", type=int, default=0,
                        help="print the N cases that took longest: seconds, and CPU seconds of the programs they waited for")
    parser.add_argument("--list", action="store_true", help="list the cases")
    arguments = parser.parse_args()
    if arguments.build:
        os.environ["GV_BUILD"] = os.path.abspath(arguments.build)
    # The tests find the parts of a build through the environment, so it comes first.
    sys.path.insert(0, HERE)
    sys.dont_write_bytecode = True
    loader = unittest.TestLoader()
    found = [loader.discover(folder, "test_*.py", folder) for folder in FOLDERS]
    cases = chosen(list(flatten(found)), arguments.k)
    for error in loader.errors:
        print(error)
    if arguments.list:
        print("\n".join(title(case) for case in cases))
        return 0
    results = run_all(cases, max(1, arguments.j), arguments.v)
    for seconds, cpu_seconds, name in sorted(results.times, reverse=True)[:arguments.slowest]:
        print(f"{seconds:6.1f} s  {cpu_seconds:6.1f} s CPU  {name}")
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**results.counts))
    return 1 if results.counts["failed"] or loader.errors or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
