"""The collectives of NCCL, on the simulated libnccl, whose ranks are processes."""

import os
import sqlite3
import unittest

import harness

RANKS = os.path.join(harness.SOURCE, "kernels", "ranks", "launch")
# What "ranks tour" does once, after the steps: kind, count of elements, root or peer of rank 0, kernel.
TOUR = (
    ("all-gather", 100, None, "AllGather"), ("reduce-scatter", 200, None, "ReduceScatter"),
    ("broadcast", 300, 0, "Broadcast"), ("broadcast", 400, 0, "Broadcast"), ("reduce", 500, 1, "_Reduce_"),
    ("all-to-all", 600, None, "SendRecv"), ("gather", 700, 0, "SendRecv"), ("scatter", 800, 0, "SendRecv"),
    ("send", 900, 1, "SendRecv"), ("receive", 900, 1, "SendRecv"), ("all-reduce", 1000, None, "AllReduce"),
    ("all-reduce", 1100, None, None),  # captured in a graph: no operation of its own
)
OPERATIONS = """SELECT c.kind, c.count, c.root_or_peer, c.type, c.bytes, c.rank, c.size, c.sequence, c.communicator,
    o.name, o.start_ns, o.start_ns + o.duration_ns AS end_ns, k.name AS call
    FROM collective c JOIN calls k ON k.id = c.call LEFT JOIN gpu_ops o ON o.id = c.operation ORDER BY c.id"""


@unittest.skipUnless(os.path.exists(harness.workload("ranks/ranks")), "built without nccl.h of 2.28 or newer")
class Ranks(harness.Case):
    gpu = "auto"

    def environment(self, preload=True, sim=True, **changes):
        path = os.pathsep.join((harness.simulator(), harness.built("tests", "sim", "nccl")))
        return super().environment(preload, sim, **{"LD_LIBRARY_PATH": path,
                                                    "GPUVERIFY_CUPTI": harness.built("tests", "sim", "libcupti.so.13"),
                                                    "GPUVERIFY_TRACE": self.path("job.db"), **changes})

    def launch(self, ranks, *arguments, program="ranks"):
        """The launcher itself is not in a session: each rank begins its own."""
        return [RANKS, str(ranks), "env", f"LD_PRELOAD={harness.library()}", harness.workload(f"ranks/{program}"),
                *arguments]

    def run_ranks(self, ranks, *arguments, **options):
        self.run_well(self.launch(ranks, *arguments, **options), preload=False)
        return [self.trace(self.path(f"job-{rank}.db")) for rank in range(ranks)]


