"""Measures what calls cost on a real GPU: plain, host-only, in the default mode, under bare CUPTI and
other profilers."""

import collections
import contextlib
import ctypes
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

from ground import finish, launch_rows, place, query, spool_of


def find_cupti():
    """The libcupti for bare CUPTI: the one that the module finds."""
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


def gpu_environment(bench, folder, mode, cupti):
    settings = {name: value for name, value in os.environ.items()
                if not name.startswith(("GPUVERIFY_", "GV_SIM_", "LD_PRELOAD"))}
    if mode in ("host-only", "default"):
        settings["LD_PRELOAD"] = bench.path("preload/libgpuverify.so")
        settings["GPUVERIFY_TRACE"] = os.path.join(folder, "trace.db")
        settings["GPUVERIFY_SPOOL_DIR"] = spool_of(folder)
        settings["GPUVERIFY_GPU"] = "off" if mode == "host-only" else "on"
        settings["GPUVERIFY_CUPTI"] = cupti
    elif mode == "rpd_tracer":
        settings["LD_PRELOAD"] = os.environ["RPD_TRACER"]
        settings["RPDT_FILENAME"] = os.path.join(folder, "trace.rpd")
    elif mode.startswith("bare CUPTI"):
        settings["CUDA_INJECTION64_PATH"] = bench.path("tests/bench/libbare_cupti.so")
        settings["BENCH_CUPTI"] = cupti
        settings["BENCH_CUPTI_MORE"] = mode[len("bare CUPTI"):].strip(" +")
    return settings


def gpu_command(bench, folder, mode):
    command = [bench.path("tests/bench/bench_gpu_calls")]
    if mode == "nsys":
        return ["nsys", "profile", "-t", "cuda", "-s", "none", "--force-overwrite=true", "-o",
                os.path.join(folder, "trace")] + command
    return command


def gpu_calls(bench, folder, mode, cupti, *words):
    """Runs bench_gpu_calls. Returns name -> (median, p10); `waited_ns` is how long its end took."""
    done = subprocess.Popen(gpu_command(bench, folder, mode) + list(words), cwd=folder,
                            env=gpu_environment(bench, folder, mode, cupti),
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    with done.stdout:
        said = done.stdout.read()
    done.wait()
    ended_ns = time.monotonic_ns()
    if done.returncode != 0:
        sys.exit(f"bench_gpu_calls ended with {done.returncode} ({mode})")
    values = {name: (float(median), float(least)) for name, median, least in
              re.findall(r"^(\w+) ([\d.]+) ([\d.]+)$", said, re.M)}
    values["waited_ns"] = ended_ns - values["end_ns"][0]
    return values


GPU_MODES = ("plain", "host-only", "bare CUPTI", "default")
LOOPS = ("launch", "copy", "graph", "sync", "memcpy")
GPU_LOOPS = (("launch", "host-only", "plain", 1.02), ("copy", "host-only", "plain", 1.02),
             ("graph", "host-only", "plain", 1.10), ("launch", "default", "bare CUPTI", 1.05),
             ("copy", "default", "bare CUPTI", 1.05), ("graph", "default", "bare CUPTI", 1.05),
             ("sync", "default", "bare CUPTI", 1.05), ("memcpy", "default", "bare CUPTI", 1.05))


def bench_gpu_loops(bench, cupti, modes):
    found = {mode: collections.defaultdict(list) for mode in modes}
    for _ in range(bench.scaled(7, 2)):
        for mode in modes:
            with place() as folder:
                values = gpu_calls(bench, folder, mode, cupti, "200")
            for loop in LOOPS:
                found[mode][loop].append(values[loop])
    for loop in LOOPS:
        for mode in modes:
            bench.spread(f"gpu_{mode}_{loop}".replace(" ", "_"), f"{loop}, {mode}",
                         [pair[1] for pair in found[mode][loop]], "ns")
    for loop, mode, base, goal in GPU_LOOPS:
        # The machine's speed changes between runs: medians of the rounds' p10s are compared.
        ratio = (statistics.median(pair[1] for pair in found[mode][loop])
                 / statistics.median(pair[1] for pair in found[base][loop]))
        bench.found[f"gpu_ratio_{mode}_{loop}"] = ratio
        bench.note(f"{loop}: {mode} / {base}: {ratio:.3f} (goal {goal:.2f})")
    bench.chart(name="gpu-calls", kind="bars", title="Calls on a GPU (p10 of bursts)", x="",
                y="ns per call", x_values=list(LOOPS),
                series={mode: [statistics.median(pair[1] for pair in found[mode][loop])
                               for loop in LOOPS] for mode in modes})


def bench_gpu_million(bench, cupti):
    count = bench.scaled(1000000, 20000)
    with place() as folder:
        plain = gpu_calls(bench, folder, "plain", cupti, "1", str(count))
    with place() as folder:
        values = gpu_calls(bench, folder, "default", cupti, "1", str(count))
        trace = finish(bench, folder)
        rows = launch_rows(trace)
        kernels = query(trace, "SELECT count(*) FROM gpu_ops WHERE kind = 'kernel'")
        matched = query(trace, "SELECT count(call) FROM gpu_ops WHERE kind = 'kernel'")
        lost = query(trace, "SELECT coalesce(sum(count), 0) FROM losses")
        size = os.path.getsize(trace) / max(1, rows)
    waited_ms = (values["waited_ns"] - plain["waited_ns"]) / 1e6
    bench.found["gpu_million"] = {"launches": count, "rows": rows, "kernels": kernels,
                                  "matched": matched, "lost": lost, "bytes": size,
                                  "exit_ms": waited_ms}
    bench.note(f"{count} launches: {rows} calls, {kernels} kernels, {matched} matched, {lost} lost, "
              f"{size:.1f} bytes per launch, the end took {waited_ms:.0f} ms longer than plain")


def bench_gpu(bench):
    """Calls on a real GPU: plain, host-only, the default mode, and bare CUPTI."""
    cupti = find_cupti()
    if not has_gpu():
        print("  skipped: there is no GPU here")
        return
    if not cupti:
        print("  skipped: there is no libcupti here")
        return
    modes = GPU_MODES
    if shutil.which("nsys"):
        modes += ("nsys",)
    if os.environ.get("RPD_TRACER"):
        modes += ("rpd_tracer",)
    if os.environ.get("GV_BENCH_MORE"):
        modes += ("bare CUPTI + callbacks", "bare CUPTI + records")
    bench_gpu_loops(bench, cupti, modes)
    bench_gpu_million(bench, cupti)


def has_gpu():
    with contextlib.suppress(OSError):
        driver = ctypes.CDLL("libcuda.so.1")
        count = ctypes.c_int()
        return (driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
                and count.value > 0)
    return False


BENCHES = {"gpu-calls": bench_gpu}
