"""Jobs of two ranks on two GPUs: NCCL's calls as they are, and who is late, and why."""

import collections
import ctypes
import glob
import importlib.util
import os
import re
import socket
import sqlite3
import subprocess
import sys

from ground import PYTHON_WORKLOADS, ROOT, Skip, check, one, same_output, times_itself

RANKS = 2
LAUNCH = os.path.join(ROOT, "kernels", "ranks", "launch")
SLOW_MS = 20  # of kernels/ranks/ranks.c
# What `ranks tour` does once on each rank. One all-reduce is captured, so it has no kernel of its own; another is alone in
# its communicator, so it needs none.
TOUR = {"all-gather": 1, "reduce-scatter": 1, "broadcast": 2, "reduce": 1, "all-to-all": 1, "gather": 1, "scatter": 1,
        "send": 1, "receive": 1, "all-reduce": 3}
WITHOUT_KERNEL = ({("all-reduce", 1100)}, {("all-reduce", 1100), ("all-reduce", 1200)})


def needs_two_gpus():
    driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
    check(driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0, "cuDeviceGetCount failed")
    if count.value < RANKS:
        raise Skip("this needs two devices")


def nccl_folder():
    """Where the wheel nvidia-nccl has the library, or None: the loader finds it, or nothing does."""
    spec = importlib.util.find_spec("nvidia")
    found = [path for folder in (spec.submodule_search_locations if spec else [])
             for path in glob.glob(os.path.join(folder, "*", "lib", "libnccl.so.2"))]
    return os.path.dirname(found[0]) if found else None


def free_port():
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return str(some.getsockname()[1])


def launch(bench, command, folder, traced):
    """All ranks; each traced one begins a session of its own, and has a trace of its own."""
    preload = ["env", "LD_PRELOAD=" + bench.library] if traced else []
    places = ":".join(filter(None, (nccl_folder(), os.environ.get("LD_LIBRARY_PATH"))))
    return bench.run([LAUNCH, str(RANKS), *preload, *command], folder, False, LD_LIBRARY_PATH=places,
                     timeout=45, GPUVERIFY_TRACE=os.path.join(folder, "rank.db") if traced else "",
                     MASTER_ADDR="127.0.0.1", MASTER_PORT=free_port())


def gpuverify(bench, *words):
    done = subprocess.run([bench.command, *words], capture_output=True, text=True, timeout=120, check=False)
    check(done.returncode == 0, f"{words[0]}: exit code {done.returncode}: {done.stderr[-300:]}")
    return done.stdout


def job_of(bench, command, folder):
    """The traces of a job's ranks as one."""
    needs_two_gpus()
    done = launch(bench, command, folder, True)
    check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-300:]}")
    path = os.path.join(folder, "job.db")
    gpuverify(bench, "merge", *(os.path.join(folder, f"rank-{rank}.db") for rank in range(RANKS)), "-o", path)
    trace = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    check(one(trace, "SELECT count(*) FROM losses") == 0, "something was lost")
    return done, trace, path


def finding(bench, path, rank, late_ms, steps, where=""):
    """The report's first sentences say that this rank is late, how much, how often, and where."""
    said = " ".join(gpuverify(bench, "report", path, "--section", "findings").split())
    found = re.search(r"rank (\d+) is late by ([\d.]+) (ms|s) in (\d+) % of (?:steps|collectives): (.*?);", said)
    check(found, f"no rank is late: {said[:600]}")
    ms = float(found.group(2)) * (1000 if found.group(3) == "s" else 1)
    check(int(found.group(1)) == rank, found.group())
    check(abs(ms - late_ms) <= 0.1 * late_ms, f"late by {ms:.1f} ms, in truth {late_ms:.1f} ms: {found.group()}")
    check(int(found.group(4)) >= steps, found.group())
    check(where in found.group(5), f"{where} expected: {found.group()}")
    return found.group()


def deadlock_in_the_making(trace, rank, least_ms):
    """This rank's wait for a collective, in a call that loads code."""
    found = trace.execute("""SELECT s.cause, s.name, s.wait_ns / 1e6, s.advice FROM stalls s JOIN processes p ON p.id = s.process
        WHERE p.rank = ? ORDER BY s.wait_ns DESC""", (rank,)).fetchall()
    stalls = [stall for stall in found if "deadlock in the making" in (stall[3] or "")]
    check(stalls, f"no deadlock in the making on rank {rank}: {found[:3]}")
    cause, name, wait_ms, _ = stalls[0]
    check(wait_ms >= least_ms, f"the longest took {wait_ms:.1f} ms, expected {least_ms}: {stalls}")
    return f"{cause} {name} {wait_ms:.1f} ms"


