#!/usr/bin/env python3
"""Builds everything and runs all tests; scripts/test calls this after it brought the tools.

Each part is a function of PARTS. It reports results by name; what it runs goes to a log file of its
own under build/test-logs/.
"""

import argparse
import collections
import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

from suite_run import (BUILD, CHECKOUT, COMMAND, JOBS, LOGS, PRELOAD, SANITIZED, WORKERS, Failure, Run, Skip,
                       compile_in, last_line, meson, sources, tail, tool)

# --- parts ---------------------------------------------------------------------------------------


def part_format(run):
    command = tool("clang-format-14", "clang-format")
    version = re.search(r"version (\d+)", subprocess.run([command, "--version"], text=True,
                                                         stdout=subprocess.PIPE).stdout)
    if not version or version.group(1) != "14":
        raise Skip(f"the format is that of clang-format 14, here is {version and version.group(1)}")
    wrong = []
    for path in sources(".c", ".h", ".cc", ".cpp", ".cu"):
        status, _ = run.command(command, "--dry-run", "--Werror", path)
        if status != 0:
            wrong.append(path)
    if wrong:
        run.failed("format", "clang-format would change: " + " ".join(wrong))
    else:
        run.passed("format")


def part_shell(run):
    command = tool("shellcheck")
    for path in sources(""):
        with open(os.path.join(CHECKOUT, path), "rb") as file:
            first = file.readline(100)
        if re.match(rb"#!.*\b(bash|sh)\b|# shellcheck shell=", first):
            run.test(path, command, "-x", path)


def part_rules(run):
    run.test("includes", "tests/rules/check-includes")
    run.test("includes: broken ones are noticed", "python3", "tests/rules/test_check_includes.py")
    run.test("names of calls", "tests/rules/check-names")
    run.test("names of calls: what is told from one is noticed", "python3",
             "tests/rules/test_check_names.py")
    run.test("finding the CUDA headers", "python3", "tests/rules/test_find_cuda_headers.py")
    run.test("numbers of scripts/bench", "python3", "tests/rules/test_bench.py")
    run.test("counting of results", "python3", "tests/rules/test_suite.py")
    run.test("checks of the GPU suite", "python3", "tests/rules/test_gpu_suite.py")
    run.test("checks of the soak", "python3", "tests/rules/test_soak.py")
    run.test("table of calls", "scripts/check-api")
    run.test("table of calls: broken rows are noticed", "python3",
             "tests/rules/test_check_api.py")


def part_build(run):
    compile_in(run, "build")
    run.passed("build")


def unit_tests(run, folder, env=None, only=()):
    """Every test that meson knows in a build folder is one result."""
    status, text = run.command(meson(), "test", "-C", folder, "--no-rebuild",
                               "--num-processes", str(JOBS), *only, env=env)
    log = os.path.join(folder, "meson-logs/testlog.json")
    if not os.path.exists(log) or "No tests defined" in text:
        raise Failure(f"meson test: exit status {status}\n{tail(text)}")
    with open(log, encoding="utf-8") as file:
        for test in map(json.loads, file):
            output = test.get("stdout", "") + test.get("stderr", "")
            if test["result"] in ("OK", "EXPECTEDFAIL"):
                run.passed(test["name"])
            elif test["result"] == "SKIP":
                run.skipped(test["name"], last_line(output) or "it says so")
            else:
                run.failed(test["name"], f"{test['result']}\n{tail(output)}")


def part_unit(run):
    unit_tests(run, BUILD)


def part_model(run):
    litmus = os.path.join(BUILD, "tests/model/model_litmus")
    if not os.path.exists(litmus):
        raise Skip("this compiler cannot instrument for ThreadSanitizer, which the checker needs")
    run.test("the checker finds what C allows, and no more", litmus, "--explain")
    run.test("the spool in all orders, and each memory order is needed", "python3", "tests/model/run.py", BUILD)


