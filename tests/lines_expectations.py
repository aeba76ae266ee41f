"""What a trace must say of lines whose share of the GPU's time is known.

The truth is what a workload of kernels/lines prints (truth.h there), or the trace of the same program with
GPUVERIFY_STACKS=all, where every call has its own stack. A default trace takes the stacks of calls chosen at random. So its
shares are estimates, and each has a standard error.
"""

import collections
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LINES = os.path.join(os.path.dirname(HERE), "kernels", "lines")

# The promise: each line of more than 2 % is within 10 % of its true share.
LEAST, PROMISE = 0.02, 0.1
# Four standard errors: with ten lines in each of a hundred runs, chance alone exceeds it in one of 16 hundred.
ERRORS, SUM = 4, 0.01

# The simulator's speed of copies and sets: what each takes in ns, and bytes a us.
SIMULATED_COPIES = 2000, 10000

IN_C = ["two", "equal", "single", "layers", "ten", "random", "epoch", "rare", "copies", "graphs", "threads", "fast"]
IN_PYTHON = ["two", "equal", "single", "layers", "ten", "random", "epoch", "rare"]
# case: the program and its words. With `thread`, a thread without Python frames works too.
WORKLOADS = {f"c {name}": ["lines", name] for name in IN_C}
WORKLOADS |= {f"python {name}": ["lines.py", name] for name in IN_PYTHON}
WORKLOADS["python thread"] = ["lines.py", "ten", "thread"]

# Those whose lines differ in kernels, durations or what is around them. In the others chance decides: the same kernel comes from
# several lines in an order that nothing but a stack tells.
PROMISED = [name for name in WORKLOADS if name.split()[1] in (
    "two", "equal", "single", "layers", "epoch", "copies", "graphs", "threads", "fast")] + ["c rare"]

SAID = re.compile(r"^line (\S+):(\d+) captured (\d+) calls (\d+) ns (\d+) bytes (\d+)$", re.M)

# captured: where the launched graph was captured; 0: no graph
Line = collections.namedtuple("Line", "file line captured")
Asked = collections.namedtuple("Asked", "calls ns")
Estimate = collections.namedtuple("Estimate", "share error launches samples ns")


class Mismatch(AssertionError):
    """The trace differs from the expectation."""


def command(words, kernels, seconds):
    """How to run a workload. kernels: the folder with the built ones."""
    program, name, *thread = words
    native = [os.path.join(os.path.abspath(kernels), "lines", "native_thread.so")] if thread else []
    if program.endswith(".py"):
        return [sys.executable, os.path.join(LINES, program), name, str(seconds), *native]
    return [os.path.join(kernels, "lines", program), name, str(seconds)]


def said(output, copy_start_ns=0, copy_bytes_per_us=0):
    """{line: what it asked for}, as a workload printed it; with copies and sets, where their speed is known."""
    found = {}
    for file, line, captured, calls, ns, some_bytes in SAID.findall(output):
        ns, calls, some_bytes = int(ns), int(calls), int(some_bytes)
        if some_bytes and copy_bytes_per_us:
            ns += calls * copy_start_ns + some_bytes * 1000 // copy_bytes_per_us
        found[Line(file, int(line), int(captured))] = Asked(calls, ns)
    return found


def shares(truth):
    total_ns = sum(asked.ns for asked in truth.values())
    return {line: asked.ns / total_ns for line, asked in truth.items()}


def estimates(trace):
    """{line: what the trace says of it}. Where no line is known, it is line 0 of a function or library."""
    found = {}
    for file, line, function, library, captured, share, error, launches, samples, ns in trace.execute(
            "SELECT file, line, function, library, captured_line, share, error, launches, samples, gpu_ns FROM gpu_lines"):
        key = Line(os.path.basename(file) if line else function or os.path.basename(library or "?"), line or 0, captured or 0)
        one = found.get(key, Estimate(0, 0, 0, 0, 0))  # two functions of one name, for example
        found[key] = Estimate(one.share + (share or 0), (one.error ** 2 + (error or 0) ** 2) ** 0.5, one.launches + launches,
                              one.samples + samples, one.ns + (ns or 0))
    return found


