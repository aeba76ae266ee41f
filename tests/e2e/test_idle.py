"""Why the GPU was idle: each workload of kernels/idle on the simulator, and its twin, which does nearly the same for
another reason. Also what the thread that looks must survive."""

import os
import re
import sys
import unittest

import harness

IDLE = os.path.join(harness.SOURCE, "kernels", "idle")
# What the driver's calls take must not be part of the picture, except for pinned memory.
SIMULATED = {"GV_SIM_PIN_NS_PER_MB": "200000", "GPUVERIFY_CUPTI": os.path.join(harness.simulator(), "libcupti.so.13")}
OFTEN = {"GPUVERIFY_IDLE_HZ": "200"}
RIGHT_REASON, RIGHT_LINE, TWIN, UNKNOWN = 0.9, 0.8, 0.1, 0.05

# case: (program and its words, reason, environment)
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
    "lock": (["locks.py"], "lock", {}),
    "lock_native": (["blocked", "lock"], "lock", OFTEN),
    "sleep": (["sleeping.py"], "sleep", {}),
    "child": (["children.py"], "child", {}),
    "network": (["sockets.py"], "network", {}),
    "descheduled": (["no_cpu.py"], "descheduled", {}),
    "start": (["starting.py"], "start", {}),
    "end": (["ending.py"], "end", {}),
    "cuda": (["calls.py"], "cuda", {}),
}


def source(program):
    return os.path.join(IDLE, program if program.endswith(".py") else program + ".c")


def marked(program, mark):
    """The numbers of the lines that a comment marks as that."""
    with open(source(program), encoding="utf-8") as lines:
        return {number for number, line in enumerate(lines, 1) if re.search(rf"(#|/\*) {mark}\b", line)}


def twin_reason(program):
    with open(source(program), encoding="utf-8") as file:
        found = re.search(r"# twin: (\w+)", file.read())
    return found and found[1]


class IdleCase(harness.Case):
    gpu = "auto"

    def run_workload(self, words, **env):
        """Its trace, and how many ns its main thread had no CPU."""
        program = os.path.join(IDLE, words[0]) if words[0].endswith(".py") else harness.workload(f"idle/{words[0]}")
        python = [sys.executable] if program.endswith(".py") else []
        name = "-".join(words) + ".db"
        result = self.run_well([*python, program, *words[1:]],
                               env={**SIMULATED, "GPUVERIFY_TRACE": self.path(name), **env})
        said = re.search(r"^descheduled ([\d.]+) ms$", result.out, re.M)
        return self.trace(self.path(name)), float(said[1]) * 1e6

    def run_text(self, text, status=0, **env):
        """Runs Python code that can import gpu."""
        return self.run_well([sys.executable, self.write("program.py", text)], status,
                             env={**SIMULATED, "PYTHONPATH": IDLE, **env})

    def ns(self, trace, where="1", *values):
        return trace.value(f"SELECT coalesce(sum(duration_ns), 0) FROM idle WHERE {where}", *values)

    def named_ns(self, trace, program, reason, lines, where="1"):
        """Idle time whose stack or detail names one of the lines."""
        name = os.path.basename(source(program))
        rows = trace.rows(f"SELECT duration_ns, stack, coalesce(detail, '') FROM idle WHERE reason = ? AND {where}", reason)
        return sum(ns for ns, stack, detail in rows
                   if any(f"{name}:{line}" in detail for line in lines) or
                   any(os.path.basename(file or "") == name and line in lines
                       for file, line in trace.rows("SELECT file, line FROM frames WHERE stack = ?", stack)))

    def story(self, trace):
        return "\n" + "\n".join(f"{ns / 1e6:9.1f} ms {gaps:4} gaps {samples:4} samples  {reason} {confidence} {detail or ''} {line}" for
                                ns, gaps, samples, reason, confidence, detail, line in trace.rows(
                                    "SELECT duration_ns, gaps, samples, reason, confidence, detail, (SELECT group_concat("
                                    "replace(file, rtrim(file, replace(file, '/', '')), '') || ':' || line, ' < ') FROM frames"
                                    " WHERE stack = idle.stack AND line IS NOT NULL) FROM idle ORDER BY start_ns"))

    def check_sum(self, trace):
        """`idle` adds up to what the processes' times and the operations leave."""
        for process, start_ns, end_ns in trace.rows("SELECT id, start_ns, end_ns FROM processes"):
            for (device,) in trace.rows("SELECT DISTINCT device FROM gpu_ops WHERE process = ?", process):
                busy_ns, until_ns = 0, start_ns
                for op_ns, op_end_ns in trace.rows("SELECT start_ns, start_ns + duration_ns FROM gpu_ops WHERE process = ?"
                                                   " AND device = ? ORDER BY start_ns", process, device):
                    busy_ns += max(0, op_end_ns - max(op_ns, until_ns))
                    until_ns = max(until_ns, op_end_ns)
                left_ns = end_ns - start_ns - busy_ns
                said_ns = self.ns(trace, "process = ? AND device = ?", process, device)
                self.assertLessEqual(abs(said_ns - left_ns), 0.01 * left_ns,
                                     f"{said_ns / 1e6:.1f} ms of {left_ns / 1e6:.1f} ms{self.story(trace)}")

    def check_reason(self, trace, program, reason, lines, waited_ns=0, where="1"):
        """Most idle time has the reason and one of the lines. What a busy machine took counts for nothing."""
        if reason not in ("start", "end"):
            where += " AND reason NOT IN ('start', 'end')"
        all_ns = self.ns(trace, where)
        if reason != "descheduled":
            all_ns -= min(2 * waited_ns, self.ns(trace, f"reason = 'descheduled' AND {where}"))
        right_ns = self.ns(trace, f"reason = ? AND {where}", reason)
        self.assertGreaterEqual(right_ns, RIGHT_REASON * all_ns, f"{reason}{self.story(trace)}")
        if lines:
            named_ns = self.named_ns(trace, program, reason, lines, where)
            self.assertGreaterEqual(named_ns, RIGHT_LINE * all_ns, f"{reason} at {lines}{self.story(trace)}")


@harness.depends_on_time("other programs take the CPU from the one that is looked at")
@unittest.skipUnless(os.path.exists(SIMULATED["GPUVERIFY_CUPTI"]), "no simulated libcupti was built")
class Reasons(IdleCase):
    """One case for each workload with its twin, made below."""

    def check(self, words, reason, env):
        program = words[0]
        trace, waited_ns = self.run_workload(words, **env)
        # What runs, and is in no system call, has no native stack by default.
        lines = marked(program, f"idle: {reason}") if program != "native" else ()
        self.check_reason(trace, program, reason, lines, waited_ns)
        self.check_sum(trace)
        twin, waited_ns = self.run_workload([*words, "twin"], **env)
        run_ns = twin.value("SELECT end_ns - start_ns FROM processes")
        allowed_ns = TWIN * run_ns + (2 * waited_ns if reason == "descheduled" else 0)
        self.assertLess(self.ns(twin, "reason = ?", reason), allowed_ns, self.story(twin))
        its_own = twin_reason(program)
        if its_own:
            self.check_reason(twin, program, its_own, marked(program, f".*twin: {its_own}"), waited_ns)
        self.check_sum(twin)
        for each in (trace, twin):
            self.assertLessEqual(self.ns(each, "reason = 'unknown'"), UNKNOWN * self.ns(each), self.story(each))


def add(name, words, reason, env):
    def case(self):
        self.check(words, reason, env)
    setattr(Reasons, f"test_{name}", case)


for case_name, workload in WORKLOADS.items():
    add(case_name, *workload)
