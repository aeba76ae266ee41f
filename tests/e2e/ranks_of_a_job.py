"""Traces of a job whose truth is known: ranks on several hosts, whose clocks are wrong; one rank is slow.

A step: each rank gets its data, launches a kernel, and takes part in an all-reduce, which ends nowhere before the last
rank has come. All times are those of one true clock, and are then written as the host's own clock showed them.
"""

import os
import random
import sqlite3

import stored

STEP_DATA_NS = 4_000_000
KERNEL_NS = 10_000_000
MOVE_NS = 1_500_000
LOOK_NS = 10_000_000
UNIX_NS = 1_700_000_000_000_000_000
COMMUNICATOR = 0x1234567890abcdef
APIS = ((1, "cuLaunchKernel", "launch"), (2, "cuStreamSynchronize", "sync"), (3, "ncclAllReduce", "other"),
        (4, "cuStreamBeginCapture_v2", "stream"), (5, "cuStreamEndCapture", "stream"),
        (6, "cuGraphInstantiateWithFlags", "graph"), (7, "cuGraphLaunch", "launch"), (8, "cuModuleLoadData", "load"))


class Clock:
    """A host's: it was set wrong by so much, and is slow by so many millionths."""

    def __init__(self, behind_ns=0, drift_ppm=0.0):
        self.behind_ns, self.drift = behind_ns, drift_ppm / 1e6

    def shows(self, true_ns):
        return int((true_ns - self.behind_ns) / (1 + self.drift))