class Collectives(Ranks):

    def check_tour(self, program):
        first, second = (trace.dicts(OPERATIONS) for trace in self.run_ranks(2, "3", "tour", program=program))
        steps, rest = first[:3], first[3:]
        for number, step in enumerate(steps):
            self.assertEqual((step["kind"], step["count"], step["type"], step["bytes"], step["rank"], step["size"],
                              step["sequence"], step["call"]),
                             ("all-reduce", 1 << 20, "float32", 4 << 20, 0, 2, number, "ncclAllReduce"))
            self.assertIn("AllReduce", step["name"])
        tour, split = rest[:-1], rest[-1]
        self.assertEqual([(one["kind"], one["count"], one["root_or_peer"]) for one in tour],
                         [one[:3] for one in TOUR])
        for one, (*_, kernel) in zip(tour, TOUR):
            self.assertEqual(one["bytes"], 4 * one["count"])
            if kernel:
                self.assertIn(kernel, one["name"], one)
            else:
                self.assertIsNone(one["name"], one)
        # Sends and receives are counted for themselves.
        self.assertEqual([one["sequence"] for one in tour], [3, 4, 5, 6, 7, 8, 9, 10, 0, 0, 11, 12])
        self.assertEqual((split["rank"], split["size"], split["sequence"]), (0, 1, 0))
        # The same communicator on both ranks; each gets a part of its own.
        self.assertEqual({one["communicator"] for one in first[:-1]}, {one["communicator"] for one in second[:-1]})
        self.assertEqual(len({one["communicator"] for one in first + second}), 3)
        self.assertEqual({one["rank"] for one in second[:-1]}, {1})

    def test_linked(self):
        self.check_tour("ranks")

    def test_opened(self):
        self.check_tour("ranks_dlsym")

    def test_a_group_is_one_call_with_its_kernels(self):
        trace = self.run_ranks(2, "1", "tour")[0]
        kernels = trace.rows("""SELECT o.name FROM gpu_ops o JOIN calls c ON c.id = o.call
            WHERE c.name = 'ncclGroupEnd' ORDER BY o.start_ns""")
        self.assertEqual([name.rpartition("_")[0] or name for name, in kernels],
                         ["ncclDevKernel", "ncclDevKernel_AllReduce_Sum_f32_RING"])
        self.assertEqual(trace.value("SELECT count(*) FROM calls WHERE name = 'cuLaunchKernel'"), 1)  # spin alone

    def test_a_slow_rank_makes_the_others_wait(self):
        """They start early, and all end together."""
        early, slow = (trace.dicts(OPERATIONS) for trace in self.run_ranks(2, "5", "slow=1"))
        self.assertEqual(len(early), 5)
        waited, moved = (sum(one["end_ns"] - one["start_ns"] for one in rows) for rows in (early, slow))
        self.assertGreater(waited, 3 * moved)

    def test_the_same_without_the_library(self):
        plain = self.run_well([RANKS, "2", harness.workload("ranks/ranks"), "2", "tour"], preload=False)
        hooked = self.run_well(self.launch(2, "2", "tour"), preload=False)
        self.assertEqual(sorted(plain.out.splitlines()), sorted(hooked.out.splitlines()))

    def test_in_progress_is_no_failure_and_an_invalid_argument_is_one(self):
        """CUDA's result 4 is what calls return once the driver has ended, and its 7 is an error."""
        trace = self.run_ranks(1, "1", "results")[0]
        self.assertEqual(trace.rows("SELECT name, result FROM calls WHERE result <> 0 AND name LIKE 'nccl%'"),
                         [("ncclCommInitRankConfig", 7), ("ncclAllReduce", 4)])
        failed = [("ncclAllReduce", 1)]
        of_view = "SELECT name, errors FROM api_summary WHERE errors > 0"
        self.assertEqual(trace.rows(of_view), failed)
        table = self.command("report", self.path("job-0.db"), "--section", "errors").out
        self.assertRegex(table, "ncclAllReduce.*ncclInvalidArgument")
        self.assertNotIn("ncclCommInitRankConfig", table)
        metrics = self.command("export", self.path("job-0.db"), "--to", "openmetrics", "-o", "-").out
        self.assertEqual([line.split()[-1] for line in metrics.splitlines()
                          if "fail" in line and 'class="collective"' in line], ["1"])
        # Without the stored totals, as in a trace that is being written.
        with sqlite3.connect(self.path("job-0.db")) as database:
            database.execute("DELETE FROM meta WHERE key = 'totals'")
            self.assertEqual(database.execute(of_view).fetchall(), failed)
        database.close()

    def test_report(self):
        self.run_ranks(2, "4")
        table = self.command("report", self.path("job-0.db"), "--section", "nccl").out
        self.assertRegex(table, r"[0-9a-f]{16} +0 of 2 +all-reduce +4 +16\.0 MiB +\d.* +\d")


class Deadlocks(Ranks):
    """A call that waits for the whole context waits for a collective, which waits for another rank."""

    def test_in_the_making(self):
        late = self.run_ranks(2, "6", "late=1")[1]
        stall = late.dicts("""SELECT s.cause, s.advice, o.name FROM stalls s JOIN gpu_ops o ON o.id = s.waited_for
            WHERE s.cause = 'module-load'""")
        self.assertEqual([(one["cause"], one["name"]) for one in stall],
                         [("module-load", "ncclDevKernel_AllReduce_Sum_f32_RING_LL")])
        self.assertIn("This is a deadlock in the making", stall[0]["advice"])
        # To wait for a collective in its own stream, as asked, is no danger.
        self.assertEqual(late.rows("SELECT 1 FROM stalls WHERE expected AND advice LIKE '%deadlock%'"), [])

    def flights(self):
        try:
            trace = sqlite3.connect(f"file:{self.path('job-1.db')}?mode=ro", uri=True)
            with trace:
                found = trace.execute("""SELECT name, cause, state FROM in_flight
                    WHERE name = 'cuModuleLoadData'""").fetchall()
            trace.close()
            return found
        except sqlite3.Error:  # not there yet
            return []

    def test_that_hangs(self):
        process = self.start(self.launch(2, "2", "late=1", "late_ms=60000"), preload=False,
                             env={"GPUVERIFY_WATCHDOG": "0.2"})
        name, cause, state = harness.wait_for(self.flights, "the watchdog writes the call")[0]
        process.terminate()
        process.communicate()
        self.assertEqual((name, cause), ("cuModuleLoadData", "module-load"))
        self.assertIn("ncclDevKernel_AllReduce_Sum_f32_RING_LL is a collective of NCCL", state)
        self.assertIn("if one of them waits for this rank, this is a deadlock", state)
