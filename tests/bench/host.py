"""Measures the library's costs on the host, on the simulator. Needs no GPU."""

import contextlib
import mmap
import os
import platform
import random
import signal
import statistics
import struct
import subprocess
import time

from ground import (environment, finish, launch_rows, launches, lost_launches, place,
                    python_calls, python_waits, query, spool_of)


def bench_hook(bench):
    """ns per launch: bursts, plain and with the library in turn; and what the trace says of it."""
    plain, hooked, added, estimated = [], [], [], []
    for _ in range(bench.scaled(15, 3)):
        for preload, into in ((False, plain), (True, hooked)):
            with place() as folder:
                values = launches(bench, folder, preload, "-n", "200000", "-b", "2000")
                into.append(statistics.median(values["burst_ns"]))
                if preload:
                    estimated.append(query(finish(bench, folder), "SELECT total_ns * 1.0 / count "
                                           "FROM own_cost WHERE what = 'hooks'"))
        added.append(hooked[-1] - plain[-1])
    bench.spread("hook_plain_ns", "launch, plain", plain, "ns")
    bench.spread("hook_hooked_ns", "launch, with the library", hooked, "ns")
    bench.spread("hook_added_ns", "the hook's cost per launch", added, "ns")
    bench.spread("hook_estimated_ns", "the same as the view own_cost estimates it", estimated, "ns")


def bench_stopped(bench):
    """What a call costs while recording is stopped: ns of a launch, and instructions of the library."""
    plain, added = [], []
    for _ in range(bench.scaled(15, 3)):
        medians = []
        for preload in (False, True):
            with place() as folder:
                more = {"GPUVERIFY_START": "later", "GPUVERIFY_IDLE_HZ": "0"} if preload else {}
                values = launches(bench, folder, preload, "-n", "400000", "-b", "2000", **more)
                medians.append(statistics.median(values["burst_ns"]))
                if preload:
                    bench.must("no launch is recorded", launch_rows(finish(bench, folder)) == 0)
        plain.append(medians[0])
        added.append(medians[1] - medians[0])
    bench.spread("stopped_plain_ns", "launch, plain", plain, "ns")
    bench.spread("stopped_added_ns", "the library's cost per launch while recording is stopped", added, "ns")
    if platform.machine() == "x86_64":
        with place() as folder:
            told = instructions(bench, folder)
            finish(bench, folder)
        bench.table(["instructions of the library", "recorded", "stopped"],
                    [[name, int(recorded), int(stopped)] for name, _, stopped, _, recorded in told])


def instructions(bench, folder):
    """The words of each line of bench_instructions."""
    settings = environment(bench, folder, True, GPUVERIFY_STACKS="off", GPUVERIFY_STALL_US="10000000",
                           GPUVERIFY_IDLE_HZ="0")
    done = subprocess.run([bench.path("tests/bench/bench_instructions")], env=settings, cwd=folder, check=True,
                          capture_output=True, text=True)
    return [line.split() for line in done.stdout.splitlines()]


def processes():
    return {name for name in os.listdir("/proc") if name.isdigit()}


def ours():
    """The processes that run our collector."""
    found = set()
    for pid in processes():
        with contextlib.suppress(OSError):
            if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "gpuverify":
                found.add(pid)
    return found


def bench_true(bench):
    """A program without CUDA."""
    plain, hooked = [], []
    for _ in range(bench.scaled(300, 20)):
        for preload, into in ((False, plain), (True, hooked)):
            with place() as folder:
                settings = environment(bench, folder, preload)
                start_ns = time.perf_counter_ns()
                subprocess.run(["/bin/true"], env=settings, cwd=folder, check=True)
                into.append((time.perf_counter_ns() - start_ns) / 1e6)
                left = os.listdir(folder) + os.listdir(spool_of(folder))
                bench.must(f"/bin/true leaves no file: {left}", not left)
    bench.spread("true_plain_ms", "/bin/true, plain", plain, "ms")
    bench.spread("true_hooked_ms", "/bin/true, with the library", hooked, "ms")
    bench.say("true_added_ms", statistics.median(hooked) - statistics.median(plain),
              f"added: {statistics.median(hooked) - statistics.median(plain):.3f} ms")
    with place() as folder:
        before = ours()
        process = subprocess.Popen(["/bin/sleep", "0.3"], cwd=folder,
                                   env=environment(bench, folder, True))
        time.sleep(0.15)
        tasks = len(os.listdir(f"/proc/{process.pid}/task"))
        bench.must(f"a program without CUDA has one thread, not {tasks}", tasks == 1)
        bench.must("a program without CUDA starts no process", ours() <= before)
        process.wait()