class Job:
    """What happened, in true time."""

    def __init__(self, ranks=8, steps=100, slow=None, late_ns=0, loader=None, start_ns=(), seed=1):
        """slow: a rank that gets its data late by late_ns in 96 % of the steps; loader: one that loads code in step 50,
        which takes 300 ms."""
        chance = random.Random(seed)
        self.ranks = []
        self.starts = list(start_ns) + [0] * (ranks - len(start_ns))
        now = [start + chance.randrange(1_000_000) for start in self.starts]
        self.steps = [[] for _ in range(ranks)]
        end = max(now)
        for step in range(steps):
            begun, arrived = [], []
            for rank in range(ranks):
                begin = max(now[rank], end if step == 0 else 0)
                data = STEP_DATA_NS + chance.randrange(200_000)
                if rank == slow and step % 25 != 7:
                    data += late_ns
                load = 300_000_000 if rank == loader and step == 50 else 0
                begun.append((begin, data, load))
                arrived.append(begin + data + load + KERNEL_NS + chance.randrange(100_000))
            last = max(arrived)
            for rank in range(ranks):
                over = last + MOVE_NS + chance.randrange(100_000)
                self.steps[rank].append((*begun[rank], arrived[rank], over))
                now[rank] = over + 50_000

    def waits_ns(self, late_rank):
        """How long the others waited for this rank on average, in each step in which it came last."""
        waits = []
        for step in zip(*self.steps):
            arrived = [rank[3] for rank in step]
            if max(arrived) == arrived[late_rank]:
                waits.append(sum(max(arrived) - at for at in arrived) / (len(arrived) - 1))
        return waits

    def write(self, path, rank, host, clock=None, graphs=False, collectives=True, with_idle=True):
        """The trace of one rank. graphs: the all-reduce is captured once, and launched in each step; "each": captured in
        each step."""
        clock = clock or Clock()
        ticks = clock.shows(self.starts[rank])
        rows = {"call": [], "gpu_op": [], "collective": [], "idle_sample": [], "range": [], "call_range": [],
                "call_object": []}

        def at(true_ns):
            return clock.shows(true_ns) - ticks

        def call(api, start, duration, **more):
            rows["call"].append((len(rows["call"]) + 1, 1, api, at(start), duration, 0, 1, 1, None, more.get("object"),
                                 more.get("kernel"), None))
            return len(rows["call"])

        def ran(kind, start, end, of, shape=None):
            rows["gpu_op"].append((len(rows["gpu_op"]) + 1, 1, kind, shape, at(start), at(end) - at(start), of, None,
                                   None, None, None))
            return len(rows["gpu_op"])

        def take_part(of, sequence, operation):
            rows["collective"].append((len(rows["collective"]) + 1, of, "all-reduce", COMMUNICATOR, sequence, rank,
                                       len(self.steps), 1 << 20, "float32", 4 << 20, None, operation))

        first = self.steps[rank][0][0]
        def capture(begin, sequence):
            call(4, begin, 1000)
            take_part(call(3, begin + 1000, 1000), sequence, None)
            call(5, begin + 2000, 1000, object=77)
            rows["call_object"].append((call(6, begin + 3500, 1000, object=99), 77))

        if graphs and graphs != "each":
            capture(first - 500_000, 0)
        for number, (begin, data, load, arrival, over) in enumerate(self.steps[rank]):
            rows["range"].append((number + 1, 1, 1, None, 1, None, None, None, None, at(begin), at(over) - at(begin),
                                  None, 0, None))
            look = begin + LOOK_NS // 2
            while with_idle and look < begin + data:
                # In some steps it was seen at another line of the same function.
                rows["idle_sample"].append((len(rows["idle_sample"]) + 1, 1, 1, at(look), LOOK_NS, 0, "R", None, 0, 6, 0,
                                            2 if number % 10 == 3 else 1, None, 0, LOOK_NS, None))
                look += LOOK_NS
            launch = begin + data
            rows["call_range"].append((1, len(rows["call"]) + 1, number + 1))
            if load:
                call(8, launch, load)
                launch += load
            kernel = call(1, launch, 5000, kernel=1)
            ran(1, launch + 8000, arrival, kernel, 1)
            if graphs == "each":
                capture(launch + 5000, number)
            together = call(7 if graphs else 3, launch + 10_000, 5000, **({"object": 99} if graphs else {}))
            operation = ran(4 if graphs else 1, arrival, over, together, None if graphs else 2)
            if collectives and not graphs:
                take_part(together, number, operation)
            call(2, launch + 20_000, over - launch - 20_000)
        end = self.steps[rank][-1][4]
        self.store(path, rows, [
            f"INSERT INTO meta VALUES ('state', 'complete'), ('session', 'r{rank}'), ('program', 'train.py'),"
            f" ('arguments', 'python train.py'), ('host', '{host}'), ('driver_version', 13000), ('machine', 'x86_64'),"
            f" ('unix_offset_ns', {UNIX_NS + ticks}), ('start_unix_ns', {UNIX_NS + ticks}),"
            " ('stall_threshold_ns', 1000000)",
            "INSERT INTO process (id, identity, pid, parent_pid, program, arguments, start_ns, end_ns, ended, exit_code,"
            f" driver_version, gpu, cupti_version) VALUES (1, {rank + 1}, {4000 + rank}, 1, 'train.py', 'python train.py',"
            f" {at(self.starts[rank])}, {at(end)}, 'exit', 0, 13000, 'cupti', 130000)",
            f"INSERT INTO process_rank VALUES (1, {rank}, {rank}, {len(self.steps)}, '4711', '{host}', NULL)",
            f"INSERT INTO device (id, process, device, name, uuid, multiprocessors) VALUES (1, 1, 0, 'H100', 'GPU-{rank}', 132)",
        ])

    @staticmethod
    def store(path, rows, statements):
        if os.path.exists(path):
            os.remove(path)
        stored.make("nothing", path)
        database = sqlite3.connect(path)
        for statement in statements:
            database.execute(statement)
        database.executemany("INSERT INTO api (id, name, class) VALUES (?, ?, ?)", APIS)
        database.execute("UPDATE api SET gpu_work = CASE id WHEN 1 THEN 1 WHEN 7 THEN 2 ELSE 0 END, begins_capture = id = 4,"
                         " ends_capture = id = 5")
        for statement in (
                "INSERT INTO thread VALUES (1, 1, 1, 4000, 'python', 1)",
                "INSERT INTO context VALUES (1, 1, 4096)",
                "INSERT INTO stream VALUES (1, 1, 1, NULL, 7, 'created')",
                "INSERT INTO kernel (id, process, number, name) VALUES (1, 1, 1, 'forward')",
                "INSERT INTO gpu_name VALUES (1, 1, 1, 'forward', 'forward'), (2, 1, 2, 'ncclDevKernel_AllReduce', 'n')",
                "INSERT INTO gpu_shape (id, process, number, name, grid_x, block_x) VALUES (1, 1, 1, 1, 264, 256),"
                " (2, 1, 2, 2, 24, 512)",
                "INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7)",
                "INSERT INTO range_text VALUES (1, 1, 1, 'step')",
                "INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2)",
                "INSERT INTO stack_end VALUES (1, 'truncated'), (2, 'truncated')",  # as with PyTorch: all ranks have the same one
                "INSERT INTO frame (stack, depth, kind, function, file, line) VALUES"
                " (1, 0, 'python', '__getitem__', '/home/u/data.py', 41), (1, 1, 'python', 'train', '/home/u/train.py', 30),"
                " (2, 0, 'python', '__getitem__', '/home/u/data.py', 43), (2, 1, 'python', 'train', '/home/u/train.py', 30)"):
            database.execute(statement)
        for table, values in rows.items():
            if values:
                database.executemany(f"INSERT INTO \"{table}\" VALUES ({', '.join('?' * len(values[0]))})", values)
        database.commit()
        database.close()
