#!/usr/bin/env python3
"""Lets busy programs of kernels/soak die in every way of the table DEATHS, at random moments. Compares the program's
own log with the trace, and looks for what was left behind.

  tests/deaths.py [--build FOLDER] [--seconds N | --rounds N] [--from SEED] [--only NAME] [-v]
  tests/deaths.py [--build FOLDER] --seed SEED [--times N] [--keep]

A seed chooses the death, the program, the moment (how many calls the program has made) and the ending. Prints a seed
that fails; --seed repeats it. The table at the end says how often each death was tried, and what was kept. As root,
all runs in a mount namespace of its own, and programs and commands as a user without rights. Deaths that need root, or
something else that is not there, are skipped and listed.
"""

import argparse
import collections
import contextlib
import glob
import os
import random
import resource
import signal
import sqlite3
import struct
import subprocess
import sys
import time

import soak
import soak_logs
from soak_logs import expect

NOBODY = 60000 + os.getpid() % 5000  # a user of our own: `ulimit -u` counts the user's processes
ROOT = os.geteuid() == 0
MOUNTS = os.environ.get("DEATHS_MOUNTS") == "own"  # in a mount namespace of our own
CALLS_MOST = 20000  # a death comes at most after so many
FEATURES = "fxcps"  # of soak.c: without handlers, whose calls may be parts of others
MEMORY_BYTES = 512 << 20
SHIM = struct.Struct("<qq")
QUOTA_OFF = 1 << 62
# Why a process with a limit has no GPU side.
NO_ROOM = ("out of memory", "cannot start a thread", "libgpuverify-cupti.so is not beside libgpuverify.so, or cannot be opened")

# What the docs promise. A death may lose what its row names, and must count it.
SURVIVES = "internals/how-it-works: The memory belongs to a file, so records survive SIGKILL, `_exit`, a crash and a hang."
ENDS = "environment: Records that CUPTI still holds are always fetched first."
CRASH = "limits: A program that crashes, or that another process kills, loses what CUPTI had not returned."
SELF = "limits: So does one that sends itself a deadly signal other than by `kill`, `raise`, `abort` or a failed `assert`"
EXEC = "limits: or that becomes another program by `exec` without a fork"
COLLECTOR = ("internals/how-it-works: If the collector cannot start, is killed, or cannot write, the spools stay, "
             "and the program says so once when it ends.")
SPOOL_FULL = "internals/how-it-works: When all `GPUVERIFY_SPOOL_MB`, or that share, are full, records are lost. They are counted by class"
PLACE = "environment: Default: /dev/shm/gpuverify-<uid>, or the trace's directory if that cannot be used or is nearly full."


class Skipped(Exception):
    """This death is not possible on this machine."""