def end_to_end(run, folder, *options, env=None):
    """tests/e2e/run.py prints its own results; they are counted here, and shown."""
    status, text = run.command("python3", "tests/e2e/run.py", "--build", folder, "-j", str(JOBS),
                               *options, env=env, timeout=900)
    counts = re.fullmatch(r"(\d+) passed, (\d+) failed, (\d+) skipped", last_line(text))
    if not counts:
        raise Failure(f"tests/e2e/run.py: exit status {status}\n{tail(text)}")
    for _ in range(int(counts.group(1))):
        run.passed("e2e")
    shown = text.rstrip().splitlines()[:-1]
    for status_name, count in (("failed", counts.group(2)), ("skipped", counts.group(3))):
        for _ in range(int(count)):
            run.add(status_name, "e2e", None)
    run.shown = "\n".join(shown)
    if status != 0 and counts.group(2) == "0":
        run.failed("e2e", f"tests/e2e/run.py: exit status {status}")


def part_e2e(run):
    end_to_end(run, BUILD)


def part_pythons(run):
    """What test_stacks.py tells of Python, with each version that a distribution has."""
    folder = os.path.join(BUILD, "pythons")
    text = run.must("fetch", "python3", "tests/fetch_pythons.py", folder,
                    os.environ.get("GV_PYTHONS_SECONDS", "30"))
    patterns = []
    for name, found in (line.split(" ", 1) for line in text.splitlines()):
        if found.startswith("- "):
            run.skipped(name, found[2:])
        else:
            patterns += ["-k", "test_stacks.Python.test_" + name.replace(".", "_")]
    if patterns:
        end_to_end(run, BUILD, *patterns,
                   env={"PATH": os.path.join(folder, "bin") + os.pathsep + os.environ["PATH"]})


def part_install(run):
    run.test("installed and moved", "python3", "tests/install/test_install.py", BUILD,
             env={"MESON": meson()})
    run.test("killed debootstrap", "python3", "tests/install/test_build_root.py")


def part_bundle(run):
    run.test("archive made here", "python3", "tests/install/test_bundle.py", BUILD)


def part_bundle_root(run):
    run.test("archive made in an old distribution", "python3", "tests/install/test_bundle.py", BUILD,
             os.path.join(BUILD, "bundle/root"), env={"GV_BUILD_ROOT_SECONDS": "150"})


def part_demo(run):
    status, text = run.command("scripts/demo", "--sim")
    wanted = ("a simulated GPU", "10 frames in", "move cuModuleLoadData", "gone",
              "\n$ scripts/with-sim build/report/gpuverify explain build/demo-before.db\n",
              "if (once)")
    lacking = [words for words in wanted if words not in text]
    if status != 0 or lacking:
        run.failed("scripts/demo --sim", f"exit status {status}, lacks {lacking}\n{tail(text)}")
    else:
        run.passed("scripts/demo --sim")


def part_bench(run):
    run.test("a hundredth of scripts/bench", "scripts/bench", "--scale", "0.01", "--json",
             os.path.join(LOGS, "bench.json"), "--build", BUILD, "hook", "calls", "stacks")
    run.test("commands on a trace that scripts/bench makes", "scripts/bench", "--scale", "0.01",
             "--json", os.path.join(LOGS, "bench-report.json"), "--build", BUILD, "report")


def part_soak(run):
    """Programs that seeds lead through CUDA; GV_SOAK_SECONDS says for how long."""
    run.test("soak", "python3", "tests/soak.py", "--build", BUILD, "--seconds",
             os.environ.get("GV_SOAK_SECONDS", "20"))


def part_ubsan(run):
    # Undefined behaviour traps: so the library needs libc only, here too.
    trap = "-fsanitize-undefined-trap-on-error"
    folder = compile_in(run, "build-ubsan", "-Db_sanitize=undefined", *SANITIZED,
                        f"-Dc_args={trap}", f"-Dc_link_args={trap}", f"-Dcpp_args={trap}",
                        f"-Dcpp_link_args={trap}")
    run.passed("build with UBSan")
    end_to_end(run, folder)


