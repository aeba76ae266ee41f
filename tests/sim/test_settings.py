#!/usr/bin/env python3
"""Tests the simulator's environment variables, and that its exports are the real driver's.

Usage: test_settings.py SIMULATOR_FOLDER KERNELS_FOLDER EXPORT_VERSIONS_DEF
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SIM, KERNELS, VERSIONS = (Path(a).resolve() for a in sys.argv[1:4])
failed = 0


def expect(ok, what):
    global failed
    if not ok:
        print("not so:", what)
        failed += 1


def run(program, *arguments, **settings):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GV_SIM_", "CUDA_"))}
    environment.update(settings, LD_LIBRARY_PATH=str(SIM))
    return subprocess.run([KERNELS / program, *arguments], env=environment, capture_output=True,
                          text=True, timeout=300)


exports = subprocess.run(["nm", "-D", "--defined-only", SIM / "libcuda.so.1"], check=True,
                         capture_output=True, text=True).stdout.splitlines()
names = {line.split()[2] for line in exports}
wanted = set(re.findall(r"^GV_SIM_VERSION\((\w+)", VERSIONS.read_text(), re.M))
expect(names == wanted, f"the exports are the real ones: {sorted(names ^ wanted)}")
expect(len({line.split()[0] for line in exports}) == len(names), "all at addresses of their own")

result = run("driver_tour", GV_SIM_NO_DEVICE="1")
expect(result.returncode == 1 and "cuInit)(0) returned 100" in result.stderr, "no device: 100")
for visible in "", "-1":
    result = run("driver_tour", CUDA_VISIBLE_DEVICES=visible)
    expect("cuInit)(0) returned 100" in result.stderr, f"no visible device: {visible!r}")
for blocking, waits in ("1", True), ("0", False):
    result = run("launch_loop", "20", CUDA_LAUNCH_BLOCKING=blocking, GV_SIM_KERNEL_NS="5000000")
    each_ns = float(result.stdout.split(":")[1].split()[0])
    expect((each_ns >= 5e6) == waits, f"launches wait if asked to: {blocking}, {each_ns} ns")
result = run("driver_tour", GV_SIM_DRIVER_VERSION="12040")
expect("driver 12040" in result.stdout, "the driver's version")
result = run("driver_tour_proc_v2", GV_SIM_DRIVER_VERSION="11000")
expect("no cuLibraryLoadData" in result.stderr, "an old driver lacks what came later")
result = run("driver_tour", GV_SIM_FAIL="cuMemAlloc_v2:1=2")
expect("cuMemAlloc_v2" in result.stderr and "returned 2" in result.stderr, "first allocation fails")
result = run("launch_loop", "20", GV_SIM_FAIL="cuLaunchKernel:10=700")
expect("returned 700" in result.stderr, "tenth launch fails")
result = run("driver_tour", GV_SIM_FAIL="nonsense")
expect(result.returncode == 0 and "cannot read 'nonsense'" in result.stderr, "told of nonsense")
result = run("reload", GV_SIM_REUSE_HANDLES="1")
expect("3 handles were reused" in result.stderr, "handles come back at once")
result = run("reload")
expect("0 handles were reused" in result.stderr, "handles do not come back at once")

with tempfile.TemporaryDirectory() as folder:
    logs = []
    for variant in ["", "_dlsym", "_dlvsym", "_proc", "_proc_v2"]:
        log = Path(folder) / f"log{variant}"
        result = run("driver_tour" + variant, GV_SIM_LOG=str(log))
        expect(result.returncode == 0, f"driver_tour{variant}: {result.stderr}")
        lines = [x for x in log.read_text().splitlines() if not x.startswith("cuGetProcAddress")]
        logs.append(lines)
    expect(logs[0].count("cuLaunchKernel 0") == 9, "the log has every launch")
    expect(all(log == logs[0] for log in logs), "every variant makes the same calls")
    logs = []
    for variant, cudart in [("shared", ""), ("static", ""), ("dlsym", "libcudart.so.12"), ("dlvsym", "")]:
        log = Path(folder) / f"runtime{variant}"
        result = run("runtime_tour_" + variant, GV_SIM_LOG=str(log),
                     **({"GV_CUDART": cudart} if cudart else {}))
        expect(result.returncode == 0, f"runtime_tour_{variant}: {result.stderr}")
        logs.append(log.read_text().splitlines())
    expect(all(log == logs[0] for log in logs), "every runtime makes the same driver calls")
    expect(logs[0][:3] == ["cuGetProcAddress_v2 0"] * 3, "the runtime asks as the real one does")

sys.exit(failed != 0)
