"""Which lines asked for the GPU's time. The truth is a run of the same program with a stack of every call: slower, but its
shares are the same, apart from what the GPU's own times differ by from run to run."""

import collections
import os
import re
import select
import statistics
import subprocess
import sys

from ground import ROOT, SKIPPED, Failure, Skip, check, times_itself, trace_of

sys.path.insert(0, os.path.join(ROOT, "tests"))
import lines_expectations as expected  # noqa: E402

# Script, its packages.
PACKAGES = [("torch_lines_mlp.py", "torch"), ("torch_lines_transformer.py", "torch"), ("torch_lines_conv.py", "torch"),
            ("numba_lines.py", "numba"), ("cupy_lines.py", "cupy")]
OWN = ("c layers", "c ten", "c epoch", "c copies", "c graphs", "c threads", "c fast", "python layers", "python ten", "python thread")
# Seconds of steps, after the start of the program.
ALL_S, CHOSEN_S = 1, 4
# A step of PyTorch launches 300 kernels, and after its start about 50 calls a second are chosen. In 4 s that was two of three
# launches of a step: lines of 6 % were up to 20 % off.
PACKAGE_CHOSEN_S = 12
# What a line's part of the time differs by from run to run, as a part of itself.
NOISE = 0.05
TURNS, TURN_S, START_S = 20, 0.1, 100
# What no two lines of a script ask for, how often, and for how long.
OPERATIONS = """
WITH line_of AS (SELECT stack, line, min(depth) FROM frames WHERE file LIKE '%/' || ?1 GROUP BY stack)
SELECT kind, o.name, o.bytes, min(line), count(*), sum(o.duration_ns)
FROM gpu_ops o JOIN calls c ON c.id = o.call LEFT JOIN line_of l ON l.stack = c.stack
GROUP BY 1, 2, 3 HAVING count(DISTINCT coalesce(line, 0)) = 1 AND min(line) > 0"""
LASTED = "SELECT count(*), coalesce(sum(duration_ns), 0) FROM gpu_ops WHERE (kind, name, bytes) IS (?1, ?2, ?3)"


def record(bench, folder, command, **environment):
    """The folder of a traced run, and what the program printed."""
    os.makedirs(folder)
    done = bench.run(command, folder, True, **environment)
    if done.returncode == SKIPPED:
        raise Skip(done.stdout.strip()[-100:])
    check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-300:]}")
    bench.recover(folder)
    return folder, done.stdout


def left_out(trace):
    """With every stack, the estimate is the truth only if no stack was left out. What to say if some were."""
    calls, without, stacks = trace.execute(
        "SELECT count(*), count(*) - count(stack), count(DISTINCT stack) FROM calls WHERE id IN (SELECT call FROM gpu_ops)"
    ).fetchone()
    losses = "; ".join(f"{what} {of}: {count}" for what, of, count in trace.execute(
        "SELECT what, class, count FROM losses UNION ALL SELECT what, reason, count FROM not_taken"))
    return (f"{without} of {calls} calls have no stack, the others {stacks}; missing: {losses or 'nothing'}"
            if without > calls / 100 else None)


def record_whole(bench, folder, command):
    """A collector that is held up for 10 ms leaves stacks out, and on a shared machine it is: then once more."""
    for name in ("all", "again"):
        found, said = record(bench, os.path.join(folder, name), command, GPUVERIFY_STACKS="all")
        with trace_of(found) as trace:
            missing = left_out(trace)
        if not missing:
            return found, said
    raise Failure(missing)


def lasting_as_in(trace, every, script, operations):
    """The shares of a run with every stack, if what only one line asks for took what it takes in this trace: copies from the
    host last 36 us in one run and 42 us in another, and what comes before the steps is more of a short run. The rest grows with
    the steps."""
    lasted, now_ns, grown = {line: one.ns for line, one in every.items()}, collections.Counter(), [1]
    for *operation, line, count, ns in operations:
        key = expected.Line(script, line, 0)
        if key in lasted:
            now, its_ns = trace.execute(LASTED, operation).fetchone()
            lasted[key] -= ns
            now_ns[key] += its_ns
            grown += [now / count] * count
    ratio = statistics.median(grown)
    lasted = {line: ratio * ns + now_ns[line] for line, ns in lasted.items()}
    return {line: ns / sum(lasted.values()) for line, ns in lasted.items()}


