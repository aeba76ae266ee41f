"""A fleet of made-up traces, whose truth is known: each is a trace of the project's own schema, and what it holds
is kept here too, as plain rows, from which truth.py computes every answer without SQL.

Planted, among much that is random:
- train.py's newest build waits for its data four times as long as the one before it
- in each job one rank idles, and the others wait for it inside their kernels
- cuBLAS loads late with driver 12040
- hosts and teams with hostile names
"""

import collections
import importlib
import os
import random
import shutil
import sqlite3
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
stored = importlib.import_module("stored")

S = 1_000_000_000
START_UNIX_NS = 1_790_000_000 * S
DAY_NS = 86400 * S

Process = collections.namedtuple("Process", "trace process program team build host job rank world driver start_unix_ns duration_ns gpus")
# location: (file, line, function), the text that users see, or None
Stall = collections.namedtuple("Stall", "of cause call location times each_ns")
Idle = collections.namedtuple("Idle", "of device what location times idle_ns")
Finding = collections.namedtuple("Finding", "of phase key what location lost_ns saves_ns phase_ns")
Load = collections.namedtuple("Load", "of library late times each_ns each_wait_ns")

HOSTILE = ("../../../etc", "..", "a'b\"c", "new\nline", "x=y/z", "\u00fcml\u00e4ut %41", ".hidden", "_hidden", "007", "h" * 200)
PROGRAMS = {"train.py": ("vision", "speech"), "serve.py": ("search", "it's \"quoted\""), "etl.py": (None,)}
CALLS = {"module-load": "cuModuleLoadData", "lazy-load": "cuLaunchKernel", "free": "cuMemFree_v2", "pageable-copy": "cuMemcpyDtoHAsync_v2"}


class Fleet:
    def __init__(self):
        self.processes, self.stalls, self.idle, self.findings, self.loads = [], [], [], [], []
        self.hosts = set()


