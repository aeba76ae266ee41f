#!/usr/bin/env python3
"""Builds everything and runs the tests; scripts/test calls it after installing the tools.

Each part is a function in PARTS. It reports results by name; its output goes to a log file under
build/test-logs/.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import glob
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

from suite_run import (BUILD, CASES, CHECKOUT, COMMAND, JOBS, LOGS, PRELOAD, SANITIZED, WORKERS, Failure, Run, Skip,
                       compile_in, last_line, meson, sources, tail, tool)

# --- parts ---------------------------------------------------------------------------------------


def tool_14(name):
    """A tool of LLVM 14: others have other formats and other checks."""
    command = tool(f"{name}-14", name)
    version = re.search(r"version (\d+)", subprocess.run([command, "--version"], text=True,
                                                         stdout=subprocess.PIPE).stdout)
    if not version or version.group(1) != "14":
        raise Skip(f"{name} 14 is needed, here is {version and version.group(1)}")
    return command


def part_format(run):
    status, text = run.command(tool_14("clang-format"), "--dry-run", "--Werror",
                               *sources(".c", ".h", ".cc", ".cpp", ".cu"))
    wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error:", text, re.M)))
    if status != 0 or wrong:
        run.failed("format", "clang-format would change: " + (" ".join(wrong) or tail(text)))
    else:
        run.passed("format")


def part_lint(run):
    run.test("ruff", tool("ruff"), "check", "--no-cache")
    run.test("mypy", tool("mypy"), "--strict", "--cache-dir", os.path.join(LOGS, "mypy"), "python/gpuverify")


def part_tidy(run):
    """clang-tidy on what runs in programs and in the command; .clang-tidy has the checks."""
    command = tool_14("clang-tidy")
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as file:
        compiled = {os.path.relpath(os.path.join(entry["directory"], entry["file"]), CHECKOUT) for entry in json.load(file)}
    paths = sorted(path for path in compiled
                   if path.endswith(".c") and path.startswith(("cupti/", "preload/", "report/", "trace/")))

    def check(path):
        done = subprocess.run([command, "-p", BUILD, "--quiet", "--extra-arg=-Wno-unknown-warning-option", path],
                              cwd=CHECKOUT, text=True, capture_output=True, check=False)
        return path, done.returncode, done.stdout + done.stderr

    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for path, status, text in pool.map(check, paths):
            run.log.write(text)
            if status == 0:
                run.passed(path)
            else:
                run.failed(f"clang-tidy {path}", tail(text))


def part_shell(run):
    command = tool("shellcheck")
    for path in sources(""):
        with open(os.path.join(CHECKOUT, path), "rb") as file:
            first = file.readline(100)
        if re.match(rb"#!.*\b(bash|sh)\b|# shellcheck shell=", first):
            run.test(path, command, "-x", path)


def part_rules(run):
    run.test("includes", "tests/rules/check-includes")
    run.test("circles of calls", "tests/rules/check-circles")
    run.test("names of calls", "tests/rules/check-names")
    run.test("SQL", "tests/rules/check-sql")
    run.test("table of calls", "scripts/check-api")
    if run.quick:
        return
    # What is broken must be noticed: by these, and by the other scripts that judge what they find.
    for name in sorted(os.listdir(os.path.join(CHECKOUT, "tests/rules"))):
        if name.startswith("test_"):
            run.test(name, "python3", os.path.join("tests/rules", name), again=True)


def part_build(run):
    compile_in(run, "build")
    run.passed("build")


def meson_results(run, folder, *words, env=None):
    status, text = run.command(meson(), "test", "-C", folder, "--no-rebuild", "--timeout-multiplier", "3", *words, env=env)
    log = os.path.join(folder, "meson-logs/testlog.json")
    if not os.path.exists(log) or "No tests defined" in text:
        raise Failure(f"meson test: exit status {status}\n{tail(text)}")
    with open(log, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def unit_tests(run, folder, env=None, only=()):
    """Every test that meson knows in a build folder is one result. One that fails gets a second try: on a busy machine
    the collector, which has the lowest priority, was seen to get no CPU for a minute."""
    for test in meson_results(run, folder, "--num-processes", str(JOBS), *only, env=env):
        name, output = test["name"], test.get("stdout", "") + test.get("stderr", "")
        if test["result"] in ("OK", "EXPECTEDFAIL"):
            run.passed(name)
        elif test["result"] == "SKIP":
            run.skipped(name, last_line(output) or "it says so")
        else:
            second = meson_results(run, folder, *only, name.rpartition(" / ")[2], env=env)
            report = run.flaky if all(again["result"] == "OK" for again in second) else run.failed
            report(name, f"{test['result']}\n{tail(output)}")


def part_unit(run):
    unit_tests(run, BUILD, only=("--no-suite", "fuzz") if run.quick else ())


def part_model(run):
    litmus = os.path.join(BUILD, "tests/model/model_litmus")
    if not os.path.exists(litmus):
        raise Skip("this compiler cannot instrument for ThreadSanitizer, which the checker needs")
    run.test("the checker finds what C allows, and no more", litmus, "--explain")
    run.test("the spool in all orders, and each memory order is needed", "python3", "tests/model/run.py", BUILD)


def end_to_end(run, folder, *options, env=None):
    """tests/e2e/run.py prints its own results; they are counted here, and shown."""
    status, text = run.command("python3", "tests/e2e/run.py", "--build", folder, "-j", str(CASES),
                               "--slowest", "10", *options, env=env)
    counts = re.fullmatch(r"(\d+) passed, (\d+) failed, (\d+) skipped", last_line(text))
    if not counts:
        raise Failure(f"tests/e2e/run.py: exit status {status}\n{tail(text)}")
    for _ in range(int(counts.group(1))):
        run.passed("e2e")
    shown = [line for line in text.rstrip().splitlines()[:-1] if not re.match(r" *[\d.]+ s +[\d.]+ s CPU ", line)]
    for status_name, count in (("failed", counts.group(2)), ("skipped", counts.group(3))):
        for _ in range(int(count)):
            run.add(status_name, "e2e", None)
    run.shown += shown
    if status != 0 and counts.group(2) == "0":
        run.failed("e2e", f"tests/e2e/run.py: exit status {status}")


def patterns(*names):
    return [word for name in names for word in ("-k", name)]


# What is worth running after each change: every hook and every command once.
QUICK_CASES = ("test_commands.", "test_json.", "test_libcupti.", "test_linkage.", "test_lookups.", "test_query.",
               "test_report.", "test_stored.", "test_trace.", "test_traps.", "test_findings.", "test_words.")


def part_e2e(run):
    end_to_end(run, BUILD, *(patterns(*QUICK_CASES) if run.quick else ()))


def part_terminal(run):
    """gpuverify top in a real terminal."""
    tool("tmux")
    run.test("top in tmux", "python3", "tests/top_terminal.py", BUILD, again=True)


PYTHONS = os.path.join(BUILD, "pythons")


def fetch_pythons(run):
    """The name of each Python that a distribution has, and why not or None."""
    text = run.must("fetch", "python3", "tests/fetch_pythons.py", PYTHONS, os.environ.get("GV_PYTHONS_SECONDS", "30"))
    for name, found in (line.split(" ", 1) for line in text.splitlines()):
        yield name, found[2:] if found.startswith("- ") else None


def part_pythons(run):
    """The Python tests of test_stacks.py, test_idle.py, test_look.py and test_python_threads.py, with each version of a distribution."""
    wanted = []
    for name, why in fetch_pythons(run):
        if why:
            run.skipped(name, why)
        else:
            wanted += [f"{tests}.test_" + name.replace(".", "_")
                       for tests in ("test_stacks.Python", "test_idle.Pythons", "test_look.Pythons")]
            python = os.path.join(PYTHONS, "bin", name)
            run.test(f"threads of {name}", python, "tests/unit/preload/stacks/test_python_threads.py",
                     env={"GV_PYTHON": python,
                          "GV_PYTHON_LOOKS": os.path.join(BUILD, "tests/unit/preload/python_looks.so")}, again=True)
            wanted.append("test_python_package.Running.test_" + name.replace(".", "_"))
    if wanted:
        end_to_end(run, BUILD, *patterns(*wanted),
                   env={"PATH": os.path.join(PYTHONS, "bin") + os.pathsep + os.environ["PATH"]})


def part_install(run):
    run.test("installed and moved", "python3", "tests/install/test_install.py", BUILD,
             env={"MESON": meson()})
    run.test("killed debootstrap", "python3", "tests/install/test_build_root.py")
    run.test("release: source archive", "python3", "tests/install/test_release.py", "Refusals", "Source")


def part_bundle(run):
    run.test("archive made here", "python3", "tests/install/test_bundle.py", BUILD)


def part_release(run):
    run.test("release built in two folders", "python3", "tests/install/test_release.py", "Again")


# debootstrap takes one minute on an idle machine. With 150 s, the first of these parts gave up beside others, and the next ones began anew.
ROOT_LIMIT = {"GV_BUILD_ROOT_SECONDS": "300"}


def part_bundle_root(run):
    run.test("archive made in an old distribution", "python3", "tests/install/test_bundle.py", BUILD,
             os.path.join(BUILD, "bundle/root"), env=ROOT_LIMIT)


def part_containers(run):
    run.test("in containers", "python3", "tests/install/test_containers.py", BUILD)


def part_browser(run):
    """What `gpuverify export` writes for people, in a headless Chromium."""
    run.test("page", "python3", "tests/browser/test_page.py", BUILD, again=True)
    run.test("timeline", "python3", "tests/browser/test_timeline.py", BUILD, again=True)
    run.test("Perfetto's page", "python3", "tests/browser/test_perfetto.py", BUILD, again=True)


def part_wheel(run):
    for name, why in fetch_pythons(run):
        if why:
            run.skipped(f"wheel in {name}", why)
    for group, name in (("Wheel", "contents"), ("Readme", "as README says"), ("Pythons", "installed, used and removed"),
                        ("Tag", "tag by auditwheel"), ("Aarch64", "for aarch64")):
        run.test(f"wheel: {name}", "python3", "tests/install/test_wheel.py", BUILD, PYTHONS, group,
                 env=ROOT_LIMIT)


def part_packages(run):
    for group, name in (("Deb", "built, installed, used and purged"), ("Arm64", "for arm64")):
        run.test(f"deb: {name}", "python3", "tests/install/test_deb.py", BUILD, group, env=ROOT_LIMIT)
    run.test("conda recipe", tool("python"), "tests/install/test_conda.py")


def part_jupyter(run):
    """The kernel of `gpuverify jupyter install`, with nbclient."""
    run.test("kernel", os.path.join(CHECKOUT, ".venv/bin/python"), "tests/install/test_jupyter.py", BUILD, again=True)


def part_fleets(run):
    """The questions about many traces, on DuckDB, Spark and ClickHouse."""
    run.test("engines", os.path.join(CHECKOUT, ".venv/bin/python"), "tests/fleet/test_fleet.py", BUILD)


def part_agents(run):
    """The tools of `gpuverify mcp`, and whether they are enough to name what is slow; with the official SDK's client."""
    python = os.path.join(CHECKOUT, ".venv/bin/python")
    run.test("tools", python, "tests/e2e/run.py", "--build", BUILD, "-k", "test_mcp", again=True)
    run.test("evaluation", python, "tests/agent_evaluation.py", BUILD, again=True)


