"""What gpuverify look has to say of processes that hang or wait, one row each: written before it is asked."""

import os
import re

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "program.py")

# situation: what its summary says; LINE is the line that program.py marks.
GPU = r"the main thread waits for the GPU in {} at LINE"
IS = r"the main thread is {} at LINE"
SITUATIONS = {
    "stream": GPU.format("cuStreamSynchronize"),
    "event": GPU.format("cuEventSynchronize"),
    "host_function": GPU.format("cuStreamSynchronize"),
    "copy": r"the main thread copies in cuMemcpyDtoH_v2 at LINE",
    "free": r"the main thread frees memory in cuMemFree_v2 at LINE",
    "load": r"the main thread loads code in cuModuleLoadData at LINE",
    "python": IS.format("(running Python|waiting for a CPU)"),
    "native": IS.format("(running native code on the CPU|waiting for a CPU)"),
    "sleep": IS.format("sleeping"),
    "lock": IS.format("waiting for another thread"),
    "thread": r"thread \d+ \(.*\) is sleeping at LINE",
    "mutex": IS.format("waiting for another thread") + r".*\(thread \d+, .*, has the lock\)",
    "deadlock": r"\AHangs: threads wait for each other's locks: the main thread at LINE",
    "gil": r"the main thread is waiting for the GIL, held at LINE",
    "gc": IS.format("collecting Python's garbage"),
    "file": IS.format("reading or writing files"),
    "network": IS.format("waiting for the network"),
    "child": IS.format("waiting for another program") + r".*\(sleep\)",
    "data": IS.format("waiting for data"),
    "import": IS.format("importing modules"),
    "compile": IS.format("compiling") + r".*\(ptxas\)",
    "no_cpu": IS.format(r"(waiting for a CPU|running Python)") + r".*(\(without a CPU in \d+\)|waiting for a CPU)",
    "finished": IS.format("waiting for requests"),
    "traceback": IS.format("formatting a traceback for each operation"),
    "nccl": r"\ARank 1 may hold up the others: it is sleeping at LINE.*Rank 0: it waits for the GPU in cuStreamSynchronize",
}
# Those that depend on CPython's version; and of these, on whether it has a GIL.
OF_PYTHON = ("python", "sleep", "thread", "stream", "data")
OF_THE_GIL = ("gil", "gc")
# Those of which all processes are looked at.
TREES = ("nccl",)


def words(name, pid):
    """What follows `gpuverify`."""
    return ["look", str(pid), "--format", "json", "--seconds", "1", *(["--tree"] if name in TREES else [])]


def mismatch(name, seen):
    """None, or why what was said is not right."""
    with open(PROGRAM, encoding="utf-8") as file:
        line = next(number for number, text in enumerate(file, 1) if f"# HERE {name}\n" in text)
    said = SITUATIONS[name].replace("LINE", rf"program\.py:{line}\b")
    return None if re.search(said, seen["summary"]) else f"{seen['summary']!r} is not {said!r}"
