"""What interposition must not change."""

import os
import re
import shutil
import subprocess

import harness


class Interposition(harness.Case):
    """Other libraries that interpose the same calls, and look for 'the next one'."""

    def counted(self, preload, binary="shimmed", arguments=()):
        result = self.run_well([harness.program(binary), *arguments], preload=preload)
        shim = [line for line in result.out.splitlines() if line.startswith("shim:")]
        return shim[0] if shim else "no shim"

    def rows(self):
        trace = self.trace()
        return trace.count("cuLaunchKernel"), trace.count("cuMemAlloc_v2")

    def shim(self):
        return harness.built(harness.PROGRAMS, "libe2e_shim.so")

    def both(self, binary, preload, arguments=(), without=None):
        """The shim must count with our library what it counts without."""
        plain = self.run_well([harness.program(binary), *arguments],
                              preload=without if without else False,
                              env={} if without else {"LD_PRELOAD": None})
        hooked = self.run_well([harness.program(binary), *arguments], preload=preload)
        self.assertIn("shim: 4 launches, 2 allocations", plain.out)
        self.assertEqual(plain.out, hooked.out)
        self.assertEqual(self.rows(), (4, 2))

    def test_another_interposer_before_ours_keeps_its_calls(self):
        self.both("shimmed", f"{self.shim()}:{harness.library()}", without=self.shim())

    def test_another_interposer_after_ours_keeps_its_calls(self):
        self.both("shimmed", f"{harness.library()}:{self.shim()}", without=self.shim())

    def test_another_interposer_before_ours_and_dlsym(self):
        self.both("shimmed", f"{self.shim()}:{harness.library()}", ["dlsym"], self.shim())

    def test_another_interposer_after_ours_and_dlsym(self):
        self.both("shimmed", f"{harness.library()}:{self.shim()}", ["dlsym"], self.shim())

    def test_linked_shim_library_keeps_its_calls(self):
        self.both("shim_linked", True)


class OwnDlsym(harness.Case):
    """Beside a preloaded library that defines dlsym(), and asks libc's own for what it does not wrap."""

    def test_every_call_is_recorded(self):
        other = harness.built(harness.PROGRAMS, "libe2e_own_dlsym.so")
        for mode in (None, "wrap"):
            for program in ("driver_tour_dlsym", "driver_tour_proc"):
                argv, env = [harness.workload(program)], {"OWN_DLSYM": mode}
                plain = self.run_well(argv, preload=other, quiet=False, env=env)
                self.run_well(argv, quiet=False)
                wanted = self.trace().summary()
                for preload in (f"{other}:{harness.library()}", f"{harness.library()}:{other}"):
                    os.remove(self.path("trace.db"))
                    hooked = self.run_well(argv, preload=preload, quiet=False, env=env)
                    self.assertEqual((hooked.out, hooked.err.splitlines()[-1]), (plain.out, plain.err.splitlines()[-1]))
                    self.assertEqual(self.trace().summary(), wanted, (mode, program, preload))


