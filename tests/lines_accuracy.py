#!/usr/bin/env python3
"""How exact the estimate of the GPU's time by line is: runs the workloads of kernels/lines and compares their traces with what
they say of themselves.

  tests/lines_accuracy.py [--build FOLDER] [--seconds N]... [--times N] [-k CASE]... [-v] [--check]
  scripts/with-sim tests/lines_accuracy.py ...                on the simulator

One row for each case and length. promise: how many lines of more than 2 % are within 10 % of their true share. worst: the
furthest off, as a part of its share. errors: the root mean square of (estimate - truth) / standard error: 1 if the
standard errors are right, more if they are too small. With -v each run's table. With --check nothing but what is too far off,
also in runs of four and of twelve times the length: in one of two seconds, a call of a step may have been chosen so rarely that chance
decides.

Kernels on a real GPU take 1 to 3 us longer than they are asked to, and the speed of its copies is unknown: only the simulator
knows the truth to 1 %.
"""

import argparse
import os
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile

import lines_expectations as expected

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COLUMNS = "{:16} {:>4} {:>9} {:>8} {:>9} {:>7} {:>7} {:>7}"


def run(build, words, seconds, **environment):
    """The truth of one run, and its trace's estimates."""
    variables = dict(os.environ, LD_PRELOAD=os.path.join(build, "preload", "libgpuverify.so"), **environment)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.db")
        command = expected.command(words, os.path.join(build, "kernels"), seconds)
        done = subprocess.run(command, env=dict(variables, GPUVERIFY_TRACE=path), capture_output=True, text=True, check=False)
        if done.returncode != 0 or not os.path.exists(path):
            sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
        subprocess.run([os.path.join(build, "report", "gpuverify"), "report", path], capture_output=True, check=True)  # waits for it
        trace = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        truth = expected.said(done.stdout, *expected.SIMULATED_COPIES)
        return truth, expected.estimates(trace)


def measure(build, name, words, seconds, times, verbose):
    held = lines = calls = 0
    offs, errors, samples = [], [], []
    for _ in range(times):
        truth, found = run(build, words, seconds)
        true = expected.shares(truth)
        missed = expected.missed(true, found)
        held += sum(off <= expected.PROMISE for off in missed.values())
        lines += len(missed)
        offs += missed.values()
        errors += [(found[line].share - true[line]) / found[line].error for line in missed
                   if line in found and found[line].error]
        samples.append(sum(one.samples for one in found.values()))
        calls += sum(asked.calls for asked in truth.values())
        if verbose:
            print(expected.table(true, found))
    spread = statistics.fmean(error * error for error in errors) ** 0.5 if errors else 0
    print(COLUMNS.format(name, f"{seconds:g}", calls // times, round(statistics.fmean(samples)), f"{held}/{lines}",
                         f"{100 * statistics.median(offs):.1f}", f"{100 * max(offs):.1f}", f"{spread:.2f}"), flush=True)


def check(build, name, words, seconds):
    def run_for(length):
        truth, found = run(build, words, length)
        return expected.shares(truth), found

    try:
        expected.check_chosen(run_for, seconds, name in expected.PROMISED)
    except expected.Mismatch as mismatch:
        sys.exit(f"{name}: {mismatch}")


def main():
    parser = argparse.ArgumentParser(description=re.sub(r"\n\n.*", "", __doc__, flags=re.S))
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--seconds", type=float, action="append", help="length of a run (2, 5 and 10)")
    parser.add_argument("--times", type=int, default=1, help="runs of each")
    parser.add_argument("-k", action="append", help="only this case")
    parser.add_argument("-v", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if not options.check:
        print(COLUMNS.format("case", "s", "calls", "samples", "promise", "median", "worst", "errors"))
    for seconds in options.seconds or (2, 5, 10):
        for name, words in expected.WORKLOADS.items():
            if not options.k or name in options.k:
                if options.check:
                    check(os.path.abspath(options.build), name, words, seconds)
                    continue
                measure(os.path.abspath(options.build), name, words, seconds, options.times, options.v)


if __name__ == "__main__":
    main()
