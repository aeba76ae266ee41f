"""Each workload of kernels/stalls, busy and idle, with the GPU side and without, against its .expect file."""

import os
import sys

from ground import PYTHON_WORKLOADS, ROOT, SKIPPED, Failure, Skip, check, times_itself, trace_of

sys.path.insert(0, os.path.join(ROOT, "tests"))
import stall_expectations as expectations  # noqa: E402

BUSY_MS = 150
MODES = {"measured": "auto", "inferred": "off"}
OWN_LENGTH = ("no_stalls", "lazy_deadlock")
# With copies and waits more than a million calls where the GPU's side has to bear each out.
MANY_LAUNCHES = {"measured": "1000000", "inferred": "250000"}


def second_try(case):
    """Times must agree to 5 %. A program that was stopped once, on a shared machine, is reported, and does
    not fail."""
    @times_itself
    def twice(bench, folder):
        places = [os.path.join(folder, word) for word in ("first", "second")]
        for place in places:
            os.mkdir(place)
        try:
            return case(bench, places[0])
        except Failure as failure:
            return f"{case(bench, places[1])} (second try; the first: {str(failure)[:200]})"
    return twice


def stall_case(name, mode):
    def case(bench, folder):
        said = []
        for state in ("busy", "idle"):
            place = os.path.join(folder, state)
            os.mkdir(place)
            words = ["idle"] if state == "idle" else []
            if name not in OWN_LENGTH:
                words.append(str(BUSY_MS))
            elif name == "no_stalls" and state == "busy":
                words.append(MANY_LAUNCHES[mode])
            program = bench.workload(os.path.join("stalls", name))
            done = bench.run(program + words, place, True, GPUVERIFY_GPU=MODES[mode])
            if done.returncode == 77:
                raise Skip(done.stdout.strip()[-100:])
            killed = expectations.is_killed(name, state)
            check(done.returncode == (-9 if killed else 0),
                  f"{state}: exit code {done.returncode}: {done.stderr[-300:]}")
            bench.recover(place)
            try:
                expectations.check(name, os.path.join(place, "trace.db"), done.stdout, mode, state,
                                   BUSY_MS)
            except expectations.Mismatch as mismatch:
                raise Failure(f"{state}: {mismatch}") from None
            said += [line.split(" ", 1)[1] for line in done.stdout.splitlines()
                     if line.startswith("timed ")]
        return "; ".join(said)
    return case


def line_of_the_stall(script):
    with open(os.path.join(PYTHON_WORKLOADS, script), encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if "# the stall" in line:
                return number
    raise LookupError(script)


# These may load on a thread that runs no Python: then there is no line to be found.
OTHER_THREADS = ("jax_compile_busy.py",)


def python_case(script, package, causes, mode):
    """The longest stall is that of the marked line, with its cause, and not longer than the program says."""
    @times_itself
    def case(bench, folder):
        done = bench.run(bench.python(script, package), folder, True, GPUVERIFY_GPU=MODES[mode])
        if done.returncode == SKIPPED:
            raise Skip(done.stdout.strip()[-100:])
        check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-300:]}")
        bench.recover(folder)
        with trace_of(folder) as trace:
            worst = trace.execute(
                "SELECT s.cause, s.duration_ns / 1e6, s.wait_ns / 1e6, s.confidence, s.name, s.kernel,"
                " s.stack, o.name, s.advice FROM stalls s LEFT JOIN gpu_ops o ON o.id = s.waited_for"
                " WHERE NOT s.expected AND s.cause != 'context'"
                " ORDER BY s.wait_ns + s.jit_ns DESC LIMIT 1").fetchone()
            check(worst, "no stall")
            cause, ms, wait_ms, confidence, name, _, stack, waited, advice = worst
            frames = trace.execute("SELECT file, line, function FROM frames WHERE stack = ?"
                                   " AND kind = 'python' ORDER BY depth", (stack,)).fetchall()
        check(cause in causes, f"cause {cause}, one of {causes} wanted: {worst}")
        check(confidence == mode, f"confidence {confidence}")
        check(mode == "inferred" or waited, "it is not said what was waited for")
        check(wait_ms > 50, f"it waited {wait_ms} ms")
        check(advice, "no advice")
        said_ms = expectations.TIMED.findall(done.stdout)[0][2]
        check(ms <= float(said_ms) + 1, f"{ms} ms, the program says {said_ms} ms")
        line = line_of_the_stall(script)
        own = [frame for frame in frames if os.path.basename(frame[0]) == script]
        if not frames and script in OTHER_THREADS:
            return f"{name} on another thread waited {wait_ms:.0f} ms of {said_ms} for {waited}"
        check(own and own[0][1] == line and own[0][2] == "step",
              f"it is line {line} in step, the trace says {frames[:4]}")
        return f"{name} at {script}:{own[0][1]} waited {wait_ms:.0f} ms of {said_ms} for {waited}"
    return case


CASES = [(f"stall {name}, {mode}", second_try(stall_case(name, mode)))
         for name in expectations.names() for mode in MODES]
CASES += [(f"stall of {script}, {mode}", python_case(script, package, causes, mode))
          for script, package, causes in (
              ("torch_tanh_busy.py", "torch", ("lazy-load",)),
              ("numba_first_launch_busy.py", "numba", ("lazy-load",)),
              ("cupy_raw_module_busy.py", "cupy", ("module-load",)),
              ("cuda_python_load_busy.py", "cuda", ("module-load",)),
              ("pycuda_load_busy.py", "pycuda", ("module-load",)),
              ("jax_compile_busy.py", "jax", ("module-load", "lazy-load")),
              ("triton_first_launch_busy.py", "triton", ("module-load", "lazy-load")))
          for mode in MODES]