def compare(bench, folder, command_of, chosen_s=CHOSEN_S, check_all=None):
    """Runs it with every stack and with chosen ones. What to say: how many lines keep the promise, and the table."""
    try:
        found, said = record_whole(bench, folder, command_of(ALL_S))
        with trace_of(found) as trace:
            expected.check_sums(trace)
            if check_all:
                check_all(trace, expected.said(said))
            every, script = expected.estimates(trace), os.path.basename(command_of(ALL_S)[1])
            operations = trace.execute(OPERATIONS, (script,)).fetchall()
        found, said = record(bench, os.path.join(folder, "chosen"), command_of(chosen_s))
        asked = expected.said(said)
        if asked:  # it counted its calls; threads get different shares from run to run
            truth = expected.shares({line: expected.Asked(one.calls, one.calls * every[line].ns / every[line].launches)
                                     for line, one in asked.items()})
        with trace_of(found) as trace:
            if not asked:
                truth = lasting_as_in(trace, every, script, operations)
            expected.check_sums(trace)
            estimates = expected.estimates(trace)
        expected.check_errors(truth, estimates, NOISE)
    except expected.Mismatch as mismatch:
        raise Failure(str(mismatch)) from None
    off = expected.missed(truth, estimates).values()
    held = sum(each <= expected.PROMISE for each in off)
    return f"{held} of {len(off)} lines of more than 2 % are within 10 % of their share\n{expected.table(truth, estimates)}"


def own_case(words):
    """The durations of kernels that spin are those they ask for, and some us that differ from GPU to GPU."""
    def launches(trace, truth):
        found = expected.estimates(trace)
        for line, asked in truth.items():
            expected.demand(line in found and found[line].launches == asked.calls and found[line].ns >= asked.ns,
                            f"{line.file}:{line.line} had {asked.calls} calls", expected.shares(truth), found)

    @times_itself
    def case(bench, folder):
        bench.workload("lines/lines")
        kernels = os.path.join(bench.programs, "kernels")
        return compare(bench, folder, lambda seconds: expected.command(words, kernels, seconds), check_all=launches)
    return case


def package_case(script, package):
    @times_itself
    def case(bench, folder):
        return compare(bench, folder, lambda seconds: [*bench.python(script, package), str(seconds)], PACKAGE_CHOSEN_S)
    return case


