"""Shared by the end-to-end tests: a sandbox for each case, programs run in it, and their traces.

Each case has its own temporary directory, spool directory and environment. When it ends, nothing of
ours may be left: no process, and no file in the spool directory.
"""

import contextlib
import ctypes
import glob
import json
import os
import platform
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("GV_BUILD", os.path.join(SOURCE, "build"))
PROGRAMS = "tests/e2e/programs"

# Limits are wide, since machines are slow, busy, or stand still for seconds; E2E_SLOWER multiplies them all.
SLOWER = float(os.environ.get("E2E_SLOWER", "1"))
# How long something may take that takes an instant.
SOON_S = 60.0 * SLOWER
# How long a program may run that ends by itself.
PROGRAM_S = 100.0 * SLOWER


def depends_on_time(why):
    """Marks a case or a class that a pause of the machine can make fail: run.py gives it a second try."""
    def mark(what):
        what.depends_on_time = why
        return what
    return mark


def built(*parts):
    """The path of a build product."""
    return os.path.join(BUILD, *parts)


def library():
    return built("preload", "libgpuverify.so")


def simulator():
    return built("tests", "sim")


def gpuverify():
    return built("report", "gpuverify")


def program(name):
    return built(PROGRAMS, "e2e_" + name)


def workload(name):
    return built("kernels", name)


def kinds_of_calls():
    """The table of calls as {symbol: kind}."""
    with open(built("trace", "calls.inc"), encoding="utf-8") as table:
        return dict(re.findall(r"\bGV_API\w*\((\w+), ([A-Z]\w+),", table.read()))


def hooked_calls():
    """The same as {symbol: class}."""
    with open(os.path.join(SOURCE, "trace", "call_kinds.def"), encoding="utf-8") as table:
        class_of = dict(re.findall(r"^GV_CALL_KIND\((\w+), (\w+),", table.read(), re.M))
    return {symbol: class_of[kind] for symbol, kind in kinds_of_calls().items()}


def wait_for(condition, what, limit_s=SOON_S):
    """Polls until the condition returns something true, and returns that."""
    end = time.monotonic() + limit_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {limit_s:.0f} s: {what}")
        time.sleep(0.01)


def pause(seconds):
    """Gives time to something that cannot be asked for; a case that needs this depends on time."""
    pause.why = "it waits a fixed time for something that it cannot ask for"
    time.sleep(seconds * SLOWER)


pause.why = None


def command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""


