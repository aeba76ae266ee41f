#!/usr/bin/env python3
"""Runs the programs of this folder plain, with FIX=1 and under gpuverify, and compares what was found first with the truth.

  tests/programs/run.py [--build FOLDER] [NAME...]     those whose names begin like that; default: all
  tests/programs/run.py --limit 480 --part 1/2         the first half; ends within 480 s
  tests/programs/run.py --gpus 4                       four at a time, on a GPU each
  tests/programs/run.py --check                        only checks the truths; needs no GPU

FOLDER is a build or an unpacked bundle. --results has the outputs, and the traces; if $OUT is set, all but the traces is
packed into $OUT/programs.tgz. Each program says: what was found first and the truth; what the finding says it saves, and what
the fixed twin saves. The last line is 'N passed, N failed, N skipped': right ones pass. Without a GPU all are skipped.
"""

import argparse
import ctypes
import importlib.util
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

import known_flaws

EACH_S, LEAST_S, SKIPPED = 90.0, 45.0, 77
DEVICES = (os.environ.get("CUDA_VISIBLE_DEVICES") or "0,1,2,3,4,5,6,7").split(",")


def why_no_gpu():
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no libcuda.so.1"
    result = driver.cuInit(0)
    return f"cuInit says {result}" if result else None


def command_of(build):
    for path in ("bin/gpuverify", "report/gpuverify"):
        if os.path.exists(os.path.join(build, path)):
            return os.path.join(os.path.abspath(build), path)
    raise FileNotFoundError(f"no gpuverify in {build}: neither a build nor a bundle")


def start(argv, end, log, **variables):
    """Runs a command in a process group of its own until it ends, or has to. Returns its status and output."""
    env = {name: value for name, value in os.environ.items() if name not in ("FIX", "LD_PRELOAD")}
    with open(log, "w+b") as file:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                   env={**env, **variables}, start_new_session=True)
        try:
            status = process.wait(max(1.0, min(EACH_S, end - time.monotonic())))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            status = "killed: it took too long"
        file.seek(0)
        return status, file.read().decode("utf-8", "replace")


def packages(name):
    with open(os.path.join(known_flaws.HERE, name), encoding="utf-8") as file:
        return set(re.findall(r"^(?:import|from) (cupy|jax|numba|torch|triton)\b", file.read(), re.M))


class Failure(Exception):
    pass


class Skip(Exception):
    pass


def built(name, folder, end):
    source = os.path.join(known_flaws.HERE, name)
    if name.endswith(".py"):
        for package in packages(name):
            if not importlib.util.find_spec(package):
                raise Skip(f"no {package} here")
        return [sys.executable, source]
    with open(source, encoding="utf-8") as file:
        flags = re.search(r"^// build: nvcc (.*)$", file.read(), re.M).group(1).split()
    binary = os.path.join(folder, name[:-3])
    nvcc = shutil.which("nvcc", path=os.environ["PATH"] + ":/usr/local/cuda/bin")
    if not nvcc:
        raise Skip("no nvcc here")
    status, text = start([nvcc, *flags, "-arch=native", "-o", binary, source], end, binary + ".build.out")
    if status:
        raise Failure(f"nvcc: {status} {text[-300:]}")
    return [binary]


def run_one(name, options, devices):
    """The kinds of runs, and what was found. A row for NAME.json."""
    stem = os.path.join(options.results, name.rsplit(".", 1)[0])
    truth, _ = known_flaws.read(os.path.join(known_flaws.HERE, name))
    row = {"name": name, "truth": truth}
    argv = built(name, options.results, options.end)
    trace = stem + ".db"
    kinds = {"plain": (argv, {}), "fixed": (argv, {"FIX": "1"}), "traced": ([options.command, "run", "-o", trace, "--", *argv], {})}
    for kind in options.what.split(","):
        command, variables = kinds[kind]
        if kind == "traced" and os.path.exists(trace):
            os.unlink(trace)
        begin = time.monotonic()
        status, text = start(command, options.end, f"{stem}.{kind}.out", CUDA_VISIBLE_DEVICES=devices, **variables)
        if status == SKIPPED:
            raise Skip(text.strip().splitlines()[-1])
        if status:
            raise Failure(f"{kind}: {status} {text[-300:]}")
        loop_s, step_s = known_flaws.loop(text)
        row[kind] = {"seconds": time.monotonic() - begin, "loop_s": loop_s, "step_s": step_s}
        if kind == "traced":
            found = known_flaws.findings(trace)
            row["view"] = found is not None
            row["findings"] = known_flaws.in_summary(text) if found is None else found
            row["summary"] = text[text.rfind("gpuverify: "):].splitlines()[:25]
            row["steps"] = known_flaws.steps(trace)
            row["done"] = known_flaws.loop_steps(text)
            start([options.command, "report", "--format", "json", trace], options.end, f"{stem}.report.json")
    return row


def saving(row):
    plain, fixed, traced = (row.get(kind) for kind in ("plain", "fixed", "traced"))
    if not row.get("findings") or "none_above" in row["truth"]:
        return None
    if not (plain and fixed and traced and plain["step_s"] and fixed["step_s"] and traced["loop_s"]):
        return None
    return known_flaws.saving(row["findings"][0], plain["step_s"], fixed["step_s"], traced["loop_s"], traced["seconds"])


