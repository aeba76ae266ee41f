"""The GPU side: its times against the programs' own and CUDA's, and whose work it was."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time

from ground import Skip, both, both_at_once, check, gpu_side, launches_are_named, one, times_itself, trace_of

CLOCK_SECONDS = 5.0  # run.py --clock-seconds


@times_itself
def a_spin_kernel_of_known_length(bench, folder):
    """load_while_busy spins for 150 ms by the GPU's own clock."""
    both(bench, bench.workload("load_while_busy") + ["150"], folder)
    with trace_of(folder) as trace:
        longest = one(trace, "SELECT max(duration_ns) / 1e6 FROM gpu_ops WHERE name = 'spin'")
        loads = trace.execute("SELECT kind, duration_ns / 1e6, jit_ns / 1e6 FROM loads").fetchall()
    check(longest is not None, "no kernel 'spin'")
    check(abs(longest - 150) < 1.5, f"{longest:.2f} ms, it spins for 150 ms")
    return f"{longest:.2f} ms of 150 ms; loads {loads}"


@times_itself
def a_matrix_product_loop(bench, folder):
    done = bench.run(bench.python("torch_matmul.py", "torch"), folder, True)
    check(done.returncode == 0, done.stderr[-300:])
    said_ms = float(re.search(r"events say (\d+\.\d+) ms", done.stdout).group(1))
    with trace_of(folder) as trace:
        # What ran between the two marks: the last 50 kernels.
        summed_ms = one(trace, "SELECT sum(duration_ns) / 1e6 FROM (SELECT duration_ns FROM gpu_ops "
                               "WHERE kind = 'kernel' ORDER BY start_ns DESC LIMIT 50)")
        samples = one(trace, "SELECT count(*) FROM samples WHERE gpu_percent >= 0 AND power_mw > 0")
    check(abs(summed_ms - said_ms) < 0.02 * said_ms,
          f"kernels {summed_ms:.2f} ms, events {said_ms:.2f} ms")
    check(samples > 0, "no samples of what the device did")
    return (f"kernels {summed_ms:.2f} ms, events {said_ms:.2f} ms; {samples} samples; "
            f"{gpu_side(folder)}")


@times_itself
def synchronous_copies(bench, folder):
    both(bench, bench.workload("saxpy_static_real"), folder)
    with trace_of(folder) as trace:
        count, outside = trace.execute(
            "SELECT count(*), sum(o.start_ns < c.start_ns OR o.start_ns + o.duration_ns > "
            "c.start_ns + c.duration_ns) FROM gpu_ops o JOIN calls c ON c.id = o.call "
            "WHERE o.kind = 'copy' AND o.name = 'device to host'").fetchone()
    check(count > 0, "no copy from the device")
    check(not outside, f"{outside} of {count} copies lie outside their call")
    return f"{count} copies inside their calls"


def own_profiler_case(script, packages, arguments=(), outside=50, **environment):
    """The program's own profiler sees the same with us and without, and we see what it launches
    while we may look: at least `outside` kernels."""
    def case(bench, folder):
        done = both_at_once(bench, bench.python(script, *packages) + list(arguments), folder, **environment)
        with trace_of(folder) as trace:
            kernels = one(trace, "SELECT count(*) FROM gpu_ops WHERE kind = 'kernel'")
        check(kernels >= 0.99 * outside, f"{kernels} kernels recorded, {outside} launched outside its sessions")
        return f"{done.stdout.splitlines()[0]}; {kernels} of {outside} kernels outside of it"
    return case


def sampled_beside_a_profiler(script, packages, arguments=()):
    """Samples of GPU times need no CUPTI: the program's own profiler sees what it sees without us."""
    def case(bench, folder):
        done = both_at_once(bench, bench.python(script, *packages) + list(arguments), folder, GPUVERIFY_GPU="sampled")
        bench.recover(folder)  # sums come last
        with trace_of(folder) as trace:
            samples = one(trace, "SELECT count(*) FROM gpu_sample")
            measured = one(trace, "SELECT count(*) FROM scaled WHERE total_ns > 0")
        check(measured > 0, f"{samples} samples")  # JAX's kernels get no events (docs/sampled.md); its copies do
        return f"{done.stdout.splitlines()[0]}; {samples} samples of {measured} kinds of work"
    return case