def part_asan(run):
    folder = compile_in(run, "build-asan", "-Db_sanitize=address,undefined", "-Dpreload=false",
                        "-Dnvcc=disabled", "-Dc_args=-fno-sanitize-recover=all",
                        *SANITIZED)
    run.passed("build with ASan")
    # The command is tested with the library, which cannot be built so.
    os.makedirs(os.path.dirname(os.path.join(folder, PRELOAD)), exist_ok=True)
    shutil.copy(os.path.join(BUILD, PRELOAD), os.path.join(folder, PRELOAD))
    leaks = os.path.join(CHECKOUT, "tests/leaks-allowed.txt")
    unit_tests(run, folder, env={"LSAN_OPTIONS": f"suppressions={leaks}:print_suppressions=0"})


def tsan_wrapper(run):
    """What a program with ThreadSanitizer must be started with: where addresses are too random for
    it, it can only be run without that."""
    with tempfile.TemporaryDirectory() as place:
        source, program = os.path.join(place, "empty.c"), os.path.join(place, "empty")
        with open(source, "w", encoding="utf-8") as file:
            file.write("int main(void) { return 0; }\n")
        status, _ = run.command("cc", "-fsanitize=thread", source, "-o", program)
        if status != 0:
            raise Skip("this compiler has no ThreadSanitizer")
        for wrapper in ((), ("setarch", "-R")):
            if wrapper and not shutil.which(wrapper[0]):
                continue
            status, text = run.command(*wrapper, program)
            if status == 0:
                return wrapper
    raise Skip(f"ThreadSanitizer does not run here: {last_line(text)}")


def part_tsan(run):
    wrapper = tsan_wrapper(run)
    folder = compile_in(run, "build-tsan", "-Db_sanitize=thread", "-Dreport=false", "-Dnvcc=disabled",
                        *SANITIZED, targets=("threads_tests",))
    run.passed("build with ThreadSanitizer")
    unit_tests(run, folder, only=("--suite", "threads",
                                  *(("--wrapper", " ".join(wrapper)) if wrapper else ())))


VALGRIND_PROGRAMS = (("kernels/driver_tour",), ("kernels/driver_tour_proc_v2",),
                     ("kernels/runtime_tour_shared",), ("kernels/runtime_tour_static",),
                     ("kernels/reload",), ("kernels/threads", "4", "50"))


def rows_of(trace):
    try:
        with contextlib.closing(sqlite3.connect(f"file:{trace}?mode=ro", uri=True)) as reader:
            return reader.execute("SELECT count(*) FROM calls").fetchone()[0]
    except sqlite3.Error:
        return 0


def part_valgrind(run):
    command = tool("valgrind")
    for words in VALGRIND_PROGRAMS:
        if not os.path.exists(os.path.join(BUILD, words[0])):
            run.failed(words[0], f"build/{words[0]} does not exist")
            continue
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            run.test(f"valgrind {words[0]}", "scripts/with-sim", "--preload", command, "-q",
                     "--error-exitcode=99", "--trace-children=no", os.path.join(BUILD, words[0]),
                     *words[1:], env={"GPUVERIFY_TRACE": os.path.join(folder, "trace.db"),
                                      "GPUVERIFY_SPOOL_DIR": folder})
            if rows_of(os.path.join(folder, "trace.db")) > 10:
                run.passed(f"valgrind {words[0]}: its calls are in the trace")
            else:
                run.failed(f"valgrind {words[0]}: its calls are in the trace", "too few rows")


def part_clang(run):
    tool("clang")
    env = {"CC": "clang"}
    if shutil.which("clang++"):
        env["CXX"] = "clang++"
    compile_in(run, "build-clang", "-Dnvcc=disabled", env=env)
    run.passed("build with clang")


# Seconds that each fuzz target searches for.
FUZZ_SECONDS = {"trace": 60, "rules": 60, "spool": 20}
FUZZ_PROGRAM = "tests/fuzz/fuzz_{}_libfuzzer"
FUZZ_TARGETS = tuple(FUZZ_PROGRAM.format(name) for name in FUZZ_SECONDS)


