"""Ranges and marks of real libraries: how many there are is exact, and the GPU's time in them adds up."""

from ground import both_at_once, check, one, times_itself, trace_of

STEPS = 20
PARTS = ("load", "forward", "backward", "update")
SUMMARY = "SELECT {} FROM range_summary WHERE message = ? AND kind = 'push'"


def recorded(bench, folder, script, *packages, words=(), **environment):
    done = both_at_once(bench, bench.python(script, *packages) + list(words), folder, **environment)
    check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-300:]}")
    bench.recover(folder)
    return trace_of(folder)


def check_counts(trace, counts):
    for message, count in counts.items():
        found = trace.execute("SELECT count(*), count(duration_ns) FROM ranges WHERE message = ?", (message,)).fetchone()
        check(found == (count, count), f"{found[0]} '{message}', {found[1]} of them with an end: expected {count}")


def alike(one_ns, other_ns, part, what):
    check(abs(one_ns - other_ns) <= part * other_ns, f"{what}: {one_ns / 1e6:.2f} ms and {other_ns / 1e6:.2f} ms")


@times_itself
def torch_training(bench, folder):
    """The backward pass runs in a thread that says nothing: it counts for the ranges of the main thread."""
    with recorded(bench, folder, "torch_ranges.py", "torch", words=[str(STEPS)]) as trace:
        check_counts(trace, {"step": STEPS, "train": 1, "end": 1, **dict.fromkeys(PARTS, STEPS)})
        check(one(trace, "SELECT count(DISTINCT process) FROM ranges") == 1, "the workers of the DataLoader have ranges")
        gpu_ns = {name: one(trace, SUMMARY.format("gpu_ns"), name) for name in ("step", *PARTS)}
        alike(sum(gpu_ns[name] for name in PARTS), gpu_ns["step"], 0.01, "the parts of a step, and the step")
        whole_ns = one(trace, "SELECT sum(g.duration_ns) FROM gpu_ops g JOIN calls c ON c.id = g.call "
                              "WHERE c.start_ns > (SELECT start_ns FROM ranges WHERE message = 'train')")
        alike(gpu_ns["step"], whole_ns, 0.03, "steps, and all from the mark on")
        launches = {name: one(trace, SUMMARY.format("launches"), name) for name in PARTS}
        for name, count in launches.items():
            check(count >= STEPS and count % STEPS == 0, f"{count} launches in {STEPS} '{name}'")
        late = one(trace, "SELECT count(*) FROM loads WHERE start_ns > "
                          "(SELECT start_ns FROM ranges WHERE message = 'step' ORDER BY start_ns LIMIT 1 OFFSET 2)")
        check(late == 0, f"{late} loads after the second step")
        check(one(trace, SUMMARY.format("loads"), "step") > 0, "no load in the first step")
    return ", ".join(f"{name} {gpu_ns[name] / 1e6:.2f} ms" for name in ("step", *PARTS))


@times_itself
def torch_forward_lines(bench, folder):
    """Two lines with the same work, most of it in the backward pass."""
    with recorded(bench, folder, "torch_forward_lines.py", "torch", GPUVERIFY_STACKS="all") as trace:
        found = dict(trace.execute("SELECT line, gpu_ns FROM gpu_lines WHERE function = 'network'").fetchall())
        check(len(found) == 2, f"lines {found}")
        first, second = (found[line] for line in sorted(found))
        alike(first, second, 0.1, "two lines with the same work")
        launches = [count for count, in trace.execute("SELECT launches FROM gpu_lines WHERE function = 'network'")]
        check(launches == [600, 600], f"{launches} launches: one forward and two backward, 200 times")
    return f"{first / 1e6:.2f} ms and {second / 1e6:.2f} ms"


def launches_in(script, packages, message, count, **counts):
    """So many ranges, with one kernel each."""
    def case(bench, folder):
        with recorded(bench, folder, script, *packages) as trace:
            check_counts(trace, {message: count, **counts})
            launches, gpu_ns = trace.execute(SUMMARY.format("launches, gpu_ns"), (message,)).fetchone()
            check(launches == count, f"{launches} launches in {count} '{message}'")
            check(gpu_ns > 0, "no time on the GPU")
        return f"{count} ranges, {gpu_ns / 1e6:.2f} ms on the GPU"
    return case


def jax_says_its_modules(bench, folder):
    """XLA's domain is TSL. JAX's own annotations go to its own profiler only."""
    with recorded(bench, folder, "jax_ranges.py", "jax", GPUVERIFY_RANGES="all") as trace:
        modules = one(trace, "SELECT count(*) FROM ranges WHERE domain = 'TSL' AND message LIKE '%doubled%'")
        check(modules >= 10, f"{modules} ranges of XLA's: expected one or more for each of 10 runs")
        own = one(trace, "SELECT count(*) FROM ranges WHERE message LIKE '%annotated%'")
    return f"{modules} ranges of XLA's for 10 runs, {own} of JAX's own annotations"


CASES = [
    ("ranges: PyTorch, a training loop", torch_training),
    ("ranges: PyTorch, lines of the forward pass", torch_forward_lines),
    ("ranges: CuPy", launches_in("cupy_ranges.py", ["cupy"], "double", 10, doubled=1)),
    ("ranges: Triton and nvtx", launches_in("triton_ranges.py", ["torch", "triton", "nvtx"], "double", 10)),
    ("ranges: JAX", jax_says_its_modules),
]
