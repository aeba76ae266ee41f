"""Measures what calls cost on a real GPU: plain, host-only, in the default mode, under lean CUPTI (a client
that records only kernels, copies, sets and graphs: bare_cupti.c) and other profilers."""

import contextlib
import ctypes
import os
import re
import shutil
import subprocess
import sys
import time

from ground import finish, judged, launch_rows, paired, place, query, spool_of


def find_cupti():
    """The libcupti for lean CUPTI: the one that the module finds."""
    if os.environ.get("GPUVERIFY_CUPTI"):
        return os.environ["GPUVERIFY_CUPTI"]
    places = [os.path.join(os.environ.get(name, "/usr/local/cuda"), folder)
              for name in ("CUDA_HOME", "CUDA_PATH")
              for folder in ("lib64", "extras/CUPTI/lib64")]
    places += [os.path.join(path, "nvidia", folder, "lib") for path in sys.path
               for folder in ("cu13", "cuda_cupti")]
    for place_ in places:
        for name in ("libcupti.so.13", "libcupti.so.12"):
            if os.path.exists(os.path.join(place_, name)):
                return os.path.join(place_, name)
    return None


TRACED = {"host-only": "off", "default": "on", "sampled": "sampled"}


def gpu_environment(bench, folder, mode, cupti):
    """A mode is "plain", one of TRACED, "rpd_tracer", "lean CUPTI", or what else bare_cupti.c asks for."""
    settings = {name: value for name, value in os.environ.items()
                if not name.startswith(("GPUVERIFY_", "BENCH_", "LD_PRELOAD"))}
    if mode in TRACED:
        settings["LD_PRELOAD"] = bench.path("preload/libgpuverify.so")
        settings["GPUVERIFY_TRACE"] = os.path.join(folder, "trace.db")
        settings["GPUVERIFY_SPOOL_DIR"] = spool_of(folder)
        settings["GPUVERIFY_GPU"] = TRACED[mode]
        if cupti:
            settings["GPUVERIFY_CUPTI"] = cupti
    elif mode == "rpd_tracer":
        settings["LD_PRELOAD"] = os.environ["RPD_TRACER"]
        settings["RPDT_FILENAME"] = os.path.join(folder, "trace.rpd")
    elif mode not in ("plain", "nsys"):
        settings["CUDA_INJECTION64_PATH"] = bench.path("tests/bench/libbare_cupti.so")
        settings["BENCH_CUPTI"] = cupti
        settings["BENCH_CUPTI_ASKS"] = LEAN if mode == "lean CUPTI" else mode
    return settings


def gpu_command(bench, folder, mode):
    command = [bench.path("tests/bench/bench_gpu_calls")]
    if mode == "nsys":
        return ["nsys", "profile", "-t", "cuda", "-s", "none", "--force-overwrite=true", "-o",
                os.path.join(folder, "trace")] + command
    return command


