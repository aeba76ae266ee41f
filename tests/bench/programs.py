"""Measures what real programs cost on a GPU: plain, host-only, in the default mode, and sampled."""

import contextlib
import os
import select
import subprocess
import sys
import time

from gpu import TRACED, gpu_environment, has_gpu, in_rounds
from ground import CHECKOUT, finish, judged, paired, place, query

AGAIN = "plain again"  # how much processes differ that do the same
MODES = ("plain", "host-only", "default", "sampled", AGAIN)
# steps.py runs their steps.
PROGRAMS = {"PyTorch, training": "program_torch_training.py",
            "PyTorch, training with 100 ranges a step": "program_torch_ranges.py", "CuPy, pipeline": "program_cupy_pipeline.py",
            "PyTorch, decoding with a graph": "program_torch_decoding.py"}
GOALS = {"host-only": 1.01, "sampled": 1.02}  # to plain, end to end
ROUND_S = 0.2  # short: the machine's speed changes within seconds
START_S = 300


class Missing(Exception):
    """A package."""


class Program:
    """A program that waits until it is told to make some steps."""

    def __init__(self, bench, path, mode, folder, **more):
        self.process = subprocess.Popen([sys.executable, "-u", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, cwd=folder,
                                        env={**gpu_environment(bench, folder, "plain" if mode == AGAIN else mode,
                                                               os.environ.get("GPUVERIFY_CUPTI")), **more})

    def answer(self):
        if not select.select([self.process.stdout], [], [], START_S)[0]:
            sys.exit(f"{self.process.args[-1]} said nothing for {START_S} s")
        line = self.process.stdout.readline().strip()
        if line.startswith("skip "):
            raise Missing(line[5:])
        if not line:
            sys.exit(f"{self.process.args[-1]} ended with {self.process.wait()}")
        return line

    def ask(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.answer()

    def steps(self, count):
        """(end to end, p10, p50) of some steps, in ns."""
        return [int(word) for word in self.ask(count).split()]

    def end(self):
        """ns that its end took."""
        start_ns = time.monotonic_ns()
        self.process.stdin.close()
        status = self.process.wait()
        if status != 0:
            sys.exit(f"{self.process.args[-1]} ended with {status}")
        return time.monotonic_ns() - start_ns

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stdin.close()


def measure(bench, path, rounds, found):
    """One process for each mode; they make their steps in turn. Adds to found[what][mode]."""
    with contextlib.ExitStack() as stack:
        folders = {mode: stack.enter_context(place()) for mode in MODES}
        programs = {}
        try:
            for mode, folder in folders.items():
                programs[mode] = Program(bench, path, mode, folder)
            for program in programs.values():
                program.answer()  # it is ready
            count = max(10, int(ROUND_S * 1e9 * min(1, bench.scale * 4) / programs["plain"].steps(100)[2]))
            for mode in MODES:
                programs[mode].steps(count)
            results = in_rounds(rounds, MODES, lambda mode: programs[mode].steps(count))
            for mode, values in results.items():
                for what, index in (("end to end", 0), ("p10", 1), ("p50", 2)):
                    per_step = [value[index] / (count if index == 0 else 1) for value in values]
                    found.setdefault(what, {}).setdefault(mode, []).extend(per_step)
            for mode, program in programs.items():
                found.setdefault("the end of the process", {}).setdefault(mode, []).append(program.end())
            # What they still do would disturb what comes next.
            traces = {mode: finish(bench, folders[mode]) for mode in TRACED}
            for mode, table in (("default", "gpu_ops"), ("sampled", "gpu_sample")):
                bench.must(f"{mode} records the GPU's work of {os.path.basename(path)}",
                           query(traces[mode], f"SELECT count(*) FROM {table}") > 0)
        finally:
            for program in programs.values():
                program.kill()


def bench_programs(bench):
    """Real programs: plain, host-only, in the default mode, and sampled."""
    if not has_gpu():
        print("  skipped: there is no GPU here")
        return
    times, ratios = [], []
    for name, file in PROGRAMS.items():
        path, found = os.path.join(CHECKOUT, "tests", "bench", file), {}
        try:
            for _ in range(bench.scaled(2)):
                measure(bench, path, bench.scaled(25, 2), found)
        except Missing as missing:
            bench.note(f"{name}: skipped: {missing}")
            continue
        for what, modes in found.items():
            unit, factor = ("us", 1e3) if what in ("end to end", "p10", "p50") else ("ms", 1e6)
            middle = [bench.keep(f"{file[:-3]}_{what}_{mode}".replace(" ", "_"),
                                 [value / factor for value in modes[mode]]) for mode in MODES]
            times.append((f"{name}: {what}, {unit}", *middle))
            if unit == "us":
                for mode in MODES[1:]:
                    ratio = paired(modes[mode], modes["plain"])
                    bench.found[f"{file[:-3]}_{what}_{mode}_ratio".replace(" ", "_")] = ratio
                    ratios.append((f"{name}: {what}: {mode} / plain",
                                   *judged(ratio, GOALS.get(mode) if what == "end to end" else None)))
                    if what == "end to end":
                        ratio = sum(modes[mode]) / sum(modes["plain"])
                        bench.found[f"{file[:-3]}_whole_{mode}_ratio".replace(" ", "_")] = ratio
                        ratios.append((f"{name}: all rounds together: {mode} / plain", *judged(ratio, None)))
    if times:
        bench.table(("one step", *MODES), times)
        bench.table(("ratio, median of rounds", "measured", "goal", "reached"), ratios)


BENCHES = {"programs": bench_programs}
