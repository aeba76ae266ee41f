"""Programs of every kind: the same output with the library and without, and all their launches."""

import os
import re
import signal
import subprocess
import sys
import time

from ground import (ROOT, Failure, both, both_at_once, check, gpu_side, launches_are_named, one, rows,
                    trace_of)

sys.path.insert(0, os.path.join(ROOT, "tests"))
import workload_claims  # noqa: E402

ORDINARY = ["ordinary/cooperative_launch", "ordinary/copy_pipeline", "ordinary/graph_launches",
            "ordinary/long_kernel", "ordinary/managed_memory", "ordinary/polling", "ordinary/several_gpus",
            "ordinary/several_processes", "ordinary/tiny_kernels", "fibonacci_static_real",
            "image_filter_shared_real", "matrix_product_static_real", "print_kernel_static_real",
            "reduction_shared_real"]

HOST_ONLY = {"GPUVERIFY_GPU": "off"}


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


def saxpy_host_only(bench, folder):
    both(bench, bench.workload("saxpy_shared_real"), folder, **HOST_ONLY)
    return launches_are_named(folder, 1, gpu=False)


def shared_without_runtime_rows_equals_static(bench, folder):
    found = []
    for name in ("saxpy_shared_real", "saxpy_static_real"):
        place = os.path.join(folder, name)
        os.mkdir(place)
        both(bench, bench.workload(name), place, GPUVERIFY_RUNTIME="off")
        found.append(rows(place))
    check(found[0] == found[1], "other driver calls")
    return f"{len(found[0])} rows each"


def threads_that_launch(bench, folder):
    both(bench, bench.workload("threads") + ["8", "2000"], folder)
    return launches_are_named(folder, 16000)


def threads_that_start_at_once(bench, folder):
    for threads in ("4", "8"):
        both(bench, bench.workload("threads") + [threads, "2000", "first"], folder)
        with trace_of(folder) as trace:
            lost = trace.execute("SELECT what, class, count FROM losses").fetchall()
            begun = one(trace, "SELECT start_ns FROM recording WHERE side = 'gpu'")
            first = one(trace, "SELECT min(start_ns) FROM calls WHERE class = 'launch'")
        check(not lost, f"lost: {lost}")
        check(begun < first, "the GPU's side was on too late")
        launches_are_named(folder, int(threads) * 2000)
    return "all of 8000 and 16000 launches"


def launches_that_leave_no_record(bench, folder):
    """Captured, empty, or work of the host: no loss."""
    for kind in ("captures", "empty-graphs", "host-work", "cooperative"):
        for graphs in ("whole", "nodes"):
            both(bench, bench.workload("no_record") + [kind], folder, GPUVERIFY_GRAPHS=graphs)
            with trace_of(folder) as trace:
                lost = trace.execute("SELECT what, class, count FROM losses").fetchall()
                matched = one(trace, "SELECT count(*) = count(call) FROM gpu_ops")
            check(not lost, f"{kind}, GPUVERIFY_GRAPHS={graphs}: lost {lost}")
            check(matched, f"{kind}, GPUVERIFY_GRAPHS={graphs}: operations without their call")
    return "nothing missing"


def captures_that_are_lost(bench, folder):
    """What the driver returned to the program, and where each call was made."""
    said = []
    for words in ("global allocate", "global allocate other", "thread allocate", "relaxed wait", "global load",
                  "relaxed allocate", "thread allocate other"):
        for mode in ("auto", "off"):
            done = both(bench, bench.workload("capture_lost") + words.split(), folder, GPUVERIFY_GPU=mode)
            result, ended = map(int, re.search(r"returned (\d+), the capture's end (\d+)", done.stdout).groups())
            bench.recover(folder)
            with trace_of(folder) as trace:
                lost = trace.execute("SELECT result, end_result, begin_stack > 0 AND stack > 0 AND end_stack > 0"
                                     " FROM lost_captures").fetchall()
            check(lost == ([(result, ended, 1)] if ended else []), f"{words}: {lost}, returned {result} and {ended}")
        said.append(f"{words}: {result}")
    return "; ".join(said)


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


def ordinary_case(program, mode):
    """What the program says of itself is in the trace."""
    def case(bench, folder):
        done = both(bench, bench.workload(program), folder, GPUVERIFY_GPU=mode)
        check(done.returncode == 0, f"exit code {done.returncode}: {done.stdout[-300:]}")
        bench.recover(folder)
        with trace_of(folder) as trace:
            try:
                compared = workload_claims.check(done.stdout, trace, mode == "auto")
            except workload_claims.Mismatch as mismatch:
                raise Failure(str(mismatch)) from None
            lost = one(trace, "SELECT count(*) FROM losses")
        check(lost == 0, f"{lost} rows of losses")
        said = f"{compared} claims hold"
        return said + (f", {gpu_side(folder)}" if mode == "auto" else "")
    return case