def gpu_calls(bench, folder, mode, cupti, *words):
    """Runs bench_gpu_calls. Returns name -> (median, p10); `waited_ns` is how long its end took, `peak_mb` its most
    memory."""
    done = subprocess.Popen(gpu_command(bench, folder, mode) + list(words), cwd=folder,
                            env=gpu_environment(bench, folder, mode, cupti),
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    with done.stdout:
        said = done.stdout.read()
    _, status, used = os.wait4(done.pid, 0)
    ended_ns = time.monotonic_ns()
    done.returncode = os.waitstatus_to_exitcode(status)
    # nsys fails if it cannot make a report of what it recorded, which is not what is measured here.
    if done.returncode != 0 and not (mode == "nsys" and "end_ns" in said):
        sys.exit(f"bench_gpu_calls ended with {done.returncode} ({mode})")
    values = {name: (float(median), float(least)) for name, median, least in
              re.findall(r"^(\w+) ([\d.]+) ([\d.]+)$", said, re.M)}
    values["waited_ns"] = ended_ns - values["end_ns"][0]
    values["peak_mb"] = used.ru_maxrss / 1024
    return values


# Kinds of CUPTI's records: kernels, copies, sets, graphs as a whole.
LEAN = "10,1,2,51"
GPU_MODES = ("plain", "host-only", "lean CUPTI", "default")
LOOPS = {"launch": "launch", "copy": "copy", "graph_1": "graph of 1 kernel", "graph_20": "graph of 20",
         "graph_100": "graph of 100", "graph_1000": "graph of 1000", "sync": "stream sync", "memcpy": "cudaMemcpy"}
# default / lean CUPTI. The others do nothing on the GPU, or wait for it.
LEAN_GOAL = {loop: 1.05 for loop in LOOPS if loop not in ("sync", "memcpy")}
NSYS_GOAL = 0.5


def in_rounds(rounds, modes, run):
    """Runs each mode once a round, there and back in turn. {mode: results}."""
    found = {mode: [] for mode in modes}
    for number in range(rounds):
        for mode in modes if number % 2 == 0 else reversed(modes):
            found[mode].append(run(mode))
    return found


def p10s_of(bench, cupti, modes, rounds, *words):
    """{mode: {loop: the p10 of each round}}."""
    def run(mode):
        with place() as folder:
            return gpu_calls(bench, folder, mode, cupti, *words)
    return {mode: {loop: [values[loop][1] for values in found] for loop in LOOPS if loop in found[0]}
            for mode, found in in_rounds(rounds, modes, run).items()}


def bench_gpu_loops(bench, cupti, modes):
    p10s = p10s_of(bench, cupti, modes, bench.scaled(7, 2), str(bench.scaled(200, 10)))
    middle = {mode: {loop: bench.keep(f"gpu_{mode}_{loop}".replace(" ", "_"), values)
                     for loop, values in loops.items()} for mode, loops in p10s.items()}
    bench.table(("ns per call", *modes), [(name, *(middle[mode][loop] for mode in modes))
                                          for loop, name in LOOPS.items()])
    rows = []
    for loop, name in LOOPS.items():
        at = {mode: loops[loop] for mode, loops in p10s.items()}
        ratios = {"host-only / plain": (paired(at["host-only"], at["plain"]), None),
                  "default / lean CUPTI": (paired(at["default"], at["lean CUPTI"]), LEAN_GOAL.get(loop))}
        if "nsys" in at:
            ratios["added by default / added by nsys"] = (
                paired(*([value - plain for value, plain in zip(at[mode], at["plain"])]
                         for mode in ("default", "nsys"))), NSYS_GOAL)
        for what, (ratio, goal) in ratios.items():
            bench.found[f"gpu_ratio_{loop}_{what}".replace(" ", "_")] = ratio
            rows.append((f"{name}: {what}", *judged(ratio, goal)))
    bench.table(("ratio, median of rounds", "measured", "goal", "reached"), rows)
    charted = [loop for loop in LOOPS if loop not in ("graph_100", "graph_1000")]
    bench.chart(name="gpu-calls", kind="bars", title="Calls on a GPU (p10 of bursts)", x="",
                y="ns per call", x_values=[LOOPS[loop] for loop in charted],
                series={mode: [middle[mode][loop] for loop in charted] for mode in modes})


def bench_gpu_million(bench, cupti):
    count = bench.scaled(1000000, 20000)
    with place() as folder:
        plain = gpu_calls(bench, folder, "plain", cupti, "-n", str(count))
    with place() as folder:
        values = gpu_calls(bench, folder, "default", cupti, "-n", str(count))
        trace = finish(bench, folder)
        rows = launch_rows(trace)
        kernels = query(trace, "SELECT count(*) FROM gpu_ops WHERE kind = 'kernel'")
        matched = query(trace, "SELECT count(call) FROM gpu_ops WHERE kind = 'kernel'")
        lost = query(trace, "SELECT coalesce(sum(count), 0) FROM losses")
        size = os.path.getsize(trace) / max(1, rows)
    waited_ms = (values["waited_ns"] - plain["waited_ns"]) / 1e6
    peak_mb = values["peak_mb"] - plain["peak_mb"]
    bench.found["gpu_million"] = {"launches": count, "rows": rows, "kernels": kernels,
                                  "matched": matched, "lost": lost, "bytes": size,
                                  "exit_ms": waited_ms, "peak_mb": peak_mb}
    bench.note(f"{count} launches: {rows} calls, {kernels} kernels, {matched} matched, {lost} lost, "
               f"{size:.1f} bytes per launch; the end took {waited_ms:.0f} ms longer than plain (goal 200); "
               f"peak memory {peak_mb:.0f} MB more, CUPTI's own included")


def lacking():
    """Why nothing can be measured here, or None."""
    if not has_gpu():
        return "there is no GPU here"
    return None if find_cupti() else "there is no libcupti here"


def bench_gpu(bench):
    """Calls on a real GPU: plain, host-only, the default mode, lean CUPTI, and nsys."""
    if lacking():
        print(f"  skipped: {lacking()}")
        return
    modes = GPU_MODES
    if shutil.which("nsys"):
        modes += ("nsys",)
    if os.environ.get("RPD_TRACER"):
        modes += ("rpd_tracer",)
    bench_gpu_loops(bench, find_cupti(), modes)
    bench_gpu_million(bench, find_cupti())


# What a launch of a graph costs with it: (what the table says, the mode). The names below "lean CUPTI" are of
# what cupti/module.c asks for besides.
KINDS = (("plain", "plain"), ("CUPTI attached, nothing asked for", ""), ("kernels", "10"),
         ("kernels, graphs as a whole", "10,51"), ("kernels, copies, sets", "10,1,2"),
         ("lean CUPTI: kernels, copies, sets, graphs as a whole", LEAN),
         ("lean CUPTI and peer copies (MEMCPY2)", LEAN + ",22"), ("lean CUPTI and overhead (OVERHEAD)", LEAN + ",17"),
         ("lean CUPTI and compilation (JIT)", LEAN + ",52"),
         ("lean CUPTI and a callback for each driver call that starts work", LEAN + ",callbacks"),
         ("lean CUPTI and a callback for each loaded module", LEAN + ",modules"),
         ("lean CUPTI and a callback for times", LEAN + ",timestamps"),
         ("lean CUPTI and zeroed buffers", LEAN + ",zeroed"), ("default", "default"))


def bench_gpu_kinds(bench):
    """A launch of a graph of 1, 20, 100 and 1000 kernels, with each kind of CUPTI's records and callbacks."""
    if lacking():
        print(f"  skipped: {lacking()}")
        return
    graphs = [loop for loop in LOOPS if loop.startswith("graph_")]
    p10s = p10s_of(bench, find_cupti(), [mode for _, mode in KINDS], bench.scaled(5, 2),
                   str(bench.scaled(100, 10)), *graphs)
    bench.table(("ns per launch of a graph", *(LOOPS[loop] for loop in graphs)),
                [(name, *(bench.keep(f"gpu_kinds_{loop}_{mode or 'attached'}", p10s[mode][loop]) for loop in graphs))
                 for name, mode in KINDS])


def has_gpu():
    with contextlib.suppress(OSError):
        driver = ctypes.CDLL("libcuda.so.1")
        count = ctypes.c_int()
        return (driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
                and count.value > 0)
    return False


BENCHES = {"gpu-calls": bench_gpu}
KIND_BENCHES = {"gpu-kinds": bench_gpu_kinds}
