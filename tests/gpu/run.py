#!/usr/bin/env python3
"""Runs the workloads on a real GPU, with and without the library.

  tests/gpu/run.py [--build FOLDER] [--programs FOLDER] [-k PART-OF-A-NAME] [--clock-seconds N]

FOLDER is a build or an unpacked bundle; --programs names the built workloads if they are elsewhere.
Needs the built library, command and workloads, and only Python's own modules. Prints one line for each
case; the last is 'N passed, N failed, N skipped'. Without a GPU everything is skipped.
"""

import argparse
import ctypes
import os
import shutil
import sys
import tempfile
import time

import cases_diff
import cases_gpu_side
import cases_idle
import cases_lines
import cases_probe
import cases_programs
import cases_soak
import cases_stalls
import cases_verdicts
from ground import ROOT, Bench, Failure, Skip

CASES = (cases_gpu_side.CASES + cases_programs.CASES + cases_soak.CASES + cases_stalls.CASES
         + cases_probe.CASES + cases_verdicts.CASES + cases_diff.CASES + cases_idle.CASES
         + cases_lines.CASES)


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
    except Exception as reason:  # a case must not take the others with it
        kind = "" if isinstance(reason, Failure) else f"{type(reason).__name__}: "
        return "failed", kind + str(reason)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--programs", help="a folder with the built kernels, if not that")
    parser.add_argument("-k", dest="part", default="", help="only cases with this in their name")
    parser.add_argument("--keep", action="store_true", help="keep the folders of the cases")
    parser.add_argument("--clock-seconds", type=float, default=5, help="of the case about clocks")
    options = parser.parse_args()
    cases_gpu_side.CLOCK_SECONDS = options.clock_seconds
    try:
        bench = Bench(options.build, options.programs)
    except FileNotFoundError as missing:
        parser.error(str(missing))
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