def fuzz(run, program, name, seconds):
    """libFuzzer with the stored inputs of a target; a finding's input is in the log, as Base64.
    The same program searches in the same order, so that a failure comes again; FUZZ_SEED chooses
    another order."""
    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as place:
        run.test(f"fuzz {name}", program, f"-max_total_time={seconds}", "-max_len=400", "-len_control=0", "-timeout=30",
                 f"-seed={os.environ.get('FUZZ_SEED', '1')}",
                 f"-artifact_prefix={place}/", "-print_final_stats=1", place,
                 os.path.join(CHECKOUT, "tests/fuzz/corpus", name), env={"FUZZ_FOLDER": place})


def part_fuzz(run):
    tool("clang")
    with tempfile.TemporaryDirectory() as place:
        empty = os.path.join(place, "empty.c")
        with open(empty, "w", encoding="utf-8") as file:
            file.write("int LLVMFuzzerTestOneInput(const char *, unsigned long);\n"
                       "int LLVMFuzzerTestOneInput(const char *a, unsigned long b)"
                       " { return (int)b * !a; }\n")
        status, _ = run.command("clang", "-fsanitize=fuzzer,address,undefined", empty, "-o",
                                os.path.join(place, "empty"))
        if status != 0:
            raise Skip("this clang has no libFuzzer")
    folder = compile_in(run, "build-fuzz", "-Dfuzz=true", "-Dpreload=false", "-Dnvcc=disabled",
                        "-Dtests=disabled", env={"CC": "clang"}, targets=FUZZ_TARGETS)
    for name, seconds in FUZZ_SECONDS.items():
        fuzz(run, os.path.join(folder, FUZZ_PROGRAM.format(name)), name, seconds)


# Every assembly stub, and what it leads to.
AARCH64_PROGRAMS = {
    "kernels/driver_tour": ("cuModuleLoadData", "cuLaunchKernel", "cuModuleUnload"),
    "kernels/driver_tour_dlsym": ("cuLaunchKernel",),
    "kernels/driver_tour_proc_v2": ("cuLaunchKernel",),
    "kernels/runtime_tour_shared": ("cudaLaunchKernel", "cudaMemcpy"),
    "kernels/runtime_tour_dlsym": ("cudaLaunchKernel",),
    "tests/e2e/programs/e2e_jumped": ("cuCtxSynchronize", "cuLaunchKernel"),
}


def under_qemu(run, emulator, folder, program):
    """The calls of a program that ran emulated; its records are collected here."""
    with tempfile.TemporaryDirectory() as spool:
        trace = os.path.join(spool, "trace.db")
        settings = {"LD_PRELOAD": os.path.join(folder, PRELOAD),
                    "LD_LIBRARY_PATH": os.path.join(folder, "tests/sim"),
                    "GPUVERIFY_COLLECTOR": "off", "GPUVERIFY_GPU": "off",
                    "GPUVERIFY_SPOOL_DIR": spool, "GPUVERIFY_TRACE": trace}
        words = [emulator, "-L", "/usr/aarch64-linux-gnu"]
        for name, value in settings.items():
            words += ["-E", f"{name}={value}"]
        run.must(f"run {program}", *words, os.path.join(folder, program))
        run.must("recover", os.path.join(BUILD, COMMAND), "recover", spool, "-o", trace,
                 env={"GPUVERIFY_SPOOL_DIR": spool})
        return run.must("query", os.path.join(BUILD, COMMAND), "query", trace,
                        "SELECT DISTINCT name FROM calls")


def part_aarch64(run):
    tool("aarch64-linux-gnu-gcc")
    folder = compile_in(run, "build-aarch64", "--cross-file", "cross/aarch64-linux-gnu.ini",
                        "-Dreport=false")
    run.passed("build for aarch64")
    emulator = tool("qemu-aarch64-static", "qemu-aarch64")
    for program, calls in AARCH64_PROGRAMS.items():
        text = under_qemu(run, emulator, folder, program)
        for call in calls:
            if call in text:
                run.passed(f"aarch64 under qemu: {call} of {program} in the trace")
            else:
                run.failed(f"aarch64 under qemu: {call} of {program} in the trace", tail(text))