def bench_million(bench):
    """Many launches from one thread, then the end."""
    count = bench.scaled(1000000, 10000)
    waits, plain_waits, sizes, memory, shared, lost = [], [], [], [], [], []
    for _ in range(bench.scaled(7, 2)):
        with place() as folder:
            plain = launches(bench, folder, False, "-n", str(count))
            plain_waits.append(plain["waited_ns"][0] / 1e6)
        with place() as folder:
            hooked = launches(bench, folder, True, "-n", str(count))
            trace = finish(bench, folder)
            rows, gone = launch_rows(trace), lost_launches(trace)
            waits.append(hooked["waited_ns"][0] / 1e6)
            sizes.append(os.path.getsize(trace) / max(1, rows))
            memory.append((hooked["VmHWM"][0] - plain["VmHWM"][0]) / 1024)
            shared.append((hooked["RssShmem"][0] - plain["RssShmem"][0]) / 1024)
            lost.append(gone)
            bench.must(f"{rows} rows and {gone} lost are {count} launches", rows + gone == count)
    print(f"  {count} launches:")
    bench.spread("million_exit_plain_ms", "the program's end, plain", plain_waits, "ms")
    bench.spread("million_exit_ms", "the program's end, with the library", waits, "ms")
    bench.spread("million_bytes_per_call", "trace", sizes, "bytes per call")
    bench.spread("million_memory_mb", "peak memory added to the program", memory, "MB")
    bench.spread("million_shared_mb", "of it shared memory at its end", shared, "MB")
    bench.spread("million_lost", "lost", lost, "launches")


def bench_operations(bench):
    """A launch each 2 us, with the simulated CUPTI: memory and the end."""
    cupti = bench.path("tests/sim/libcupti.so.13")
    if not os.path.exists(cupti):
        print("  skipped: no simulated libcupti was built")
        return
    words = ("-n", str(bench.scaled(1000000, 10000)), "-p", "2000")
    waits, memory, shared = [], [], []
    for _ in range(bench.scaled(5, 2)):
        with place() as folder:
            plain = launches(bench, folder, False, *words)
        with place() as folder:
            seen = launches(bench, folder, True, *words, GPUVERIFY_GPU="on", GPUVERIFY_CUPTI=cupti)
            trace = finish(bench, folder)
            rows, lost = launch_rows(trace), query(trace, "SELECT coalesce(sum(count), 0) FROM losses")
            bench.must(f"{rows} launches have their operations, or {lost} are lost",
                       query(trace, "SELECT count(*) FROM gpu_ops") + lost >= rows)
        waits.append((seen["waited_ns"][0] - plain["waited_ns"][0]) / 1e6)
        memory.append((seen["VmHWM"][0] - plain["VmHWM"][0]) / 1024)
        shared.append((seen["RssShmem"][0] - plain["RssShmem"][0]) / 1024)
    bench.spread("operations_exit_ms", f"{rows} GPU operations, the end takes longer by", waits, "ms")
    bench.spread("operations_memory_mb", "with GPU operations, peak memory added", memory, "MB")
    bench.spread("operations_shared_mb", "of it shared memory at its end", shared, "MB")


COLD_PARTS = (("calls 1 to 10 000", 0, 10), ("calls 10 001 to 20 000", 10, 20),
              ("calls 20 001 to 100 000", 20, 100), ("calls after those", 100, None))


def bench_cold(bench):
    """The hook's cost while the spool's memory is new, and later."""
    for name, words in (("each 2 us", ("-p", "2000")), ("without a pause", ())):
        found = {False: [], True: []}
        for _ in range(bench.scaled(9, 2)):
            for preload, runs in found.items():
                with place() as folder:
                    runs.append(launches(bench, folder, preload, "-n", "200000", "-b", "1000",
                                         *words)["burst_ns"])
        # A stop for new memory is in the same window of every run; one by the machine is not.
        plain, added = ([statistics.median(window) for window in zip(*runs)] for runs in found.values())
        added = [window - statistics.median(plain) for window in added]
        for what, first, last in COLD_PARTS:
            bench.spread(f"cold_{first}_{'paced' if words else 'flood'}_ns",
                         f"a launch {name}, {what}, in windows of 1000: added", added[first:last], "ns")