def every_call(program):
    def case(bench, folder):
        needs_two_gpus()
        command = bench.workload(program) + ["3", "tour"]
        plain, traced = (launch(bench, command, folder, with_us) for with_us in (False, True))
        for run in (plain, traced):
            run.stdout = "\n".join(sorted(run.stdout.splitlines()))
        same_output(plain, traced)
        check(plain.returncode == 0, f"exit code {plain.returncode}: {plain.stderr[-300:]}")
        for rank in range(RANKS):
            bench.recover(folder, f"rank-{rank}.db")
            trace = sqlite3.connect(os.path.join(folder, f"rank-{rank}.db"))
            kinds = collections.Counter(dict(trace.execute("SELECT kind, count(*) FROM collective GROUP BY 1")))
            check(kinds == collections.Counter(TOUR) + collections.Counter({"all-reduce": 3}), f"rank {rank}: {dict(kinds)}")
            alone = set(trace.execute("SELECT kind, count FROM collective WHERE operation IS NULL"))
            check(alone in WITHOUT_KERNEL, f"rank {rank}: without a kernel: {alone}")
            check(one(trace, "SELECT count(DISTINCT communicator) FROM collective") == 2, "not two communicators")
            others = trace.execute("""SELECT k.kind, o.name FROM collective k JOIN gpu_ops o ON o.id = k.operation
                WHERE o.name NOT LIKE 'nccl%'""").fetchall()
            check(not others, f"no kernels of NCCL: {others}")
            names = {name for name, in trace.execute("""SELECT DISTINCT o.name FROM collective k
                JOIN gpu_ops o ON o.id = k.operation""")}
            trace.close()
        return f"{len(names)} kernels: {', '.join(sorted(names))[:300]}"
    return case


@times_itself
def slow_rank(bench, folder):
    _, trace, path = job_of(bench, bench.workload("ranks/ranks_dlsym") + ["60", "slow=1"], folder)
    trace.close()
    return finding(bench, path, 1, SLOW_MS, 90, "ranks")


@times_itself
def late_load(bench, folder):
    _, trace, _ = job_of(bench, bench.workload("ranks/ranks_dlsym") + ["20", "late=0", "late_ms=200"], folder)
    said = deadlock_in_the_making(trace, 0, 150)
    trace.close()
    return said


def said_late_s(done, rank):
    return float(re.search(rf"rank {rank}: \d+ steps; timed ([\d.]+) s late", done.stdout).group(1))


def line_of(script, words):
    with open(os.path.join(PYTHON_WORKLOADS, script), encoding="utf-8") as lines:
        return next(number for number, line in enumerate(lines, 1) if words in line)


@times_itself
def ddp_slow(bench, folder):
    done, trace, path = job_of(bench, bench.python("torch_ddp.py", "torch") + ["80", "slow=1"], folder)
    trace.close()
    return finding(bench, path, 1, said_late_s(done, 1) * 1000 / 75, 90, "__getitem__")


@times_itself
def ddp_late(bench, folder):
    """Next to what PyTorch takes to start it may be too little for a finding."""
    done, trace, _ = job_of(bench, bench.python("torch_ddp.py", "torch") + ["40", "late=0"], folder)
    rank, waited_ms, line = trace.execute("""SELECT late_rank, wait_ns / 1e6,
        (SELECT line FROM frames f WHERE f.stack = c.stack AND file LIKE '%/torch_ddp.py' ORDER BY depth)
        FROM collectives c ORDER BY wait_ns DESC LIMIT 1""").fetchone()
    trace.close()
    late_ms = said_late_s(done, 0) * 1000
    check(rank == 0 and abs(waited_ms - late_ms) <= 0.1 * late_ms, f"rank {rank} by {waited_ms:.1f} ms, not 0 by {late_ms:.1f} ms")
    check(line == line_of("torch_ddp.py", "# the late line"), f"not at the late line: {line}")
    return f"rank 0 is late by {waited_ms:.1f} ms in one step, at line {line}"


@times_itself
def torchrun(bench, folder):
    """One session, so one trace, without a merge."""
    needs_two_gpus()
    path = os.path.join(folder, "trace.db")
    script = bench.python("torch_ddp.py", "torch")[-1]
    done = bench.run([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(RANKS), "--master-port", free_port(),
                      script, "80", "slow=0"], folder, True, OMP_NUM_THREADS="1")
    check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-300:]}")
    bench.recover(folder)
    return finding(bench, path, 0, said_late_s(done, 0) * 1000 / 75, 90, "__getitem__")


CASES = [
    ("jobs: NCCL, every call, linked", every_call("ranks/ranks")),
    ("jobs: NCCL, every call, opened", every_call("ranks/ranks_dlsym")),
    ("jobs: NCCL, a slow rank", slow_rank),
    ("jobs: NCCL, code loaded late", late_load),
    ("jobs: PyTorch DDP, a slow rank", ddp_slow),
    ("jobs: PyTorch DDP, code loaded late", ddp_late),
    ("jobs: PyTorch DDP, torchrun, one trace", torchrun),
]
