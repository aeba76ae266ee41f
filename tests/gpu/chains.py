#!/usr/bin/env python3
"""Compares the native stacks in a trace with what backtrace() says at the same moments.

  tests/gpu/chains.py [--build FOLDER] [--keep FOLDER] [PROGRAM]...

PROGRAM: C++, Rust, ctypes, torch, jax, cupy, numba; all without one. Needs a GPU, or runs under scripts/with-sim; a program
without its package or compiler is skipped. Frames of libgpuverify are left out, and the interpreter's where the trace has Python frames
instead. The exit status is 1 if a stack differs, or none was compared; 77 if all programs were skipped.
"""

import argparse
import bisect
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

from ground import HERE, ROOT, SKIPPED, Bench, Failure, Skip, check, trace_of

OURS = re.compile(r"/lib(gpuverify|chains_shim)\.so$")
INTERPRETER = re.compile(r"/(python|libpython)[^/]*$")
MOST = 256  # frames that backtrace() was asked for, with ours
SLACK_ns = 2000  # clocks are compared once
PAGE_BYTES = 4096

Record = collections.namedtuple("Record", "at_ns count frames")  # count: with ours; frames: (object, offset)
Difference = collections.namedtuple("Difference", "call depth trace backtrace ended")


# ---- what backtrace() said ----

def place(objects, address):
    """(object, offset) of an address; (None, address) of one in no object."""
    at = bisect.bisect_right(objects, (address, float("inf"))) - 1
    if at >= 0 and address < objects[at][1]:
        return objects[at][3], address - objects[at][2]
    return None, address


def without(frames, ours):
    """Without the innermost frames that are ours."""
    while frames and ours.search(frames[0][0] or ""):
        frames = frames[1:]
    return frames


def read_records(path):
    """(Unix time - CLOCK_MONOTONIC, {(pid, tid): [Record]})."""
    offset_ns, lists, taken = 0, [[]], []
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            kind, *words = line.rstrip("\n").split(" ", 4 if line.startswith("object ") else -1)
            if kind == "clock":
                offset_ns = offset_ns or int(words[0])
            elif kind == "objects":
                lists.append([])
            elif kind == "object":
                bisect.insort(lists[-1], (*(int(word, 16) for word in words[:3]), words[3]))
            else:
                taken.append((len(lists) - 1, words))
    records = collections.defaultdict(list)
    for at, words in taken:
        # A library's constructors run before it is in a list.
        near = lists[at:at + 2]
        frames = [next((found for found in (place(objects, int(word, 16)) for objects in near) if found[0]), (None, int(word, 16)))
                  for word in words[3:]]
        records[int(words[0]), int(words[1])].append(Record(int(words[2]), len(frames), without(frames, OURS)))
    return offset_ns, records


# ---- what the trace says ----

def read_stacks(trace):
    """{stack: (its native frames as (object, offset), without inlined ones, whether it has Python frames, how it ended)}."""
    stacks = {row: ([], False, ended) for row, ended in trace.execute(
        "SELECT id, how FROM stack LEFT JOIN stack_end ON stack = id")}
    for stack, kind, path, address in trace.execute(
            "SELECT f.stack, kind, o.path, address FROM frame f LEFT JOIN object o ON o.id = f.object "
            "WHERE kind = 'python' OR address IS NOT NULL ORDER BY 1, depth"):
        frames, has_python, ended = stacks[stack]
        if kind == "python":
            stacks[stack] = frames, True, ended
        else:
            frames.append((path, address))
    return stacks


def calls_with_record(trace, records, offset_ns):
    """(call, name, its own stack or None, Record or None) of each call."""
    threads = collections.defaultdict(list)
    for pid, tid, *call in trace.execute(
            "SELECT p.pid, t.tid, c.start_ns + c.span_ns, c.id, c.name, CASE WHEN c.own_stack = 1 THEN c.stack END, c.count = 1 "
            "FROM calls c JOIN thread t ON t.id = c.thread JOIN process p ON p.id = t.process ORDER BY c.start_ns"):
        threads[pid, tid].append(call)
    start_ns = trace.execute("SELECT value FROM meta WHERE key = 'unix_offset_ns'").fetchone()[0] - offset_ns
    for thread, calls in threads.items():
        times = [record.at_ns - start_ns + SLACK_ns for record in records[thread]]
        ends = [call[0] for call in calls] + [float("inf")]
        for (end_ns, row, name, stack, is_one), next_ns in zip(calls, ends[1:]):
            at = bisect.bisect_left(times, end_ns)  # what is read later may be at the process's end
            if is_one:
                yield row, name, stack, records[thread][at] if at < len(times) and times[at] < next_ns else None


def without_interpreter(frames):
    """Without those of its object: a library, or else the program."""
    its = next((path for path, _ in frames if INTERPRETER.search(path or "")), None)
    return [frame for frame in frames if its is None or frame[0] != its]


def is_same(frame, said, bases):
    """The loader does not list libcudnn_ops.so.9 while it is loaded by another library. Such an object has one base."""
    (path, offset), (said_path, address) = frame, said
    if said_path or not path:
        return frame == said
    base = address - offset
    return base % PAGE_BYTES == 0 and bases.setdefault(path, base) == base