Part = collections.namedtuple("Part", "name function quick after")
# Those that take longest come first, so that not one of them is left for the end.
PARTS = (
    Part("build", part_build, True, None),
    Part("shell", part_shell, True, None),
    Part("rules", part_rules, True, None),
    Part("e2e", part_e2e, True, "build"),
    Part("ubsan", part_ubsan, False, "build"),
    Part("fuzz", part_fuzz, False, None),
    Part("bundle-root", part_bundle_root, False, "build"),
    Part("asan", part_asan, False, "build"),
    Part("bundle", part_bundle, False, "build"),
    Part("clang", part_clang, False, None),
    Part("tsan", part_tsan, False, None),
    Part("unit", part_unit, True, "build"),
    Part("model", part_model, True, "build"),
    Part("format", part_format, True, None),
    Part("aarch64", part_aarch64, False, "build"),
    Part("pythons", part_pythons, False, "build"),
    Part("bench", part_bench, True, "build"),
    Part("valgrind", part_valgrind, False, "build"),
    Part("demo", part_demo, True, "build"),
    Part("install", part_install, True, "build"),
    Part("soak", part_soak, True, "build"),
)


# --- running them --------------------------------------------------------------------------------


def run_part(part, broken):
    run = Run(part.name)
    run.shown = ""
    started = time.monotonic()
    try:
        if part.after in broken:
            raise Skip(f"{part.after} failed")
        part.function(run)
    except Skip as why:
        run.skipped(part.name, str(why))
    except Failure as why:
        run.failed(part.name, str(why))
    except Exception as why:  # a part must not take the others with it
        run.failed(part.name, f"{type(why).__name__}: {why}")
    run.log.close()
    run.seconds = time.monotonic() - started
    return run


def show(run):
    counts = collections.Counter(result.status for result in run.results)
    print(f"{run.name}: {summary(counts)} ({run.seconds:.0f} s)")
    if run.shown:
        print(run.shown)
    for result in run.results:
        if result.status != "passed" and result.reason is not None:
            print(f"  {result.status.upper()} {result.name}: {result.reason}")
    if counts["failed"]:
        print(f"  log: {os.path.relpath(run.log_path, CHECKOUT)}")
    sys.stdout.flush()
    return counts


def summary(counts):
    return ", ".join(f"{counts[status]} {status}" for status in ("passed", "failed", "skipped"))


def run_all(parts):
    """Builds first; then several parts at once."""
    total, broken = collections.Counter(), set()
    waiting, lock = list(parts), threading.Lock()

    def work():
        while True:
            with lock:
                if not waiting:
                    return
                part = waiting.pop(0)
            run = run_part(part, broken)
            with lock:
                total.update(show(run))

    if waiting and waiting[0].name == "build":
        run = run_part(waiting.pop(0), broken)
        total.update(show(run))
        if any(result.status == "failed" for result in run.results):
            broken.add("build")
    workers = [threading.Thread(target=work) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return total


def main():
    names = [part.name for part in PARTS]
    parser = argparse.ArgumentParser(prog="scripts/test", description="Runs all tests.")
    parser.add_argument("--quick", action="store_true", help="no further builds than the first")
    parser.add_argument("--list", action="store_true", help="print the parts' names")
    parser.add_argument("parts", nargs="*", metavar="PART", help=" ".join(names))
    options = parser.parse_args()
    if options.list:
        print("\n".join(names))
        return 0
    unknown = [name for name in options.parts if name not in names]
    if unknown:
        parser.error(f"no part is called {unknown[0]}: {' '.join(names)}")
    chosen = [part for part in PARTS if not options.parts or part.name in options.parts]
    if options.quick:
        chosen = [part for part in chosen if part.quick]
    if PARTS[0] not in chosen and any(part.after == "build" for part in chosen):
        chosen.insert(0, PARTS[0])
    total = run_all(chosen)
    print(summary(total))
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