def part_foreign(run):
    """In an environment with pytest."""
    run.test("foreign", "scripts/with-sim", tool("python"), "tests/foreign/test_foreign.py", BUILD)


def part_lines(run):
    """Each workload of kernels/lines for two seconds: the estimate keeps its promise, or says how far off it may be."""
    run.test("lines", "scripts/with-sim", "tests/lines_accuracy.py", "--check", "--seconds", "2", again=True)


def part_chains(run):
    """Native stacks are what backtrace() says at the same moments."""
    for language in ("C++", "Rust", "ctypes"):
        run.test(language, "scripts/with-sim", "tests/gpu/chains.py", language)


def part_demo(run):
    wanted = ("a simulated GPU", "10 frames in", "move cuModuleLoadData", "gone",
              "\n$ scripts/with-sim build/report/gpuverify explain build/demo/before.db\n",
              "if (once)")
    for last in (False, False, True):
        status, text = run.command("scripts/demo", "--sim")
        lacking = [words for words in wanted if words not in text]
        if status == 0 and not lacking:
            return run.passed("scripts/demo --sim")
        # On a busy machine, what the program lost most to is that.
        if last or "no-cpu" not in text:
            return run.failed("scripts/demo --sim", f"exit status {status}, lacks {lacking}\n{tail(text)}")
    return None


