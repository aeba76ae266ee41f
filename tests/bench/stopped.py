"""What a process costs that is preloaded and stopped, against plain ones. Two processes that do the same differ by up to
5 %, so there are many pairs; they live at the same time, and make their steps in turn. "plain again" shows what such
pairs of plain processes differ by."""

import contextlib
import os
import random
import statistics

from gpu import TRACED, has_gpu
from ground import CHECKOUT, finish, judged, place
from programs import AGAIN, Missing, Program
from slices import PROGRAMS, ratio_of

PAIRS = 20
ALIVE = 4  # pairs at a time
ROUNDS = 3
ROUND_S = 0.3
GOAL = 1.02
KINDS = ("plain", *TRACED, AGAIN)


def measure(bench, path, pairs, found):
    """So many processes of each kind. Adds to found[kind] the ns of each one's steps."""
    with contextlib.ExitStack() as stack:
        folders, started = [], []
        try:
            for kind in random.sample(KINDS * pairs, len(KINDS) * pairs):
                folders.append(stack.enter_context(place()))
                started.append((kind, Program(bench, path, kind, folders[-1])))
            for _, program in started:
                program.answer()  # it is ready
            for kind, program in started:
                if kind in TRACED:
                    program.ask("stop")
            plain = next(program for kind, program in started if kind == "plain")
            count = max(10, int(ROUND_S * 1e9 * min(1, bench.scale * 4) / plain.steps(100)[2]))
            for _, program in started:
                program.steps(count)
            times = {program: [] for _, program in started}
            for _ in range(ROUNDS):
                for _, program in random.sample(started, len(started)):
                    times[program].append(program.steps(count)[0] / count)
            for kind, program in started:
                found.setdefault(kind, []).append(statistics.mean(times[program]))
                program.end()
            for folder, (kind, _) in zip(folders, started):
                if kind in TRACED:
                    finish(bench, folder)  # its collector would disturb what comes next
        finally:
            for _, program in started:
                program.kill()


def bench_stopped(bench):
    """Programs that are preloaded and stopped, against plain ones, in pairs of processes."""
    if not has_gpu():
        print("  skipped: there is no GPU here")
        return
    rows = []
    for name, file in PROGRAMS.items():
        if "requests" in file:  # they mostly wait
            continue
        found, left = {}, bench.scaled(PAIRS, 2)
        try:
            while left > 0:
                measure(bench, os.path.join(CHECKOUT, "tests", "bench", file), min(left, ALIVE), found)
                left -= ALIVE
        except Missing as missing:
            bench.note(f"{name}: skipped: {missing}")
            continue
        for kind in KINDS[1:]:
            ratio, error = ratio_of(list(zip(found[kind], found["plain"])))
            bench.found[f"{file[8:-3]}_stopped_{kind}".replace("-", "_").replace(" ", "_")] = {"median": ratio, "error": error}
            rows.append((name, kind, statistics.median(found[kind]) / 1e3, f"{ratio:.4f} +- {error:.4f}",
                         *judged(ratio, GOAL if kind in TRACED else None)[1:]))
    if rows:
        bench.table(("stopped / plain", "mode", "a step, us", "mean ratio of pairs", "goal", "reached"), rows)


BENCHES = {"stopped": bench_stopped}
