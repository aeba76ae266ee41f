"""The ways that programs begin, multiply and end; and what goes wrong around them."""

import os
import random
import resource
import signal
import sqlite3
import stat
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
        """Killed before its collector was there, it leaves its records to the next command."""
        harness.wait_for(lambda: not self.processes(), "everybody is gone")
        if self.spool_files():
            self.command("recover", self.spool, status=None)
        self.assertEqual(self.spool_files(), [])

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
        time.sleep(0.2)
        process.kill()
        process.communicate()
        trace = self.trace()
        rows = trace.dicts("SELECT * FROM in_flight")
        self.assertEqual([row["name"] for row in rows], ["cuStreamSynchronize"], rows)
        self.assertEqual(trace.count("cuStreamSynchronize"), 0)


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Children(harness.Case):
    """Processes that a program starts belong to its session, and to it alone."""

    def family(self, how, launches, processes, **options):
        result = self.run_twice([harness.program("children"), how], sort=True, **options)
        self.assertEqual(result.status, options.get("status", 0), str(result))
        trace = self.trace()
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
        harness.wait_for(lambda: not self.spool_files(), "the session is over")
        sleepers = self.processes()
        self.assertEqual([harness.command_line(pid) for pid in sleepers], ["sleep 60"])
        os.kill(sleepers[0], signal.SIGKILL)
        trace = self.trace()
        self.assertEqual(trace.meta()["state"], "complete")
        self.assertEqual(trace.count(LAUNCH), 3)

    def test_fork_and_exec(self):
        self.family("fork-exec", 5, [2, 3])

    def test_exec_in_place(self):
        trace = self.family("exec", 5, [2, 3])
        self.assertEqual(trace.value("SELECT count(*) FROM processes"), 2)

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
            process.communicate(timeout=30)
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
        time.sleep(0.3)
        self.assertEqual(self.processes(), [process.pid])
        self.assertEqual(self.spool_files(), [])
        process.communicate(b"\n", timeout=20)

    def test_library_needs_nothing_but_the_c_library(self):
        elf = subprocess.run(["readelf", "-d", harness.library()], capture_output=True, text=True,
                             check=True).stdout
        needed = [line.split("[")[1].rstrip("]") for line in elf.splitlines() if "(NEEDED)" in line]
        for name in needed:
            self.assertRegex(name, r"^(libc\.so\.6|libdl\.so\.2|libpthread\.so\.0|ld-linux.*)$")


