"""Programs that use threads, signals, forks and scopes in unusual ways."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys

import harness

LAUNCH = "cuLaunchKernel"


class Threads(harness.Case):
    """First calls, cancellation, jumps, forks."""

    def test_first_calls_at_once_are_of_one_process(self):
        for _ in range(25):
            self.run_well([harness.program("first_calls")])
            trace = self.trace()
            self.assertEqual(trace.value("SELECT count(*) FROM processes"), 1)
            self.assertEqual(trace.count("cuInit"), 8)
            trace.close()
            os.unlink(self.path("trace.db"))

    def test_calls_are_no_cancellation_points(self):
        self.run_twice([harness.program("cancelled")])
        self.assertEqual(self.trace().count(LAUNCH), 50000)

    def test_nothing_is_allocated_where_a_thread_can_be_cancelled(self):
        for gpu in ("off", "auto"):
            self.assertIn(": 0\n", self.run_twice([harness.program("cancellable")], env={"GPUVERIFY_GPU": gpu}).out)

    def test_first_call_is_no_cancellation_point(self):
        self.run_twice([harness.program("cancelled"), "first"])
        self.assertEqual(self.trace().count("cuMemFree_v2"), 2)

    def test_jump_out_of_a_call_by_a_signal_handler(self):
        self.run_twice([harness.program("jumped")])
        trace = self.trace()
        self.assertEqual(trace.count(LAUNCH), 1001)
        self.assertEqual(trace.rows("SELECT result FROM calls WHERE name = 'cuCtxSynchronize'"),
                         [(None,)])

    def test_first_call_on_the_smallest_stack(self):
        self.run_well([harness.program("small_stack")])
        self.assertEqual(self.trace().count("cuInit"), 1)

    def interrupted(self, how, **env):
        """With a driver that takes no lock. Returns the calls of the program, those of
        its handler, and how many of these came in the middle of the first one."""
        os.mkdir(self.path("bare"))
        shutil.copy(harness.built(harness.PROGRAMS, "libe2e_bare_driver.so"),
                    self.path("bare", "libcuda.so.1"))
        result = self.run_well([harness.program("interrupted"), how],
                               env={"LD_LIBRARY_PATH": self.path("bare"), **env})
        return [int(number) for number in result.out.split()]

    def test_signal_handler_that_makes_calls_during_the_first_one(self):
        made, handled, inside = self.interrupted("first", BARE_DRIVER_INIT_MS="20")
        trace = self.trace(losses=True)
        self.assertEqual((made, trace.count("cuInit")), (1, 1))
        self.assertGreaterEqual(handled, 50)
        # Calls of the handler during the call are a part of it, those while its record is written are lost,
        # and all others are rows. The hook has some instructions before and after the driver's part.
        self.assertGreaterEqual(inside, 2)
        lost = sum(row["count"] for row in trace.lost() if row["class"] == "free")
        self.assertIn(handled - inside - lost - trace.count("cuMemFree_v2"), (0, 1, 2))
        self.assertEqual(trace.value("SELECT count(*) FROM threads"), 1)

    def test_signal_handler_that_names_kernels_while_its_thread_does(self):
        made, handled, _ = self.interrupted("names", GPUVERIFY_EXIT_WAIT="30")
        self.assertGreaterEqual(handled, 50)
        trace = self.trace(losses=True)
        lost = sum(row["count"] for row in trace.lost() if row["class"] == "function")
        self.assertGreaterEqual(trace.count("cuModuleGetFunction") + lost, made - 1)

    def fork_while_busy(self, how):
        result = self.run_well([harness.program("fork_busy"), how])
        self.assertEqual(result.out, "100 of 100 children finished\n")

    def test_fork_while_another_thread_registers_kernels(self):
        self.fork_while_busy("register")

    def test_fork_while_another_thread_looks_up_calls(self):
        self.fork_while_busy("look-up")

    def test_fork_while_another_thread_opens_libraries(self):
        result = self.run_well([harness.program("fork_loading"), "later"])
        self.assertEqual(result.out, "150 of 150 children finished\n")
        self.assertEqual(self.trace().count("cuMemFree_v2"), 150)

    def test_a_moment_without_descriptors_is_not_for_ever(self):
        self.run_well([harness.program("no_descriptors")], env={"GPUVERIFY_COLLECTOR": "off"})
        self.command("recover", self.spool)
        trace = self.trace(losses=True)
        lost = sum(row["count"] for row in trace.lost())
        self.assertEqual(trace.count(LAUNCH) + lost, 80000)
        self.assertLess(lost, 40000)


class Scopes(harness.Case):
    """Look-ups find the same as without us."""

    def driver(self):
        return os.path.join(harness.simulator(), "libcuda.so.1")

    def test_a_library_without_the_name_does_not_get_it(self):
        result = self.run_twice([harness.program("scopes"), "misses", self.driver()])
        self.assertIn("in libm: not found\nlibm is blamed\nanywhere: found\n", result.out)

    def test_a_driver_opened_for_one_caller_is_no_others(self):
        result = self.run_twice([harness.program("scopes"), "local", self.driver()])
        self.assertEqual(result.out, "anywhere: not found\nbehind us: not found\n"
                                     "in the driver: found\n")

    def test_a_plugin_linked_with_the_driver_meets_no_impostor(self):
        libraries = [harness.built(harness.PROGRAMS, f"libe2e_{name}.so")
                     for name in ("impostor", "impostor_user")]
        result = self.run_twice([harness.program("scopes"), "impostor", *libraries])
        self.assertEqual(result.out, "cuMemFree(0) says 0\n")


class Names(harness.Case):
    """Kernels keep their own names, and the driver is not asked for refused ones."""

    def kernels(self, *arguments):
        result = self.run_well([harness.program("context_end"), *arguments],
                               env={"GV_SIM_REUSE_HANDLES": "1"})
        self.assertEqual(result.out, "the handle came back: 1\n")
        return [row[0] for row in self.trace().rows(
            f"SELECT kernel FROM calls WHERE name = '{LAUNCH}' ORDER BY start_ns")]

    def test_handle_that_comes_back_after_its_context_is_gone(self):
        self.assertEqual(self.kernels(), ["first_kernel", "other_kernel"])

    def test_handle_that_nobody_named_comes_back(self):
        self.assertEqual(self.kernels("enumerate"), ["first_kernel", "other_kernel"])

    def test_handle_of_a_library_that_another_contexts_end_made_unknown_comes_back(self):
        self.assertEqual(self.kernels("libraries"), ["first_kernel", "other_kernel"])

    def test_refused_handle_is_not_asked_about(self):
        log = self.path("log")
        self.run_program([harness.program("ending")],
                         env={"GV_SIM_LOG": log, "GV_SIM_FAIL": f"{LAUNCH}:1=400"})
        with open(log, encoding="utf-8") as lines:
            self.assertNotRegex(lines.read(), r"cu(Func|Kernel)Get")

    def test_python_options_are_not_the_programs_name(self):
        script = self.write("train.py", "import ctypes\n"
                                        "ctypes.CDLL('libcuda.so.1').cuInit(0)\n")
        self.run_well([sys.executable, "-X", "dev", "-W", "ignore", script])
        self.assertEqual(self.trace().value("SELECT program FROM processes"), "train")


class Surroundings(harness.Case):
    """Where and how the program was started."""

    def test_deleted_working_directory(self):
        gone = self.path("gone")
        os.mkdir(gone)
        result = self.run_program(
            [harness.program("ending"), "exit"], env={"GPUVERIFY_TRACE": "trace.db"},
            cwd=gone, preexec_fn=lambda: os.rmdir(gone))
        self.assertEqual(result.status, 4, str(result))
        self.assertIn("cannot record", result.err)
        self.assertFalse(os.path.exists(f"/.gpuverify-{os.getuid()}"))

    def test_relative_paths_start_where_the_program_started(self):
        """Not where it, or a child, has moved before its first call."""
        for folder in ("a", "b", "start 50%"):
            os.mkdir(self.path(folder))
        self.spool = self.path("start 50%", "spools")
        result = self.run_well(
            ["sh", "-c", 'cd ../a && "$0" && cd ../b && "$0"', harness.program("ending")],
            cwd=self.path("start 50%"),
            env={"GPUVERIFY_TRACE": "%n.db", "GPUVERIFY_SPOOL_DIR": "spools"})
        self.assertEqual(result.out, "three launches\n" * 2)
        self.assertEqual(self.trace(self.path("start 50%", "e2e_ending.db")).count(LAUNCH), 6)
        self.assertEqual(os.listdir(self.path("a")) + os.listdir(self.path("b")), [])

    def test_default_trace_is_where_the_program_started(self):
        for folder in ("away", "start"):
            os.mkdir(self.path(folder))
        script = self.write("goes.py", "import ctypes, os\n"
                                       f"os.chdir({self.path('away')!r})\n"
                                       "ctypes.CDLL('libcuda.so.1').cuInit(0)\n")
        self.run_well([sys.executable, script], cwd=self.path("start"),
                      env={"GPUVERIFY_TRACE": None})
        self.settle()
        self.assertRegex(" ".join(os.listdir(self.path("start"))), r"^gpuverify-goes-\d+\.db$")

    def test_umask_that_takes_everything_is_not_for_ever(self):
        self.spool = self.path("spools")  # made by the program
        self.run_program(["sh", "-c", 'umask 777; exec "$0"', harness.program("ending")],
                         env={"GPUVERIFY_SPOOL_DIR": self.spool,
                              "GPUVERIFY_TRACE": self.path("first.db")})
        self.run_well([harness.program("ending")], env={"GPUVERIFY_SPOOL_DIR": self.spool})
        self.assertEqual(self.trace().count(LAUNCH), 3)

    def test_small_file_size_limit_kills_nobody(self):
        result = self.run_program(["sh", "-c", 'ulimit -f 4; exec "$0"',
                                   harness.program("ending")])
        self.assertEqual(result.status, 0, str(result))

    def test_parent_that_collects_orphans_and_waits_for_all(self):
        script = self.write("reaper.py", "import ctypes, os, subprocess, sys\n"
                                         "ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)\n"
                                         "subprocess.run(sys.argv[1:])\n"
                                         "try:\n"
                                         "    while True:\n"
                                         "        os.wait()\n"
                                         "except ChildProcessError:\n"
                                         "    print('nobody left')\n")
        result = self.run_well([sys.executable, script, harness.program("ending")])
        self.assertIn("nobody left", result.out)
        self.assertEqual(self.trace().count(LAUNCH), 3)

    def test_trace_that_names_foreign_files_removes_none(self):
        self.run_well([harness.program("ending")])
        self.trace().close()
        precious = self.write("precious.session", "keep me")
        with contextlib.closing(sqlite3.connect(self.path("trace.db"))) as trace, trace:
            for key, value in (("state", "recording"), ("session", "precious"),
                               ("spool_directory", self.dir)):
                trace.execute("UPDATE meta SET value = ? WHERE key = ?", (value, key))
        self.command("report", self.path("trace.db"), status=None)
        self.command("recover", self.path("trace.db"), status=None)
        self.assertTrue(os.path.exists(precious))

    def test_sessions_that_want_the_same_trace_keep_their_records(self):
        running = [self.start([harness.program("flood"), "500", "0"], stdin=subprocess.PIPE)
                   for _ in range(12)]
        for process in running:
            self.assertEqual(process.stdout.readline(), b"ready\n")
        for process in running:
            process.stdin.write(b"\n")
            process.stdin.flush()
        for process in running:
            process.communicate(timeout=harness.PROGRAM_S)
            self.assertEqual(process.returncode, 0)
        self.settle()
        traces = [name for name in os.listdir(self.dir) if name.endswith(".db")]
        counts = []
        for name in traces:
            with contextlib.closing(sqlite3.connect(self.path(name))) as trace:
                counts.append(trace.execute("SELECT count(*) FROM calls WHERE name = ?",
                                            (LAUNCH,)).fetchone()[0])
        # A trace that was complete gave way to a later session's, as it should; none was cut.
        self.assertEqual(set(counts), {500}, dict(zip(traces, counts)))

    def test_run_says_at_once_that_the_trace_cannot_be_written(self):
        result = self.command("run", "-o", self.path("nowhere", "x.db"), "--",
                              harness.program("ending"), status=3)
        self.assertIn("cannot write", result.err)
        self.assertEqual(result.out, "")

    def test_collector_of_a_real_time_program_is_none(self):
        if not shutil.which("chrt"):
            self.skipTest("no chrt")
        process = self.start(["chrt", "-f", "10", harness.program("flood"), "10", "0"],
                             stdin=subprocess.PIPE)
        if process.stdout.readline() != b"ready\n":
            self.skipTest("no real-time scheduling here")
        policy = os.sched_getscheduler(self.await_collector())
        process.communicate(b"\n", timeout=harness.PROGRAM_S)
        self.assertNotIn(policy, (os.SCHED_FIFO, os.SCHED_RR))
        self.assertEqual(self.trace().count(LAUNCH), 10)