def part_bench(run):
    run.test("a hundredth of scripts/bench", "scripts/bench", "--scale", "0.01", "--json",
             os.path.join(LOGS, "bench.json"), "--build", BUILD, "hook", "calls", "stacks")
    run.test("the cost of the thread that looks", "scripts/bench", "--scale", "0.01", "--json",
             os.path.join(LOGS, "bench-idle.json"), "--build", BUILD, "idle")
    run.test("commands on a trace that scripts/bench makes", "scripts/bench", "--scale", "0.01",
             "--json", os.path.join(LOGS, "bench-report.json"), "--build", BUILD, "report")
    for group in ("gpu", "gpu-kinds", "slices"):
        run.test(f"scripts/bench {group} on the simulator", "scripts/with-sim", "scripts/bench", "--scale", "0.01",
                 "--json", os.path.join(LOGS, f"bench-{group}.json"), "--build", BUILD, group)


def part_soak(run):
    """Random CUDA programs from seeds, for GV_SOAK_SECONDS."""
    run.test("soak", "python3", "tests/soak.py", "--build", BUILD, "--seconds",
             os.environ.get("GV_SOAK_SECONDS", "20"))
    run.test("looked at", "python3", "tests/soak_look.py", "--build", BUILD, "--looks", "20", again=True)
    run.test("the same under commands", "python3", "tests/soak_control.py", "--build", BUILD, "--seconds",
             str(float(os.environ.get("GV_SOAK_SECONDS", "20")) / 4))


