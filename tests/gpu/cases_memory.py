"""What held the GPU's memory, by line."""

import os
import re
import sys

from ground import PYTHON_WORKLOADS, ROOT, Failure, Skip, check, one, trace_of

sys.path.insert(0, os.path.join(ROOT, "tests"))
from idle_expectations import marked  # noqa: E402

# Ways of kernels/memory/memory.c, each with what it needs.
WAYS = {"peak": 1, "leak": 1, "churn": 1, "vmm": 1, "vmm_leak": 1, "pool": 1, "managed": 1, "rows_and_arrays": 1, "ipc": 1,
        "devices": 2, "full": 1, "full_again": 1, "full_less": 1}


def held(trace, where="1", *values):
    return one(trace, f"SELECT coalesce(sum(bytes), 0) FROM memory_peak WHERE what = 'allocated' AND {where}", *values)


def way_case(way, devices):
    def case(bench, folder):
        done = bench.run([*bench.workload("memory/memory"), way], folder, True)
        if done.returncode == 1 and devices > 1 and "cuDeviceGet" in done.stderr:
            raise Skip(f"needs {devices} devices")
        check(done.returncode == (1 if way == "full" else 0), f"exit code {done.returncode}: {done.stderr[-300:]}")
        bench.recover(folder)
        truth = {name: int(value) for name, value in re.findall(r"^(\w+) (\d+)$", done.stdout, re.M)}
        with trace_of(folder) as trace:
            peak = one(trace, "SELECT max(bytes) FROM (SELECT sum(bytes) bytes FROM memory_peak WHERE what = 'allocated'"
                              " GROUP BY number)")
            check(peak == truth["peak"], f"{peak} bytes at the peak, {truth['peak']} expected")
            if "left" in truth:
                left = one(trace, "SELECT coalesce(sum(left_bytes), 0) FROM memory_lines WHERE space <> 'host'")
                check(left == truth["left"], f"{left} bytes left, {truth['left']} expected")
            if "held_line" in truth:
                size = held(trace, "line = ?", truth["held_line"])
                check(size == truth["size"], f"line {truth['held_line']} held {size} bytes, {truth['size']} expected")
        return f"{truth['peak'] >> 20} MB at the peak"
    return case


def torch_case(bench, folder):
    """PyTorch's allocator asks for a little more than the program."""
    path = os.path.join(PYTHON_WORKLOADS, "torch_memory.py")
    done = bench.run(bench.python("torch_memory.py", "torch"), folder, True)
    check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-300:]}")
    bench.recover(folder)
    truth = {name: int(value) for name, value in re.findall(r"(\w+) (\d+)", done.stdout.splitlines()[-1])}
    report = bench.run([bench.command, "report", os.path.join(folder, "trace.db")], folder, False)
    said = []
    with trace_of(folder) as trace:
        for mark in ("first", "second"):
            (line,) = marked(path, f"memory: {mark}")
            size = held(trace, "file LIKE '%torch_memory.py' AND line = ?", line)
            check(truth[mark] <= size <= 1.05 * truth[mark], f"line {line} held {size} bytes, {truth[mark]} expected")
            said.append(f"line {line}: {size >> 20} MB")
    if not re.search(r"^  memory full  ", report.stdout, re.MULTILINE):
        raise Failure(f"nothing says that the memory was full: {report.stdout[:600]}")
    return "; ".join(said)


CASES = [(f"memory: {way}", way_case(way, devices)) for way, devices in WAYS.items()]
CASES += [("memory: torch_memory.py", torch_case)]