def table(truth, found):
    """Lines of text: each line's true share, the estimate and its standard error. truth: {line: share}"""
    rows = []
    for line, share in sorted(truth.items(), key=lambda row: -row[1]):
        one = found.get(line, Estimate(0, 0, 0, 0, 0))
        off = abs(one.share - share) / share if share else 0
        mark = "  " if share <= LEAST else "ok" if off <= PROMISE else "NO"
        captured = f" captured {line.captured}" if line.captured else ""
        rows.append(f"{100 * share:7.2f} % true {100 * one.share:7.2f} % +- {100 * one.error:5.2f}  off {100 * off:6.1f} %  "
                    f"{one.samples:6} samples  {mark} {line.file}:{line.line}{captured}")
    rows += [f"   none    true {100 * one.share:7.2f} %  {line.file}:{line.line}" for line, one in found.items()
             if line not in truth and one.share > LEAST / 10]
    return "\n".join(rows)


def demand(condition, message, truth, found):
    if not condition:
        raise Mismatch(f"{message}\n{table(truth, found)}")


def check_chosen(run, seconds, promised):
    """What a run finds is right, or what a longer one does: in a second, a call of a step may not have been chosen once, and
    chance decides. In twelve it does not. run(seconds): (shares, estimates). Returns them."""
    for length in (seconds, 4 * seconds, 12 * seconds):
        found = run(length)
        try:
            if promised:
                check_promise(*found)
            check_errors(*found)
            return found
        except Mismatch as mismatch:
            print(f"{length:g} s: {mismatch}", flush=True)
            last = mismatch
    raise last


def missed(truth, found):
    """How far off each line of more than 2 % is, as a part of its true share: {line: part}."""
    return {line: abs(found[line].share - share) / share if line in found else 1.0
            for line, share in truth.items() if share > LEAST}


def check_sums(trace):
    """The lines add up to the operations, and to the calls that put them on the GPU."""
    ops_ns, calls = trace.execute("SELECT sum(duration_ns), count(DISTINCT call) FROM gpu_ops").fetchone()
    lines, lines_ns, launches = trace.execute("SELECT count(*), sum(gpu_ns), sum(launches) FROM gpu_lines").fetchone()
    if abs(lines_ns - ops_ns) > SUM * ops_ns:
        raise Mismatch(f"the lines have {lines_ns / 1e6:.3f} ms, the operations {ops_ns / 1e6:.3f} ms")
    if abs(launches - calls) > lines / 2:  # each is rounded
        raise Mismatch(f"the lines have {launches} launches, {calls} calls put work on the GPU")


def check_exact(trace, truth):
    """With a stack of every call. truth: {line: Asked}"""
    found, true = estimates(trace), shares(truth)
    for line, asked in truth.items():
        one = found.get(line)
        demand(one and one.launches == asked.calls and one.samples == asked.calls and one.error == 0
               and abs(one.share - true[line]) < SUM * true[line],
               f"{line.file}:{line.line} had {asked.calls} calls, {asked.ns} ns: {one}", true, found)


def check_errors(truth, found, noise=SUM):
    """No line of more than 2 % is further off than its standard error allows, and no other line has more than that. A line of
    which no call was chosen is in the error of those that got its time. truth: {line: share}. noise: what the truth itself may
    be off by, as a part of a share."""
    nothing = Estimate(0, max(one.error for one in found.values()), 0, 0, 0)
    for line in {*truth, *found}:
        share, one = truth.get(line, 0), found.get(line, nothing)
        allowed = ERRORS * one.error + (noise * share if share > LEAST else LEAST)
        demand(abs(one.share - share) <= allowed, f"{line.file}:{line.line} is further off than {ERRORS} standard errors", truth, found)


def check_promise(truth, found):
    for line, off in missed(truth, found).items():
        demand(off <= PROMISE, f"{line.file}:{line.line} is off by {100 * off:.1f} % of its share", truth, found)
