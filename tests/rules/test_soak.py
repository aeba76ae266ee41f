#!/usr/bin/env python3
"""tests/soak.py notices every kind of difference between a trace and the program's log."""

import os
import sqlite3
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(CHECKOUT, "tests"))

import soak_logs  # noqa: E402
from soak_logs import BYTES, KERNEL, LEFT, LOADS, NESTED, NOT_READY, RUNS, WRITTEN  # noqa: E402

CLASSES = {"cuLaunchKernel": "launch", "cuStreamQuery": "stream", "cuEventQuery": "event",
           "cuModuleLoadData": "load", "cuMemAlloc_v2": "alloc"}
NAMES = list(CLASSES)
LAUNCH, POLL, ASK, LOAD, ALLOC = NAMES
PID, TID = 40, 41

# (call, result, flags, detail) as a program logs it.
MADE = [(LOAD, 0, LOADS, 0), (LAUNCH, 0, RUNS | KERNEL, 0), (LAUNCH, 0, RUNS | KERNEL, 99),
        (POLL, NOT_READY, 0, 0), (ASK, NOT_READY, 0, 0), (POLL, NOT_READY, 0, 0), (ASK, 0, 0, 0),
        (ALLOC, 0, BYTES, 64), (ASK, LEFT, 0, 0), (LAUNCH, 0, KERNEL, 0)]
# [name, result, kernel, bytes, count] as the trace has it.
FOUND = [[LOAD, 0, None, None, 1], [LAUNCH, 0, "empty", None, 1], [LAUNCH, 0, "kernel_99", None, 1],
         [POLL, NOT_READY, None, None, 2], [ASK, NOT_READY, None, None, 1], [ASK, 0, None, None, 1],
         [ALLOC, 0, None, 64, 1], [ASK, None, None, None, 1], [LAUNCH, 0, "empty", None, 1]]
OPS = [("kernel", "empty", 2), ("kernel", "kernel_99", 3)]


