"""Why the GPU was idle: the workloads of kernels/idle and those with packages, each with its twin."""

import os
import sys

from ground import PYTHON_WORKLOADS, ROOT, SKIPPED, Failure, Skip, check, trace_of

sys.path.insert(0, os.path.join(ROOT, "tests"))
import idle_expectations as expectations  # noqa: E402

MODES = {"measured": "auto", "inferred": "off"}
# The compilers import parts of themselves when they are first used, and have Python collect garbage.
ALSO = {"compile": ("import", "gc")}
# Imports inside torch.compile are deeper than the 48 Python frames of a stack.
UNNAMED = ("torch_idle_compile.py",)
# JAX does not wait with calls that wait for all work, so without the GPU side its idle times are not known.
NEVER_INFERRED = ("jax_idle_compile.py",)
# Script, its packages, its reason.
PACKAGES = [("torch_idle_data.py", ["torch"], "data"),
            ("torch_idle_compile.py", ["torch", "triton"], "compile"),
            ("torch_idle_gil.py", ["torch"], "gil"),
            ("torch_idle_gc.py", ["torch"], "gc"),
            ("numba_idle_compile.py", ["numba"], "compile"),
            ("cupy_idle_compile.py", ["cupy"], "compile"),
            ("jax_idle_compile.py", ["jax"], "compile")]


def record(bench, folder, command, mode, environment):
    """The folder of a traced run, and for how many ns its main thread had no CPU."""
    os.makedirs(folder)
    done = bench.run(command, folder, True, GPUVERIFY_GPU=MODES[mode], **environment)
    if done.returncode == SKIPPED:
        raise Skip(done.stdout.strip()[-100:])
    check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-300:]}")
    bench.recover(folder)
    return folder, expectations.descheduled_ns(done.stdout)


def idle_case(name, command_of, path, reason, mode, environment, lines, also=(), part="main"):
    def case(bench, folder):
        command = command_of(bench)
        try:
            found, waited_ns = record(bench, os.path.join(folder, "workload"), command, mode, environment)
            with trace_of(found) as trace:
                share = expectations.check_reason(trace, path, reason, lines, waited_ns, also=also, part=part)
                expectations.check_detail(trace, name, reason)
                expectations.check_sum(trace)
                expectations.check_unknown(trace)
            found, waited_ns = record(bench, os.path.join(folder, "twin"), [*command, "twin"], mode, environment)
            with trace_of(found) as trace:
                expectations.check_twin(trace, path, reason, waited_ns, part)
                expectations.check_sum(trace)
                expectations.check_unknown(trace)
        except expectations.Mismatch as mismatch:
            raise Failure(str(mismatch)) from None
        return f"{100 * share:.0f} % of its idle time is {' or '.join((reason, *also))}" + (", at its line" if lines else "")
    return case


def own_case(name, words, reason, environment, mode="measured"):
    path = expectations.source(words[0])

    def command_of(bench):
        if path.endswith(".py"):
            return [sys.executable, path, *words[1:]]
        return [*bench.workload(os.path.join("idle", words[0])), *words[1:]]

    # Starting CUDA takes longer than the line, and what runs natively has no stack by default.
    part = expectations.PARTS.get(name, "main")
    unnamed = part == "start" or words[0] == "native"
    lines = () if unnamed else expectations.marked(path, f"idle: {reason}")
    return idle_case(name, command_of, path, reason, mode, environment, lines, expectations.ALSO.get(name, ()), part)


def package_case(script, packages, reason, mode):
    path = os.path.join(PYTHON_WORKLOADS, script)
    lines = () if script in UNNAMED else expectations.marked(path, f"idle: {reason}")
    return idle_case(script, lambda bench: bench.python(script, *packages), path, reason, mode, {}, lines,
                     ALSO.get(reason, ()))


CASES = [(f"idle: {name}", own_case(name, *workload)) for name, workload in expectations.WORKLOADS.items()]
CASES += [(f"idle: {name}, inferred", own_case(name, *expectations.WORKLOADS[name], "inferred")) for name in ("python", "lock")]
CASES += [(f"idle: {script}, {mode}", package_case(script, packages, reason, mode))
          for script, packages, reason in PACKAGES for mode in MODES
          if mode == "measured" or script not in NEVER_INFERRED]
