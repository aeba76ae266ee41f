"""One part of the test suite being run: its results, its log, its tools and build folders."""

import collections
import os
import re
import shutil
import subprocess

CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(CHECKOUT, "build")
LOGS = os.path.join(BUILD, "test-logs")
CPUS = len(os.sched_getaffinity(0))
WORKERS = max(3, CPUS // 2)  # parts at a time: much of each is waiting ...
JOBS = 2  # ... and what each of them may do at a time
CASES = min(16, CPUS + 2)  # end-to-end tests at a time: they wait more than they compute
PRELOAD = "preload/libgpuverify.so"
COMMAND = "report/gpuverify"

# With sanitizers gcc warns of impossible things; the other builds have no warnings.
SANITIZED = ("-Dwerror=false", "-Db_lundef=false")

Result = collections.namedtuple("Result", "status name reason")


class Skip(Exception):
    """The rest of a part cannot run here; the text says why."""


class Failure(Exception):
    """A step failed that the rest of a part needs."""


class Run:
    """One part being run: its results and its log."""

    def __init__(self, name, quick=False):
        self.name = name
        self.quick = quick
        self.results = []
        self.shown = []  # printed after its counts
        os.makedirs(LOGS, exist_ok=True)
        self.log_path = os.path.join(LOGS, f"{name}.log")
        self.log = open(self.log_path, "w", encoding="utf-8")

    def add(self, status, name, reason=""):
        self.results.append(Result(status, name, reason))

    def passed(self, name):
        self.add("passed", name)

    def failed(self, name, reason):
        self.add("failed", name, reason)

    def skipped(self, name, reason):
        self.add("skipped", name, reason)

    def command(self, *words, env=None, timeout=1800):
        """Runs a command into the log. Returns its exit status and what it printed."""
        self.log.write("$ " + " ".join(words) + "\n")
        self.log.flush()
        try:
            done = subprocess.run(words, cwd=CHECKOUT, env={**os.environ, **(env or {})},
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=timeout)
            status, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as expired:
            status, output = 124, (expired.stdout or b"") + b"\n(timed out)\n"
        text = output.decode("utf-8", "replace")
        self.log.write(text + ("" if status == 0 else f"(exit status {status})\n"))
        self.log.flush()
        return status, text

    def flaky(self, name, reason):
        self.shown.append(f"flaky {name}: passed when run again; it had failed with: {reason}")
        self.passed(name)

    def test(self, name, *words, again=False, **options):
        """A command that passes when it exits 0, and skips when it exits 77. `again`: what it says depends on time, so
        it gets a second try."""
        status, text = self.command(*words, **options)
        if again and status not in (0, 77):
            second, _ = self.command(*words, **options)
            if second == 0:
                self.flaky(name, f"exit status {status}\n{tail(text)}")
                return True
        if status == 0:
            self.passed(name)
        elif status == 77:
            self.skipped(name, last_line(text) or "it says so")
        else:
            self.failed(name, f"exit status {status}\n{tail(text)}")
        return status == 0

    def must(self, name, *words, **options):
        status, text = self.command(*words, **options)
        if status != 0:
            raise Failure(f"{name}: exit status {status}\n{tail(text)}")
        return text


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def tail(text, lines=25):
    return "\n".join("    " + line for line in text.rstrip().splitlines()[-lines:])


def tool(*names):
    """The first of some commands that is installed."""
    for name in names:
        path = os.path.join(CHECKOUT, ".venv/bin", name)
        found = path if os.access(path, os.X_OK) else shutil.which(name)
        if found:
            return found
    raise Skip(f"{names[0]} is not installed")


def meson():
    for path in (os.path.join(CHECKOUT, ".venv/bin/meson"), shutil.which("meson")):
        if path and os.access(path, os.X_OK):
            return path
    raise Failure("meson is not installed")


def sources(*endings):
    """The checkout's files with one of these endings, without built or fetched ones."""
    for folder, folders, files in os.walk(CHECKOUT):
        folders[:] = sorted(name for name in folders if name == ".ci" or not name.startswith(
            (".", "build", "__pycache__")))
        for name in sorted(files):
            if name.endswith(endings):
                yield os.path.relpath(os.path.join(folder, name), CHECKOUT)


def compile_in(run, folder, *options, env=None, targets=()):
    """Configures a new build folder, and builds it, or only some targets. Returns its path."""
    jobs = () if folder == "build" else ("-j", str(JOBS))  # that one is built alone
    folder = os.path.join(CHECKOUT, folder)
    if not os.path.exists(os.path.join(folder, "build.ninja")):
        run.must("configure", meson(), "setup", folder, CHECKOUT, *options, env=env)
    status, text = run.command(tool("ninja"), "-C", folder, *jobs, *targets)
    if status != 0:
        said = re.sub(r"^\[\d+/\d+\] .*\n", "", text, flags=re.M)
        raise Failure(f"ninja -C {folder}: exit status {status}\n{tail(said)}")
    return folder
