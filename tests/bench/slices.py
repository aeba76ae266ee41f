"""Recorded against stopped slices of one process (steps.py). Two processes that do the same differ by up to 5 %; the
slices of one resolve 0.1 %. With the default, CUPTI is in use in both (docs/control.md)."""

import contextlib
import math
import os
import statistics

import steps
from gpu import has_gpu
from ground import CHECKOUT, finish, place, query, spool_of
from programs import Missing, Program

PAIRS = 30
MODES = {"off": ("host-only", {}), "off, without stacks": ("host-only", {"GPUVERIFY_STACKS": "off"}), "default": ("default", {}),
         "sampled": ("sampled", {}), "torch.profiler alone": ("plain", {"STEPS_PROFILER": "torch"})}
# steps.py runs their steps. The last one needs no package.
PROGRAMS = {"resnet18, training": "program_torch_resnet.py", "gpt2, training": "program_torch_gpt.py",
            "JAX, training": "program_jax.py", "PyTorch, decoding with a graph": "program_torch_decoding.py",
            "PyTorch, decoding without a graph": "program_torch_eager.py",
            "PyTorch, requests, 90 % idle": "program_torch_requests.py",
            "CuPy, pipeline": "program_cupy_pipeline.py", "driver calls": "program_driver.py"}
TIMES = ("wall", "CPU time of the thread", "CPU time of the process")


def ratio_of(pairs):
    """The mean ratio of (recorded, stopped) times, and its standard error; None where one of them is 0."""
    logs = [math.log(recorded / stopped) for recorded, stopped in pairs if recorded > 0 and stopped > 0]
    if not logs:
        return None, None
    ratio = math.exp(statistics.mean(logs))
    return ratio, ratio * statistics.stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else None


def in_pairs(found):
    """Slices (which, times..., steps) -> for each time, the pairs of ns per step (recorded, stopped)."""
    per_step = [(each[0], [time_ns / each[-1] for time_ns in each[1:-1]]) for each in found]
    both = [dict(per_step[at:at + 2]) for at in range(0, len(per_step) - 1, 2)]
    return [[(pair["on"][i], pair["off"][i]) for pair in both] for i in range(len(TIMES))]


def collector_of(folder):
    """The collector's process, by the session that it was given; None: there is none."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
            if words[1:2] == [b"collect"] and words[2].startswith(os.fsencode(spool_of(folder))):
                return int(pid)
    return None


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        words = file.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def run(bench, path, mode, more, pairs):
    """(slices, CPU seconds of the collector meanwhile, {of the trace})."""
    with place() as folder:
        program = Program(bench, path, mode, folder, **more)
        try:
            program.answer()  # it is ready
            program.ask(f"slices {pairs}")
            collector = collector_of(folder)
            before_s = cpu_s(collector) if collector else None
            words = program.answer().split()
            used_s = cpu_s(collector) - before_s if collector else None
            program.end()
        finally:
            program.kill()
        stacks = dict.fromkeys(("count", "total_ns", "lost", "own_ns"))
        if mode != "plain":
            trace = finish(bench, folder)
            stacks = {name: query(trace, f"SELECT total({name}) FROM own_cost WHERE what = 'stacks'") for name in ("count", "total_ns")}
            stacks["lost"] = query(trace, "SELECT total(count) FROM not_taken")
            stacks["own_ns"] = query(trace, "SELECT total(total_ns) FROM own_cost WHERE what NOT IN ('start', 'end', 'thread')")
        return [(words[at], *map(int, words[at + 1:at + 5])) for at in range(0, len(words), 5)], used_s, stacks


def measure(bench, name, file):
    if not has_gpu():
        print("  skipped: there is no GPU here")
        return
    rows = []
    for mode, (kind, more) in MODES.items():
        if kind == "plain" and "torch" not in file:
            continue
        try:
            found, used_s, stacks = run(bench, os.path.join(CHECKOUT, "tests", "bench", file), kind, more,
                                        bench.scaled(PAIRS, 2))
        except Missing as missing:
            bench.note(f"{name}: skipped: {missing}")
            return
        ratios = []
        for what, pairs in zip(TIMES, in_pairs(found)):
            ratio, error = ratio_of(pairs)
            bench.found[f"{file[8:-3]}_{mode}_{what}".replace(" ", "_")] = {"median": ratio, "error": error}
            ratios.append("-" if ratio is None else f"{ratio:.4f} +- {error or 0:.4f}")
        recorded_s = sum(each[1] for each in found if each[0] == "on") / 1e9
        told_s = recorded_s + len(found) / 2 * steps.SLICE_S  # and the warm-up
        rows.append((mode, statistics.median(each[1] / each[-1] / 1e3 for each in found if each[0] == "off"), *ratios,
                     stacks["count"], stacks["total_ns"] / stacks["count"] / 1e3 if stacks["count"] else None, stacks["lost"],
                     None if stacks["own_ns"] is None else 100 * stacks["own_ns"] / 1e9 / told_s, used_s and 100 * used_s / recorded_s))
    bench.table((f"{name}: recorded / stopped", "a step, stopped, us", *TIMES, "stacks", "us each, as the trace tells it",
                 "stacks lost", "own_cost, % of what was recorded", "collector: CPU time, % of the recorded time"), rows)


def part(name, file):
    def bench_slices(bench):
        measure(bench, name, file)
    bench_slices.__doc__ = f"{name}: recorded / stopped, in slices of 0.1 s of one process; the whole run's stacks."
    return bench_slices


BENCHES = {f"slices-{file[8:-3].split('_')[-1]}": part(name, file) for name, file in PROGRAMS.items()}
