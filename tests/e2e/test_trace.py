"""The trace file: where it is, who may read it, and what it has."""

import os
import re
import socket
import sqlite3
import stat
import subprocess
import time

import harness
import images

VIEWS = {
    "calls": ["id", "process", "thread", "name", "class", "start_ns", "duration_ns", "result",
              "context", "stream", "bytes", "kernel", "module", "correlation", "stack"],
    "loads": ["id", "call", "kind", "name", "bytes", "hash", "start_ns", "duration_ns", "jit_ns",
              "wait_ns", "gpu_busy"],
    "api_summary": ["name", "count", "total_ns", "min_ns", "median_ns", "max_ns", "share"],
    "processes": [],
    "threads": [],
    "losses": [],
    "in_flight": [],
}


class File(harness.Case):
    """Name, mode and neighbours of the trace."""

    def ending(self, trace, **options):
        environment = {"GPUVERIFY_TRACE": trace, **options.pop("env", {})}
        return self.run_well([harness.program("ending")], env=environment, **options)

    def test_only_the_user_may_read_it(self):
        self.ending(self.path("trace.db"), preexec_fn=lambda: os.umask(0) and None)
        self.settle()
        self.assertEqual(stat.S_IMODE(os.stat(self.path("trace.db")).st_mode), 0o600)

    def test_stalls_are_there_when_the_program_has_ended(self):
        result = self.run_well([harness.workload("stalls/lazy_launch"), "100"],
                               env={"GPUVERIFY_EXIT_WAIT": "60"})
        trace = self.open_trace()
        self.assertIn(("lazy-load",), trace.rows("SELECT cause FROM stalls"), str(result))
        self.assertEqual(trace.rows("SELECT end_ns IS NULL, ended, exit_code FROM processes"),
                         [(0, "exit", 0)])
        self.assertEqual(trace.value("SELECT value FROM meta WHERE key = 'state'"), "complete")

    def test_file_is_not_written_when_the_program_has_ended(self):
        """Otherwise a program that is restarted at once would meet the old journal."""
        for _ in range(10):
            self.ending(self.path("trace.db"), env={"GPUVERIFY_EXIT_WAIT": "60"})
            before = os.stat(self.path("trace.db"))
            self.settle()
            after = os.stat(self.path("trace.db"))
            self.assertEqual(before.st_mtime_ns, after.st_mtime_ns)
            os.unlink(self.path("trace.db"))

    def test_default_name(self):
        process = self.start([harness.program("ending")], env={"GPUVERIFY_TRACE": None})
        process.communicate(timeout=harness.PROGRAM_S)
        self.settle()
        self.assertEqual(os.listdir(self.dir), [f"gpuverify-e2e_ending-{process.pid}.db"])

    def test_name_with_expansions(self):
        process = self.start([harness.program("ending")],
                             env={"GPUVERIFY_TRACE": self.path("a-%n-%p-%h-100%%.db")})
        process.communicate(timeout=harness.PROGRAM_S)
        self.settle()
        host = socket.gethostname()
        self.assertEqual(os.listdir(self.dir),
                         [f"a-e2e_ending-{process.pid}-{host}-100%.db"])

    def test_relative_name(self):
        self.ending("here.db")
        self.assertEqual(self.trace(self.path("here.db")).count("cuLaunchKernel"), 3)

    def test_planted_link_is_not_followed(self):
        victim = self.write("victim", "precious\n")
        os.symlink(victim, self.path("trace.db"))
        os.symlink(self.path("made-by-us"), self.path("dangling.db"))
        self.ending(self.path("trace.db"), quiet=False)
        self.ending(self.path("dangling.db"), quiet=False)
        self.settle()
        with open(victim, encoding="utf-8") as file:
            self.assertEqual(file.read(), "precious\n")
        self.assertFalse(os.path.exists(self.path("made-by-us")))
        self.assertTrue(os.path.islink(self.path("trace.db")))
        self.assertEqual(self.trace(self.path("trace-2.db")).count("cuLaunchKernel"), 3)
        self.assertEqual(self.trace(self.path("dangling-2.db")).count("cuLaunchKernel"), 3)

    def test_foreign_file_is_not_touched(self):
        self.write("trace.db", "somebody's notes\n")
        foreign = sqlite3.connect(self.path("other.db"))
        foreign.execute("CREATE TABLE mine(x)")
        foreign.commit()
        foreign.close()
        with open(self.path("other.db"), "rb") as file:
            before = file.read()
        self.ending(self.path("trace.db"), quiet=False)
        self.ending(self.path("other.db"), quiet=False)
        self.settle()
        with open(self.path("trace.db"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "somebody's notes\n")
        with open(self.path("other.db"), "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(self.trace(self.path("trace-2.db")).count("cuLaunchKernel"), 3)
        self.assertEqual(self.trace(self.path("other-2.db")).count("cuLaunchKernel"), 3)

    def test_earlier_trace_is_replaced(self):
        self.ending(self.path("trace.db"))
        first = self.trace().meta()["session"]
        self.ending(self.path("trace.db"))
        second = self.trace()
        self.assertNotEqual(second.meta()["session"], first)
        self.assertEqual(second.count("cuLaunchKernel"), 3)

    def test_one_file_and_nothing_beside_it(self):
        self.ending(self.path("trace.db"))
        self.settle()
        self.assertEqual(os.listdir(self.dir), ["trace.db"])
        with open(self.path("trace.db"), "rb") as file:
            header = file.read(100)
        # Bytes 18 and 19 say how the file is written: 1 is a rollback journal, 2 a WAL.
        self.assertEqual(header[18:20], b"\1\1")
        self.assertEqual(self.trace().value("PRAGMA integrity_check"), "ok")

    def test_it_can_be_read_while_the_program_runs(self):
        process = self.start([harness.program("flood"), "10", "0"], stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"ready\n")

        def loads():
            try:
                with sqlite3.connect(f"file:{self.path('trace.db')}?mode=ro", uri=True) as reader:
                    return reader.execute("SELECT count(*) FROM loads").fetchone()[0]
            except sqlite3.Error:
                return 0
        harness.wait_for(loads, "the first calls are in the trace")
        process.communicate(b"\n", timeout=harness.PROGRAM_S)
        self.assertEqual(self.trace().count("cuLaunchKernel"), 10)


class Contents(harness.Case):
    def ran(self, name="ending", *arguments, **options):
        result = self.run_well([harness.program(name), *arguments], **options)
        return result, self.trace()

    def test_views_have_their_columns(self):
        _, trace = self.ran()
        for view, columns in VIEWS.items():
            with self.subTest(view):
                have = trace.columns(view)
                self.assertTrue(have, f"no view {view}")
                self.assertEqual([name for name in columns if name not in have], [])

    def test_meta_tells_where_it_comes_from(self):
        before = time.time_ns()
        _, trace = self.ran("ending", "exit", status=4)
        after = time.time_ns()
        meta = trace.meta()
        for key in ("schema_version", "session", "gpuverify_version", "unix_offset_ns"):
            self.assertIn(key, meta)
        self.assertIn("e2e_ending", meta["program"])
        self.assertIn("exit", meta["arguments"])
        self.assertEqual(meta["host"], socket.gethostname())
        self.assertEqual(int(meta["driver_version"]), 13000)
        self.assertEqual(meta["state"], "complete")
        first, last = trace.rows("SELECT min(start_ns), max(start_ns + duration_ns) FROM calls")[0]
        offset = int(meta["unix_offset_ns"])
        margin = 50_000_000
        self.assertGreater(first + offset, before - margin, "unix_offset_ns leads to Unix time")
        self.assertLess(last + offset, after + margin)

    def test_driver_version_is_the_drivers(self):
        self.run_well([harness.program("ending")], env={"GV_SIM_DRIVER_VERSION": "12040"})
        self.assertEqual(int(self.trace().meta()["driver_version"]), 12040)

    def test_times_are_whole_nanoseconds_of_one_clock(self):
        _, trace = self.ran()
        for start, duration in trace.rows("SELECT start_ns, duration_ns FROM calls"):
            self.assertIsInstance(start, int)
            self.assertIsInstance(duration, int)
            self.assertGreaterEqual(start, 0)
            self.assertGreaterEqual(duration, 0)
        self.assertLess(trace.value("SELECT max(start_ns) FROM calls"), 60 * 10 ** 9)

    def test_both_clocks_agree(self):
        spans = []
        for clock in ("tsc", "monotonic", "auto"):
            path = self.path(f"{clock}.db")
            self.run_well([harness.program("errno_kept")],
                          env={"GPUVERIFY_CLOCK": clock, "GPUVERIFY_TRACE": path}, quiet=False)
            trace = self.trace(path)
            rows = trace.rows("SELECT start_ns FROM calls ORDER BY id")
            self.assertEqual(rows, sorted(rows))
            spans.append(trace.count())
        self.assertEqual(len(set(spans)), 1, spans)

    def test_unknown_is_NULL_and_never_0(self):
        _, trace = self.ran()
        self.assertEqual(trace.rows("SELECT DISTINCT bytes, kernel, stream FROM calls "
                                    "WHERE name = 'cuInit'"), [(None, None, None)])
        self.assertEqual(trace.value("SELECT count(*) FROM calls WHERE correlation = 0"), 0)

    def test_failures_keep_their_result(self):
        _, trace = self.ran("errno_kept")
        got = trace.rows("SELECT name, result FROM calls WHERE result <> 0 ORDER BY start_ns")
        self.assertIn(("cuModuleLoad", 301), got)
        self.assertIn(("cuModuleGetFunction", 500), got)

    def test_injected_failure_is_a_result_and_reaches_the_program(self):
        env = {"GV_SIM_FAIL": "cuLaunchKernel:2=700"}
        result = self.run_twice([harness.program("ending")], env=env)
        self.assertEqual(result.status, 90, str(result))
        trace = self.trace()
        self.assertEqual(trace.rows("SELECT result FROM calls WHERE name = 'cuLaunchKernel' "
                                    "ORDER BY start_ns"), [(0,), (700,)])

    def test_threads_and_processes_are_named(self):
        _, trace = self.ran()
        self.assertEqual(trace.value("SELECT count(*) FROM processes"), 1)
        self.assertEqual(trace.value("SELECT count(*) FROM threads"), 1)
        self.assertEqual(trace.value(
            "SELECT count(*) FROM calls JOIN processes ON processes.id = calls.process "
            "JOIN threads ON threads.id = calls.thread"), trace.count())

    def test_every_call_has_a_class_of_the_table(self):
        _, trace = self.ran("errno_kept")
        table = harness.hooked_calls()
        for name, kind in trace.rows("SELECT DISTINCT name, class FROM calls"):
            self.assertEqual(kind, table[name].lower(), name)


class Images(harness.Case):
    """Loads: what was loaded, how big it is, what it is called."""

    def load(self, *arguments, **options):
        result = self.run_well([harness.program("images"), *arguments], quiet=False, **options)
        return result

    def loads(self):
        return self.trace().dicts("SELECT * FROM loads ORDER BY start_ns")

    def cubin(self, name, *kernels, **options):
        return images.write(self.path(name), *images.cubin(kernels, **options))

    def test_kinds_of_loads(self):
        cubin = self.cubin("a.cubin", "tick")
        ptx = self.write("a.ptx", images.ptx("tick"))
        self.load("--kernel", "tick", cubin, ptx, "--file", cubin, "--library", cubin)
        loads = self.loads()
        self.assertEqual([load["kind"] for load in loads], ["cubin", "ptx", "file", "library"],
                         harness.dump(loads))
        self.assertIn(cubin, loads[2]["name"])
        self.assertEqual(loads[0]["bytes"], os.path.getsize(cubin))
        self.assertIn(loads[1]["bytes"], (os.path.getsize(ptx), os.path.getsize(ptx) + 1))

    def test_load_belongs_to_its_call(self):
        self.load("--kernel", "tick", self.cubin("a.cubin", "tick"))
        trace = self.trace()
        rows = trace.rows("SELECT calls.name, loads.start_ns - calls.start_ns, "
                          "loads.duration_ns - calls.duration_ns "
                          "FROM loads JOIN calls ON calls.id = loads.call")
        self.assertEqual(rows, [("cuModuleLoadData", 0, 0)], "apart by ns")

    def test_image_inside_a_program_or_library(self):
        self.run_well([harness.workload("load_while_busy"), "1"])
        libraries = {row[0] for row in self.trace().rows("SELECT library FROM loads")}
        self.assertEqual(libraries, {harness.workload("load_while_busy")})

    def test_image_that_the_program_made(self):
        self.run_well([harness.workload("stalls/module_load_ptx_warm"), "idle"])
        libraries = self.trace().rows("SELECT library FROM loads WHERE bytes > 10000")
        self.assertEqual({row[0] for row in libraries}, {None})

    def test_equal_images_have_equal_hashes_and_others_other(self):
        one = self.cubin("one.cubin", "tick")
        same = self.cubin("same.cubin", "tick")
        other = self.cubin("other.cubin", "tock")
        self.load(one, same, other, "--library", one)
        hashes = [load["hash"] for load in self.loads()]
        self.assertNotIn(None, hashes)
        self.assertEqual(hashes[0], hashes[1])
        self.assertNotEqual(hashes[0], hashes[2])
        self.assertEqual(hashes[0], hashes[3])

    @harness.depends_on_time("it compares how long two loads take")
    def test_huge_image_loads_no_slower(self):
        huge = self.cubin("huge.cubin", "tick", padding=300 << 20)

        # A real driver reads all of it; here nobody has, and the first to look would wait for that.
        with open(huge, "rb") as file:
            while file.read(1 << 24):
                pass

        def once(preload):
            result = self.load("--kernel", "tick", huge, preload=preload,
                               env={"GV_SIM_LOAD_NS": "10000000"})
            return int(re.search(r"^(\d+) ns$", result.err, re.M).group(1))
        plain, hooked = [], []
        for _ in range(5):
            plain.append(once(False))
            hooked.append(once(True))
        self.assertLess(min(hooked) / min(plain), 1.5,
                        f"plain {plain}, with the library {hooked}")
        load = self.loads()[-1]
        self.assertEqual(load["bytes"], os.path.getsize(huge))

    def test_broken_image_is_a_failed_load(self):
        self.load(self.write("broken", b"\x7fELF no, not really" + b"\0" * 64))
        trace = self.trace()
        self.assertNotEqual(trace.value(
            "SELECT result FROM calls WHERE name = 'cuModuleLoadData'"), 0)
        self.assertEqual(trace.value("SELECT count(*) FROM loads WHERE result = 0"), 0)

    def test_kernel_names(self):
        self.load("--kernel", "alpha", self.cubin("a.cubin", "alpha", "beta"),
                  "--kernel", "beta", self.path("a.cubin"),
                  "--library", self.path("a.cubin"))
        self.assertEqual(self.trace().rows(
            "SELECT kernel FROM calls WHERE class = 'launch' ORDER BY start_ns"),
            [("alpha",), ("beta",), ("beta",)])

    def hostile(self, name):
        """The trace has the exact name; the report must be safe for a terminal."""
        self.load("--kernel", name, self.cubin("a.cubin", name))
        trace = self.trace()
        told = trace.value("SELECT kernel FROM calls WHERE class = 'launch'")
        self.assertIsNotNone(told)
        report = subprocess.run([harness.gpuverify(), "report", self.path("trace.db")],
                                capture_output=True, check=False, env=self.environment(False))
        self.assertEqual(report.returncode, 0, report.stderr)
        for byte in set(report.stdout):
            self.assertTrue(byte >= 0x20 and byte != 0x7f or byte == 0x0a, hex(byte))
        report.stdout.decode("utf-8")
        return told

    def test_kernel_name_with_escapes(self):
        told = self.hostile(b"bad\x1b[31m\x07name\r\nnext\tx")
        self.assertTrue(told.startswith("bad"), repr(told))

    def test_kernel_name_that_is_no_utf8(self):
        told = self.hostile(b"caf\xe9\xff\xfe")
        self.assertTrue(told.startswith("caf"), repr(told))

    def test_kernel_name_of_ten_thousand_bytes(self):
        told = self.hostile(b"long_" + b"x" * 10000)
        self.assertTrue(told.startswith("long_xxx"))
        self.assertTrue(told.endswith("..."), told[-20:])
        self.assertLessEqual(len(told), 2048)

    def test_file_name_with_escapes(self):
        name = "a\x1b]0;title\x07\n.cubin"
        self.load("--file", self.cubin(name, "tick"))
        load = self.loads()[0]
        self.assertTrue(load["name"].startswith(self.dir), load)
        report = self.command("report", self.path("trace.db"))
        self.assertNotIn("\x1b", report.out)

    def test_handle_used_again_is_a_new_kernel(self):
        result = self.run_well([harness.workload("reload")], quiet=False,
                               env={"GV_SIM_REUSE_HANDLES": "1"})
        trace = self.trace()
        self.assertIn("3 handles were reused", result.err)
        rows = trace.rows("SELECT kernel, kernel_id, module FROM calls WHERE class = 'launch' "
                          "ORDER BY start_ns")
        self.assertEqual([row[0] for row in rows], ["first_kernel", "other_kernel"] * 2)
        self.assertEqual(len({row[1] for row in rows}), 4, rows)
        self.assertEqual(len({row[2] for row in rows}), 4, rows)


class Settings(harness.Case):
    """Values that are not allowed are reported once and then ignored."""

    def test_invalid_value_is_reported_once(self):
        for name, value in (("EXIT_WAIT", "soon"), ("SPOOL_MB", "-3"), ("SPOOL_MB", "1e9"),
                            ("CLOCK", "sundial"), ("RUNTIME", "maybe"), ("LOG", "loud")):
            with self.subTest(f"GPUVERIFY_{name}={value}"):
                path = self.path(f"{name}.db")
                result = self.run_well([harness.program("ending")], quiet=False,
                                       env={f"GPUVERIFY_{name}": value, "GPUVERIFY_TRACE": path})
                lines = [line for line in result.err.splitlines() if f"GPUVERIFY_{name}" in line]
                self.assertEqual(len(lines), 1, str(result))
                self.assertIn(value, lines[0])
                self.assertEqual(result.err.count("\n"), 1, str(result))
                self.assertEqual(self.trace(path).count("cuLaunchKernel"), 3)

    def test_program_without_cuda_does_not_hear_of_it(self):
        result = self.run_well(["/bin/true"], env={"GPUVERIFY_EXIT_WAIT": "soon"})
        self.assertEqual(result.err, "")

    def test_log_off_says_nothing(self):
        result = self.run_well([harness.program("ending")],
                               env={"GPUVERIFY_LOG": "off", "GPUVERIFY_SPOOL_DIR": "/proc/no",
                                    "GPUVERIFY_TRACE": "/proc/no/trace.db"})
        self.assertEqual(result.out, "three launches\n")