def python_case(script, packages, least=1, environment=None):
    def case(bench, folder):
        environment_ = environment or {}
        both_at_once(bench, bench.python(script, *packages), folder, **environment_)
        return launches_are_named(folder, least, gpu="GPUVERIFY_GPU" not in environment_)
    return case


def balance_case(script, package, heavier):
    """Copies take most of the GPU's time, or kernels do; the other has less than a third of it."""
    def case(bench, folder):
        both(bench, bench.python(script, package), folder)
        with trace_of(folder) as trace:
            took = dict(trace.execute(
                "SELECT kind, sum(duration_ns) / 1e6 FROM gpu_ops GROUP BY kind").fetchall())
        kernels, copies = took.get("kernel", 0), took.get("copy", 0)
        more, less = (kernels, copies) if heavier == "kernel" else (copies, kernels)
        check(more > 3 * less > 0, f"kernels {kernels:.2f} ms, copies {copies:.2f} ms")
        return f"kernels {kernels:.2f} ms, copies {copies:.2f} ms; {gpu_side(folder)}"
    return case


def jit_for_the_host(bench, folder):
    both_at_once(bench, bench.python("numba_host_only.py", "numba"), folder)
    check(not os.path.exists(os.path.join(folder, "trace.db")), "there is a trace")
    return "no CUDA call, no trace"


def torch_with_workers(bench, folder):
    both_at_once(bench, bench.python("torch_workers.py", "torch"), folder)
    bench.recover(folder)
    with trace_of(folder) as trace:
        count = one(trace, "SELECT count(*) FROM processes")
    check(count == 2, f"{count} processes in the trace, expected the two that use CUDA")
    return f"{count} processes"


CASES = [
    ("driver API, linked, dlsym, dlvsym, cuGetProcAddress: the same rows", driver_in_every_linkage),
    ("<<<>>> with a shared cudart", saxpy_with_shared_runtime),
    ("<<<>>> with a static cudart", saxpy_with_static_runtime),
    ("<<<>>> with a shared cudart, host only", saxpy_host_only),
    ("shared without runtime rows is what static shows", shared_without_runtime_rows_equals_static),
    ("eight threads that launch", threads_that_launch),
    ("threads that start CUDA at once", threads_that_start_at_once),
    ("launches that leave no record", launches_that_leave_no_record),
    ("captures that are lost", captures_that_are_lost),
    ("a kernel's handle used again after an unload", a_kernel_handle_used_again),
    ("forked processes", processes_that_fork),
    ("a program that is killed", a_program_that_is_killed),
    *[(f"{os.path.basename(program)}, {word}", ordinary_case(program, mode))
      for program in ORDINARY for word, mode in (("measured", "auto"), ("host only", "off"))],
    ("PyTorch", python_case("torch_ops.py", ["torch"])),
    ("PyTorch, captured graph", python_case("torch_graph.py", ["torch"])),
    ("PyTorch, forked workers and a spawned process", torch_with_workers),
    ("PyTorch, host only", python_case("torch_ops.py", ["torch"], environment=HOST_ONLY)),
    *[(f"{name}, much is {word}", balance_case(f"{package}_{script}_heavy.py", package, heavier))
      for name, package in (("PyTorch", "torch"), ("CuPy", "cupy"), ("Numba", "numba"))
      for word, script, heavier in (("copied", "transfer", "copy"), ("computed", "compute", "kernel"))],
    ("CuPy", python_case("cupy_ops.py", ["cupy"])),
    ("CuPy, host only", python_case("cupy_ops.py", ["cupy"], environment=HOST_ONLY)),
    ("CuPy, matrix product", python_case("cupy_matrix.py", ["cupy"], 2)),
    ("Numba", python_case("numba_ops.py", ["numba"])),
    ("Numba, host only", python_case("numba_ops.py", ["numba"], environment=HOST_ONLY)),
    ("Numba, matrix product and sum", python_case("numba_matrix.py", ["numba"], 2)),
    ("Numba, compiled for the host only", jit_for_the_host),
    ("Triton", python_case("triton_ops.py", ["torch", "triton"])),
    ("Triton, matrix product and sum", python_case("triton_matrix.py", ["torch", "triton"], 2)),
    ("cuda-python", python_case("cuda_python_ops.py", ["cuda"], 3)),
    ("cuda-python, host only", python_case("cuda_python_ops.py", ["cuda"], 3, HOST_ONLY)),
    ("PyCUDA", python_case("pycuda_ops.py", ["pycuda"], 3)),
    ("JAX", python_case("jax_ops.py", ["jax"])),
]