class Turns:
    """A program that waits until it is told to make some steps (kernels/python/lines.py)."""

    def __init__(self, bench, command, folder, **environment):
        os.makedirs(folder)
        variables = dict(os.environ, LD_PRELOAD=bench.library, GPUVERIFY_TRACE=os.path.join(folder, "trace.db"), **environment)
        self.process = subprocess.Popen([*command, "turns"], cwd=folder, env=variables, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.folder = folder

    def answer(self):
        check(select.select([self.process.stdout], [], [], START_S)[0], f"it said nothing for {START_S} s")
        line = self.process.stdout.readline().strip()
        if line.startswith("skipped: "):
            raise Skip(line)
        check(line, "it ended")
        return line

    def ns_of(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return int(self.answer())

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


# Which lines what ran asked for. ?1: the script. {0}: the stack of an operation, {1}: those that count
NAMES = """
WITH line_of AS (SELECT stack, line, min(depth) FROM frames WHERE file LIKE '%/' || ?1 GROUP BY stack)
SELECT o.name, coalesce(l.line, 0), sum(o.duration_ns) FROM gpu_ops o LEFT JOIN calls c ON c.id = o.call
    LEFT JOIN line_of l ON l.stack = {0} WHERE {1} GROUP BY 1, 2"""
# The part of a graph's time that must have the right line.
INSIDE = 0.95


def inside(bench, folder, command):
    """What a program says whose graphs are recorded node by node."""
    return record(bench, os.path.join(folder, "nodes"), command, GPUVERIFY_GRAPHS="nodes")


def check_graphs(trace):
    """The table of graphs has what ran in them. What to say."""
    nodes, nodes_ns = trace.execute("SELECT count(*), total(duration_ns) FROM gpu_ops WHERE graph_node IS NOT NULL").fetchone()
    if not nodes:
        raise Skip("nothing ran in a graph")
    rows, counted_ns, whole_ns = trace.execute("SELECT count(*), total(total_ns), (SELECT total(total_ns) FROM graph_total)"
                                               " FROM graph_line").fetchone()
    check(abs(counted_ns - nodes_ns) < 0.001 * nodes_ns, f"graph_line has {counted_ns / 1e6:.1f} of {nodes_ns / 1e6:.1f} ms")
    return f"{nodes} nodes ran for {nodes_ns / 1e6:.1f} ms, their graphs for {whole_ns / 1e6:.1f} ms; {rows} lines and kernels"


def spinning_graph_case(name):
    """Kernels that spin: each line has all that it added to the graph, and what it takes."""
    @times_itself
    def case(bench, folder):
        found, said = inside(bench, folder, bench.workload(name))
        truth = expected.said(said)
        with trace_of(found) as trace:
            lines, told = expected.estimates(trace), check_graphs(trace)
        for line, asked in truth.items():
            one = lines.get(line)
            check(one and one.launches == asked.calls and asked.ns <= one.ns < 1.1 * asked.ns, f"{line} {asked}: {one}")
        return f"{len(truth)} lines; {told}"
    return case


@times_itself
def torch_graph_case(bench, folder):
    """A kernel of the graph has a line that launches this kernel when the program runs without a graph."""
    script = "torch_graph_lines.py"
    eager, _ = record(bench, os.path.join(folder, "eager"), [*bench.python(script, "torch"), "eager"], GPUVERIFY_STACKS="all")
    with trace_of(eager) as trace:
        known = {(name, line) for name, line, _ in trace.execute(NAMES.format("c.stack", "line > 0"), (script,))}
    found, _ = inside(bench, folder, [*bench.python(script, "torch"), "graph"])
    with trace_of(found) as trace:
        told = check_graphs(trace)
        ran = trace.execute(NAMES.format("o.node_stack", "graph_node IS NOT NULL"), (script,)).fetchall()
    right = sum(ns for name, line, ns in ran if (name, line) in known) / sum(ns for _, _, ns in ran)
    check(right >= INSIDE, f"{100 * right:.1f} % of the graph's time has the right line: {[row for row in ran if row[:2] not in known]}")
    return f"{100 * right:.1f} % has the right one of {len({line for _, line, _ in ran})} lines; {told}"


def asking_graph_case(script, package, *words):
    """A program that says which of its lines ask for which share of what runs in graphs."""
    @times_itself
    def case(bench, folder):
        found, said = inside(bench, folder, [*bench.python(script, package), *words])
        truth = {int(line): float(share) for line, share in re.findall(r"^asks line (\d+) share (\S+)$", said, re.M)}
        with trace_of(found) as trace:
            told, ns = check_graphs(trace), collections.Counter()
            for _, line, took_ns in trace.execute(NAMES.format("o.node_stack", "graph_node IS NOT NULL"), (script,)):
                ns[line] += took_ns
        shares = {line: took_ns / sum(ns.values()) for line, took_ns in ns.items()}
        check(len(truth) == 2 and sum(shares.get(line, 0) for line in truth) >= INSIDE, f"{truth}: {shares}; {told}")
        for line, share in truth.items():
            check(abs(shares[line] - share) < 0.1, f"line {line} has {shares[line]:.2f}, not {share}; {told}")
        return f"{shares}; {told}"
    return case


def cost_case(script, package):
    """A step with chosen stacks against one without stacks, in turns."""
    @times_itself
    def case(bench, folder):
        command = bench.python(script, package)
        chosen = Turns(bench, command, os.path.join(folder, "chosen"))
        off = Turns(bench, command, os.path.join(folder, "off"), GPUVERIFY_STACKS="off")
        try:
            chosen.answer()
            off.answer()
            steps = max(3, int(20 * TURN_S * 1e9 / off.ns_of(20)))
            ratios, off_ns = [], []
            for turn in range(TURNS):
                first, second = (chosen, off) if turn % 2 else (off, chosen)
                times = {first: first.ns_of(steps), second: second.ns_of(steps)}
                ratios.append(times[chosen] / times[off])
                off_ns.append(times[off] / steps)
        finally:
            chosen.end()
            off.end()
        bench.recover(chosen.folder)
        with trace_of(chosen.folder) as trace:
            samples = trace.execute("SELECT sum(samples) FROM gpu_lines").fetchone()[0]
        ordered = sorted(ratios)
        check(samples > 0, "no stack was taken")
        return (f"a step of {statistics.median(off_ns) / 1e3:.0f} us takes {100 * (statistics.median(ratios) - 1):+.2f} %"
                f" (quarters {100 * (ordered[TURNS // 4] - 1):+.2f} to {100 * (ordered[-TURNS // 4] - 1):+.2f} %), {samples} stacks")
    return case


CASES = [(f"lines: {name}", own_case(expected.WORKLOADS[name])) for name in OWN]
CASES += [(f"lines: {script}", package_case(script, package)) for script, package in PACKAGES]
CASES += [(f"lines: cost of {script}", cost_case(script, package)) for script, package in PACKAGES]
CASES += [("lines in graphs: C", spinning_graph_case("lines/graph_nodes")),
          ("lines in graphs: CUDA C++", spinning_graph_case("graph_lines_static_real")),
          ("lines in graphs: torch.cuda.graph", torch_graph_case),
          ("lines in graphs: torch.compile", asking_graph_case("torch_graph_lines.py", "torch", "compiled")),
          ("lines in graphs: JAX", asking_graph_case("jax_graph_lines.py", "jax"))]