def bench_threads(bench):
    """64 threads at full speed."""
    seconds = max(0.5, 5 * bench.scale)
    made, lost, rates = [], [], []
    for _ in range(bench.scaled(3)):
        with place() as folder:
            values = launches(bench, folder, True, "-t", "64", "-s", str(seconds))
            trace = finish(bench, folder)
            rows, gone = launch_rows(trace), lost_launches(trace)
            total = int(values["launches"][0])
            made.append(total)
            lost.append(100 * gone / total)
            rates.append(total / values["elapsed_ns"][0] * 1e3)
            bench.must(f"{rows} rows and {gone} lost are {total} launches", rows + gone == total)
    print(f"  64 threads for {seconds:g} s:")
    bench.spread("threads_launches", "launches", made, "")
    bench.spread("threads_rate", "rate", rates, "million/s")
    bench.spread("threads_lost_percent", "lost, each one counted", lost, "%")


def kill_once(bench, folder, moment_s):
    """Kills a launching program. Returns launches known 10 ms before, and those in the trace."""
    progress = os.path.join(folder, "progress")
    with open(progress, "wb") as file:
        file.write(bytes(4096))
    process = subprocess.Popen([bench.path("tests/bench/bench_launches"), "-s", "30", "-p", "2000",
                                "-f", progress], stdout=subprocess.DEVNULL,
                               env=environment(bench, folder, True))
    with open(progress, "rb") as file, mmap.mmap(file.fileno(), 4096,
                                                 prot=mmap.PROT_READ) as memory:
        deadline = time.monotonic() + 20
        while struct.unpack_from("Q", memory)[0] == 0 and time.monotonic() < deadline:
            time.sleep(0.0005)
        time.sleep(moment_s)
        returned = struct.unpack_from("Q", memory)[0]
        time.sleep(0.010)
        process.send_signal(signal.SIGKILL)
        process.wait()
        final = struct.unpack_from("Q", memory)[0]
    trace = finish(bench, folder)
    bench.must("the trace passes integrity_check",
               query(trace, "PRAGMA integrity_check") == "ok")
    return returned, launch_rows(trace), final


def bench_kill(bench):
    """SIGKILL at random moments."""
    count, missing = bench.scaled(200, 5), []
    seed = random.randrange(1 << 32)
    moments = random.Random(seed)
    short = 0
    for _ in range(count):
        with place() as folder:
            returned, rows, final = kill_once(bench, folder, moments.uniform(0, 0.2))
            missing.append(final - rows)
            short += rows < returned
            bench.must(f"{rows} launches in the trace, {returned} had returned 10 ms before",
                       rows >= returned)
    bench.say("kill_traces", {"killed": count, "short": short, "seed": seed},
              f"{count} programs killed (seed {seed}): {count - short} traces hold all calls that "
              "had returned 10 ms before")
    bench.spread("kill_missing", "launches before the kill itself that are not there", missing, "")


def bench_calls(bench):
    """How the end of the program and its trace grow with the number of calls, one each microsecond."""
    counts = [bench.scaled(count, 1000) for count in (10_000, 100_000, 1_000_000, 4_000_000)]
    points = []
    for count in counts:
        added, per_call, lost = [], [], []
        for _ in range(bench.scaled(3, 2)):
            with place() as folder:
                plain = launches(bench, folder, False, "-n", str(count), "-p", "1000")
            with place() as folder:
                hooked = launches(bench, folder, True, "-n", str(count), "-p", "1000")
                trace = finish(bench, folder)
                rows, gone = launch_rows(trace), lost_launches(trace)
                per_call.append(os.path.getsize(trace) / max(1, rows))
                lost.append(100 * gone / count)
                bench.must(f"{rows} rows and {gone} lost are {count} launches", rows + gone == count)
            added.append((hooked["waited_ns"][0] - plain["waited_ns"][0]) / 1e6)
        points.append(bench.spread(f"calls_{count}_exit_ms", f"{count} calls, the end takes longer by",
                                   added, "ms"))
        bench.spread(f"calls_{count}_bytes", f"{count} calls, trace per call", per_call, "bytes")
        bench.spread(f"calls_{count}_lost", f"{count} calls, lost, each one counted", lost, "%")
    bench.chart(name="host-calls", kind="lines", title="Time that the end of the program takes longer",
                x="calls", y="ms", x_values=counts, log_x=True, series={"added": points})