class BadPlaces(harness.Case):
    """Where nothing can be written the program runs on; what can be kept is kept."""

    def runs_on(self, status=4, how="exit", **options):
        result = self.run_program([harness.program("ending"), how], **options)
        self.assertEqual((result.status, result.out), (status, "three launches\n"), str(result))
        return result

    def test_trace_into_a_missing_directory(self):
        result = self.runs_on(env={"GPUVERIFY_TRACE": self.path("missing", "trace.db")})
        self.assertLessEqual(result.err.count("\n"), 1, result.err)
        self.recover_elsewhere(3)

    def recover_elsewhere(self, launches, **options):
        """What could not be written to the trace waits in the spool for `recover -o`."""
        harness.wait_for(lambda: not self.processes(), "the collector gives up")
        self.assertTrue([name for name in self.spool_files() if name.endswith(".spool")],
                        "the records are gone")
        self.command("recover", "-o", self.path("found.db"), self.spool, **options)
        trace = self.trace(self.path("found.db"))
        self.assertEqual(trace.count(LAUNCH), launches)

    def test_unwritable_directory(self):
        harness.need_root(self, "needs another user's view")
        os.makedirs(self.path("locked"), mode=0o555)
        os.chmod(self.dir, 0o777)
        os.chown(self.spool, 65534, 65534)
        result = self.runs_on(env={"GPUVERIFY_TRACE": None}, cwd=self.path("locked"),
                              preexec_fn=become_nobody)
        self.assertLessEqual(result.err.count("\n"), 1, result.err)
        self.assertEqual(os.listdir(self.path("locked")), [])
        self.recover_elsewhere(3, preexec_fn=become_nobody)

    def test_spool_directory_that_cannot_be_used_falls_back_beside_the_trace(self):
        self.runs_on(env={"GPUVERIFY_SPOOL_DIR": "/proc/nowhere/spool"})
        self.assertEqual(self.trace().count(LAUNCH), 3)
        self.assert_no_spool_beside_the_trace()

    def assert_no_spool_beside_the_trace(self):
        harness.wait_for(lambda: not any(
            name.endswith((".spool", ".session")) for _, _, names in os.walk(self.dir)
            for name in names), "nothing is left beside the trace")

    def test_missing_dev_shm(self):
        harness.need_root(self, "cannot hide /dev/shm")
        script = 'mount -t tmpfs -o size=4k,ro none /dev/shm && exec "$0" exit'
        result = self.run_program(["unshare", "-m", "/bin/sh", "-c", script,
                                   harness.program("ending")],
                                  env={"GPUVERIFY_SPOOL_DIR": None})
        if result.status in (1, 32):
            self.skipTest(f"cannot hide /dev/shm: {result.err.strip()}")
        self.assertEqual((result.status, result.out), (4, "three launches\n"), str(result))
        harness.wait_for(lambda: os.path.exists(self.path("trace.db")), "the trace")
        self.assert_no_spool_beside_the_trace()
        self.assertEqual(self.trace().count(LAUNCH), 3)

    def test_small_dev_shm(self):
        with harness.small_disk(self, self.path("shm"), "2m"):
            result = self.run_well([harness.program("flood"), "40000", "10"], data=b"\n",
                                   env={"GPUVERIFY_SPOOL_DIR": self.path("shm")}, quiet=False)
            harness.wait_for(lambda: not self.processes(), "the collector ends")
            trace = self.trace(losses=True)
            self.account_for(trace, result)

    def account_for(self, trace, result):
        """Rows and counted losses together are the calls that were made."""
        classes = harness.hooked_calls()
        lost = {}
        for row in trace.lost():
            lost[row["class"]] = lost.get(row["class"], 0) + row["count"]
        made = dict(line.split() for line in result.out.splitlines()[1:])
        for name, count in made.items():
            self.assertEqual(trace.count(name) + lost.get(classes[name].lower(), 0), int(count),
                             f"{name}; lost: {lost}")
        return lost

    def test_spool_on_a_full_disk(self):
        with harness.small_disk(self, self.path("shm"), "64k"):
            self.runs_on(env={"GPUVERIFY_SPOOL_DIR": self.path("shm")})
            harness.wait_for(lambda: not self.processes(), "the collector ends")
            self.assertEqual(self.trace(losses=True).count(LAUNCH), 3)

    def test_trace_on_a_full_disk(self):
        with harness.small_disk(self, self.path("disk"), "64k"):
            fill_up(self.path("disk", "fill"))
            result = self.runs_on(env={"GPUVERIFY_TRACE": self.path("disk", "trace.db"),
                                       "GPUVERIFY_EXIT_WAIT": "1"})
            self.assertLessEqual(result.err.count("\n"), 1, result.err)
            self.recover_elsewhere(3)

    def test_disk_that_fills_up_in_the_middle(self):
        with harness.small_disk(self, self.path("disk"), "256k"):
            process = self.start([harness.program("flood"), "60000", "0"], stdin=subprocess.PIPE,
                                 env={"GPUVERIFY_TRACE": self.path("disk", "trace.db"),
                                      "GPUVERIFY_EXIT_WAIT": "1"})
            out, err = process.communicate(b"\n", timeout=60)
            self.assertEqual(process.returncode, 0, err)
            self.assertIn(b"cuLaunchKernel 60000", out)
            harness.wait_for(lambda: not self.processes(), "the collector gives up")
            # Somebody makes room, and the next command finishes what the collector could not.
            subprocess.run(["mount", "-o", "remount,size=64m", self.path("disk")], check=True)
            self.command("recover", self.spool)
            trace = self.trace(self.path("disk", "trace.db"))
            self.assertEqual(trace.value("PRAGMA integrity_check"), "ok")
            self.assertEqual(trace.count(LAUNCH), 60000)
            trace.close()

    def limited(self, file_bytes):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
        return self.runs_on(preexec_fn=limit, env={"GPUVERIFY_EXIT_WAIT": "1"})

    def test_file_size_limit_that_leaves_no_room_for_a_spool(self):
        result = self.limited(65536)
        self.assertEqual(result.err.count("\n"), 1, result.err)
        self.assertEqual(self.spool_files(), [])
        self.assertFalse(os.path.exists(self.path("trace.db")))

    def test_file_size_limit_that_leaves_room_for_a_small_spool(self):
        self.limited(1 << 20)
        self.assertEqual(self.trace().count(LAUNCH), 3)

    def test_no_permission_to_start_a_process(self):
        harness.need_root(self, "the limit on processes is by user")
        os.chmod(self.dir, 0o777)
        os.chown(self.spool, 65534, 65534)

        def restrict():
            become_nobody()
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        self.runs_on(preexec_fn=restrict)
        self.assertEqual(self.collectors(), [])
        self.command("recover", self.spool, preexec_fn=become_nobody)
        self.assertEqual(self.trace().count(LAUNCH), 3)

    def test_collector_that_cannot_be_found(self):
        self.runs_on(env={"GPUVERIFY_COLLECTOR": "/nowhere/gpuverify"})
        self.command("recover", self.spool)
        self.assertEqual(self.trace().count(LAUNCH), 3)

    def test_collector_switched_off(self):
        result = self.runs_on(env={"GPUVERIFY_COLLECTOR": "off"})
        self.assertEqual(result.err, "")
        self.command("recover", self.spool)
        self.assertEqual(self.trace().count(LAUNCH), 3)

    def test_set_user_id_program_is_left_alone(self):
        harness.need_root(self, "cannot make a set-user-id program")
        copy = self.path("program")
        with open(harness.program("ending"), "rb") as file:
            self.write("program", file.read())
        os.chown(copy, 65534, 65534)
        os.chmod(copy, 0o755 | stat.S_ISUID)
        result = self.run_program([copy, "exit"])
        # The loader drops LD_LIBRARY_PATH as well, so the program may not even find a driver.
        self.assertNotIn("gpuverify", result.err)
        self.assertFalse(os.path.exists(self.path("trace.db")))
        self.assertEqual(self.spool_files(), [])