def another_tool_came_first(bench, folder):
    """A profiler that the driver loads uses CUPTI before us: only the calls are recorded."""
    command, tool = bench.workload("driver_tour"), os.path.join(
        bench.programs, "tests", "bench", "libbare_cupti.so")
    both(bench, command, folder)
    with trace_of(folder) as trace:
        cupti = one(trace, "SELECT cupti_library FROM processes")
    if not cupti or not os.path.exists(tool):
        raise Skip(f"no libcupti, or no {tool}")
    both(bench, command, folder, CUDA_INJECTION64_PATH=tool, BENCH_CUPTI=cupti, BENCH_CUPTI_ASKS="10,callbacks")
    with trace_of(folder) as trace:
        seen = trace.execute("SELECT gpu, why FROM recording WHERE side = 'gpu'").fetchall()
        operations = one(trace, "SELECT count(*) FROM gpu_ops")
    check([gpu for gpu, _ in seen] == ["other"] and operations == 0, f"{seen}, {operations} operations")
    return f"{seen[0]}"


@times_itself
def a_load_behind_a_kernel(bench, folder):
    done = both(bench, bench.workload("load_while_busy"), folder)
    said = [float(number) for number in re.findall(r"held the host for (\d+\.\d+) ms",
                                                   done.stdout)]
    check(len(said) >= 2, f"the program said {done.stdout!r}")
    with trace_of(folder) as trace:
        longest = one(trace, "SELECT max(duration_ns) / 1e6 FROM loads")
    check(abs(longest - max(said)) < max(2, 0.05 * max(said)),
          f"longest load {longest:.1f} ms, the program says {max(said):.1f} ms")
    return f"{longest:.1f} ms, the program says {max(said):.1f} ms"


@times_itself
def clocks(bench, folder):
    """A kernel never begins before its call, a synchronous copy lies inside its call, for long."""
    done = bench.run(bench.workload("clock_drift") + [str(CLOCK_SECONDS)], folder, True,
                     timeout=CLOCK_SECONDS + 60)
    check(done.returncode == 0, done.stderr[-300:])
    with trace_of(folder) as trace:
        copies, outside, kernels, early, span = trace.execute(
            "SELECT sum(o.kind = 'copy'), sum(o.kind = 'copy' AND (o.start_ns < c.start_ns OR "
            "o.start_ns + o.duration_ns > c.start_ns + c.duration_ns)), sum(o.kind = 'kernel'), "
            "sum(o.kind = 'kernel' AND o.start_ns < c.start_ns), max(c.start_ns) / 1e9 "
            "FROM gpu_ops o JOIN calls c ON c.id = o.call").fetchone()
    check(not outside, f"{outside} of {copies} copies lie outside their call")
    check(not early, f"{early} of {kernels} kernels began before their launch")
    return f"{span:.0f} s, {copies} copies, {kernels} kernels; {gpu_side(folder)}"


def several_streams(bench, folder):
    both(bench, bench.workload(os.path.join("stalls", "several_streams")), folder)
    with trace_of(folder) as trace:
        streams = one(trace, "SELECT count(DISTINCT cupti_stream) FROM gpu_ops "
                             "WHERE name LIKE 'spin_%'")
    check(streams == 3, f"{streams} streams, three are used")
    return launches_are_named(folder, 3)


def per_thread_default_streams(bench, folder):
    both(bench, bench.workload("threads_per_thread") + ["4", "500"], folder)
    return launches_are_named(folder, 2000)


def contexts_that_come_and_go(bench, folder):
    both(bench, bench.workload("device_reset"), folder)
    with trace_of(folder) as trace:
        contexts = one(trace, "SELECT count(DISTINCT cupti_context) FROM gpu_ops")
    check(contexts >= 6, f"{contexts} contexts, six are made")
    return launches_are_named(folder, 60)


def two_devices(bench, folder):
    done = bench.run(bench.workload(os.path.join("stalls", "two_devices")), folder, True)
    if done.returncode == 77:
        raise Skip("this needs two devices")
    check(done.returncode == 0, done.stderr[-300:])
    with trace_of(folder) as trace:
        devices = one(trace, "SELECT count(DISTINCT device) FROM gpu_ops")
        known = one(trace, "SELECT count(DISTINCT uuid) FROM devices")
    check(devices == 2 and known >= 2, f"work on {devices} devices, {known} known")
    return launches_are_named(folder, 4)


@contextlib.contextmanager
def multi_process_service(folder):
    """NVIDIA's multi-process service, started for a case and stopped again: what its clients have in their environment."""
    daemon = shutil.which("nvidia-cuda-mps-control")
    if not daemon:
        raise Skip("no nvidia-cuda-mps-control here")
    places = {"CUDA_MPS_PIPE_DIRECTORY": os.path.join(folder, "mps"),
              "CUDA_MPS_LOG_DIRECTORY": os.path.join(folder, "mps-log")}
    for place in places.values():
        os.mkdir(place)
    environment = dict(os.environ, **places)
    started = subprocess.run([daemon, "-d"], env=environment, capture_output=True, text=True,
                             timeout=30, check=False)
    if started.returncode != 0:
        raise Skip(f"the daemon does not start: {(started.stdout + started.stderr).strip()[-200:]}")
    try:
        time.sleep(1)
        yield places
    finally:
        subprocess.run([daemon], input="quit\n", env=environment, capture_output=True, text=True,
                       timeout=30, check=False)