def processes_of(folder, word=None):
    """Pids of processes whose command line or environment names the folder; with a word, of `gpuverify WORD`."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            with open(f"/proc/{name}/cmdline", "rb") as file:
                line = file.read()
            with open(f"/proc/{name}/environ", "rb") as file:
                values = file.read()
            if folder.encode() in line + values and (word is None or line.split(b"\0")[1:2] == [word.encode()]):
                found.append(int(name))
    return found


class Run:
    """A program that is going to die."""

    def __init__(self, build, seed, folder, death):
        self.build, self.seed, self.folder, self.death = build, seed, folder, death
        self.dice = random.Random(seed * 7919 + 1)
        self.program, self.planned, self.prefix, self.limits = None, None, [], {}
        self.environment, self.cgroup, self.read_only = {}, None, False
        self.spool = self.path("spool")
        self.err = ""
        for name in ("spool", "out", "tmp", "shm"):
            os.mkdir(self.path(name))
        self.own(folder)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def own(self, top):
        if ROOT:
            for path, _, _ in os.walk(top):
                os.chown(path, NOBODY, NOBODY)

    def become(self):
        """In the child: its user, limits and memory group."""
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if self.cgroup:
            with open(os.path.join(self.cgroup, "cgroup.procs"), "w", encoding="utf-8") as file:
                file.write("0")
        for which, value in self.limits.items():
            resource.setrlimit(which, (value, value))
        if ROOT and not self.prefix:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)

    def start(self, words, environment):
        # pylint: disable=consider-using-with, subprocess-popen-preexec-fn
        end = time.monotonic() + soak.LIMIT_S
        while not self.program:
            with open(self.path("stderr"), "wb") as err, contextlib.suppress(BlockingIOError):
                self.program = subprocess.Popen(
                    [*self.prefix, *words], cwd=self.path("out"), env={**environment, **self.environment},
                    stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=err, start_new_session=True,
                    preexec_fn=self.become)
                return
            expect(time.monotonic() < end, "the user has too many processes")  # ended ones that nobody waited for
            time.sleep(0.05)

    def calls(self):
        """How many calls the program has logged."""
        calls = 0
        for path in glob.glob(self.path("traced", "*.log")):
            with open(path, "rb") as file:
                head = file.read(soak_logs.HEADER.size)
            if len(head) == soak_logs.HEADER.size:
                calls += soak_logs.HEADER.unpack(head)[4]
        return calls

    def await_calls(self, count):
        """Until the program has logged so many calls, or has ended."""
        end = time.monotonic() + soak.LIMIT_S
        while self.program.poll() is None:
            if self.calls() >= count:
                return
            expect(time.monotonic() < end, f"no {count} calls in {soak.LIMIT_S} s")
            time.sleep(0.001)

    def more_calls(self):
        """A further while of the program, in calls."""
        self.await_calls(self.calls() + self.dice.choice((1, 100, 5000)))

    def send(self, number, everybody=False):
        self.planned = (-number,)
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if everybody else os.kill)(self.program.pid, number)

    def tell(self, letter, *planned):
        self.planned = planned
        with contextlib.suppress(BrokenPipeError):
            self.program.stdin.write(letter.encode())
            self.program.stdin.flush()

    def end(self):
        """One of the usual ends."""
        self.dice.choice((lambda: self.send(signal.SIGKILL), lambda: self.tell("r", 6), lambda: self.tell("a", -6)))()

    def collectors(self):
        return processes_of(self.folder, "collect")

    def kill_collectors(self):
        for pid in self.collectors():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def mount(self, name, size):
        if not MOUNTS:
            raise Skipped("needs root, and a mount namespace of its own")
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=777", "gv-deaths", self.path(name)], check=True)

    def shim(self, jump_s=0, quota_bytes=QUOTA_OFF):
        with open(self.path("shim"), "r+b" if os.path.exists(self.path("shim")) else "wb") as file:
            file.write(SHIM.pack(jump_s, quota_bytes))
        os.chmod(self.path("shim"), 0o666)

    def use_shim(self, program_too):
        """Preloads deaths_shim.c into the collector, and into the program."""
        shim = os.path.join(self.build, "tests", "libdeaths_shim.so")
        with open(self.path("collector"), "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nLD_PRELOAD={shim} exec {self.build}/report/gpuverify "$@"\n')
        os.chmod(self.path("collector"), 0o755)
        self.environment = {"DEATHS_SHIM": self.path("shim"), "GPUVERIFY_COLLECTOR": self.path("collector")}
        if program_too:
            self.environment["LD_PRELOAD"] = f"{self.build}/preload/libgpuverify.so {shim}"
        self.shim()

    def finish(self):
        """Waits for the program, ends what it started, and waits for the collector."""
        try:
            self.program.wait(soak.LIMIT_S)
        except subprocess.TimeoutExpired:
            raise soak_logs.Mismatch("the program does not end") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.program.pid, signal.SIGKILL)
        with contextlib.suppress(BrokenPipeError):
            self.program.stdin.close()
        end = time.monotonic() + soak.LIMIT_S
        while left := processes_of(self.folder):
            expect(time.monotonic() < end, f"processes are left: {left}")
            time.sleep(0.01)
        with open(self.path("stderr"), encoding="utf-8", errors="replace") as file:
            self.err = file.read()

    def command(self, *words):
        done = subprocess.run([*self.prefix, os.path.join(self.build, "report", "gpuverify"), *words], text=True,
                              cwd=self.path("out"), capture_output=True, timeout=soak.LIMIT_S, check=False,
                              env={"PATH": os.environ["PATH"], "TMPDIR": self.path("tmp"), "HOME": self.folder,
                                   **({} if self.prefix else {"GPUVERIFY_SPOOL_DIR": self.spool})},
                              preexec_fn=lambda: (setattr(self, "limits", {}), setattr(self, "cgroup", None), self.become()))
        return done.returncode, done.stdout, done.stderr

    def clean_up(self):
        if self.program and self.program.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.program.pid, signal.SIGKILL)
            self.program.wait()
        for pid in processes_of(self.folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, signal.SIGKILL)
        for name in ("out", "shm"):
            if os.path.ismount(self.path(name)):
                subprocess.run(["umount", "-l", self.path(name)], check=False)
        if self.cgroup:
            for _ in range(100):
                with contextlib.suppress(OSError):
                    os.rmdir(self.cgroup)
                    break
                time.sleep(0.05)


# --- how they die: each is called before the program starts, and yields until the moment has come --------------


def by_signal(number, everybody=False):
    def how(run):
        yield
        run.send(number, everybody)
    return how


def by_letter(letter, *planned):
    def how(run):
        yield
        run.tell(letter, *planned)
    return how


def memory_group():
    """A new group within our own, where the kernel kills what needs too much memory."""
    with open("/proc/self/cgroup", encoding="utf-8") as file:
        groups = dict(line.strip().split(":", 2)[1:] for line in file)
    parent = f"/sys/fs/cgroup/memory{groups['memory']}" if "memory" in groups else f"/sys/fs/cgroup{groups.get('', '/')}"
    limit = "memory.limit_in_bytes" if "memory" in groups else "memory.max"
    path = os.path.join(parent, f"gv-deaths-{os.getpid()}-{time.monotonic_ns()}")
    try:
        os.mkdir(path)
        with open(os.path.join(path, limit), "w", encoding="utf-8") as file:
            file.write(str(MEMORY_BYTES))
    except OSError as why:
        with contextlib.suppress(OSError):
            os.rmdir(path)
        raise Skipped(f"no memory group can be made: {why}") from None
    return path


def out_of_memory(run):
    run.cgroup = memory_group()
    yield
    run.tell("m", -9)


def program_and_collector(run):
    yield
    run.send(signal.SIGKILL, True)
    run.kill_collectors()


def collector_first(run):
    yield
    run.kill_collectors()
    run.more_calls()
    run.end()


def program_first(run):
    """The collector dies while it finishes the trace."""
    yield
    run.send(signal.SIGKILL, True)
    time.sleep(run.dice.random() ** 3)
    run.kill_collectors()


def disk_full(run):
    run.mount("out", run.dice.choice(("64k", "256k", "1m")))
    yield
    run.more_calls()
    run.end()
    run.finish()
    subprocess.run(["mount", "-o", "remount,size=1g", run.path("out")], check=True)


def quota(run):
    run.use_shim(program_too=False)
    run.shim(quota_bytes=run.dice.choice((0, 20000, 300000)))
    yield
    run.more_calls()
    run.end()


def shm_full(run):
    run.mount("shm", run.dice.choice(("4k", "64k", "256k", "1m", "4m")))
    if run.dice.random() < 0.3:
        with contextlib.suppress(OSError), open(run.path("shm", "filler"), "wb") as file:
            file.write(b"x" * (4 << 20))
    os.rmdir(run.spool)
    run.spool = run.path("shm")
    run.prefix = ["unshare", "-m", "sh", "-c",
                  f'mount --bind "{run.path("shm")}" /dev/shm && exec setpriv --reuid {NOBODY} --regid {NOBODY}'
                  ' --clear-groups "$@"', "sh"]
    run.environment = {"GPUVERIFY_SPOOL_DIR": ""}
    yield
    run.end()


def read_only(run):
    run.read_only = True
    early = run.dice.random() < 0.5
    if early:
        os.chmod(run.path("out"), 0o555)
    yield
    os.chmod(run.path("out"), 0o555)
    run.more_calls()
    run.end()
    run.finish()
    os.chmod(run.path("out"), 0o755)


def clock_jumps(run):
    run.use_shim(program_too=True)
    yield
    for _ in range(run.dice.randint(1, 4)):
        run.shim(run.dice.choice((-1, 1)) * run.dice.choice((1, 3600, 10**6, 10**9)))
        run.more_calls()
    run.end()


def stopped(run):
    yield
    for _ in range(run.dice.randint(1, 3)):
        whom = run.dice.choice(((run.program.pid,), run.collectors(), (run.program.pid, *run.collectors())))
        for number, pause_s in ((signal.SIGSTOP, run.dice.choice((0.01, 0.1, 0.5))), (signal.SIGCONT, 0)):
            for pid in whom:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            time.sleep(pause_s)
        run.more_calls()
    run.end()


def stopped_and_killed(run):
    """The program dies while its collector stands still."""
    yield
    for pid in run.collectors():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    stopped_ones = run.collectors()
    run.more_calls()
    run.send(signal.SIGKILL, True)
    time.sleep(run.dice.random())
    for pid in stopped_ones:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def limited(which, *values):
    def how(run):
        run.limits = {which: run.dice.choice(values)}
        yield
        run.end()
        # A limit can end it first: it cannot log, start a thread or allocate, or it has used its time.
        run.planned += (98, 1, -6, 97)
    return how


# gpu: the GPU side is fetched before the end, so nothing of it may be missing. by_itself: the trace is complete
# without a command.
Death = collections.namedtuple("Death", "name how promise gpu by_itself")
DEATHS = (
    Death("SIGKILL", by_signal(signal.SIGKILL), SURVIVES, False, True),
    Death("SIGKILL of all its processes", by_signal(signal.SIGKILL, True), SURVIVES, False, True),
    Death("SIGTERM", by_signal(signal.SIGTERM), CRASH, False, True),
    Death("SIGSEGV", by_letter("s", -11), CRASH, False, True),
    Death("SIGSEGV from outside", by_signal(signal.SIGSEGV), CRASH, False, True),
    Death("abort", by_letter("a", -6), ENDS, True, True),
    Death("raise(SIGTERM)", by_letter("t", -15), ENDS, True, True),
    Death("raise(SIGKILL)", by_letter("k", -9), ENDS, True, True),
    Death("tgkill(SIGTERM)", by_letter("g", -15), SELF, False, True),
    Death("_exit", by_letter("_", 6), ENDS, True, True),
    Death("quick_exit", by_letter("q", 6), ENDS, True, True),
    Death("exit", by_letter("r", 6), ENDS, True, True),
    Death("exec of a program without CUDA", by_letter("e", 0), EXEC, False, True),
    Death("exec of itself", by_letter("x", 0, 1, 2), EXEC, False, True),
    Death("fork, exec and _exit", by_letter("f", 6), ENDS, True, True),
    Death("OOM kill", out_of_memory, CRASH, False, True),
    Death("SIGKILL of program and collector", program_and_collector, COLLECTOR, False, False),
    Death("SIGKILL of the collector", collector_first, COLLECTOR, False, False),
    Death("SIGKILL of the collector at the end", program_first, COLLECTOR, False, False),
    Death("disk full", disk_full, COLLECTOR, False, False),
    Death("quota", quota, COLLECTOR, False, False),
    Death("/dev/shm full", shm_full, PLACE, False, False),
    Death("read-only folder", read_only, COLLECTOR, False, False),
    Death("clock jumps", clock_jumps, SURVIVES, False, True),
    Death("SIGSTOP", stopped, SPOOL_FULL, False, True),
    Death("SIGSTOP of the collector, SIGKILL", stopped_and_killed, SURVIVES, False, True),
    Death("ulimit -n", limited(resource.RLIMIT_NOFILE, 12, 16, 24, 40), COLLECTOR, False, False),
    Death("ulimit -v", limited(resource.RLIMIT_AS, 300 << 20, 500 << 20, 800 << 20), COLLECTOR, False, False),
    Death("ulimit -f", limited(resource.RLIMIT_FSIZE, 1 << 20, 2 << 20, 8 << 20), COLLECTOR, False, False),
    Death("ulimit -u", limited(resource.RLIMIT_NPROC, 1, 4, 8), COLLECTOR, False, False),
    Death("ulimit -l", limited(resource.RLIMIT_MEMLOCK, 0, 65536), SURVIVES, False, True),
    Death("ulimit -s", limited(resource.RLIMIT_STACK, 256 << 10, 1 << 20), COLLECTOR, False, False),
)


class Deaths(soak.Soak):
    """Programs that die, and what was kept of each."""

    only = None
    in_memory = False  # a death fills /dev/shm

    def name(self, seed):
        return f"{self.death(seed).name}: "

    def __init__(self, build):
        super().__init__(build)
        self.table = collections.defaultdict(collections.Counter)
        self.skips = {}

    def death(self, seed):
        return next((death for death in DEATHS if death.name == self.only), DEATHS[seed % len(DEATHS)])

    @staticmethod
    def plan(seed):
        plan = soak.plan_of(seed)
        features = "".join(letter for letter in plan.features if letter in FEATURES)
        return plan._replace(program="kernels/soak/soak", steps=10**6, features=features)

    def one(self, seed, folder):
        death = self.death(seed)
        os.chmod(folder, 0o755)
        if death.name in self.skips:
            return {}
        run = Run(self.build, seed, folder, death)
        try:
            self.die(run, seed, self.plan(seed))
            return self.judge(run, self.plan(seed))
        except Skipped as why:
            self.skips[death.name] = str(why)
            return {}
        finally:
            run.clean_up()

    def die(self, run, seed, plan):
        features = plan.features.replace("x", "") if run.death.name.startswith("fork") else plan.features
        values = self.environment(plan, run.folder, True)
        values.update(GPUVERIFY_EXIT_WAIT="1", GPUVERIFY_TRACE=run.path("out", "trace.db"), TMPDIR=run.path("tmp"))
        run.own(run.path("traced"))
        dying = run.death.how(run)
        next(dying)
        run.start([self.path(plan.program), str(seed), str(plan.steps), features, "die"], values)
        run.await_calls(int(CALLS_MOST ** run.dice.random()) - 1)
        time.sleep(run.dice.random() * 0.005)
        for _ in dying:
            pass
        run.finish()

    def judge(self, run, plan):
        death, trace = run.death, run.path("out", "trace.db")
        expect(run.program.returncode in run.planned,
               f"it ended with {run.program.returncode}, planned was {run.planned}; stderr: {run.err!r}")
        logs = soak_logs.read_logs(run.path("traced")) if os.path.exists(run.path("traced", "names")) else {}
        calls = sum(len(log.entries) for log in logs.values())
        if death.by_itself and calls:
            left = os.listdir(run.spool)
            expect(not left, f"the collector left {left}")
        if death.name == "quota":
            run.shim()
        unheard = "cannot record" in run.err or "nothing is recorded" in run.err
        by_command = calls and not death.by_itself and os.path.exists(trace) and run.dice.random() < 0.5
        if not by_command:
            done = run.command("recover", *(() if run.prefix else (run.spool,)))
            expect(done[0] == 0, f"recover: {done}")
        counts = self.table[death.name]
        if not os.path.exists(trace):
            expect(not calls or unheard, f"no trace of {calls} calls; stderr: {run.err!r}")
            counts["no trace"] += 1
        else:
            done = run.command("report", trace)
            expect(done[0] == 0 and done[1], f"report: {done}")
            self.compare_one(run, plan, trace, counts, death)
        counts["tried"] += 1
        counts["calls"] += calls
        self.nothing_left(run)
        return {"calls": calls}

    def compare_one(self, run, plan, path, counts, death):
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as trace:
            session = soak_logs.Session(run.path("traced"), trace, self.classes, True)
            state = trace.execute("SELECT value FROM meta WHERE key = 'state'").fetchone()[0]
            expect(state == "complete", f"the trace is {state}")
            session.check_calls()
            session.check_loads()
            if plan.gpu == "auto":
                session.check_gpu(True, NO_ROOM if death.name.startswith("ulimit") else (),
                                  run.program.pid if death.gpu else None)
            session.check_ends()
            counts["lost calls"] += sum(count for kinds in session.losses.values()
                                        for (what, _), count in kinds.items() if what == "call")
            counts["GPU"] += sum(count for kinds in session.losses.values()
                                 for (what, _), count in kinds.items() if what.startswith("GPU"))
        session.counts["lost"] += 0
        self.counts += session.counts
        self.counts["programs"] += 1

    @staticmethod
    def nothing_left(run):
        known = {"": {"spool", "out", "tmp", "shm", "traced", "stderr", "shim", "collector"}, "out": {"trace.db"},
                 "tmp": set(), "spool": set(), "shm": {"filler", f"gpuverify-{NOBODY}"},
                 f"shm/gpuverify-{NOBODY}": set()}
        for name, names in known.items():
            found = set(os.listdir(run.path(name))) if os.path.isdir(run.path(name)) else set()
            expect(found <= names, f"left behind in {name or 'the folder'}: {found - names}")

    def show(self):
        print(f"{'death':40} {'tried':>6} {'calls':>9} {'lost':>6} {'GPU':>6} {'no trace':>8}")
        for death in DEATHS:
            if death.name in self.skips:
                print(f"{death.name:40} skipped: {self.skips[death.name]}")
            elif death.name in self.table:
                row = self.table[death.name]
                print(f"{death.name:40} {row['tried']:6} {row['calls']:9} {row['lost calls']:6} {row['GPU']:6} {row['no trace']:8}")


def seeds_of(options):
    if options.seed:
        return list(options.seed) * options.times
    first = options.first if options.first is not None else time.time_ns() // 1000 % 10**9
    count = (options.rounds or 10**9) * (1 if options.only else len(DEATHS))
    print(f"seeds from {first}", flush=True)
    return range(first, first + count)


def main():
    parser = argparse.ArgumentParser(description=" ".join((__doc__ or "").split("\n\n", maxsplit=1)[0].split()))
    parser.add_argument("--build", default=os.path.join(soak.ROOT, "build"))
    parser.add_argument("--seconds", type=float, default=60, help="start no further death after this; with --rounds it does not count")
    parser.add_argument("--rounds", type=int, help="how often to go through the table")
    parser.add_argument("--from", dest="first", type=int, metavar="SEED", help="default: from the clock")
    parser.add_argument("--seed", type=int, action="append", help="only this one; can be repeated")
    parser.add_argument("--times", type=int, default=1, help="how often to run --seed")
    parser.add_argument("--only", metavar="NAME", choices=[death.name for death in DEATHS], help="only this death")
    parser.add_argument("--again", action="store_true", help="a seed that failed gets a second try")
    parser.add_argument("--keep", action="store_true", help="keep the folders of seeds that failed")
    parser.add_argument("-v", action="store_true", help="a line for each seed")
    options = parser.parse_args()
    if ROOT and "DEATHS_MOUNTS" not in os.environ:
        own = ["unshare", "--mount"] if subprocess.run(["unshare", "--mount", "true"], check=False).returncode == 0 else []
        words = [*own, sys.executable, *sys.argv]
        os.execvpe(words[0], words, {**os.environ, "DEATHS_MOUNTS": "own" if own else "none"})
    deaths, failed, start = Deaths(options.build), 0, time.monotonic()
    deaths.only = options.only
    with contextlib.suppress(KeyboardInterrupt):
        for seed in seeds_of(options):
            if not options.rounds and not options.seed and time.monotonic() > start + options.seconds:
                break
            if not soak.attempt(deaths, seed, options):
                again = options.again and soak.attempt(deaths, seed, options)
                failed += not again
                if again:
                    print(f"flaky: seed {seed} passed when run again", flush=True)
    deaths.show()
    tried = sum(row["tried"] for row in deaths.table.values())
    print(f"{tried} passed, {failed} failed, {len(deaths.skips)} kinds skipped in {time.monotonic() - start:.0f} s")
    return 1 if failed or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