class Lookups(harness.Case):
    """Names that look like CUDA's, and machines without CUDA."""

    def names_file(self):
        names = sorted(harness.hooked_calls()) + ["cuFoo", "cudnnCreate", "cuDeviceGet"]
        return self.write("names", "".join(name + "\n" for name in names))

    def test_names_that_look_like_cuda_stay_their_librarys_own(self):
        result = self.run_twice([harness.program("lookalikes"),
                                 harness.built(harness.PROGRAMS, "libe2e_lookalike.so")])
        self.assertEqual(result.status, 0, str(result))
        for name, answer in (("cudnnCreate", 1001), ("cuFoo", 1003), ("cuInit", 1005),
                             ("cuMemAlloc", 1006), ("cudaMalloc", 1007)):
            self.assertIn(f"{name}: libe2e_lookalike.so, {answer}\n", result.out)
        self.assertEqual(self.trace().count("cuInit"), 1)

    def test_a_machine_without_a_driver_looks_like_one(self):
        result = self.run_twice([harness.program("no_driver"), self.names_file()], sim=False)
        if "libcuda.so.1: there" in result.out:
            self.skipTest("this machine has a driver, which is found without the simulator")
        self.assertRegex(result.out, r"asked for \d+ names, found 0\n")
        self.assertFalse(os.path.exists(self.path("trace.db")))

    def test_runtime_without_a_driver_says_what_it_said(self):
        os.symlink(harness.built("tests", "sim", "libcudart.so.13"), self.path("libcudart.so.13"))
        found = self.run_program([harness.program("no_driver"), self.names_file()], preload=False,
                                 env={"LD_LIBRARY_PATH": self.dir})
        if "libcuda.so.1: there" in found.out:
            self.skipTest("this machine has a driver, which is found without the simulator")
        result = self.run_twice([harness.workload("runtime_tour_shared")],
                                env={"LD_LIBRARY_PATH": self.dir})
        self.assertNotEqual(result.status, 0, str(result))

    def test_weak_reference_without_a_driver_fails_but_does_not_crash(self):
        plain = self.run_well([harness.program("weak")], sim=False, preload=False)
        self.assertEqual(plain.out, "weak reference: not bound\n")
        hooked = self.run_well([harness.program("weak")], sim=False, quiet=False)
        self.assertIn(hooked.out, ("weak reference: not bound\n",
                                   "weak reference: bound, cuInit fails\n"))

    def test_library_found_through_its_callers_runpath(self):
        os.makedirs(self.path("inner"))
        shutil.copy(harness.built(harness.PROGRAMS, "libe2e_outer.so"), self.path())
        shutil.copy(harness.built(harness.PROGRAMS, "libe2e_plugin.so"),
                    self.path("inner", "libe2e_inner.so"))
        result = self.run_twice([harness.program("reopen"), self.path("libe2e_outer.so"),
                                 "outer_work", "1"])
        self.assertEqual(result.out, "round 0: 3\n", str(result))
        self.assertEqual(self.trace().count("cuLaunchKernel"), 3)


class Callbacks(harness.Case):
    """The driver calls the program back inside a hooked call."""

    def left(self, how):
        result = self.run_twice([harness.program("callback"), how])
        self.assertEqual(result.status, 0, str(result))
        trace = self.trace()
        self.assertEqual(trace.count("cuLaunchKernel"), 5, "calls after the callback are missing")
        self.assertEqual(trace.count("cuCtxSynchronize"), 1)
        self.assertEqual(trace.count("cuModuleUnload"), 1)
        self.assertEqual(trace.rows("SELECT * FROM in_flight"), [])
        return trace

    def setUp(self):
        super().setUp()
        if not os.path.exists(harness.program("callback")):
            self.skipTest("no C++ compiler built the program")

    def test_callback_that_returns(self):
        trace = self.left("return")
        self.assertEqual(trace.count("cuOccupancyMaxPotentialBlockSize"), 40)

    def test_exception_thrown_through_a_callback(self):
        trace = self.left("throw")
        # Calls left by an exception are rows all the same, with no result to tell.
        self.assertEqual(trace.rows(
            "SELECT result, count(*) FROM calls WHERE name = 'cuOccupancyMaxPotentialBlockSize' "
            "GROUP BY result"), [(None, 40)])

    def test_longjmp_out_of_a_callback(self):
        self.left("jump")


