"""Which sequence of CUPTI's calls can begin and end a window, while eight threads launch kernels, copies and graphs:
each in a process of its own (windows.c), and gpuverify's own windows beside them."""

import os
import re
import signal
import subprocess

from ground import finish, place, query
from gpu import find_cupti, gpu_environment, lacking

WINDOWS, WINDOW_US, EVERY_US = 10000, 5000, 15000
MORE_S = 60  # for a process that is slower than it should be

IN_WINDOWS = {"GPUVERIFY_GPU": "windows", "GPUVERIFY_WINDOW_MS": str(WINDOW_US // 1000),
              "GPUVERIFY_WINDOW_EVERY": str(EVERY_US / 1e6)}
# Under gpuverify, without windows of the program's own: the mode as gpu_environment() knows it, and more.
OWN = {"gpuverify: host-only": ("host-only", {}), "gpuverify: always": ("default", {}),
       "gpuverify: windows": ("default", IN_WINDOWS)}


def run(bench, folder, sequence, windows, **environment):
    """What windows.c says: ({name: number}, how it ended)."""
    command = [bench.path("tests/bench/bench_windows"), sequence, str(windows), str(WINDOW_US), str(EVERY_US)]
    said = os.path.join(folder, "said.txt")
    with open(said, "w", encoding="utf-8") as out:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=subprocess.STDOUT)
        try:
            status = process.wait(3 * windows * EVERY_US / 1e6 + MORE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            status = None
    with open(said, encoding="utf-8", errors="replace") as file:
        text = file.read()
    values = {name: float(number) for name, number in re.findall(r"^(\w+) ([\d.]+)$", text, re.M)}
    refused = re.findall(r"^bench_windows: .*", text, re.M)
    if status is None:
        return values, "hung"
    if status < 0:
        return values, f"died: {signal.Signals(-status).name} in {died_in(text)}"
    return values, "fine" if status == 0 else (refused or [f"exit code {status}"])[-1].removeprefix("bench_windows: ")


def died_in(text):
    """The innermost library of the stack that windows.c prints, after its own frame and libc's."""
    files = [os.path.basename(path) for path in re.findall(r"^(/[^(]+)\(.*\[0x", text, re.M)]
    return next((file for file in files[1:] if not file.startswith("libc.")), "an unknown place")


# Of the calls that began and ended in a window, those without an operation. What was captured has none.
LOST = """SELECT count(*) FROM calls c
    WHERE class IN ('launch', 'copy') AND start_ns > (SELECT max(start_ns) FROM calls WHERE class = 'graph')
        AND id NOT IN (SELECT call FROM gpu_ops WHERE call IS NOT NULL)
        AND (SELECT gpu FROM gpu_change WHERE process = c.process AND at_ns <= c.start_ns ORDER BY at_ns DESC LIMIT 1) = 'seen'
        AND (SELECT min(at_ns) FROM gpu_change WHERE process = c.process AND at_ns > c.start_ns) > c.start_ns + c.duration_ns"""


def run_own(bench, folder, name, windows):
    mode, more = OWN[name]
    values, end = run(bench, folder, "plain", windows, **{**gpu_environment(bench, folder, mode, find_cupti()), **more})
    if "calls" not in values:
        return values, end
    trace = finish(bench, folder)
    values["lost"] = query(trace, "SELECT coalesce(sum(count), 0) FROM losses") + query(trace, LOST)
    values["done"] = query(trace, "SELECT count(*) FROM recording WHERE gpu = 'seen'")
    # The program's windows are not gpuverify's.
    return {name: value for name, value in values.items() if not name.startswith(("open", "close", "inside"))}, end


def bench_windows(bench):
    """Sequences of CUPTI's calls that begin and end a window of 5 ms every 15 ms, beside eight launching threads."""
    if lacking():
        print(f"  skipped: {lacking()}")
        return
    windows = bench.scaled(WINDOWS, 20)
    sequences = subprocess.run([bench.path("tests/bench/bench_windows"), "--list"], capture_output=True, text=True,
                               check=True).stdout.splitlines()
    rows = []
    for name in [*sequences, *OWN]:
        with place() as folder:
            if name in OWN:
                values, end = run_own(bench, folder, name, windows)
            else:
                environment = {**gpu_environment(bench, folder, "plain", None), "BENCH_CUPTI": find_cupti()}
                values, end = run(bench, folder, name, windows, **environment)
        bench.found[f"gpu_windows_{name}".replace(" ", "_")] = {**values, "end": end}
        rows.append((name, values.get("done"), end, values.get("calls"), values.get("lost"),
                     *(values.get(key) for key in ("between_p10_ns", "inside_p10_ns", "open_us", "open_most_us",
                                                   "close_us", "close_most_us"))))
        print(f"  {name}: {end}", flush=True)
    bench.table(("sequence", "windows", "end", "calls", "lost", "graph launch between, p10 ns", "in windows, p10 ns",
                 "to open, us", "most", "to close, us", "most"), rows)


BENCHES = {"gpu-windows": bench_windows}