def process_state(pid):
    """The process's state letter from /proc, or None if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return None


def is_dead(pid):
    """Whether the process has no running thread and no open file: its first thread may be a zombie long
    before."""
    try:
        return all(process_state(f"{pid}/task/{thread}") in (None, "Z")
                   for thread in os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return True


def remove_places(pid):
    """Removes what a killed case left behind."""
    for folder in (tempfile.gettempdir(), "/dev/shm"):
        for place in glob.glob(os.path.join(folder, f"gv-e2e-{pid}-*")):
            with open("/proc/mounts", encoding="utf-8", errors="replace") as mounts:
                inside = [line.split()[1] for line in mounts if f" {place}/" in line]
            for mount in inside:
                subprocess.run(["umount", "-l", mount], capture_output=True, check=False)
            shutil.rmtree(place, ignore_errors=True)


class Result:
    """The result of a run: exit status (negative: the signal), output and messages."""

    def __init__(self, argv, status, out, err):
        self.argv = argv
        self.status = status
        self.out = out.decode("utf-8", "replace")
        self.err = err.decode("utf-8", "replace")

    def __str__(self):
        return (f"{' '.join(map(str, self.argv))}: status {self.status}\n"
                f"--- stdout\n{self.out}--- stderr\n{self.err}---")


class Trace:
    """A finished trace, opened as any SQLite client would."""

    def __init__(self, path):
        self.path = path
        self.database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
        self.database.row_factory = sqlite3.Row

    def close(self):
        self.database.close()

    def rows(self, query, *values):
        return [tuple(row) for row in self.database.execute(query, values)]

    def dicts(self, query, *values):
        return [dict(row) for row in self.database.execute(query, values)]

    def value(self, query, *values):
        row = self.database.execute(query, values).fetchone()
        return row[0] if row else None

    def meta(self):
        return dict(self.rows("SELECT key, value FROM meta"))

    def count(self, name=None):
        if name is None:
            return self.value("SELECT count(*) FROM calls")
        return self.value("SELECT count(*) FROM calls WHERE name = ?", name)

    def names(self):
        return [row[0] for row in self.rows("SELECT name FROM calls ORDER BY start_ns, id")]

    def summary(self):
        """What must not depend on how a program reaches CUDA: the calls in their order."""
        return self.rows("SELECT name, class, result, bytes, kernel FROM calls "
                         "ORDER BY start_ns, id")

    def columns(self, view):
        return [row[1] for row in self.rows(f"PRAGMA table_info({view})")]

    def lost(self):
        return self.dicts("SELECT * FROM losses")


class Case(unittest.TestCase):
    """One test with its sandbox. `leaves`: what a case leaves behind on purpose."""

    maxDiff = 4000
    leaves = ()
    gpu = "off"  # GPUVERIFY_GPU: only some tests need the GPU side

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix=f"gv-e2e-{os.getpid()}-")
        shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.spool = tempfile.mkdtemp(prefix=f"gv-e2e-{os.getpid()}-spool-", dir=shared)
        self.traces = []
        self.running = []
        self.addCleanup(self._remove)

    def tearDown(self):
        for trace in self.traces:
            trace.close()
        for process in self.running:
            if process.poll() is None:
                process.kill()
                process.wait()
        try:
            if self._passed_so_far():
                self.check_nothing_left()
        finally:
            for pid in self.processes():
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)

    def _passed_so_far(self):
        outcome = getattr(self, "_outcome", None)
        return outcome is None or outcome.success

    def _remove(self):
        remove_places(os.getpid())

    # The sandbox

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(path, mode)
        return path

    def spool_files(self):
        try:
            return sorted(os.listdir(self.spool))
        except OSError:
            return []

    def processes(self):
        """Every live process of this sandbox except this one: programs, helpers, collectors."""
        marker = f"gv-e2e-{os.getpid()}-".encode()  # a case may call its spool directory as another does
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) == os.getpid():
                continue
            for file_name in ("environ", "cmdline"):
                try:
                    with open(f"/proc/{name}/{file_name}", "rb") as file:
                        if marker not in file.read():
                            continue
                except OSError:
                    continue
                if process_state(name) not in (None, "Z", "X"):
                    found.append(int(name))
                break
        return found

    def collectors(self):
        return [pid for pid in self.processes() if " collect " in command_line(pid) + " "]

    def await_collector(self):
        return wait_for(self.collectors, "a collector starts")[0]

    def settle(self, limit_s=SOON_S):
        """Waits until the session has ended: no process of ours, nothing in the spool directory."""
        def over():
            return not self.spool_files() and not self.processes()  # the cheap question first
        try:
            wait_for(over, "the session is over", limit_s)
        except AssertionError as error:
            lines = [f"{pid} ({process_state(pid)}): {command_line(pid)}"
                     for pid in self.processes()]
            raise AssertionError(f"{error}\nprocesses: {lines}\n"
                                 f"spool directory: {self.spool_files()}") from None

    def check_nothing_left(self):
        if "anything" not in self.leaves:
            self.settle()

    # Running

    def environment(self, preload=True, sim=True, **changes):
        """A small, known environment; None removes a variable."""
        values = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": self.dir,
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "GPUVERIFY_SPOOL_DIR": self.spool,
            "GPUVERIFY_TRACE": self.path("trace.db"),
            "GPUVERIFY_GPU": self.gpu,
            "GV_SIM_LOAD_NS": "1000",
            "GV_SIM_JIT_NS": "1000",
            "GV_SIM_KERNEL_NS": "0",
        }
        if sim:
            values["LD_LIBRARY_PATH"] = simulator()
        if preload:
            values["LD_PRELOAD"] = preload if isinstance(preload, str) else library()
        for name, value in changes.items():
            if value is None:
                values.pop(name, None)
            else:
                values[name] = str(value)
        return values

    def start(self, argv, preload=True, sim=True, env=None, **options):
        """Starts a program in the sandbox. It is killed when the case ends."""
        for wanted in (argv[0],) + ((library(),) if preload else ()):
            if os.path.isabs(wanted) and not os.path.exists(wanted):
                self.fail(f"not built: {wanted}")
        if argv[0] == gpuverify():  # as users call it, so that the commands it offers are theirs
            options.setdefault("executable", argv[0])
            argv = ["gpuverify", *argv[1:]]
        options.setdefault("cwd", self.dir)
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        process = subprocess.Popen(
            argv, env=self.environment(preload, sim, **(env or {})), **options)
        self.running.append(process)
        return process

    def run_program(self, argv, timeout=PROGRAM_S, data=None, **options):
        if data is not None:
            options["stdin"] = subprocess.PIPE
        process = self.start(argv, **options)
        try:
            out, err = process.communicate(data, timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            result = Result(argv, process.returncode, out or b"", err or b"")
            self.fail(f"still running after {timeout:.0f} s: {result}")
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()
        return Result(argv, process.returncode, out or b"", err or b"")

    def run_well(self, argv, status=0, quiet=True, **options):
        """Runs a program that must end with this status and, by default, print nothing on stderr."""
        result = self.run_program(argv, **options)
        self.assertEqual(result.status, status, str(result))
        if quiet:
            self.assertEqual(result.err, "", str(result))
        return result

    def run_twice(self, argv, mask=None, sort=False, **options):
        """Runs it without the library and with it: output and end must be the same."""
        plain = self.run_program(argv, preload=False, **options)
        hooked = self.run_program(argv, **options)
        for what in ("status", "out", "err"):
            first, second = getattr(plain, what), getattr(hooked, what)
            if mask and what != "status":
                first, second = mask(first), mask(second)
            if sort and what == "out":
                first, second = sorted(first.splitlines()), sorted(second.splitlines())
            self.assertEqual(first, second,
                             f"{what} differs\nplain: {plain}\nwith the library: {hooked}")
        return hooked

    def command(self, *arguments, status=0, **options):
        """Runs a gpuverify command."""
        options.setdefault("preload", False)
        result = self.run_program([gpuverify(), *arguments], **options)
        if status is not None:
            self.assertEqual(result.status, status, str(result))
        return result

    def open_trace(self, path=None):
        path = path or self.path("trace.db")
        if not os.path.exists(path):
            self.fail(f"no trace at {path}; the directory has {os.listdir(self.dir)}, "
                      f"the spool directory {self.spool_files()}")
        trace = Trace(path)
        self.traces.append(trace)
        return trace

    def trace(self, path=None, losses=False):
        """The trace of an ended session. Nothing may be lost unless the case allows it."""
        self.settle()
        trace = self.open_trace(path)
        if not losses:
            self.assertEqual(trace.lost(), [], "losses in an ordinary run")
        return trace


def file_system(folder):
    """The type of the file system of a folder."""
    with open("/proc/mounts", encoding="utf-8", errors="replace") as mounts:
        kinds = [line.split()[1:3] for line in mounts]
    above = [mount for mount in kinds if (folder + "/").startswith(mount[0].rstrip("/") + "/")]
    return max(above, key=lambda mount: len(mount[0]))[1]


SYSTEM_CALLS = {"x86_64": {"ptrace": 101, "clone": 56, "clone3": 435, "process_vm_readv": 310, "process_vm_writev": 311},
                "aarch64": {"ptrace": 117, "clone": 220, "clone3": 435, "process_vm_readv": 270, "process_vm_writev": 271}}


def refuse(*names):
    """As a container does: these system calls fail with EPERM from now on, also in children."""
    load, jump_if_equal, answer, allow, fail_eperm = 0x20, 0x15, 0x06, 0x7fff0000, 0x00050001
    lines = [(load, 0, 0, 0)]
    for name in names:
        lines += [(jump_if_equal, 0, 1, SYSTEM_CALLS[platform.machine()][name]), (answer, 0, 0, fail_eperm)]
    program = b"".join(struct.pack("=HBBI", *line) for line in (*lines, (answer, 0, 0, allow)))
    buffer = ctypes.create_string_buffer(program)
    filters = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, filters, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no seccomp here")


def refuse_ptrace():
    refuse("ptrace")


def need_root(case, why):
    if os.geteuid() != 0:
        case.skipTest(f"not root: {why}")


@contextlib.contextmanager
def small_disk(case, folder, size):
    """Mounts a tiny file system on the folder; skips the case if that is impossible."""
    need_root(case, "cannot mount a small file system")
    os.makedirs(folder, exist_ok=True)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "gv-e2e", folder],
                             capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        case.skipTest(f"cannot mount a small file system: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], capture_output=True, check=False)


def dump(value):
    """A readable value for messages."""
    return json.dumps(value, indent=1, default=str)


if __name__ == "__main__":
    sys.exit("this is no test: see run.py")
