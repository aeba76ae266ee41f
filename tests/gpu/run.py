#!/usr/bin/env python3
"""Runs the workloads on a real GPU, with and without the library.

  tests/gpu/run.py [--build FOLDER] [--programs FOLDER] [-k PART-OF-A-NAME]... [-j N] [--part N/M]
                   [--keep FOLDER] [--clock-seconds N]

FOLDER is a build or an unpacked bundle; --programs names the built workloads if they are elsewhere.
Needs the built library, command and workloads, and only Python's own modules. Prints one line for each
case; the last is 'N passed, N failed, N skipped'. Without a GPU everything is skipped.
With -j, cases that compare times (ground.times_itself) come after the others, one at a time. One of the others that failed is
run again alone. With two GPUs, --part 1/2 and, with CUDA_VISIBLE_DEVICES=1, --part 2/2 can run at once.
"""

import argparse
import concurrent.futures
import ctypes
import os
import re
import shutil
import sys
import tempfile
import time

import cases_diff
import cases_gpu_side
import cases_idle
import cases_jobs
import cases_lines
import cases_look
import cases_memory
import cases_probe
import cases_programs
import cases_ranges
import cases_soak
import cases_stalls
import cases_steps
import cases_findings
from ground import ROOT, Bench, Failure, Skip

CASES = (cases_gpu_side.CASES + cases_programs.CASES + cases_soak.CASES + cases_stalls.CASES
         + cases_probe.CASES + cases_findings.CASES + cases_diff.CASES + cases_idle.CASES
         + cases_lines.CASES + cases_memory.CASES + cases_ranges.CASES + cases_steps.CASES
         + cases_jobs.CASES + cases_look.CASES)


def why_no_gpu():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no libcuda.so.1"
    result = driver.cuInit(0)
    return f"cuInit says {result}" if result else None


def outcome(case, bench, skip_all, keep):
    """Also moves the folder of a failed case to `keep`, unless that is None."""
    folder = tempfile.mkdtemp(prefix="gpuverify-gpu-")
    try:
        if skip_all:
            raise Skip(skip_all)
        return "passed", case(bench, folder)
    except Skip as reason:
        return "skipped", str(reason)
    except Exception as reason:  # a case must not take the others with it
        kind = "" if isinstance(reason, Failure) else f"{type(reason).__name__}: "
        if keep:
            shutil.rmtree(keep, ignore_errors=True)
            shutil.copytree(folder, keep, symlinks=True)
        return "failed", kind + str(reason)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def kept_name(folder, name):
    return folder and os.path.join(os.path.abspath(folder), re.sub(r"\W+", "-", name))


def part(text):
    number, count = map(int, text.split("/"))
    if not 1 <= number <= count:
        raise ValueError
    return number, count


def part_of(cases, number, count):
    several = [each for each in cases if re.search("^jobs|two.devices|several_gpus|: devices", each[0])]
    return (several if number == 1 else []) + [each for each in cases if each not in several][number - 1::count]


def split(cases):
    """Those that may share the GPU, and those that may not."""
    alone = [hasattr(case, "times_itself") for _, case in cases]
    return [[case for case, is_alone in zip(cases, alone) if is_alone == wanted] for wanted in (False, True)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--programs", help="a folder with the built kernels, if not that")
    parser.add_argument("-k", dest="parts", action="append", help="only cases with this, or another -k, in their name")
    parser.add_argument("-j", dest="at_once", type=int, default=1, help="cases at a time")
    parser.add_argument("--part", type=part, default=(1, 1), metavar="N/M",
                        help="only the N-th part of M; cases that need several GPUs are in the first")
    parser.add_argument("--keep", metavar="FOLDER", help="keep there what cases wrote and said that failed")
    parser.add_argument("--clock-seconds", type=float, default=5, help="of the case about clocks")
    options = parser.parse_args()
    cases_gpu_side.CLOCK_SECONDS = options.clock_seconds
    try:
        bench = Bench(options.build, options.programs)
    except FileNotFoundError as missing:
        parser.error(str(missing))
    skip_all = why_no_gpu()
    counts = {"passed": 0, "failed": 0, "skipped": 0}

    def run(name, case, last):
        start = time.monotonic()
        result, said = outcome(case, bench, skip_all, kept_name(options.keep, name))
        again = result == "failed" and not last
        print(f"{'again' if again else result:8} {time.monotonic() - start:6.1f} s  {name}: {said}", flush=True)
        if not again:
            counts[result] += 1
        return again

    wanted = [(name, case) for name, case in CASES if any(word in name for word in options.parts or [""])]
    wanted = part_of(wanted, *options.part)
    shared, alone = split(wanted) if options.at_once > 1 else ([], wanted)
    with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
        again = list(pool.map(lambda named: run(*named, False), shared))
    for name, case in alone + [named for named, failed in zip(shared, again) if failed]:
        run(name, case, True)
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
