#!/usr/bin/env python3
"""The workloads on a real GPU, with and without the library.

  tests/gpu/run.py [--build FOLDER] [-k PART-OF-A-NAME]

Needs the built library, command and workloads, and nothing else but Python's own modules. One line
for each case; last 'N passed, N failed, N skipped'. Without a GPU everything is skipped.
"""

import argparse
import contextlib
import ctypes
import importlib.util
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PYTHON_WORKLOADS = os.path.join(ROOT, "kernels", "python")
TIMES = re.compile(r"\d+\.\d+ (ms|us|ns|s)\b|\d+(\.\d+)? ns per launch|\d+ handles were reused")


class Skip(Exception):
    """A case that cannot be shown here; says why."""


class Failure(Exception):
    """A case that did not show what it should."""


def check(condition, message):
    if not condition:
        raise Failure(message)


class Bench:
    """Where the programs are, and how one is run."""

    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.library = os.path.join(self.build, "preload", "libgpuverify.so")
        self.command = os.path.join(self.build, "report", "gpuverify")

    def workload(self, name):
        path = os.path.join(self.build, "kernels", name)
        if not os.path.exists(path):
            raise Skip(f"{name} is not built")
        return [path]

    def python(self, name, *packages):
        for package in packages:
            if importlib.util.find_spec(package) is None:
                raise Skip(f"no {package} here")
        return [sys.executable, os.path.join(PYTHON_WORKLOADS, name)]

    def run(self, command, folder, traced, **environment):
        variables = dict(os.environ, **environment)
        if traced:
            variables["LD_PRELOAD"] = self.library
            variables["GPUVERIFY_TRACE"] = os.path.join(folder, "trace.db")
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True,
                              timeout=120, check=False)
        return done

    def recover(self, folder):
        """Waits for the trace of a program that did not wait itself."""
        subprocess.run([self.command, "report", os.path.join(folder, "trace.db")],
                       capture_output=True, timeout=60, check=False)


@contextlib.contextmanager
def trace_of(folder):
    path = os.path.join(folder, "trace.db")
    check(os.path.exists(path), "there is no trace")
    trace = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        yield trace
    finally:
        trace.close()


def one(trace, query, *values):
    return trace.execute(query, values).fetchone()[0]


def both(bench, command, folder, **environment):
    """Runs it plain and traced; the output must be the same but for times."""
    plain = bench.run(command, folder, False, **environment)
    traced = bench.run(command, folder, True, **environment)
    check(plain.returncode == traced.returncode,
          f"exit code {traced.returncode}, plain {plain.returncode}: {traced.stderr[-300:]}")
    for stream in ("stdout", "stderr"):
        before, after = (TIMES.sub("TIME", getattr(run, stream)) for run in (plain, traced))
        check(before == after, f"{stream} differs: {after[-300:]!r}, plain {before[-300:]!r}")
    return traced


def launches_are_named(folder, least, gpu=True):
    with trace_of(folder) as trace:
        count = one(trace, "SELECT count(*) FROM calls WHERE name LIKE '%aunch%ernel%'")
        unnamed = one(trace, "SELECT count(*) FROM calls WHERE name LIKE '%aunch%ernel%' "
                             "AND kernel IS NULL AND result = 0")
        lost = one(trace, "SELECT count(*) FROM losses")
    check(count >= least, f"{count} launches in the trace, expected {least} or more")
    check(unnamed == 0, f"{unnamed} of {count} launches without a kernel's name")
    check(lost == 0, f"{lost} rows of losses")
    return f"{count} launches" + (f", {gpu_side(folder)}" if gpu else "")