def bench_parallel(bench):
    """How the hook's cost grows with threads that launch without a pause; the spool grows meanwhile."""
    threads = (1, 2, 4, 8, 16, 32)
    rates = {"plain": [], "with the library": []}
    for count in threads:
        each = bench.scaled(2_000_000 // count, 2000)
        found = {name: [] for name in rates}
        for _ in range(bench.scaled(5, 2)):
            for name, preload in (("plain", False), ("with the library", True)):
                with place() as folder:
                    values = launches(bench, folder, preload, "-t", str(count), "-n", str(each),
                                      GPUVERIFY_SPOOL_MB="1024")
                    found[name].append(values["elapsed_ns"][0] / (each * count))
        for name, values in found.items():
            short = "plain" if name == "plain" else "hooked"
            rates[name].append(bench.spread(f"parallel_{count}_{short}_ns",
                                            f"{count} threads, {name}: per launch of the process",
                                            values, "ns"))
    bench.chart(name="host-threads", kind="lines", title="Launches of several threads, of the process",
                x="threads", y="ns per launch", x_values=threads, log_x=True, series=rates)


STACK_PACE_NS = 500_000  # so that the collector has time for each


def stack_costs(bench, run, words, name, what):
    """Of each call, with GPUVERIFY_STACKS=all and without: the median, and the p90 of single calls."""
    found = {"": [], "_p90": []}
    for _ in range(bench.scaled(5, 2)):
        calls = {}
        for stacks in ("off", "all"):
            with place() as folder:
                calls[stacks] = sorted(run(bench, folder, True, *words, GPUVERIFY_STACKS=stacks)["burst_ns"])
                share = query(finish(bench, folder), "SELECT avg(stack IS NOT NULL) FROM calls")
                # Only a whole run has the machine for itself, and so has the collector.
                least = 0.9 if bench.scale >= 1 else 0
                bench.must(f"GPUVERIFY_STACKS={stacks}: {share} of the calls have a stack",
                           share > least if stacks == "all" else share == 0)
        plain = statistics.median(calls["off"])
        found[""].append(statistics.median(calls["all"]) - plain)
        found["_p90"].append(calls["all"][len(calls["all"]) * 9 // 10] - plain)
    bench.spread(f"{name}_p90_ns", f"{what}, p90", found["_p90"], "ns")
    return bench.spread(f"{name}_ns", what, found[""], "ns")


def first_stack(bench, run, words, name, what):
    """Of a process with one call."""
    found = []
    for _ in range(bench.scaled(15, 2)):
        with place() as folder:
            run(bench, folder, True, *words, GPUVERIFY_STACKS="all")
            trace = finish(bench, folder)
            bench.must("one stack is taken", query(trace, "SELECT count FROM own_cost WHERE what = 'stacks'") == 1)
            found.append(query(trace, "SELECT total_ns FROM own_cost WHERE what = 'stacks'") / 1e3)
    bench.spread(f"{name}_first_us", f"{what}, the first of its process", found, "us")


def bench_stacks(bench):
    """What a stack costs the thread that makes the call (GPUVERIFY_STACKS=all), a call each 0.5 ms: by its depth."""
    calls, pace = str(bench.scaled(1000, 100)), str(STACK_PACE_NS)
    kilobytes, depths = (0, 4, 8, 16, 32), (0, 8, 16, 32, 48)
    native = [stack_costs(bench, launches, ("-n", calls, "-b", "1", "-p", pace, "-k", str(size << 10)), f"stack_{size}_kb",
                          f"a stack of {size} KB more") for size in kilobytes]
    python = [stack_costs(bench, python_calls, (calls, "1", str(depth), pace), f"Python_stack_{depth}",
                          f"a stack of {depth} Python frames more") for depth in depths]
    # As in PyTorch, where a launch has 6 to 17 KB below it.
    stack_costs(bench, python_calls, (calls, "1", "16", pace, "8"), "Python_stack_16_c",
                "a stack of 16 Python frames more and 16 KB")
    first_stack(bench, launches, ("-t", "0"), "stack", "a stack without Python")
    first_stack(bench, python_calls, ("0", "1", "16", "0", "8"), "Python_stack_16_c", "a stack of 16 Python frames more and 16 KB")
    bench.note(f"Python stacks are those of CPython {platform.python_version()}; 48 Python frames at most "
               "are taken.")
    bench.chart(name="host-stacks", kind="lines", title="A native stack", x="KB of stack added", y="ns per call",
                x_values=kilobytes, series={"native": native})
    bench.chart(name="host-python-stacks", kind="lines", title="A stack with Python frames", x="Python frames added", y="ns per call",
                x_values=depths, series={"Python": python})


def bench_waits(bench):
    """Steps of a Python program that waits 150 us in each."""
    names = {"plain": None, "stacks off": "off", "default": "stalls", "a stack of every call": "all"}
    found = {name: [] for name in names}
    for _ in range(bench.scaled(7, 2)):
        for name, stacks in names.items():
            with place() as folder:
                values = python_waits(bench, folder, stacks is not None, str(bench.scaled(4000, 400)),
                                GPUVERIFY_STACKS=stacks or "", GV_SIM_KERNEL_NS="150000")
                found[name].append(statistics.median(values["step_ns"]) / 1e3)
                if stacks == "stalls":
                    share = query(finish(bench, folder), "SELECT avg(own_stack) FROM calls WHERE class = 'sync'")
    for name, values in found.items():
        bench.spread(f"waits_{name.replace(' ', '_')}_us", f"a step with a wait, {name}", values, "us")
    bench.note(f"By default {100 * share:.1f} % of these waits had a stack of their own, the others that of an earlier one.")


# What bench_ranges says, who listens, and how many texts of how many bytes. A tool that does nothing is the least that one can cost.
RANGES = [("own", "nobody", 20, 1), ("nvtx", "nobody", 20, 1), ("mark", "nobody", 20, 1),
          ("nvtx", "a tool that does nothing", 20, 1), ("mark", "a tool that does nothing", 20, 1),
          ("own", "gpuverify", 20, 1), ("nvtx", "gpuverify", 20, 1), ("mark", "gpuverify", 20, 1),
          ("library", "gpuverify", 20, 1), ("nvtx", "gpuverify", 20, 1000), ("nvtx", "gpuverify", 200, 1000), ("nvtx", "gpuverify", 20, 20000)]
SAID = {"own": "a push and its pop with gpuverify.h", "nvtx": "a push and its pop with NVTX", "mark": "a mark with NVTX",
        "library": "a push and its pop in a library's domain"}


def bench_ranges(bench):
    """ns per range and mark, by who listens, and by the length and number of the texts."""
    program = os.path.join(bench.build, "tests", "bench", "bench_ranges")
    tool = os.path.join(bench.build, "tests", "bench", "libnvtx_nothing.so")
    for how, who, length, texts in RANGES:
        found = []
        for _ in range(bench.scaled(5, 2)):
            with place() as folder:
                settings = environment(bench, folder, who == "gpuverify")
                if who == "a tool that does nothing":
                    settings["NVTX_INJECTION64_PATH"] = tool
                done = subprocess.run([program, how, str(length), str(texts)], env=settings, cwd=folder, check=True,
                                      capture_output=True, text=True)
                found.append(float(done.stdout))
                if who == "gpuverify":
                    finish(bench, folder)
        bench.spread(f"ranges_{how}_{length}_{texts}_{who.split()[-1]}_ns",
                     f"{SAID[how]}, {texts} text{'s' if texts > 1 else ''} of {length} bytes, to {who}", found, "ns")


def bench_samples(bench):
    """What it costs to choose calls at random for a stack: at 200 000 launches a second, and in a loop of Python."""
    pace_ns, per_step = 5000, 1000
    count, steps = bench.scaled(1_000_000, 20_000), bench.scaled(1500, 20)
    programs = {
        "C": lambda folder, **env: [value / pace_ns for value in launches(
            bench, folder, True, "-n", str(count), "-p", str(pace_ns), "-b", "2000", **env)["burst_ns"]],
        "Python": lambda folder, **env: python_waits(bench, folder, True, str(steps), str(per_step), **env)["step_ns"],
    }
    for program, run in programs.items():
        added, stacks, samples = [], [], []
        for _ in range(bench.scaled(7, 2)):
            means = {}
            for setting in random.sample(("off", "stalls"), 2):
                with place() as folder:
                    values = run(folder, GPUVERIFY_STACKS=setting, GPUVERIFY_SPOOL_MB="256", GPUVERIFY_IDLE_HZ="0")
                    means[setting] = statistics.mean(values)
                    if setting == "stalls":
                        trace = finish(bench, folder)
                        spent_ns = count * pace_ns if program == "C" else sum(values)
                        stacks.append(100 * query(trace, "SELECT total_ns FROM own_cost WHERE what = 'stacks'") / spent_ns)
                        samples.append(query(trace, "SELECT count(*) FROM call_sample") * 1e9 / spent_ns)
            added.append(100 * (means["stalls"] - means["off"]) / (1 if program == "C" else means["off"]))
        bench.spread(f"samples_{program}_percent", f"{program}: time that the program loses to them", added, "%")
        bench.spread(f"samples_{program}_stacks_percent", f"{program}: taking the stacks, as the trace tells it", stacks, "%")
        bench.spread(f"samples_{program}_a_second", f"{program}: calls chosen", samples, "a second")


BENCHES = {"hook": bench_hook, "stopped": bench_stopped, "ranges": bench_ranges, "true": bench_true, "cold": bench_cold,
           "million": bench_million, "operations": bench_operations, "threads": bench_threads, "kill": bench_kill,
           "calls": bench_calls, "parallel": bench_parallel, "stacks": bench_stacks, "waits": bench_waits, "samples": bench_samples}
