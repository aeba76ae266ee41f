"""How programs start, multiply and end."""

import os
import random
import resource
import signal
import struct
import subprocess
import sys
import time

import harness

LAUNCH = "cuLaunchKernel"


class Endings(harness.Case):
    """However a program ends, its calls are in the trace and its status is its own."""

    def ended(self, how, status, launches, knows_code=True, **environment):
        result = self.run_twice([harness.program("ending"), how], env=environment,
                                preexec_fn=no_core)
        self.assertEqual(result.status, status, str(result))
        trace = self.trace()
        self.assertEqual(trace.count(LAUNCH), launches)
        code = status if status >= 0 and knows_code else None
        self.assertEqual(trace.rows("SELECT exit_code FROM processes"), [(code,)])
        return trace

    def test_return_from_main(self):
        self.ended("return", 0, 3)

    def test_exit(self):
        self.ended("exit", 4, 3)

    def test__exit(self):
        self.ended("_exit", 5, 3)

    def test_quick_exit(self):
        # Handlers of quick_exit() are not told the code.
        self.ended("quick_exit", 6, 4, knows_code=False)

    def test_abort(self):
        self.ended("abort", -signal.SIGABRT, 3)

    def test_segmentation_fault(self):
        self.ended("segv", -signal.SIGSEGV, 3)

    def test_SIGTERM(self):
        self.ended("term", -signal.SIGTERM, 3)

    def test_SIGKILL(self):
        self.ended("kill", -signal.SIGKILL, 3)

    def test_exit_from_a_thread(self):
        self.ended("thread", 9, 3)

    def test_main_thread_leaves_first(self):
        self.ended("pthread_exit", 8, 5)

    def test_main_thread_leaves_before_the_first_call(self):
        """Then /proc/self shows nothing."""
        program = harness.program("ending")
        trace = self.ended("before", 8, 5)
        self.assertEqual(trace.rows("SELECT executable FROM processes"), [(program,)])

    def test_calls_made_by_atexit(self):
        trace = self.ended("atexit", 7, 5)
        self.assertEqual(trace.count("cuCtxSynchronize"), 2)

    def test_calls_made_by_a_destructor(self):
        self.ended("return", 0, 4, E2E_CALL_IN_DESTRUCTOR="1")

    def test_calls_are_there_when_the_programs_exit_returns(self):
        for how, status, launches in (("return", 0, 3), ("exit", 4, 3), ("_exit", 5, 3),
                                      ("quick_exit", 6, 4), ("thread", 9, 3)):
            with self.subTest(how):
                path = self.path(f"{how}.db")
                self.run_well([harness.program("ending"), how], status=status,
                              env={"GPUVERIFY_TRACE": path})
                self.assertEqual(self.open_trace(path).count(LAUNCH), launches)

    def test_SIGKILL_at_random_moments(self):
        seed = random.randrange(1 << 30)
        chance = random.Random(seed)
        for turn in range(20):
            name = f"trace-{turn}.db"
            with self.subTest(f"seed {seed}, turn {turn}"):
                progress = self.path(f"progress-{turn}")
                process = self.start([harness.program("flood"), "--progress", progress],
                                     env={"GPUVERIFY_TRACE": self.path(name)})
                time.sleep(chance.uniform(0.0, 0.15))
                process.kill()
                process.communicate()
                self.finish_killed()
                self.check_killed(self.path(name), progress)

    def finish_killed(self):
        """Killed before its collector started, it leaves its records to the next command."""
        harness.wait_for(lambda: not self.processes(), "everybody is gone")
        if self.spool_files():
            self.command("recover", self.spool, status=None)
        # A process in the middle of exec() has no environment to be found by: a collector that was
        # just starting then finishes the session itself.
        harness.wait_for(lambda: not self.processes() and self.spool_files() == [], "nothing is left")

    def check_killed(self, path, progress):
        returned = 0
        if os.path.exists(progress) and os.path.getsize(progress) >= 8:
            with open(progress, "rb") as file:
                returned = struct.unpack("<Q", file.read(8))[0]
        if not os.path.exists(path):
            self.assertEqual(returned, 0, "calls had returned, and there is no trace")
            return
        trace = self.open_trace(path)
        self.assertEqual(trace.value("PRAGMA integrity_check"), "ok")
        self.assertEqual(trace.lost(), [])
        self.assertIn(trace.count(LAUNCH) - returned, (0, 1))

    def test_call_that_it_died_in_is_named(self):
        process = self.start([harness.program("flood"), "--blocked"])
        self.assertEqual(process.stdout.readline(), b"blocked\n")
        harness.pause(0.2)
        process.kill()
        process.communicate()
        trace = self.trace()
        rows = trace.dicts("SELECT * FROM in_flight")
        self.assertEqual([row["name"] for row in rows], ["cuStreamSynchronize"], rows)
        self.assertEqual(trace.count("cuStreamSynchronize"), 0)


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Children(harness.Case):
    """Processes that a program starts belong to its session, and only to it."""

    def family(self, how, launches, processes, **options):
        result = self.run_twice([harness.program("children"), how], sort=True, **options)
        self.assertEqual(result.status, options.get("status", 0), str(result))
        trace = self.trace(losses=how == "exec")
        self.assertEqual(trace.count(LAUNCH), launches)
        by_process = trace.rows(
            "SELECT count(*) FROM calls WHERE name = ? GROUP BY process ORDER BY 1", LAUNCH)
        self.assertEqual([row[0] for row in by_process], processes)
        return trace

    def test_fork_before_the_first_call(self):
        trace = self.family("fork-before", 5, [2, 3])
        self.assertEqual(trace.value("SELECT count(*) FROM processes"), 2)

    def forked(self, how, exit_code):
        """The child's calls, which fail, are the child's; the parent's stay the parent's."""
        trace = self.family(how, 3, [3])
        self.assertEqual(trace.rows("SELECT forked, exit_code FROM processes ORDER BY forked"),
                         [(0, 0), (1, exit_code)])
        rows = trace.rows("SELECT forked, calls.name, result FROM calls "
                          "JOIN processes ON processes.id = calls.process "
                          "WHERE calls.name IN ('cuInit', 'cuCtxSynchronize') "
                          "ORDER BY calls.start_ns")
        self.assertEqual(rows, [(0, "cuInit", 0), (0, "cuCtxSynchronize", 0), (1, "cuInit", 3),
                                (1, "cuCtxSynchronize", 3), (0, "cuCtxSynchronize", 0)])

    def test_fork_after_the_first_call(self):
        self.forked("fork-after", 3)

    def test_fork_after_the_first_call_and__exit(self):
        self.forked("fork-after-_exit", 4)

    def test_forked_children_that_make_no_call_leave_no_trace_of_themselves(self):
        trace = self.family("fork-idle", 2002, [2002])
        self.assertEqual(trace.rows("SELECT forked, exit_code FROM processes"), [(0, 0)])

    def test_child_without_cuda_that_lives_on_keeps_nobody_waiting(self):
        self.run_well(["/bin/sh", "-c", f'sleep 60 <&- >&- 2>&- & "{harness.program("ending")}"'])
        harness.wait_for(lambda: not self.spool_files() and not self.collectors(), "the session is over")
        sleepers = self.processes()
        self.assertEqual([harness.command_line(pid) for pid in sleepers], ["sleep 60"])
        os.kill(sleepers[0], signal.SIGKILL)
        trace = self.trace()
        self.assertEqual(trace.meta()["state"], "complete")
        self.assertEqual(trace.count(LAUNCH), 3)

    def test_fork_and_exec(self):
        self.family("fork-exec", 5, [2, 3])

    def test_exec_in_place(self):
        """What CUPTI held at that moment is lost, and told."""
        trace = self.family("exec", 5, [2, 3])
        self.assertEqual(trace.rows("SELECT ended FROM processes ORDER BY id"), [("exec",), ("exit",)])
        self.assertEqual([(row["class"], row["count"]) for row in trace.lost()],
                         [("last flush", 2)] if self.gpu == "auto" else [])

    def test_exec_in_a_loop_keeps_no_spool_of_what_is_over(self):
        """Each program of the process is a row; only the last one's spool is kept."""
        program, times = harness.program("ending"), 20
        script = self.write("again.py", f"""
import ctypes, os, sys
ctypes.CDLL("libcuda.so.1").cuInit(0)
times = int(sys.argv[1])
if times:
    os.execv(sys.executable, [sys.executable, __file__, str(times - 1)])
print("ready", flush=True)
input()
os.execv("{program}", ["{program}", "exit"])
""")
        process = self.start([sys.executable, script, str(times)], stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        harness.wait_for(lambda: sum(name.endswith(".spool") for name in self.spool_files()) == 1,
                         "one spool is left")
        out, err = process.communicate(b"\n", timeout=harness.PROGRAM_S)
        self.assertEqual((process.returncode, out, err), (4, b"three launches\n", b""))
        trace = self.trace()
        self.assertEqual(trace.value("SELECT count(*) FROM processes"), times + 2)
        self.assertEqual(trace.count("cuInit"), times + 2)
        self.assertEqual(trace.rows("SELECT DISTINCT exit_code FROM processes"), [(None,), (4,)])

    @harness.depends_on_time("a collector that is killed while it closes the trace leaves a journal, for which SQLite has to write")
    def test_first_process_of_a_container_leaves_a_complete_trace(self):
        """Its end kills the collector too."""
        for how in ("session of its own", "session from outside"):
            with self.subTest(how):
                inside = how == "session from outside"
                argv = ["unshare", "--pid", "--fork", "--mount-proc", "env",
                        f"LD_PRELOAD={harness.library()}", harness.program("ending"), "exit"]
                result = self.run_program(argv, preload=inside)
                if result.status == 1:
                    self.skipTest(f"no pid namespaces: {result.err.strip()}")
                self.assertEqual((result.status, result.out, result.err),
                                 (4, "three launches\n", ""), str(result))
                self.assertEqual(self.spool_files(), [])
                trace = self.trace()
                self.assertEqual(trace.meta()["state"], "complete")
                self.assertEqual(trace.rows("SELECT pid, ended, exit_code FROM processes"),
                                 [(1, "exit", 4)])
                self.assertEqual(trace.count(LAUNCH), 3)

    def test_vfork(self):
        self.family("vfork", 6, [3, 3])

    def test_posix_spawn(self):
        self.family("spawn", 5, [2, 3])

    def test_eight_children_at_once(self):
        trace = self.family("many", 24, [3] * 8)
        self.assertEqual(trace.value("SELECT count(*) FROM processes"), 8)

    def test_daemon_is_followed_to_its_end(self):
        self.run_well([harness.program("children"), "daemon"])
        trace = self.trace()
        self.assertEqual(trace.count(LAUNCH), 4)
        with open(self.path("daemon.out"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "daemon: 4 launches\ndaemon: done\n")
        self.assertEqual(os.path.getsize(self.path("daemon.err")), 0)

    def test_programs_of_one_shell_are_one_trace(self):
        ending = harness.program("ending")
        self.run_well(["/bin/sh", "-c", f'"{ending}"; "{ending}" exit; "{ending}" _exit; true'])
        trace = self.trace()
        self.assertEqual(trace.count(LAUNCH), 9)
        self.assertEqual(trace.value("SELECT count(*) FROM processes"), 3)

    def test_two_sessions_at_once_are_two_traces(self):
        paths = [self.path("one.db"), self.path("two.db")]
        processes = [self.start([harness.program("ending")], env={"GPUVERIFY_TRACE": path})
                     for path in paths]
        for process in processes:
            process.communicate(timeout=harness.PROGRAM_S)
            self.assertEqual(process.returncode, 0)
        for path in paths:
            self.assertEqual(self.trace(path).count(LAUNCH), 3)


class Threads(harness.Case):
    def test_a_thousand_threads_that_come_and_go(self):
        result = self.run_twice([harness.program("threads_mixed"), "1000", "3"])
        self.assertEqual(result.out, "1000 threads, 3000 launches\n", str(result))
        trace = self.trace()
        self.assertEqual(trace.value("SELECT count(*) FROM threads"), 1001)
        per_thread = trace.rows("SELECT count(*) FROM calls WHERE name = ? GROUP BY thread",
                                LAUNCH)
        self.assertEqual(per_thread, [(3,)] * 1000)

    def test_calls_made_while_a_thread_ends(self):
        result = self.run_twice([harness.program("threads_mixed"), "100", "2", "late"])
        self.assertEqual(result.out, "100 threads, 300 launches\n", str(result))
        self.assertEqual(self.trace().count(LAUNCH), 300)


class Plugins(harness.Case):
    def test_library_that_uses_cuda_is_closed_and_opened_again(self):
        result = self.run_twice([harness.program("reopen"),
                                 harness.built(harness.PROGRAMS, "libe2e_plugin.so"),
                                 "plugin_work", "4"])
        self.assertEqual(result.status, 0, str(result))
        self.assertEqual(result.out, "".join(f"round {i}: 3\n" for i in range(4)))
        self.assertEqual(result.err, "driver was unloaded\n" * 4, "the test needs it to go")
        self.assertEqual(self.trace().count(LAUNCH), 12)


    THREADS, ROUNDS = 3, 500

    def reopen_at_once(self, library, call, recorded):
        """Several threads open, use and close it: every call is recorded or counted as lost."""
        result = self.run_well([harness.program("reopen_threads"), library, call,
                                str(self.THREADS), str(self.ROUNDS)])
        self.assertEqual(result.out, "0 calls could not be made\n")
        trace = self.trace(losses=True)
        lost = sum(row["count"] for row in trace.lost())
        self.assertEqual(trace.count(recorded) + lost, self.THREADS * self.ROUNDS)

    def test_driver_comes_and_goes_in_several_threads(self):
        self.reopen_at_once(os.path.join(harness.simulator(), "libcuda.so.1"), "cuMemFree_v2",
                            "cuMemFree_v2")

    def test_runtime_comes_and_goes_in_several_threads(self):
        self.reopen_at_once(os.path.join(harness.simulator(), "libcudart.so.13"), "cudaFree",
                            "cudaFree")

    def test_library_that_uses_cuda_comes_and_goes_in_several_threads(self):
        self.reopen_at_once(harness.built(harness.PROGRAMS, "libe2e_plugin.so"), "plugin_free",
                            "cuMemFree_v2")


class NoCuda(harness.Case):
    """A process that never touches CUDA pays nothing."""

    def untouched(self, argv, **options):
        before = sorted(os.listdir(self.dir))
        result = self.run_twice(argv, **options)
        self.assertEqual(result.status, 0, str(result))
        self.assertEqual(result.err, "")
        self.assertEqual(self.spool_files(), [])
        self.assertEqual(self.processes(), [])
        self.assertEqual(sorted(os.listdir(self.dir)), before)

    def test_bin_true(self):
        self.untouched(["/bin/true"])

    def test_python(self):
        self.untouched([sys.executable, "-c",
                        "import os; print(len(os.listdir('/proc/self/task')), "
                        "sorted(os.listdir('/proc/self/fd')))"])

    def test_python_leaves_no_process_while_it_runs(self):
        process = self.start([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        harness.pause(0.3)
        self.assertEqual(self.processes(), [process.pid])
        self.assertEqual(self.spool_files(), [])
        process.communicate(b"\n", timeout=harness.PROGRAM_S)

    def test_library_needs_nothing_but_the_c_library(self):
        elf = subprocess.run(["readelf", "-d", harness.library()], capture_output=True, text=True,
                             check=True).stdout
        needed = [line.split("[")[1].rstrip("]") for line in elf.splitlines() if "(NEEDED)" in line]
        for name in needed:
            self.assertRegex(name, r"^(libc\.so\.6|libdl\.so\.2|libpthread\.so\.0|ld-linux.*)$")