class Trace:
    """One trace being made: a copy of an empty one, filled."""

    def __init__(self, template, path, session, host, start_unix_ns):
        shutil.copy(template, path)
        os.chmod(path, 0o600)
        self.database = sqlite3.connect(path, isolation_level=None)
        self.execute = self.database.execute
        self.execute("PRAGMA synchronous = OFF")
        self.execute("PRAGMA journal_mode = OFF")
        self.execute("BEGIN")
        self.stacks, self.places, self.apis, self.calls = {}, {}, {}, 0
        self.execute("INSERT INTO meta VALUES ('state', 'complete'), ('session', ?), ('host', ?), ('start_unix_ns', ?), "
                     "('unix_offset_ns', ?), ('stalls', 5), ('idle', 2), ('totals', ?), ('gpuverify_version', '0.1.0')",
                     (session, host, start_unix_ns, start_unix_ns, stored.totals_version()))

    def process(self, of):
        self.execute("INSERT INTO process (id, identity, pid, program, start_ns, end_ns, ended, exit_code, gpu, driver_version) "
                     "VALUES (?, ?, ?, ?, 0, ?, 'exit', 0, 'cupti', ?)",
                     (of.process, of.process, 1000 + of.process, of.program, of.duration_ns, of.driver))
        self.execute("INSERT INTO thread VALUES (?, ?, 1, ?, 'main', 0)", (of.process, of.process, 1000 + of.process))
        for device in range(of.gpus):
            self.execute("INSERT INTO gpu_place (process, device, context, stream) VALUES (?, ?, 1, 7)", (of.process, device))
            self.execute("INSERT INTO device (process, device, name) VALUES (?, ?, 'H100')", (of.process, device))
        for name, value in (("GPUVERIFY_TEAM", of.team), ("GPUVERIFY_BUILD", of.build)):
            if value is not None:
                self.execute("INSERT INTO variable VALUES (?, ?, ?)", (of.process, name, value))
        self.execute("INSERT INTO process_rank VALUES (?, ?, ?, ?, ?, ?, NULL)",
                     (of.process, of.rank, of.rank and of.rank % 8, of.world, of.job, of.host))
        self.call(of, "cuLaunchKernel", "launch", of.duration_ns // 2, 1000)

    def stack(self, of, location):
        key = of.process, location
        if location and key not in self.stacks:
            number = self.stacks[key] = len(self.stacks) + 1
            self.execute("INSERT INTO stack VALUES (?, ?, ?)", (number, of.process, number))
            file, line, function = location
            self.execute("INSERT INTO frame (stack, depth, kind, function, file, line) VALUES (?, 0, 'python', ?, ?, ?)",
                         (number, function, file, line))
        return self.stacks.get(key)

    def call(self, of, name, kind, start_ns, duration_ns):
        if name not in self.apis:
            self.apis[name] = len(self.apis) + 1
            self.execute("INSERT INTO api (id, name, class) VALUES (?, ?, ?)", (self.apis[name], name, kind))
        self.calls += 1
        self.execute("INSERT INTO call (id, thread, api, start_ns, duration_ns, result) VALUES (?, ?, ?, ?, ?, 0)",
                     (self.calls, of.process, self.apis[name], start_ns, duration_ns))
        return self.calls

    def stall(self, stall):
        for _ in range(stall.times):
            call = self.call(stall.of, stall.call, "load", stall.of.duration_ns * 3 // 4, stall.each_ns + 1000)
            if stall.location:
                self.execute("INSERT INTO call_stack VALUES (?, ?)", (call, self.stack(stall.of, stall.location)))
            self.execute("INSERT INTO stall (call, cause, expected, jit_ns, wait_ns, work_ns, confidence) "
                         "VALUES (?, ?, 0, 0, ?, 1000, 'measured')", (call, stall.cause, stall.each_ns))

    def wait(self, of):
        """What the program asked for, which no answer counts."""
        call = self.call(of, "cuStreamSynchronize", "sync", 2 * S, 90 * S)
        self.execute("INSERT INTO stall (call, cause, expected, jit_ns, wait_ns, work_ns, confidence) "
                     "VALUES (?, 'explicit-sync', 1, 0, ?, 0, 'measured')", (call, 90 * S))

    def place(self, location):
        if location and location not in self.places:
            self.places[location] = len(self.places) + 1
            file, line, function = location
            self.execute("INSERT INTO place (id, file, line, function) VALUES (?, ?, ?, ?)", (self.places[location], file, line, function))
        return self.places.get(location)

    def idle(self, idle):
        self.execute("INSERT INTO ledger_row (process, device, phase, what, place, total_ns, count, error_ns, first_half_ns, confidence) "
                     "VALUES (?, ?, 1, ?, ?, ?, ?, 0, 0, 'sampled')",
                     (idle.of.process, idle.device, idle.what, self.place(idle.location), idle.idle_ns, idle.times))

    def finding(self, finding):
        self.execute("INSERT INTO finding (key, process, device, phase, what, place, lost_ns, saves_ns, phase_ns, error_ns, count, steps, "
                     "confidence) VALUES (?, ?, 0, 1, ?, ?, ?, ?, ?, 0, 1, 0, 'sampled')",
                     (finding.key, finding.of.process, finding.what, self.place(finding.location), finding.lost_ns, finding.saves_ns,
                      finding.phase_ns))

    def busy(self, of):
        """What is no idle time, of which no answer counts anything."""
        self.execute("INSERT INTO ledger_row (process, device, phase, what, total_ns, count, error_ns, first_half_ns, confidence) "
                     "VALUES (?, 0, 1, 'kernel', ?, 1, 0, 0, 'measured'), (?, 0, 1, 'no-request', ?, 1, 0, 0, 'sampled')",
                     (of.process, of.duration_ns, of.process, of.duration_ns))

    def load(self, load):
        start_ns = load.of.duration_ns // 2 + (S if load.late else -S)
        for _ in range(load.times):
            call = self.call(load.of, "cuLibraryLoadData", "load", start_ns, load.each_ns)
            self.execute("INSERT INTO load (thread, api, call, start_ns, duration_ns, result, kind, library) "
                         "VALUES (?, ?, ?, ?, ?, 0, 'fatbin', ?)",
                         (load.of.process, self.apis["cuLibraryLoadData"], call, start_ns, load.each_ns, load.library))

    def close(self):
        self.execute("COMMIT")
        self.database.close()


def facts(choice, fleet, of, slow):
    """Random rows of a process, and those that are planted. Two thirds of the idle time could be saved."""
    known = len(fleet.idle)
    newest = of.build and of.build.endswith("-3")
    line = 57 if newest else 50
    share = {"train.py": 20 if newest else 5}.get(of.program, 3)
    for device in range(of.gpus):
        fleet.idle.append(Idle(of, device, "data", ("/src/data.py", line, "load_batch"), choice.randint(1, 50),
                               of.duration_ns // 100 * share))
        for what, location in (("gil", ("/src/log.py", 12, "write_log")), ("io", ("/src/save.py", 71, "save")), ("unknown", None),
                               ("host-code", None)):
            if choice.random() < 0.7:
                fleet.idle.append(Idle(of, device, what, location, choice.randint(1, 9), choice.randint(1, of.duration_ns // 50)))
        if slow:
            fleet.idle.append(Idle(of, device, "python", ("/src/augment.py", 8, "slow_augment"), 3, of.duration_ns // 2))
    for idle in fleet.idle[known:]:
        key = " ".join((idle.what, idle.location[0].rsplit("/", 1)[-1], idle.location[2])) if idle.location else idle.what
        fleet.findings.append(Finding(of, "main", key, idle.what, idle.location, idle.idle_ns, idle.idle_ns * 2 // 3, of.duration_ns))
    for cause, call in CALLS.items():
        for number in range(choice.randint(0, 2)):
            location = None if choice.random() < 0.1 else ("/src/" + of.program, 30 + number, "step")
            fleet.stalls.append(Stall(of, cause, call, location, choice.randint(1, 5), choice.randint(1, 900) * 1_000_000))
    for library, late in (("/usr/lib/libcublas.so.12", of.driver == 12040), ("/usr/lib/libtorch_cuda.so", False)):
        fleet.loads.append(Load(of, library, late, choice.randint(1, 4), choice.randint(1, 900) * 1_000_000, 0))


def make(folder, count, hostile_every=25, seed=1):
    """Makes `count` traces in a folder, one of so many with a hostile host. Returns what they hold, as a Fleet."""
    choice, fleet = random.Random(seed), Fleet()
    os.makedirs(folder, exist_ok=True)
    template = os.path.join(folder, ".template")
    stored.fill(template, "")
    for number in range(count):
        program = choice.choice(sorted(PROGRAMS))
        generation = 1 + 3 * number // count
        in_job = number % 10 < 4
        host = HOSTILE[number // hostile_every % len(HOSTILE)] if number % hostile_every == hostile_every // 3 else f"node{number % 40:02}"
        start_unix_ns = START_UNIX_NS + 20 * DAY_NS * number // count
        session = f"{100 + number}-{1000 + number}-{choice.getrandbits(32):08x}"
        trace = Trace(template, os.path.join(folder, f"{number:05}.db"), session, host, start_unix_ns)
        for process in range(1, choice.choice((2, 2, 3))):
            rank = number % 10 if in_job and process == 1 else None
            of = Process(session, process, program, choice.choice(PROGRAMS[program]),
                         None if program == "etl.py" else f"build-{generation}", host, f"job-{number // 10}" if in_job else None, rank,
                         None if rank is None else 4, choice.choice((12020, 12040, 13000)),
                         start_unix_ns, choice.randint(100, 1000) * S, choice.choice((1, 1, 2)))
            first = len(fleet.stalls), len(fleet.idle), len(fleet.loads), len(fleet.findings)
            fleet.processes.append(of)
            facts(choice, fleet, of, slow=rank == 2)
            trace.process(of)
            trace.wait(of)
            trace.busy(of)
            for stall in fleet.stalls[first[0]:]:
                trace.stall(stall)
            for idle in fleet.idle[first[1]:]:
                trace.idle(idle)
            for finding in fleet.findings[first[3]:]:
                trace.finding(finding)
            for load in fleet.loads[first[2]:]:
                trace.load(load)
        fleet.hosts.add(host)
        trace.close()
    os.remove(template)
    return fleet


if __name__ == "__main__":
    make(sys.argv[1], int(sys.argv[2]))