class Unchanged(harness.Case):
    """What a program can see of itself."""

    def test_errno_is_kept_by_calls_that_work_and_calls_that_fail(self):
        result = self.run_twice([harness.program("errno_kept")])
        self.assertEqual(result.status, 0, str(result))
        self.assertGreater(result.out.count("errno 1234"), 60)

    def test_errno_is_kept_when_nothing_can_be_recorded(self):
        result = self.run_twice([harness.program("errno_kept")], mask=self.mask_our_word,
                                env={"GPUVERIFY_SPOOL_DIR": "/proc/nowhere",
                                     "GPUVERIFY_TRACE": "/proc/nowhere/trace.db"})
        self.assertEqual(result.status, 0, str(result))

    @staticmethod
    def mask_our_word(text):
        return re.sub(r"^gpuverify: .*\n", "", text, flags=re.M)

    def test_stream_capture_is_untouched(self):
        result = self.run_twice([harness.program("state"), "capture"])
        self.assertEqual(result.status, 0, str(result))
        self.assertIn("nodes: 3", result.out)

    def test_descriptors_of_the_program_stay_as_they_are(self):
        result = self.run_twice([harness.program("state"), "descriptors"])
        self.assertEqual(result.status, 0, str(result))
        self.assertIn("descriptor 0: /dev/null", result.out)

    def test_no_thread_and_no_child_of_ours(self):
        """But for the thread that looks at the program's (test_idle.py)."""
        result = self.run_twice([harness.program("state"), "threads"], env={"GPUVERIFY_IDLE_HZ": "0"})
        self.assertIn("threads: 1\nchildren: ''\nwait: -1 errno 10\n", result.out)

    def test_signal_handlers_and_mask_stay_as_they_are(self):
        result = self.run_twice([harness.program("state"), "signals"])
        self.assertEqual(result.status, 0, str(result))

    def test_program_with_a_sigchld_handler_sees_none_of_ours(self):
        result = self.run_twice([harness.program("state"), "sigchld"], env={"GPUVERIFY_IDLE_HZ": "0"})
        self.assertIn("SIGCHLD seen: 0\n", result.out)

    def test_environment_stays_as_it_is(self):
        result = self.run_well([harness.program("state"), "environment"])
        self.assertEqual(result.out, "LD_PRELOAD is set\nLD_LIBRARY_PATH is set\nPATH is set\n"
                                     "HOME is set\n")

    def test_umask_stays_as_it_is_and_does_not_open_the_trace(self):
        self.run_twice([harness.program("state"), "umask"])
        self.trace()
        self.assertEqual(os.stat(self.path("trace.db")).st_mode & 0o777, 0o600)

    def test_program_that_closes_every_descriptor(self):
        result = self.run_twice([harness.program("state"), "close-all"])
        self.assertEqual(result.status, 0, str(result))
        self.assertEqual(self.trace().count("cuLaunchKernel"), 503)

    def test_program_started_without_standard_streams(self):
        def shell(preload):
            return self.run_program(["/bin/sh", "-c", 'exec "$0" "$1" <&- >&- 2>&-',
                                     harness.program("state"), "closed-streams"], preload=preload)
        plain, hooked = shell(False), shell(True)
        self.assertEqual(plain.status, 20, str(plain))
        self.assertEqual(hooked.status, plain.status, str(hooked))
        with open(self.path("first"), "rb") as file:
            self.assertEqual(file.read(), b"", "something of ours was written to the program's file")
        self.assertEqual(self.trace().count("cuLaunchKernel"), 5)

    def test_program_that_changes_its_directory(self):
        result = self.run_twice([harness.program("state"), "chdir"], env={"GPUVERIFY_TRACE": None})
        self.assertEqual(result.status, 0, str(result))
        self.settle()
        traces = [name for name in os.listdir(self.dir) if name.endswith(".db")]
        self.assertEqual(len(traces), 1, traces)
        self.assertEqual(self.trace(self.path(traces[0])).count("cuLaunchKernel"), 5)