def deaths(run, *options):
    """A death that fails gets a second try; what failed is said in either case."""
    status, text = run.command("python3", "tests/deaths.py", "--build", BUILD, "--again", *options)
    for seed in re.findall(r"^flaky: seed (\d+)", text, re.M):
        run.flaky(f"death {seed}", re.search(rf"^seed {seed} .*", text, re.M).group())
    for name, why in re.findall(r"^(.+?) +skipped: (.*)$", text, re.M):
        run.skipped(name, why)
    if status == 0:
        run.passed("deaths")
    else:
        run.failed("deaths", f"exit status {status}\n{tail(text, 40)}")


def part_deaths(run):
    """Random programs die in a few ways of the table in tests/deaths.py, for GV_DEATHS_SECONDS."""
    deaths(run, "--seconds", os.environ.get("GV_DEATHS_SECONDS", "8"))


def part_all_deaths(run):
    """They die in all of these ways, unless the machine is busy."""
    deaths(run, "--seconds", "120")


# Together they reach the hooks, the CUPTI module, the collector and each command: what runs here is also run without
# UBSan, and most of the rest would only repeat it.
UBSAN_CASES = ("test_constructors.", "test_edges.", "test_gpu_side.", "test_hostile.", "test_limits.", "test_linkage.",
               "test_lookups.", "test_query.", "test_single_step.", "test_stacks.", "test_stalls.*_measured_busy",
               "test_stored.", "test_trace.")


def part_ubsan(run):
    # Undefined behaviour traps, so the library needs only libc here too.
    trap = "-fsanitize-undefined-trap-on-error"
    folder = compile_in(run, "build-ubsan", "-Db_sanitize=undefined", *SANITIZED,
                        f"-Dc_args={trap}", f"-Dc_link_args={trap}", f"-Dcpp_args={trap}",
                        f"-Dcpp_link_args={trap}")
    run.passed("build with UBSan")
    unit_tests(run, folder, only=("--suite", "preload"))
    end_to_end(run, folder, *patterns(*UBSAN_CASES))


def part_asan(run):
    folder = compile_in(run, "build-asan", "-Db_sanitize=address,undefined", "-Dpreload=false",
                        "-Dnvcc=disabled", "-Dc_args=-fno-sanitize-recover=all",
                        *SANITIZED)
    run.passed("build with ASan")
    # The command is tested with a library that is not built like this.
    os.makedirs(os.path.dirname(os.path.join(folder, PRELOAD)), exist_ok=True)
    shutil.copy(os.path.join(BUILD, PRELOAD), os.path.join(folder, PRELOAD))
    leaks = os.path.join(CHECKOUT, "tests/leaks-allowed.txt")
    unit_tests(run, folder, env={"LSAN_OPTIONS": f"suppressions={leaks}:print_suppressions=0"})