def under_mps(bench, folder):
    with multi_process_service(folder) as places:
        done = bench.run(bench.workload("threads") + ["4", "500"], folder, False, **places)
        if done.returncode != 0:
            raise Skip(f"no CUDA under MPS here: {done.stderr.strip()[-200:]}")
        both(bench, bench.workload("threads") + ["4", "500"], folder, **places)
    return launches_are_named(folder, 2000)


@times_itself
def beside_a_client_of_mps(bench, folder):
    """The other client is named, by its own process number."""
    command = bench.python("gpu_full_of.py")
    with multi_process_service(folder) as places:
        done = bench.run([*command, "idle", "0.1"], folder, False, **places)
        if done.returncode != 0:
            raise Skip(f"no CUDA under MPS here: {done.stderr.strip()[-200:]}")
        with subprocess.Popen([*command, "dram", "60"], env={**os.environ, **places}) as other:
            try:
                time.sleep(3)
                done = bench.run([*command, "dram", "4"], folder, True, **places)
            finally:
                other.kill()
    check(done.returncode == 0, done.stderr[-300:])
    bench.recover(folder)
    with trace_of(folder) as trace:
        seen = trace.execute("SELECT pid, name FROM other_processes WHERE name NOT LIKE 'nvidia-cuda-mps%'").fetchall()
        said = trace.execute("SELECT words FROM gpu_use WHERE phase = 'run'").fetchall()
    check([pid for pid, name in seen] == [other.pid], f"others are {seen}, it was {other.pid}; {said}")
    return f"{seen}, {said}"


CONTROLLED = """
import ctypes, time
cuda, gpuverify = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL(None)
context, memory = ctypes.c_void_p(), ctypes.c_uint64()
def ok(result):
    assert result == 0, result
def say(what):
    getattr(gpuverify, what, lambda: None)()
def work(times):
    for _ in range(times):
        ok(cuda.cuMemsetD8Async(memory, 1, ctypes.c_size_t(1 << 20), None))
    ok(cuda.cuCtxSynchronize())
ok(cuda.cuInit(0))
ok(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
ok(cuda.cuCtxSetCurrent(context))
ok(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(1 << 20)))
work(100)
for turn in range(5):
    say("gv_stop")
    time.sleep(0.3)
    work(1000)
    begun = time.monotonic()
    say("gv_start")
    print("start", 1e3 * (time.monotonic() - begun))
    work(50)
"""


def stopped_and_started(bench, folder):
    """Only what is launched in the recorded parts is in the trace, with its operation, and nothing is missing."""
    done = bench.run([sys.executable, "-c", CONTROLLED], folder, True)
    check(done.returncode == 0, done.stderr[-300:])
    with trace_of(folder) as trace:
        calls = one(trace, "SELECT count(*) FROM calls WHERE class = 'set'")
        seen = one(trace, "SELECT count(call) FROM gpu_ops WHERE kind = 'set'")
        alone = one(trace, "SELECT count(*) FROM gpu_ops WHERE kind = 'set' AND call IS NULL")
        lost = trace.execute("SELECT what, class, count FROM losses").fetchall()
        states = [row[0] for row in trace.execute("SELECT gpu FROM recording WHERE side = 'gpu' ORDER BY start_ns")]
    check(calls == 350, f"{calls} memory sets are recorded, not 350")
    check((seen, alone) == (350, 0), f"{seen} operations with their call and {alone} without, not 350 and 0")
    check(not lost, f"losses: {lost}")
    check(states == ["seen"] + 5 * ["stopped", "seen"], f"states of the GPU's side: {states}")
    return "gv_start() took " + ", ".join(f"{float(line.split()[1]):.1f}" for line in done.stdout.splitlines()) + " ms"