def compare(trace, records, offset_ns):
    """Counts, and the differences."""
    count, differences, stacks, bases = collections.Counter(), [], read_stacks(trace), {}
    for row, name, stack, record in calls_with_record(trace, records, offset_ns):
        if record is None or stack is None:
            count["no stack" if stack is None else "no backtrace"] += 1
            continue
        frames, has_python, ended = stacks[stack]
        said = without_interpreter(record.frames) if has_python else record.frames
        most = min(len(frames), len(said))
        depth = next((i for i in range(most) if not is_same(frames[i], said[i], bases)), most)
        # Neither goes on for ever.
        is_cut = ended == "truncated" or record.count == MOST
        count.update(stacks=1, frames=max(most, 0 if is_cut else len(said)), equal=depth,
                     **{f"ended {ended}": int(ended is not None)})
        if depth < most or (len(frames) != len(said) and not is_cut):
            count["early"] += depth == len(frames)
            count["late"] += depth == len(said)
            differences.append(Difference(f"{row} ({name}), stack {stack}", depth, frames, said, ended))
    return count, differences


def word(trace, frames, depth):
    if depth >= len(frames):
        return "ends"
    path, offset = frames[depth]
    function = trace.execute("SELECT function FROM frame f JOIN object o ON o.id = f.object WHERE o.path = ? AND address = ? "
                             "AND function IS NOT NULL", (path, offset)).fetchone()
    return f"{os.path.basename(path or 'no object')}+{offset:#x}" + (f" ({function[0]})" if function else "")


def report(trace, name, count, differences):
    percent = 100 * count["equal"] / max(1, count["frames"])
    print(f"{name}: {count['stacks']} stacks, {count['frames']} frames, {count['equal']} equal ({percent:.2f} %); "
          f"{len(differences)} stacks differ: {count['early']} end early, {count['late']} go on too long; the trace says "
          f"{count['ended truncated']} truncated, {count['ended stopped']} stopped; calls without their own stack: {count['no stack']}, "
          f"without a backtrace: {count['no backtrace']}")
    for each in differences[:3]:
        print(f"  call {each.call}: {len(each.trace)} frames, backtrace() {len(each.backtrace)}, ended {each.ended or 'complete'}")
        for depth in range(max(0, each.depth - 1), each.depth + 2):
            print(f"    {depth}: {word(trace, each.trace, depth)}; backtrace(): {word(trace, each.backtrace, depth)}")


# ---- the programs ----

RUST = {"debug": ["-C", "debuginfo=2"], "release": ["-O"], "release with frame pointers": ["-O", "-C", "force-frame-pointers=yes"],
        "release of one piece": ["-O", "-C", "lto=fat", "-C", "codegen-units=1"]}
PROGRAMS = ("C++", *(f"Rust {how}" for how in RUST), "ctypes", "torch", "jax", "cupy", "numba")


def compile_rust(how, folder):
    """Linked with the libcuda that it will have."""
    compiler = shutil.which("rustc")
    if not compiler:
        raise Skip("no rustc here")
    program = os.path.join(folder, "rust_program")
    where = [word for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if path for word in ("-L", path)]
    done = subprocess.run([compiler, "--edition", "2021", *RUST[how], *where, "-C", "link-arg=-l:libcuda.so.1", "-o", program,
                           os.path.join(HERE, "chains_program.rs")], env={**os.environ, "LD_PRELOAD": ""}, capture_output=True,
                          text=True, timeout=300, check=False)
    check(done.returncode == 0, f"rustc: {done.stderr[-500:]}")
    return program


def run(bench, name, folder):
    """Whether all is equal."""
    shim = os.path.join(bench.programs, "tests", "gpu", "libchains_shim.so")
    if name == "C++":
        command = [os.path.join(bench.programs, "tests", "gpu", "chains_program")]
    elif name.startswith("Rust "):
        command = [compile_rust(name[5:], folder)]
    else:
        command = [sys.executable, os.path.join(HERE, "chains_programs.py"), name]
    for path in (shim, command[0]):
        if not os.path.exists(path):
            raise Skip(f"{path} is not built")
    chains = os.path.join(folder, "chains.txt")
    # The trace has times by the clock that the shim reads.
    done = bench.run(command, folder, False, 300, LD_PRELOAD=f"{shim}:{bench.library}", CHAINS=chains,
                     GPUVERIFY_TRACE=os.path.join(folder, "trace.db"), GPUVERIFY_STACKS="all", GPUVERIFY_GPU="off",
                     GPUVERIFY_CLOCK="monotonic", GPUVERIFY_SPOOL_MB="512")
    if done.returncode == SKIPPED:
        raise Skip(done.stdout.strip()[-200:])
    check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-500:]}")
    bench.recover(folder)
    offset_ns, records = read_records(chains)
    with trace_of(folder) as trace:
        count, differences = compare(trace, records, offset_ns)
        report(trace, name, count, differences)
        not_taken = trace.execute("SELECT reason, sum(count) FROM not_taken GROUP BY 1").fetchall()
        if not_taken:
            print(f"  not taken: {not_taken}")
    return count["stacks"] > 0 and not differences


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--keep", metavar="FOLDER", help="keep traces and chains there")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(dict.fromkeys(name.split()[0] for name in PROGRAMS)))
    options = parser.parse_args()
    chosen = [name for name in PROGRAMS if not options.programs or name.split()[0] in options.programs]
    bench, good, skipped = Bench(options.build), bool(chosen), 0
    for name in chosen:
        folder = tempfile.mkdtemp(prefix="gpuverify-chains-")
        try:
            good &= run(bench, name, folder)
        except Skip as reason:
            print(f"{name}: skipped: {reason}")
            skipped += 1
        except Failure as reason:
            print(f"{name}: failed: {reason}")
            good = False
        finally:
            if options.keep:
                shutil.copytree(folder, os.path.join(options.keep, name), dirs_exist_ok=True)
            shutil.rmtree(folder, ignore_errors=True)
        sys.stdout.flush()
    return SKIPPED if good and skipped == len(chosen) else 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