def lines_of(row):
    """What is printed of a program."""
    times = "  ".join(f"{kind} {row[kind]['seconds']:.1f} s ({1e3 * (row[kind]['step_s'] or 0):.4g} ms a step)"
                      for kind in ("plain", "fixed", "traced") if kind in row)
    lines = [f"{row['said']:8} {row['name']}  {times}"]
    for number, finding in enumerate(row.get("findings") or [], 1):
        place = f"{os.path.basename(finding['file'] or '?')}:{finding['line']} {finding['function'] or ''}"
        lines.append(f"    {number} {finding['phase']:5} {finding['what']}  {place}  {finding['title'] or ''}"[:180])
    truth = row["truth"]
    if "warm_up_steps" in truth and "steps" in row:
        steps = (row["done"] or 0) + truth["warm_up_steps"]
        lines.append(f"    steps: {row['steps']} found; {steps} at line {truth['step_line']}: {truth['step']}")
    lines.append(f"    truth: {'|'.join(truth['what'])}  at {'|'.join(map(str, truth['lines']))}  {truth['cause'][:100]}")
    if row.get("saving"):
        said, agree = row["saving"]["said_s"], row["saving"]["agree"]
        lines.append("    saves: " + ("nothing said" if said is None else f"{said:.2f} s said, which is {'right' if agree else 'wrong'}")
                     + f"; the twin {row['saving']['twin_s']:.2f} s")
    return "\n".join(lines)


def warm_up(names, end, log):
    """Reads the packages from the disk once, so that the first program does not pay for it."""
    found = sorted({package for name in names for package in packages(name)})
    code = "import contextlib, numpy\nnumpy.row_stack = numpy.vstack\n" + "".join(
        f"with contextlib.suppress(ImportError):\n    import {package}\n" for package in found)
    start([sys.executable, "-c", code], end, log)


def run_all(names, options):
    """All of them, one at a time for each GPU; those that need two GPUs come last. Returns the rows."""
    rows, lock, waiting = [], threading.Lock(), queue.Queue()
    needs_two = [name for name in names if "_two_" in name]
    for name in names:
        if name not in needs_two:
            waiting.put(name)

    def one(name, devices):
        try:
            row = run_one(name, options, devices) if options.end - time.monotonic() > LEAST_S else {"skipped": "no time left"}
        except Skip as why:
            row = {"skipped": str(why)}
        except Exception as error:  # the other programs go on
            row = {"failed": f"{'' if isinstance(error, Failure) else type(error).__name__ + ': '}{error}"}
        row["name"] = name
        with lock:
            rows.append(row)
            if "skipped" in row or "failed" in row:
                print(*(f"{word:8} {name}: {row[word]}" for word in ("skipped", "failed") if word in row), flush=True)
                return
            row["said"] = known_flaws.judge_first(row["truth"], name, row["findings"] or []) if "traced" in row else "-"
            row["saving"] = saving(row)
            print(lines_of(row), flush=True)
            with open(os.path.join(options.results, name.rsplit(".", 1)[0] + ".json"), "w", encoding="utf-8") as file:
                json.dump(row, file, indent=1)

    def work(device):
        while True:
            try:
                name = waiting.get_nowait()
            except queue.Empty:
                return
            one(name, device)

    threads = [threading.Thread(target=work, args=(device,)) for device in DEVICES[:options.gpus]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in needs_two:
        one(name, ",".join(DEVICES[:2]))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--build", default=os.path.join(known_flaws.HERE, "../../build"), metavar="FOLDER")
    parser.add_argument("--check", action="store_true", help="only compare the truths with the marks")
    parser.add_argument("--what", default="plain,fixed,traced", metavar="KINDS", help="which runs (default: plain,fixed,traced)")
    parser.add_argument("--limit", type=float, default=1e6, metavar="S", help="end within so many seconds; the rest is skipped")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="every N-th program, from the I-th on")
    parser.add_argument("--gpus", type=int, default=1, metavar="N", help="so many programs at a time, each on its own GPU")
    parser.add_argument("--results", default=os.path.join(tempfile.gettempdir(), "gpuverify-programs"), metavar="FOLDER")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    names = [name for name in known_flaws.programs() if not options.names or name.startswith(tuple(options.names))][part - 1::parts]
    wrong = [f"{name}: {why}" for name in names if (why := known_flaws.read(os.path.join(known_flaws.HERE, name))[1])]
    if wrong or not names:
        sys.exit("\n".join(wrong) or "no program has such a name")
    if options.check:
        print(f"{len(names)} programs: all truths agree with the marks")
        return 0
    why = why_no_gpu()
    if why:
        print("\n".join(f"skipped  {name}: {why}" for name in names) + f"\n0 passed, 0 failed, {len(names)} skipped")
        return 0
    options.end = time.monotonic() + options.limit
    options.results = os.path.abspath(options.results)
    options.command = command_of(options.build)
    os.makedirs(options.results, exist_ok=True)
    warm_up(names, options.end, os.path.join(options.results, "warm-up.out"))
    rows = run_all(names, options)
    counts = {word: sum(row.get("said") == word for row in rows) for word in ("right", "half", "wrong", "nothing")}
    savings = [row["saving"]["agree"] for row in rows if row.get("saving") and row["saving"]["agree"] is not None]
    print("first findings: " + ", ".join(f"{count} {word}" for word, count in counts.items())
          + f"; savings: {sum(savings)} of {len(savings)} right")
    if os.path.isdir(os.environ.get("OUT", "")):
        with tarfile.open(os.path.join(os.environ["OUT"], "programs.tgz"), "w:gz") as archive:
            for name in sorted(os.listdir(options.results)):
                if name.endswith((".json", ".out")):
                    archive.add(os.path.join(options.results, name), name)
    skipped = sum("skipped" in row for row in rows)
    failed = sum("failed" in row or row.get("said") in ("half", "wrong", "nothing") for row in rows)
    print(f"{len(rows) - skipped - failed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
