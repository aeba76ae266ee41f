"""What a trace must say of a workload whose GPU is idle for a known reason, and of its twin.

The twin (the word `twin`) does nearly the same, but not for this reason. In the workloads a comment `# idle: REASON` marks
the lines that a trace must name, one of them for most of the time, and `# twin: REASON` the twin's, if it has a reason
of its own. A line `descheduled MILLISECONDS ms` of the output says how long the main thread was ready without a CPU.
"""

import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
IDLE = os.path.join(os.path.dirname(HERE), "kernels", "idle")

# Shares of the idle time; TWIN is one of the run.
RIGHT_REASON, RIGHT_LINE, TWIN, UNKNOWN, SUM = 0.9, 0.8, 0.1, 0.05, 0.01
OFTEN = {"GPUVERIFY_IDLE_HZ": "200"}

# case: (program and its words, reason, environment). They need only CPython and a driver.
WORKLOADS = {
    "python": (["python_code.py"], "python", {}),
    "python_short": (["short_gaps.py"], "python", {}),
    "native": (["native"], "native", {}),
    "native_of_python": (["native_code.py"], "native", {}),
    "gil": (["gil.py"], "gil", {}),
    "gil_long": (["gil.py", "long"], "gil", OFTEN),
    "gc": (["garbage.py"], "gc", {}),
    "import": (["importing.py"], "import", {}),
    "compile_numba": (["compiling.py", "numba"], "compile", {}),
    "compile_triton": (["compiling.py", "triton"], "compile", OFTEN),
    "compile_inductor": (["compiling.py", "inductor"], "compile", OFTEN),
    "compile_child": (["compiling_child.py"], "compile", {}),
    "data": (["data.py"], "data", {}),
    "data_inline": (["data.py", "inline"], "data", OFTEN),
    "io": (["files.py"], "io", {}),
    "lock": (["locks.py"], "thread-lock", {}),
    "lock_native": (["blocked", "lock"], "thread-lock", OFTEN),
    "sleep": (["sleeping.py"], "sleep", {}),
    "child": (["children.py"], "child", {}),
    "network": (["sockets.py"], "network", {}),
    "no_cpu": (["no_cpu.py"], "no-cpu", {}),
    "start": (["starting.py"], "python", {}),
    "end": (["ending.py"], "python", {}),
    "allocating": (["calls.py"], "allocating", {}),
}
# case: the part of the run in which it shows its reason, if that is not the time between the first and the last work.
PARTS = {"start": "start", "end": "end"}
# case: what else the same line does.
ALSO = {"allocating": ("freeing",), "no_cpu": ("python",)}  # beside four others it has a fifth of a CPU

# case: a pattern of the detail, where the case has one.
DETAILS = {"gil": r"\bgil\.py:\d+ \(thread \d+\)", "gil_long": r"\bgil\.py:\d+ \(thread \d+\)", "data": r"\bdata\.py:\d+",
           "compile_child": r"^ptxas$", "io": r"^/", "child": r"^sleep$", "no_cpu": r"\bpinned\b"}


class Mismatch(AssertionError):
    """The trace differs from the expectation."""


def source(program):
    return os.path.join(IDLE, program if program.endswith(".py") else program + ".c")


def marked(path, mark):
    """The numbers of the lines with this comment."""
    with open(path, encoding="utf-8") as lines:
        return {number for number, line in enumerate(lines, 1) if re.search(rf"(#|/\*).* ?\b{mark}\b", line)}


def twin_reason(path):
    with open(path, encoding="utf-8") as file:
        found = re.search(r"# twin: ([\w-]+)", file.read())
    return found and found[1]


def descheduled_ns(output):
    said = re.search(r"^descheduled ([\d.]+) ms$", output, re.M)
    return float(said[1]) * 1e6 if said else 0


def story(trace):
    """The whole view in words, for messages."""
    lines = []
    for ns, gaps, samples, reason, confidence, detail, stack in trace.execute(
            "SELECT duration_ns, gaps, samples, reason, confidence, detail, stack FROM idle ORDER BY start_ns"):
        frames = [f"{os.path.basename(file)}:{line}" for file, line in trace.execute(
            "SELECT file, line FROM frames WHERE stack = ? AND line IS NOT NULL ORDER BY depth LIMIT 8", (stack,))]
        lines.append(f"{ns / 1e6:9.1f} ms, {gaps} gaps, {samples} samples: {reason} ({confidence}) {detail or '-'};"
                     f" {' < '.join(frames)}")
    return "\n" + "\n".join(lines)


def demand(condition, message, trace):
    if not condition:
        raise Mismatch(message + story(trace))


def idle_ns(trace, where="1", *values):
    return trace.execute(f"SELECT coalesce(sum(duration_ns), 0) FROM idle WHERE {where}", values).fetchone()[0]


def named_ns(trace, path, lines, where="1"):
    """Idle time whose stack or detail names one of the lines."""
    name = os.path.basename(path)

    def names(stack, detail):
        return any(f"{name}:{line}" in (detail or "") for line in lines) or any(
            os.path.basename(file or "") == name and line in lines
            for file, line in trace.execute("SELECT file, line FROM frames WHERE stack = ?", (stack,)))

    return sum(ns for ns, stack, detail in trace.execute(f"SELECT duration_ns, stack, detail FROM idle WHERE {where}")
               .fetchall() if names(stack, detail))