@times_itself
def samples_of_known_kernels(bench, folder):
    """Sums of kernels of known lengths, of graphs and copies, from samples and from CUPTI, beside eight launching threads."""
    program = os.path.join(bench.programs, "tests", "bench", "bench_eight_threads")
    if not os.path.exists(program):
        raise Skip(f"no {program}")
    sums, costs = {}, {}
    for mode in ("plain", "on", "sampled"):
        inside = os.path.join(folder, mode)
        os.mkdir(inside)
        done = bench.run([program, "3000"], inside, mode != "plain", GPUVERIFY_GPU=mode)
        check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-300:]}")
        costs[mode] = re.search(r"^graph_p10_ns (\d+)$", done.stdout, re.M).group(1)
        if mode == "plain":
            continue
        bench.recover(inside)
        with trace_of(inside) as trace:
            query = ("SELECT name, total_ns / count, error_ns / count FROM scaled WHERE total_ns NOT NULL" if mode == "sampled" else
                     "SELECT name, total_ns / count, 0 FROM kernel_summary UNION ALL SELECT 'graph', avg(duration_ns), 0 FROM gpu_ops"
                     " WHERE kind = 'graph' HAVING count(*) > 0")
            sums[mode] = {row[0]: row[1:] for row in trace.execute(query)}
    for name in set(sums["on"]) & set(sums["sampled"]):
        truth, (mean, error) = sums["on"][name][0], sums["sampled"][name]
        check(abs(mean - truth) < 3 * error + max(0.15 * truth, 500), f"{name}: {mean} +- {error} ns, by CUPTI {truth} ns")
    check(set(sums["on"]) & set(sums["sampled"]), f"nothing in common: {sums}")
    return "; ".join(f"{name} {sums['sampled'][name][0]:.0f} ns, by CUPTI {sums['on'][name][0]:.0f}"
                     for name in set(sums["on"]) & set(sums["sampled"])) + f"; a graph launch: {costs}"


FULL_OF = {"dram": r"memory-bound: DRAM [6-9]\d %, tensor cores 0 %", "tensor": r"tensor cores [5-9]\d %",
           "torch": r"tensor cores [5-9]\d %",
           "few": r"half empty: SMs active (3[5-9]|4[0-5]) %, occupancy \d+ %", "pcie": r"PCIe [7-9]\d % of its speed",
           "mix": r"a mix: SMs active [6-9]\d %, DRAM [2-5]\d %, (tensor cores 0|FP32 units [3-5]\d) %", "idle": None}


def full_of_case(what):
    """What NVML's performance monitoring says of a program that does one thing for 3 s, on Hopper and later."""
    def case(bench, folder):
        done = bench.run(bench.python("gpu_full_of.py", *["torch"] * (what == "torch")) + [what, "3"], folder, True)
        check(done.returncode == 0, done.stderr[-300:])
        bench.recover(folder)
        with trace_of(folder) as trace:
            samples = one(trace, "SELECT count(gpm_ns) FROM samples")
            said = trace.execute("SELECT words, samples FROM gpu_use WHERE phase = 'run' AND words IS NOT NULL").fetchall()
            means = trace.execute("SELECT avg(sm_percent), avg(dram_percent), avg(tensor_percent), avg(pcie_percent)"
                                  " FROM samples").fetchone()
        if not samples:
            raise Skip("this device has no GPM")
        said = said or [(None, 0)]
        wanted = FULL_OF[what]
        ending = r"(; other processes were on the GPU, too)?(; slowed down by [a-z ]+)?"
        check(re.fullmatch(wanted + ending, said[0][0] or "") if wanted else not said[0][0], f"{said}, {means}")
        return f"{said[0][0]}, by {said[0][1]} of {samples} samples"
    return times_itself(case)


CASES = [
    ("a spin kernel of known length", a_spin_kernel_of_known_length),
    ("the kernels of a matrix product loop and CUDA events", a_matrix_product_loop),
    ("synchronous copies lie inside their calls", synchronous_copies),
    ("clocks stay together", clocks),
    ("several streams", several_streams),
    ("per-thread default streams", per_thread_default_streams),
    ("contexts that come and go", contexts_that_come_and_go),
    ("two devices", two_devices),
    ("multi-process service", under_mps),
    ("another client of the multi-process service", beside_a_client_of_mps),
    ("torch.profiler, three sessions", own_profiler_case("torch_profiler.py", ["torch"], ["3"], 650)),
    ("torch.profiler that finalises CUPTI",
     own_profiler_case("torch_profiler.py", ["torch"], ["3"], TEARDOWN_CUPTI="1")),
    ("torch.profiler while eight threads launch",
     own_profiler_case("torch_profiler.py", ["torch"], ["6", "8"], 1250)),
    ("a tool that came before us", another_tool_came_first),
    ("Proton, three sessions", own_profiler_case("proton_profiler.py", ["torch", "triton"])),
    ("CuPy's profiler", own_profiler_case("cupy_profiler.py", ["cupy"])),
    ("JAX's profiler, three sessions", own_profiler_case("jax_profiler.py", ["jax"])),
    ("sampled, torch.profiler, three sessions", sampled_beside_a_profiler("torch_profiler.py", ["torch"], ["3"])),
    ("sampled, JAX's profiler, three sessions", sampled_beside_a_profiler("jax_profiler.py", ["jax"])),
    ("a module load behind a running kernel", a_load_behind_a_kernel),
    ("recording stopped and started", stopped_and_started),
    ("samples beside eight launching threads", samples_of_known_kernels),
    *((f"what limits the GPU: {what}", full_of_case(what)) for what in FULL_OF),
]