def tsan_wrapper(run):
    """The prefix for programs with ThreadSanitizer: if addresses are too random for it, they run without
    randomisation."""
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
                     ("kernels/reload",), ("kernels/threads", "4", "50"),
                     ("tests/e2e/programs/e2e_idles",))


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
                                      "GPUVERIFY_SPOOL_DIR": folder,
                                      "GPUVERIFY_IDLE_HZ": "200"})
            if rows_of(os.path.join(folder, "trace.db")) >= 10:
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
FUZZ_SECONDS = {"trace": 60, "spool": 20, "unwind": 20, "look": 20}
FUZZ_PROGRAM = "tests/fuzz/fuzz_{}_libfuzzer"
FUZZ_TARGETS = tuple(FUZZ_PROGRAM.format(name) for name in FUZZ_SECONDS)


def fuzz(run, program, name, seconds):
    """libFuzzer with the stored inputs of a target; a finding's input is in the log, as Base64.
    The same program searches in the same order, so that a failure comes again; FUZZ_SEED chooses
    another order."""
    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as place:
        run.test(f"fuzz {name}", program, f"-max_total_time={seconds}", "-max_len=400", "-len_control=0", "-timeout=30",
                 "-error_exitcode=1",  # libFuzzer's own is that of a skipped test
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
    folder = compile_in(run, "build-fuzz", "-Dfuzz=true", "-Dpreload=false", "-Dnvcc=disabled", "-Dtests=disabled",
                        "-Db_sanitize=address,undefined", "-Db_lundef=false", env={"CC": "clang"}, targets=FUZZ_TARGETS)
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


def fetch_for_aarch64(run, place):
    """libunwind as wheels contain it, built, and cmocka, unpacked. Why not, if they can't be had."""
    if os.path.exists(os.path.join(place, "usr/include/cmocka.h")):
        return None
    lists, cache = os.path.join(place, "lists"), os.path.join(place, "cache")
    for folder in lists, cache:
        os.makedirs(os.path.join(folder, "partial"), exist_ok=True)
    apt = ["apt-get", "-q", "-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={cache}",
           "-o", "APT::Architecture=arm64", "-o", "APT::Architectures=arm64"]
    in_place = ["env", "-C", place]
    for words in ([os.path.join(CHECKOUT, "scripts/build-libunwind"), os.path.join(place, "libunwind"), "aarch64"],
                  [*apt, "update"], [*in_place, *apt, "download", "libcmocka0", "libcmocka-dev"],
                  [*in_place, "sh", "-ec", "for package in *.deb; do dpkg -x $package .; done"]):
        status, text = run.command(*words)
        if status != 0:
            return f"{os.path.basename(words[0])}: {last_line(text)}"
    return None


def chains_of_aarch64(run, folder, emulator):
    """The unwinder's tests, with return addresses as they are and with signed ones."""
    place = os.path.join(folder, "unwinder")
    why = fetch_for_aarch64(run, place)
    compiler = [tool("aarch64-linux-gnu-gcc"), "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-g", "-fexceptions"]
    libraries = os.path.join(place, "usr/lib/aarch64-linux-gnu")
    tests = "tests/unit/report/unwind"
    for words, protection in (("chains", "none"), ("chains of signed return addresses", "standard")):
        if why:
            run.skipped(f"aarch64 under qemu: {words}", why)
            continue
        options = [*compiler, f"-mbranch-protection={protection}"]
        environment = ["-E", f"LD_LIBRARY_PATH={libraries}"]
        for number, more in enumerate((["-DFRAME_BYTES=320"], ["-DFRAME_BYTES=640"], ["-Wl,--build-id=none"])):
            library = os.path.join(place, f"{protection}_{number}.so")
            run.must("compile", *options, "-Wl,--build-id", "-fPIC", "-shared", *more, f"{tests}/library.c", "-o", library)
            environment += ["-E", f"UNWIND_LIBRARY_{number}={library}"]
        program = os.path.join(place, protection)
        run.must("compile", *options, "-DGV_HAS_LIBUNWIND", "-I.", f"-I{place}/libunwind/include", f"-I{place}/usr/include",
                 f"{tests}/test_unwinder.c", f"{tests}/copied_stack.c", *glob.glob("report/unwind/*.c", root_dir=CHECKOUT),
                 f"-L{place}/libunwind/lib", "-lunwind-aarch64", "-lunwind", f"-L{libraries}", "-lcmocka", "-o", program)
        run.test(f"aarch64 under qemu: {words}", emulator, "-cpu", "max", "-L", "/usr/aarch64-linux-gnu", *environment, program)


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
    chains_of_aarch64(run, folder, emulator)


# When a part runs: with --quick and always, by default, or only with --all.
QUICK, USUAL, LONG = range(3)
Part = collections.namedtuple("Part", "name function when after")
# The slowest ones come first, so that none of them is left for the end.
PARTS = (
    Part("build", part_build, QUICK, None),
    Part("e2e", part_e2e, QUICK, "build"),
    Part("unit", part_unit, QUICK, "build"),
    Part("rules", part_rules, QUICK, None),
    Part("ubsan", part_ubsan, LONG, "build"),
    Part("fuzz", part_fuzz, LONG, None),
    Part("bundle-root", part_bundle_root, LONG, "build"),
    Part("packages", part_packages, LONG, None),
    Part("wheel", part_wheel, LONG, "build"),
    Part("release", part_release, LONG, None),
    Part("asan", part_asan, LONG, "build"),
    Part("tidy", part_tidy, LONG, "build"),
    Part("bundle", part_bundle, LONG, "build"),
    Part("containers", part_containers, LONG, "build"),
    Part("clang", part_clang, LONG, None),
    Part("tsan", part_tsan, LONG, None),
    Part("bench", part_bench, USUAL, "build"),
    Part("soak", part_soak, USUAL, "build"),
    Part("deaths", part_deaths, USUAL, "build"),
    Part("all-deaths", part_all_deaths, LONG, "build"),
    Part("model", part_model, USUAL, "build"),
    Part("format", part_format, QUICK, None),
    Part("shell", part_shell, QUICK, None),
    Part("lint", part_lint, QUICK, None),
    Part("aarch64", part_aarch64, LONG, "build"),
    Part("lines", part_lines, LONG, "build"),
    Part("browser", part_browser, LONG, "build"),
    Part("pythons", part_pythons, LONG, "build"),
    Part("jupyter", part_jupyter, LONG, "build"),
    Part("fleets", part_fleets, LONG, "build"),
    Part("agents", part_agents, LONG, "build"),
    Part("foreign", part_foreign, LONG, "build"),
    Part("terminal", part_terminal, LONG, "build"),
    Part("valgrind", part_valgrind, LONG, "build"),
    Part("chains", part_chains, USUAL, "build"),
    Part("demo", part_demo, USUAL, "build"),
    Part("install", part_install, USUAL, "build"),
)


# --- running them --------------------------------------------------------------------------------


def run_part(part, broken, quick):
    run = Run(part.name, quick)
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
    for text in run.shown:
        print(text)
    for result in run.results:
        if result.status != "passed" and result.reason is not None:
            print(f"  {result.status.upper()} {result.name}: {result.reason}")
    if counts["failed"]:
        print(f"  log: {os.path.relpath(run.log_path, CHECKOUT)}")
    sys.stdout.flush()
    return counts


def summary(counts):
    return ", ".join(f"{counts[status]} {status}" for status in ("passed", "failed", "skipped"))


def run_all(parts, quick):
    """Builds first; then several parts at once."""
    total, broken = collections.Counter(), set()
    waiting, lock = list(parts), threading.Lock()

    def work():
        while True:
            with lock:
                if not waiting:
                    return
                part = waiting.pop(0)
            run = run_part(part, broken, quick)
            with lock:
                total.update(show(run))

    if waiting and waiting[0].name == "build":
        run = run_part(waiting.pop(0), broken, quick)
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
    parser = argparse.ArgumentParser(prog="scripts/test", description="Runs all tests.",
                                     epilog="On a GPU: scripts/test --gpu, scripts/test --gpu-programs; each has its own --help.")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--quick", action="store_true", help="what is worth running after each change")
    length.add_argument("--all", action="store_true", help="all parts, with their further builds")
    parser.add_argument("--list", action="store_true", help="print the parts' names")
    parser.add_argument("parts", nargs="*", metavar="PART", help=" ".join(names))
    options = parser.parse_args()
    if options.list:
        print("\n".join(names))
        return 0
    unknown = [name for name in options.parts if name not in names]
    if unknown:
        parser.error(f"no part is called {unknown[0]}: {' '.join(names)}")
    longest = QUICK if options.quick else LONG if options.all else USUAL
    chosen = [part for part in PARTS if part.name in options.parts or not options.parts and part.when <= longest]
    if PARTS[0] not in chosen and any(part.after == "build" for part in chosen):
        chosen.insert(0, PARTS[0])
    total = run_all(chosen, options.quick)
    print(summary(total))
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