def fill_up(path):
    """Writes until the file system is full."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(file, b"x" * 4096)
    except OSError:
        os.close(file)


def become_nobody():
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)


class Collector(harness.Case):
    """A collector that is stopped, killed or slow: the program never notices."""

    def flood(self, launches=2000, rest=3, **env):
        process = self.start([harness.program("flood"), str(launches), str(rest)],
                             stdin=subprocess.PIPE, env=env)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def finish(self, process, launches=2000, rest=3):
        out, err = process.communicate(b"\n", timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual(out.decode(), f"cuLaunchKernel {launches}\ncuModuleLoadData {rest + 1}\n"
                                       f"cuModuleUnload {rest}\ncuCtxSynchronize {rest}\n")
        return err

    def whole(self, path=None, launches=2000, rest=3):
        trace = self.trace(path)
        self.assertEqual(trace.count(LAUNCH), launches)
        self.assertEqual(trace.count("cuCtxSynchronize"), rest)
        self.assertEqual(trace.value("PRAGMA integrity_check"), "ok")
        return trace

    @staticmethod
    def has_calls(path):
        try:
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as reader:
                return reader.execute("SELECT count(*) FROM calls").fetchone()[0] > 0
        except sqlite3.Error:
            return False

    def test_killed_before_the_trace_had_a_word_in_it(self):
        self.run_well([harness.program("ending")], env={"GPUVERIFY_COLLECTOR": "off"})
        self.write("trace.db", "", mode=0o600)
        self.command("recover", self.spool)
        self.assertEqual(self.trace().count(LAUNCH), 3)

    def test_killed_in_the_middle(self):
        process = self.flood()
        collector = self.await_collector()
        # The trace must be one already to tell `report` of the session that it belongs to.
        harness.wait_for(lambda: self.has_calls(self.path("trace.db")), "the first calls")
        os.kill(collector, signal.SIGKILL)
        self.finish(process)
        harness.wait_for(lambda: not self.processes(), "everybody is gone")
        self.command("report", self.path("trace.db"))
        self.whole()

    def test_killed_at_the_end(self):
        process = self.flood(GPUVERIFY_EXIT_WAIT="0.5")
        collector = self.await_collector()
        harness.wait_for(lambda: self.has_calls(self.path("trace.db")), "the first calls")
        os.kill(collector, signal.SIGSTOP)
        self.finish(process)
        os.kill(collector, signal.SIGKILL)
        harness.wait_for(lambda: not self.processes(), "everybody is gone")
        self.command("report", self.path("trace.db"))
        self.whole()

    def test_killed_at_random_moments_and_recovered(self):
        seed = random.randrange(1 << 30)
        chance = random.Random(seed)
        for turn in range(8):
            with self.subTest(f"seed {seed}, turn {turn}"):
                path = self.path(f"trace-{turn}.db")
                process = self.flood(20000, 1, GPUVERIFY_TRACE=path, GPUVERIFY_EXIT_WAIT="1")
                collector = self.await_collector()
                process.stdin.write(b"\n")
                process.stdin.flush()
                time.sleep(chance.uniform(0, 0.05))
                os.kill(collector, signal.SIGKILL)
                out, err = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 0, err)
                self.assertIn(b"cuLaunchKernel 20000", out)
                harness.wait_for(lambda: not self.processes(), "everybody is gone")
                self.command("recover", self.spool, status=None)
                self.whole(path, 20000, 1)

    def test_killed_one_is_replaced_by_the_next_process_of_the_session(self):
        process = self.flood()
        first = self.await_collector()
        os.kill(first, signal.SIGKILL)
        harness.wait_for(lambda: harness.process_state(first) in (None, "Z"), "it is dead")
        session = [name for name in self.spool_files() if name.endswith(".session")][0]
        self.run_well([harness.program("ending")],
                      env={"GPUVERIFY_SESSION": session[:-len(".session")]})
        self.assertTrue(self.collectors(), "the second process was to start a collector")
        self.assertNotIn(first, self.collectors())
        self.finish(process)
        trace = self.trace()
        self.assertEqual(trace.count(LAUNCH), 2003)
        self.assertEqual(trace.value("SELECT count(*) FROM processes"), 2)

    def test_stopped_collector_does_not_hold_the_program(self):
        process = self.flood(GPUVERIFY_EXIT_WAIT="1")
        collector = self.await_collector()
        os.kill(collector, signal.SIGSTOP)
        self.finish(process)
        os.kill(collector, signal.SIGCONT)
        self.whole()

    def test_somebody_reads_the_trace_and_does_not_stop(self):
        process = self.flood(GPUVERIFY_EXIT_WAIT="1")
        harness.wait_for(lambda: self.has_calls(self.path("trace.db")), "the first calls")
        reader = sqlite3.connect(f"file:{self.path('trace.db')}?mode=ro", uri=True)
        cursor = reader.execute("SELECT id FROM calls")
        cursor.fetchone()
        start = time.monotonic()
        self.finish(process)
        self.assertLess(time.monotonic() - start, 10)
        time.sleep(0.5)
        cursor.close()
        reader.close()
        self.whole()

    def test_exit_wait_of_zero_does_not_wait(self):
        process = self.flood(GPUVERIFY_EXIT_WAIT="0")
        collector = self.await_collector()
        os.kill(collector, signal.SIGSTOP)
        start = time.monotonic()
        self.finish(process)
        self.assertLess(time.monotonic() - start, 4)
        os.kill(collector, signal.SIGCONT)
        self.whole()

    def test_losses_are_counted_exactly(self):
        process = self.flood(40000, 50, GPUVERIFY_SPOOL_MB="1", GPUVERIFY_EXIT_WAIT="0.2")
        collector = self.await_collector()
        os.kill(collector, signal.SIGSTOP)
        self.finish(process, 40000, 50)
        os.kill(collector, signal.SIGCONT)
        trace = self.trace(losses=True)
        lost = {row["class"]: row["count"] for row in trace.dicts(
            "SELECT class, sum(count) AS count FROM losses GROUP BY class")}
        self.assertGreater(lost.get("launch", 0), 0, lost)
        self.assertEqual(trace.count(LAUNCH) + lost["launch"], 40000)
        # The spool's last part is kept for the calls that explain a stall.
        for kind in ("load", "unload", "sync"):
            self.assertEqual(lost.get(kind, 0), 0, lost)
        self.assertEqual(trace.count("cuModuleLoadData"), 51)
        self.assertEqual(trace.count("cuModuleUnload"), 50)
        self.assertEqual(trace.count("cuCtxSynchronize"), 50)
        self.assertEqual(trace.value("SELECT count(*) FROM loads"), 51)


class SharedDirectory(harness.Case):
    def test_default_spool_directory_is_private_and_empty_afterwards(self):
        folder = f"/dev/shm/gpuverify-{os.getuid()}"
        if not os.access("/dev/shm", os.W_OK):
            self.skipTest("no /dev/shm")
        session = f"e2e-{os.getpid()}"
        self.run_well([harness.program("ending")], env={"GPUVERIFY_SPOOL_DIR": None})
        trace = self.trace()
        status = os.lstat(folder)
        self.assertEqual(stat.S_IMODE(status.st_mode), 0o700)
        self.assertEqual(status.st_uid, os.getuid())
        session = trace.meta()["session"]

        def own():
            return [name for name in os.listdir(folder) if name.startswith(session)]
        harness.wait_for(lambda: not own(), "nothing of this session is left")

    def test_spool_directory_of_another_user_is_not_used(self):
        harness.need_root(self, "cannot make another user's directory")
        os.chown(self.spool, 65534, 65534)
        self.run_well([harness.program("ending")], quiet=False)
        self.assertEqual(self.spool_files(), [])
        self.assertEqual(self.trace().count(LAUNCH), 3)