def gpu_side(folder, least=1):
    """Every operation found its call, and none began before it."""
    with trace_of(folder) as trace:
        said = trace.execute("SELECT gpu, gpu_why FROM processes ORDER BY id").fetchone()
        check(said[0] == "cupti", f"the GPU's side is {said[0]}: {said[1]}")
        count, matched, timed = trace.execute(
            "SELECT count(*), count(call), count(start_ns) FROM gpu_ops").fetchone()
        missing = trace.execute("SELECT kind, name, count(*) FROM gpu_ops WHERE call IS NULL "
                                "GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 3").fetchall()
        early = one(trace, "SELECT count(*) FROM gpu_ops o JOIN calls c ON c.id = o.call "
                           "WHERE o.start_ns < c.start_ns")
        alone = trace.execute(
            "SELECT name, count(*) FROM calls WHERE class = 'launch' AND result = 0 "
            "AND id NOT IN (SELECT call FROM gpu_ops WHERE call IS NOT NULL) GROUP BY 1").fetchall()
    check(count >= least, f"{count} operations on the GPU, expected {least} or more")
    check(matched == count, f"{count - matched} of {count} operations without their call: {missing}")
    check(timed == count, f"{count - timed} of {count} operations without their time")
    check(early == 0, f"{early} of {count} operations began before their call")
    return f"{count} GPU operations, all with their call" + (
        f" (launches without one: {alone})" if alone else "")


def rows(folder):
    with trace_of(folder) as trace:
        return trace.execute("SELECT name, class, result, bytes, kernel FROM calls "
                             "ORDER BY start_ns").fetchall()


# ---- the cases: name, function(bench, folder) -> what to say ----

def same_rows(bench, folder, variants, **environment):
    expected = None
    for name in variants:
        trace = os.path.join(folder, name)
        os.mkdir(trace)
        both(bench, bench.workload(name), trace, **environment)
        found = rows(trace)
        check(found, f"{name}: an empty trace")
        check(expected is None or found == expected, f"{name}: other rows than {variants[0]}: "
              f"{[pair for pair in zip(found, expected or []) if pair[0] != pair[1]][:2]}")
        expected = found
    return f"{len(expected)} rows each"


def driver_in_every_linkage(bench, folder):
    return same_rows(bench, folder, ["driver_tour", "driver_tour_dlsym", "driver_tour_dlvsym",
                                     "driver_tour_proc", "driver_tour_proc_v2"])


def saxpy_with_shared_runtime(bench, folder):
    both(bench, bench.workload("saxpy_shared_real"), folder)
    return launches_are_named(folder, 1)


def saxpy_with_static_runtime(bench, folder):
    both(bench, bench.workload("saxpy_static_real"), folder)
    return launches_are_named(folder, 1)


def shared_without_runtime_rows_equals_static(bench, folder):
    found = []
    for name in ("saxpy_shared_real", "saxpy_static_real"):
        place = os.path.join(folder, name)
        os.mkdir(place)
        both(bench, bench.workload(name), place, GPUVERIFY_RUNTIME="off")
        found.append(rows(place))
    check(found[0] == found[1], "other driver calls")
    return f"{len(found[0])} rows each"


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


def threads_that_launch(bench, folder):
    both(bench, bench.workload("threads") + ["8", "2000"], folder)
    return launches_are_named(folder, 16000)


def a_kernel_handle_used_again(bench, folder):
    both(bench, bench.workload("reload"), folder)
    return launches_are_named(folder, 2)


def processes_that_fork(bench, folder):
    both(bench, bench.workload("fork_tree"), folder)
    bench.recover(folder)
    with trace_of(folder) as trace:
        count = one(trace, "SELECT count(*) FROM processes")
    check(count >= 2, f"{count} processes in the trace")
    return f"{count} processes"


def a_program_that_is_killed(bench, folder):
    variables = dict(os.environ, LD_PRELOAD=bench.library,
                     GPUVERIFY_TRACE=os.path.join(folder, "trace.db"))
    with subprocess.Popen(bench.workload("launch_loop") + ["100000000"], env=variables,
                          cwd=folder, stdout=subprocess.DEVNULL) as program:
        time.sleep(3)
        program.send_signal(signal.SIGKILL)
    bench.recover(folder)
    with trace_of(folder) as trace:
        check(one(trace, "PRAGMA integrity_check") == "ok", "the trace is damaged")
        count = one(trace, "SELECT count(*) FROM calls")
    check(count > 100000, f"{count} calls")
    return f"{count} calls"


def python_case(script, packages, least=1, environment=None):
    def case(bench, folder):
        environment_ = environment or {}
        both(bench, bench.python(script, *packages), folder, **environment_)
        return launches_are_named(folder, least, gpu="GPUVERIFY_GPU" not in environment_)
    return case