class Soak(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.folder = place.name
        self.made, self.found, self.ops = list(MADE), [list(row) for row in FOUND], list(OPS)
        self.losses, self.loads, self.flights, self.cut, self.calling = [], [(1, 0)], 0, False, None
        self.until_ns = None

    def write_log(self):
        with open(os.path.join(self.folder, "names"), "w", encoding="utf-8") as file:
            file.write("\n".join(NAMES))
        calling = NAMES.index(self.calling) + 1 if self.calling else 0
        head = soak_logs.HEADER.pack(b"soak log", PID, TID, 5, len(self.made), calling, b"", 7)
        data = b"".join(soak_logs.ENTRY.pack(NAMES.index(made[0]), made[1], made[3] | (made[2] | WRITTEN) << 24)
                        if made else bytes(soak_logs.ENTRY.size) for made in self.made)
        with open(os.path.join(self.folder, "1.log"), "wb") as file:
            file.write(head.ljust(soak_logs.HEADER_BYTES, b"\0") + data)

    def make_trace(self):
        trace = sqlite3.connect(":memory:")
        self.addCleanup(trace.close)
        trace.executescript(
            "CREATE TABLE processes (id, pid, forked, gpu, gpu_why, start_ns); CREATE TABLE threads (id, process, serial, tid);"
            "CREATE TABLE calls (id INTEGER PRIMARY KEY, process, thread, name, result, kernel, bytes, count,"
            " start_ns DEFAULT 10, duration_ns DEFAULT 1, stream);"
            "CREATE TABLE recording (process, side, start_ns, end_ns, gpu); CREATE TABLE losses (process, what, class, count);"
            "CREATE TABLE loads (call, result, kind); CREATE TABLE meta (key, value);"
            "CREATE TABLE gpu_ops (kind, name, call, duration_ns DEFAULT 1); CREATE TABLE in_flight (name);"
            f"INSERT INTO processes VALUES (1, {PID}, 0, 'cupti', NULL, 5); INSERT INTO threads VALUES (1, 1, 1, {TID});")
        trace.executemany("INSERT INTO calls (process, thread, name, result, kernel, bytes, count)"
                          " VALUES (1, 1, ?, ?, ?, ?, ?)", self.found)
        trace.executemany("INSERT INTO losses VALUES (1, ?, ?, ?)", self.losses)
        trace.executemany("INSERT INTO loads VALUES (?, ?, 'ptx')", self.loads)
        trace.executemany("INSERT INTO gpu_ops (kind, name, call) VALUES (?, ?, ?)", self.ops)
        trace.executemany("INSERT INTO in_flight VALUES (?)", [("x",)] * self.flights)
        trace.execute("INSERT INTO recording VALUES (1, 'gpu', 0, ?, 'seen')", (self.until_ns,))
        return trace

    def compare(self):
        self.write_log()
        session = soak_logs.Session(self.folder, self.make_trace(), CLASSES, self.cut)
        session.check_calls()
        session.check_loads()
        session.check_gpu(True)
        session.check_ends()
        return session.counts

    def assert_noticed(self, words):
        with self.assertRaises(soak_logs.Mismatch) as caught:
            self.compare()
        self.assertIn(words, str(caught.exception))

    def test_the_same(self):
        self.assertEqual(self.compare()["calls"], len(MADE))

    def test_a_call_is_missing(self):
        for at in range(len(FOUND)):
            with self.subTest(at=at):
                self.setUp()
                del self.found[at]
                self.assert_noticed("")

    def test_a_call_too_many(self):
        self.found.append([ASK, 0, None, None, 1])
        self.assert_noticed("1 calls more")

    def test_order_and_results(self):
        self.found[5], self.found[6] = self.found[6], self.found[5]
        self.assert_noticed("the program made")
        self.setUp()
        self.found[6][1] = 2
        self.assert_noticed("the program made")

    def test_folded_polls(self):
        self.found[3][4] = 3
        self.assert_noticed("the program made")
        self.setUp()
        self.found[3:5] = [[ASK, NOT_READY, None, None, 1], [POLL, NOT_READY, None, None, 1],
                           [POLL, NOT_READY, None, None, 1]]
        self.compare()

    def test_what_a_call_did(self):
        self.found[2][2] = "empty"
        self.assert_noticed("launched kernel_99")
        self.setUp()
        self.found[6][3] = 65
        self.assert_noticed("65 bytes, not 64")
        self.setUp()
        self.loads = []
        self.assert_noticed("is no load")
        self.setUp()
        self.loads.append((None, 0))
        self.assert_noticed("loads of no call")
        self.cut = True
        self.assert_noticed("loads of no call")
        self.calling = LOAD
        self.compare()

    def test_the_gpu(self):
        self.ops.pop()
        self.assert_noticed("no operation: Counter({'cuLaunchKernel': 1}); 0 are counted as lost")
        self.losses = [("GPU record", None, 1)]
        self.compare()
        self.ops.pop()
        self.assert_noticed("no operation: Counter({'cuLaunchKernel': 2}); 1 are counted as lost")
        self.setUp()
        self.ops.append(("kernel", "empty", None))
        self.assert_noticed("operations without a call")
        self.setUp()
        self.ops.append(("kernel", "empty", 2))
        self.assert_noticed("several operations")
        self.setUp()
        self.ops.append(("kernel", "empty", 9))
        self.assert_noticed("has operations")
        self.setUp()
        self.ops[1] = ("kernel", "another", 3)
        self.assert_noticed("launched kernel_99, the GPU ran")

    def test_losses(self):
        del self.found[6]
        self.losses = [("call", "alloc", 1)]
        self.assertEqual(self.compare()["lost"], 1)
        self.losses = [("call", "alloc", 2)]
        self.assert_noticed("1 calls of class alloc are missing")
        self.losses = [("call", "event", 1)]
        self.assert_noticed("calls of class")
        self.setUp()
        self.losses = [("call", "event", 1)]
        self.assert_noticed("0 calls of class event are missing")

    def test_handlers(self):
        """Inside a call: a row, a part of that call, or lost; never twice, and no loss without a call."""
        nested = (ASK, 400, NESTED, 0)
        self.made[2:2] = [nested]
        self.compare()
        self.losses = [("call", "event", 1)]
        self.compare()
        self.losses = [("call", "event", 2)]
        self.assert_noticed("losses say 2")
        self.losses = []
        self.found.append([ASK, 400, None, None, 1])
        self.compare()
        self.found.append([ASK, 400, None, None, 1])
        self.assert_noticed("of handlers in the trace, 1 were made")

    def test_ends(self):
        self.flights = 1
        self.assert_noticed("in flight")
        self.setUp()
        self.found.append([ASK, 0, None, None, 1])
        self.cut, self.calling = True, ASK
        self.compare()
        self.calling = ALLOC
        self.assert_noticed("1 calls more")

    def test_a_poll_at_the_end(self):
        """A process was killed when it had made a call, and reserved or half written its entry."""
        self.cut, self.calling = True, POLL
        self.made += [(POLL, NOT_READY, 0, 0)] * 2
        self.found.append([POLL, NOT_READY, None, None, 3])
        self.compare()
        self.made.append(None)
        self.compare()
        self.found[-1][4] = 4
        self.assert_noticed("the program made")

    def test_the_end_of_the_gpus_side(self):
        """A process that is cut off may launch on when its GPU's side has been fetched, and only then."""
        self.ops.pop()
        self.cut, self.until_ns = True, 11
        self.compare()
        self.until_ns = 12
        self.assert_noticed("no operation")
        self.cut, self.until_ns = False, 11
        self.assert_noticed("no operation")

    def test_strangers(self):
        self.write_log()
        trace = self.make_trace()
        trace.execute("INSERT INTO threads VALUES (2, 1, 2, 77)")
        trace.execute("INSERT INTO calls (process, thread, name, count) VALUES (1, 2, 'cuInit', 1)")
        with self.assertRaisesRegex(soak_logs.Mismatch, "threads that the program did not have"):
            soak_logs.Session(self.folder, trace, CLASSES, False).check_calls()


if __name__ == "__main__":
    unittest.main()