def window(trace, part):
    """The start, main part or end of the run, as a condition. The interpreter's own end is none of main."""
    first_ns, last_ns = trace.execute("SELECT min(start_ns), max(start_ns + duration_ns) FROM gpu_ops").fetchone()
    if first_ns is None:  # the GPU side was not recorded
        first_ns, last_ns = trace.execute("SELECT min(start_ns), max(start_ns + duration_ns) FROM calls"
                                          " WHERE class IN ('launch', 'copy', 'set')").fetchone()
    if part == "start":
        return f"start_ns < {first_ns} AND reason <> 'starting-cuda'"
    if part == "end":
        return f"start_ns >= {last_ns}"
    return f"(gap IS NULL OR next_call IS NOT NULL) AND start_ns >= {first_ns}"


def check_sum(trace):
    """`idle` adds up to what the processes' times and the operations leave."""
    for process, start_ns, end_ns in trace.execute("SELECT id, start_ns, end_ns FROM processes").fetchall():
        for (device,) in trace.execute("SELECT DISTINCT device FROM gpu_ops WHERE process = ?", (process,)).fetchall():
            busy_ns, until_ns = 0, start_ns
            for op_ns, op_end_ns in trace.execute("SELECT start_ns, start_ns + duration_ns FROM gpu_ops WHERE process = ?"
                                                  " AND device = ? ORDER BY start_ns", (process, device)):
                busy_ns += max(0, op_end_ns - max(op_ns, until_ns))
                until_ns = max(until_ns, op_end_ns)
            left_ns = end_ns - start_ns - busy_ns
            said_ns = idle_ns(trace, "process = ? AND device = ?", process, device)
            demand(abs(said_ns - left_ns) <= SUM * left_ns,
                   f"device {device}: {said_ns / 1e6:.1f} ms are told, {left_ns / 1e6:.1f} ms were idle", trace)


def check_unknown(*traces):
    all_ns = sum(idle_ns(trace) for trace in traces)
    unknown_ns = sum(idle_ns(trace, "reason = 'unknown'") for trace in traces)
    demand(unknown_ns <= UNKNOWN * all_ns, f"{unknown_ns / 1e6:.1f} ms of {all_ns / 1e6:.1f} ms are unknown", traces[0])


def excused_ns(trace, reason, waited_ns, where):
    """What may have other reasons on a busy machine: no CPU, and waits in CUDA calls that end late."""
    others = [each for each in ("no-cpu", "round-trip", "queued") if each != reason]
    return min(2 * waited_ns, sum(idle_ns(trace, f"reason = ? AND {where}", each) for each in others))


def check_reason(trace, path, reason, lines, waited_ns=0, where="1", also=(), part="main"):
    """Most idle time of that part has the reason, and one of the lines. `also`: other reasons that it may have."""
    where += f" AND {window(trace, part)}"
    all_ns = idle_ns(trace, where)
    excused = excused_ns(trace, reason, waited_ns, where)
    named = "', '".join((reason, *also))
    where += f" AND reason IN ('{named}')"
    right_ns = idle_ns(trace, where)
    demand(not also or idle_ns(trace, f"reason = '{reason}' AND {where}") > 0, f"nothing is {reason}", trace)
    said = f"of {all_ns / 1e6:.1f} ms, of which a busy machine took {excused / 1e6:.1f} ms,"
    demand((right_ns > 0 or excused > all_ns / 2) and right_ns + excused >= RIGHT_REASON * all_ns,
           f"{right_ns / 1e6:.1f} ms {said} are {reason}", trace)
    if lines:
        named = named_ns(trace, path, lines, where)
        demand((named > 0 or excused > all_ns / 2) and named + excused >= RIGHT_LINE * all_ns,
               f"{named / 1e6:.1f} ms {said} are at {os.path.basename(path)}, one of lines {sorted(lines)}", trace)
    return right_ns / all_ns


def check_detail(trace, name, reason):
    """Most of the time with that reason says what it was about."""
    if name in DETAILS:
        where = f"samples > 0 AND reason = '{reason}'"
        right_ns = sum(ns for ns, detail in trace.execute(f"SELECT duration_ns, detail FROM idle WHERE {where}")
                       if re.search(DETAILS[name], detail or ""))
        demand(right_ns > idle_ns(trace, where) / 2, f"{right_ns / 1e6:.1f} ms have the detail '{DETAILS[name]}'", trace)


def check_waited(trace, waited_ns):
    """A missing CPU is told for about as long as the kernel counted for the program's thread."""
    said_ns = idle_ns(trace, "reason = 'no-cpu'")
    demand(0.6 * waited_ns < said_ns < 1.3 * waited_ns,
           f"{said_ns / 1e6:.1f} ms are no-cpu, the thread waited {waited_ns / 1e6:.1f} ms for one", trace)


def check_twin(trace, path, reason, waited_ns=0, part="main"):
    run_ns = trace.execute("SELECT max(end_ns) - min(start_ns) FROM processes").fetchone()[0]
    if part != "main":  # each run has some
        wrong_ns = named_ns(trace, path, marked(path, f"idle: {reason}"), f"reason = '{reason}' AND {window(trace, part)}")
    else:
        wrong_ns = idle_ns(trace, f"reason = ? AND {window(trace, part)}", reason)
    demand(wrong_ns < TWIN * run_ns + (2 * waited_ns if reason == "no-cpu" else 0),
           f"{wrong_ns / 1e6:.1f} ms of {run_ns / 1e6:.1f} ms are {reason}", trace)
    its_own = twin_reason(path)
    if its_own:
        check_reason(trace, path, its_own, marked(path, f"twin: {its_own}"), waited_ns)