def torch_with_workers(bench, folder):
    both(bench, bench.python("torch_workers.py", "torch"), folder)
    bench.recover(folder)
    with trace_of(folder) as trace:
        count = one(trace, "SELECT count(*) FROM processes")
    check(count == 2, f"{count} processes in the trace, expected the two that use CUDA")
    return f"{count} processes"


def a_spin_kernel_of_known_length(bench, folder):
    """load_while_busy spins for 150 ms by the GPU's own clock."""
    both(bench, bench.workload("load_while_busy") + ["150"], folder)
    with trace_of(folder) as trace:
        longest = one(trace, "SELECT max(duration_ns) / 1e6 FROM gpu_ops WHERE name = 'spin'")
        loads = trace.execute("SELECT kind, duration_ns / 1e6, jit_ns / 1e6 FROM loads").fetchall()
    check(longest is not None, "no kernel 'spin'")
    check(abs(longest - 150) < 1.5, f"{longest:.2f} ms, it spins for 150 ms")
    return f"{longest:.2f} ms of 150 ms; loads {loads}"


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


def torch_profiler_meets_us(bench, folder):
    done = bench.run(bench.python("torch_profiler.py", "torch"), folder, True)
    check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-300:]}")
    report = subprocess.run([bench.command, "report", os.path.join(folder, "trace.db")],
                            capture_output=True, text=True, timeout=60, check=False)
    return " ".join(line.strip() for line in report.stdout.splitlines() if "GPU side" in line)


CASES = [
    ("a spin kernel of known length", a_spin_kernel_of_known_length),
    ("the kernels of a matrix product loop and CUDA events", a_matrix_product_loop),
    ("synchronous copies lie inside their calls", synchronous_copies),
    ("torch.profiler under us", torch_profiler_meets_us),
    ("driver API, linked, dlsym, dlvsym, cuGetProcAddress: the same rows", driver_in_every_linkage),
    ("<<<>>> with a shared cudart", saxpy_with_shared_runtime),
    ("<<<>>> with a static cudart", saxpy_with_static_runtime),
    ("shared without runtime rows is what static shows", shared_without_runtime_rows_equals_static),
    ("a module load behind a running kernel", a_load_behind_a_kernel),
    ("eight threads that launch", threads_that_launch),
    ("a kernel's handle used again after an unload", a_kernel_handle_used_again),
    ("forked processes", processes_that_fork),
    ("a program that is killed", a_program_that_is_killed),
    ("PyTorch", python_case("torch_ops.py", ["torch"])),
    ("PyTorch, captured graph", python_case("torch_graph.py", ["torch"])),
    ("PyTorch, forked workers and a spawned process", torch_with_workers),
    ("PyTorch with its own profiler, GPUVERIFY_GPU=off",
     python_case("torch_profiler.py", ["torch"], environment={"GPUVERIFY_GPU": "off"})),
    ("CuPy", python_case("cupy_ops.py", ["cupy"])),
    ("Numba", python_case("numba_ops.py", ["numba"])),
    ("Triton", python_case("triton_ops.py", ["torch", "triton"])),
    ("JAX", python_case("jax_ops.py", ["jax"])),
]


def why_no_gpu():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no libcuda.so.1"
    result = driver.cuInit(0)
    return f"cuInit says {result}" if result else None


def outcome(case, bench, skip_all, keep):
    folder = tempfile.mkdtemp(prefix="gpuverify-gpu-")
    try:
        if skip_all:
            raise Skip(skip_all)
        return "passed", case(bench, folder)
    except Skip as reason:
        return "skipped", str(reason)
    except (Failure, subprocess.TimeoutExpired, sqlite3.Error) as reason:
        return "failed", str(reason)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("-k", dest="part", default="", help="only cases with this in their name")
    parser.add_argument("--keep", action="store_true", help="keep the folders of the cases")
    options = parser.parse_args()
    bench = Bench(options.build)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    skip_all = why_no_gpu()
    for name, case in CASES:
        if options.part not in name:
            continue
        start = time.monotonic()
        result, said = outcome(case, bench, skip_all, options.keep)
        counts[result] += 1
        print(f"{result:8} {time.monotonic() - start:6.1f} s  {name}: {said}", flush=True)
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