class Pipes(harness.Case):
    """A helper that outlives the program must not keep the program's descriptors."""

    def test_pipe_ends_with_the_program_while_the_collector_lives(self):
        # The shell is the session's root: its collector lives as long as it does.
        shell = self.start(["/bin/sh", "-c",
                            f'"{harness.program("ending")}" return | cat > piped; '
                            ': > ended; read line'],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        harness.wait_for(lambda: os.path.exists(self.path("ended")), "the pipe ends")
        self.assertTrue(self.collectors(), "the collector was to be alive at this point")
        shell.communicate(b"\n", timeout=harness.PROGRAM_S)
        self.assertEqual(shell.returncode, 0)
        with open(self.path("piped"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "three launches\n")

    def test_collector_holds_nothing_of_the_programs(self):
        read_end, write_end = os.pipe()
        program = self.start([harness.program("flood"), "1", "0"], stdin=subprocess.PIPE,
                             pass_fds=[write_end])
        self.assertEqual(program.stdout.readline(), b"ready\n")
        collector = self.await_collector()
        harness.pause(0.2)
        held = {}
        for name in os.listdir(f"/proc/{collector}/fd"):
            try:
                held[int(name)] = os.readlink(f"/proc/{collector}/fd/{name}")
            except OSError:
                pass
        for fd in (0, 1, 2):
            self.assertEqual(held.get(fd), "/dev/null", held)
        with open(f"/proc/{program.pid}/maps", encoding="utf-8") as file:
            mapped = file.read()
        for fd, target in held.items():
            # What the program has mapped is open while its stacks are unwound.
            # libunwind makes a pipe of its own, and has both ends.
            allowed = target == "/dev/null" or f" {target}\n" in mapped or target.startswith(
                (self.spool, self.dir, "/proc/", "anon_inode:")) or (
                    target.startswith("pipe:") and list(held.values()).count(target) == 2 and
                    target != os.readlink(f"/proc/self/fd/{write_end}"))
            self.assertTrue(allowed, f"descriptor {fd} is {target}")
        with open(f"/proc/{collector}/environ", "rb") as file:
            self.assertNotIn(b"LD_PRELOAD=", file.read())
        with open(f"/proc/{collector}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        self.assertEqual(int(fields[3]), collector, "a session of its own")
        self.assertEqual(int(fields[16]), 19, "the lowest priority")
        self.assertEqual(os.readlink(f"/proc/{collector}/cwd"), "/")
        program.communicate(b"\n", timeout=harness.PROGRAM_S)
        os.close(write_end)
        os.close(read_end)

    def test_collector_stays_on_the_programs_processors(self):
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 3:
            self.skipTest("fewer than three processors")
        program = self.start([harness.program("flood"), "1", "0"], stdin=subprocess.PIPE,
                             preexec_fn=lambda: os.sched_setaffinity(0, cpus[:2]))
        self.assertEqual(program.stdout.readline(), b"ready\n")
        self.assertEqual(os.sched_getaffinity(self.await_collector()), set(cpus[:2]))
        program.communicate(b"\n", timeout=harness.PROGRAM_S)

    def test_threads_of_an_idle_program_stay_idle(self):
        idle = os.sched_param(0)
        program = self.start([harness.program("flood"), "1", "0"], stdin=subprocess.PIPE,
                             preexec_fn=lambda: os.sched_setscheduler(0, os.SCHED_IDLE, idle))
        self.assertEqual(program.stdout.readline(), b"ready\n")
        collector = self.await_collector()
        tasks = [collector, *map(int, os.listdir(f"/proc/{program.pid}/task"))]
        self.assertEqual({os.sched_getscheduler(task) for task in tasks}, {os.SCHED_IDLE})
        program.communicate(b"\n", timeout=harness.PROGRAM_S)

    def test_collector_leaves_a_single_processor(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one processor")
        one = min(os.sched_getaffinity(0))
        program = self.start([harness.program("flood"), "1", "0"], stdin=subprocess.PIPE,
                             preexec_fn=lambda: os.sched_setaffinity(0, {one}))
        self.assertEqual(program.stdout.readline(), b"ready\n")
        collector = self.await_collector()
        harness.wait_for(lambda: len(os.sched_getaffinity(collector)) > 1,
                         "the collector leaves the program's processor", 5)
        self.assertEqual(os.sched_getaffinity(program.pid), {one})
        program.communicate(b"\n", timeout=harness.PROGRAM_S)
