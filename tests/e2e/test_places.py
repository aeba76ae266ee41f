"""If nothing can be written or started, the program runs; what can be stored is stored."""

import os
import resource
import signal
import stat
import subprocess
import sys

import harness

LAUNCH = "cuLaunchKernel"


class BadSettings(harness.Case):
    """Invalid settings are reported once per session, with the allowed values."""

    def told(self, **env):
        script = self.write("two.sh", '"$0"; exec "$0"\n')
        result = self.run_program(["sh", "-c", f". {script}", harness.program("ending")], env=env)
        self.assertEqual(result.out, "three launches\n" * 2, str(result))
        return result.err

    def test_values_that_are_not_allowed(self):
        for name, value, allowed in (("EXIT_WAIT", "long", "0 to 3600"),
                                     ("SPOOL_MB", "0", "1 to 65536"),
                                     ("CLOCK", "sundial", "auto|tsc|monotonic")):
            with self.subTest(name):
                self.assertEqual(self.told(**{f"GPUVERIFY_{name}": value}),
                                 f"gpuverify: GPUVERIFY_{name}={value} is ignored: "
                                 f"allowed is {allowed}\n")

    def test_names_that_are_mistyped(self):
        self.assertEqual(self.told(GPUVERIFY_EXITWAIT="1"),
                         "gpuverify: unknown variable GPUVERIFY_EXITWAIT; "
                         "did you mean GPUVERIFY_EXIT_WAIT?\n")
        self.assertEqual(self.told(GPUVERIFY_COLOUR="1"),
                         "gpuverify: unknown variable GPUVERIFY_COLOUR; "
                         "gpuverify help environment lists all\n")

    def test_names_of_an_earlier_version(self):
        self.assertEqual(self.told(GPUVERIFY_WINDOW_MS="100"),
                         "gpuverify: unknown variable GPUVERIFY_WINDOW_MS; "
                         "GPUVERIFY_GPU=sampled, which replaces windows, has no such setting\n")

    def test_a_log_that_is_off_says_nothing_of_them(self):
        self.assertEqual(self.told(GPUVERIFY_EXITWAIT="1", GPUVERIFY_CLOCK="sundial",
                                   GPUVERIFY_LOG="off"), "")

    def test_they_are_told_where_nothing_can_be_recorded_too(self):
        result = self.run_program([harness.program("ending")],
                                  env={"GPUVERIFY_TRACE": "/proc/no/trace.db",
                                       "GPUVERIFY_SPOOL_DIR": "/proc/no",
                                       "GPUVERIFY_EXITWAIT": "1"})
        self.assertEqual(result.out, "three launches\n", str(result))
        self.assertIn("did you mean GPUVERIFY_EXIT_WAIT?", result.err)
        self.assertIn("cannot record", result.err)


class BadPlaces(harness.Case):
    """If nothing can be written or started, the program runs; what can be stored is stored."""

    def runs_on(self, status=4, how="exit", **options):
        result = self.run_program([harness.program("ending"), how], **options)
        self.assertEqual((result.status, result.out), (status, "three launches\n"), str(result))
        return result

    def test_trace_into_a_missing_directory(self):
        result = self.runs_on(env={"GPUVERIFY_TRACE": self.path("missing", "trace.db")})
        self.assert_told_of_trace(result.err, self.path("missing", "trace.db"),
                                  "No such file or directory")
        self.recover_elsewhere(3)

    def test_folder_is_no_place_for_a_trace(self):
        """Nor is what is beside it."""
        os.mkdir(self.path("folder"))
        before = set(os.listdir(self.dir))
        for options, variable, said in ((["-o", self.path("folder")], None, "-o takes a file"),
                                        ([], self.path("folder"), "GPUVERIFY_TRACE takes a file")):
            result = self.run_program([harness.gpuverify(), "run", *options, "--", harness.program("ending")],
                                      preload=False, env={"GPUVERIFY_TRACE": variable})
            self.assertEqual((result.status, result.out), (3, ""), str(result))
            self.assertIn(f"cannot write folder: Is a directory; {said}\n", result.err)
        result = self.runs_on(env={"GPUVERIFY_TRACE": self.path("folder")})
        self.assert_told_of_trace(result.err, self.path("folder"), "Is a directory")
        self.assertEqual(set(os.listdir(self.dir)) - before, set())
        self.recover_elsewhere(3)

    def test_run_does_not_take_an_unwritten_trace_for_none(self):
        os.mkdir(self.path("goes"))
        script = f'rmdir "{self.path("goes")}"; exec "$0"'
        for variable, status in ((self.path("missing", "%n.db"), 3), (self.path("goes", "%n.db"), 0)):
            result = self.run_program([harness.gpuverify(), "run", "--", "sh", "-c", script, harness.program("ending")],
                                      preload=False, env={"GPUVERIFY_TRACE": variable})
            self.assertEqual(result.status, status, str(result))
            self.assertRegex(result.err, r"cannot write|the trace could not be written: No such file or directory")
            self.assertNotIn("made no CUDA call", result.err)
        self.recover_elsewhere(3)

    def test_run_looks_at_the_place_first(self):
        """An empty name is none; a folder's name may be a pattern too, as in GPUVERIFY_TRACE."""
        ran = self.write("ran.sh", f"touch {self.path('ran')}\n")
        result = self.command("run", "-o", "", "--", "sh", ran, status=3)
        self.assertEqual(result.err, "gpuverify: cannot write '': No such file or directory\n")
        self.assertFalse(os.path.exists(self.path("ran")))
        name = os.path.basename(harness.program("ending"))
        os.mkdir(self.path(name))
        self.command("run", "-q", "-o", "%n/x.db", "--", harness.program("ending"), "exit", status=None)
        self.assertTrue(os.path.exists(self.path(name, "x.db")))

    def assert_told_of_trace(self, said, path, why):
        """One line: the file, the reason, and what to do."""
        self.assertEqual(said.count("\n"), 1, said)
        self.assertIn(f"cannot write the trace {path}: {why};", said)
        self.assertRegex(said, r"gpuverify recover -o FILE \S+\.session\n")

    def test_missing_directory_is_told_by_one_process_of_the_session(self):
        script = self.write("four.sh", 'for i in 1 2 3; do "$0"; done; exec "$0"\n')
        result = self.run_program(["sh", "-c", f'. {script}', harness.program("ending")],
                                  env={"GPUVERIFY_TRACE": self.path("missing", "trace.db")})
        self.assertEqual(result.out, "three launches\n" * 4)
        self.assert_told_of_trace(result.err, self.path("missing", "trace.db"),
                                  "No such file or directory")
        self.recover_elsewhere(12)

    def test_missing_directory_is_not_told_with_the_log_off(self):
        result = self.runs_on(env={"GPUVERIFY_TRACE": self.path("missing", "trace.db"),
                                   "GPUVERIFY_LOG": "off"})
        self.assertEqual(result.err, "")
        self.recover_elsewhere(3)

    def test_report_of_a_trace_that_cannot_be_written_tells_where_its_records_are(self):
        self.runs_on(env={"GPUVERIFY_TRACE": "/proc/trace.db"})
        harness.wait_for(lambda: not self.processes(), "the collector gives up")
        said = self.command("report", "/proc/trace.db", status=3).err
        self.assertRegex(said, r"its records are still in shared memory, but /proc/trace\.db cannot "
                               r"be written: [^;]+; gpuverify recover -o FILE \S+\.session\n")
        self.recover_elsewhere(3)

    def test_nothing_is_written_into_a_file_that_the_program_opens_instead_of_stderr(self):
        script = self.write("no_stderr.py", "import ctypes, os\n"
                            "data = os.open('data', os.O_WRONLY | os.O_CREAT)\n"
                            "print('instead of stderr', os.fstat(2) == os.fstat(data))\n"
                            "ctypes.CDLL('libcuda.so.1').cuInit(0)\n")
        os.mkdir(self.path("work"))
        result = self.run_program(["sh", "-c", 'exec "$0" "$1" 2>&-', sys.executable, script],
                                  cwd=self.path("work"),
                                  env={"GPUVERIFY_TRACE": "/nowhere/trace.db"})
        self.assertEqual(result.out, "instead of stderr True\n", str(result))
        with open(self.path("work", "data"), encoding="utf-8") as data:
            self.assertEqual(data.read(), "")
        self.recover_elsewhere(0)

    def test_device_as_a_trace(self):
        """For a user who wants no trace: none is written, and nothing beside it."""
        def beside():
            return [(entry.name, entry.stat().st_mtime_ns) for entry in os.scandir("/dev")
                    if entry.name.startswith("null-")]
        before = beside()
        result = self.runs_on(env={"GPUVERIFY_TRACE": "/dev/null"})
        self.assertRegex(result.err, r"^gpuverify: nothing is recorded: /dev/null is a device.*\n$")
        self.assertEqual((self.processes(), self.spool_files()), ([], []))
        os.symlink("/dev/null", self.path("link.db"))
        result = self.runs_on(env={"GPUVERIFY_TRACE": self.path("link.db")})
        self.assertRegex(result.err, r"^gpuverify: nothing is recorded: \S+/link\.db is a device")
        result = self.command("run", "-o", "/dev/null", "true", status=3)
        self.assertIn("cannot write /dev/null", result.err)
        self.runs_on(env={"GPUVERIFY_COLLECTOR": "off"})
        result = self.command("recover", "-o", "/dev/null", self.spool, status=3)
        self.assertIn("cannot write /dev/null: Operation not supported", result.err)
        self.assertEqual(beside(), before)
        self.recover_elsewhere(3)

    def test_recover_names_the_file_that_it_cannot_write(self):
        self.runs_on(env={"GPUVERIFY_TRACE": self.path("missing", "trace.db")})
        harness.wait_for(lambda: not self.processes(), "the collector gives up")
        said = self.command("recover", self.spool, status=3).err
        self.assertIn(f"cannot write {self.path('missing', 'trace.db')}: "
                      "No such file or directory (-o names another file)", said)
        said = self.command("recover", "-o", "/proc/no.db", self.spool, status=3).err
        self.assertRegex(said, r"cannot write /proc/no\.db: [^()]*\n")
        self.recover_elsewhere(3)

    def recover_elsewhere(self, launches, **options):
        """Records that could not be stored wait in the spool for `recover -o`."""
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
        self.assertRegex(result.err, f"^gpuverify: cannot write the trace {self.path('locked')}"
                                     r"/gpuverify-\S+\.db: Permission denied;.*\n$")
        self.assertEqual(os.listdir(self.path("locked")), [])
        self.recover_elsewhere(3, preexec_fn=become_nobody)

    def test_spool_directory_that_cannot_be_used_falls_back_beside_the_trace(self):
        self.runs_on(env={"GPUVERIFY_SPOOL_DIR": "/proc/nowhere/spool"})
        self.assertEqual(self.trace().count(LAUNCH), 3)
        self.assert_no_spool_beside_the_trace()

    def test_the_place_beside_the_trace_is_left_by_recover_too(self):
        self.runs_on(env={"GPUVERIFY_SPOOL_DIR": "/proc/nowhere/spool",
                          "GPUVERIFY_COLLECTOR": "off"})
        self.command("recover")
        self.assertEqual(self.trace().count(LAUNCH), 3)
        self.assert_no_spool_beside_the_trace()

    def test_an_empty_place_beside_the_trace_is_left_too(self):
        os.mkdir(self.path(f".gpuverify-{os.geteuid()}"))
        self.command("recover")
        self.assert_no_spool_beside_the_trace()

    def assert_no_spool_beside_the_trace(self):
        harness.wait_for(lambda: not any(
            name.endswith((".spool", ".session")) for _, _, names in os.walk(self.dir)
            for name in names), "nothing is left beside the trace")
        harness.wait_for(lambda: not [name for name in os.listdir(self.dir)
                                      if name.startswith(".gpuverify-")],
                         "nor the directory that it was in")

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

    def test_dev_shm_of_a_container(self):
        """Of 16 MB, all programs together take a quarter, and give back what they need no longer."""
        def taken_mb():
            return sum(os.stat(os.path.join(place, name)).st_blocks for place, _, names in os.walk(shm)
                       for name in names) / 2048

        with harness.small_disk(self, self.path("shm"), "16m") as shm:
            env = {"GPUVERIFY_SPOOL_DIR": self.path("shm", "spools")}
            process = self.start([harness.program("flood"), "--progress", self.path("count")], env=env)
            collector = self.await_collector()
            os.kill(collector, signal.SIGSTOP)
            harness.wait_for(lambda: taken_mb() > 3, "many records wait")
            harness.wait_for(lambda: self.progress() > 80000, "more records than have room")
            self.assertLessEqual(taken_mb(), 4)
            # Another program finds no room, and does not take the first one's.
            self.run_well([harness.program("ending")], env=env | {"GPUVERIFY_TRACE": self.path("other.db")}, quiet=False)
            self.assertLessEqual(taken_mb(), 4)
            self.assertEqual(self.open_trace(self.path("other.db")).count(LAUNCH), 3)
            process.send_signal(signal.SIGSTOP)
            os.kill(collector, signal.SIGCONT)
            harness.wait_for(lambda: taken_mb() < 3, "the memory is given back")
            process.send_signal(signal.SIGCONT)
            before = self.progress()
            harness.wait_for(lambda: self.progress() > before + 20000, "it goes on")
            self.assertLessEqual(taken_mb(), 4)
            process.kill()
            process.communicate()
            harness.wait_for(lambda: not self.processes(), "the collector ends")
            self.trace(losses=True)

    def progress(self):
        with open(self.path("count"), "rb") as file:
            return int.from_bytes(file.read(8), "little")

    def account_for(self, trace, result):
        """Rows and counted losses together are all calls."""
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
                                       "GPUVERIFY_EXIT_WAIT": "20"})
            self.assert_told_of_trace(result.err, self.path("disk", "trace.db"),
                                      "No space left on device")
            self.recover_elsewhere(3)

    def test_end_does_not_wait_for_a_trace_that_cannot_be_written(self):
        with harness.small_disk(self, self.path("disk"), "64k"):
            fill_up(self.path("disk", "fill"))
            self.runs_on(env={"GPUVERIFY_TRACE": self.path("disk", "trace.db"),
                              "GPUVERIFY_EXIT_WAIT": str(10 * harness.PROGRAM_S)})
            harness.wait_for(lambda: not self.processes(), "the collector gives up")
            self.recover_elsewhere(3)

    def test_disk_that_fills_up_in_the_middle(self):
        with harness.small_disk(self, self.path("disk"), "256k"):
            process = self.start([harness.program("flood"), "60000", "0"], stdin=subprocess.PIPE,
                                 env={"GPUVERIFY_TRACE": self.path("disk", "trace.db"),
                                      "GPUVERIFY_EXIT_WAIT": "1"})
            out, err = process.communicate(b"\n", timeout=harness.PROGRAM_S)
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
        self.assertEqual(os.listdir(self.dir), [], "neither a trace nor a place for a spool")

    def test_run_tells_that_it_could_not_record(self):
        """It must not say that the program used no CUDA."""
        result = self.run_program(
            [harness.gpuverify(), "run", "-o", self.path("trace.db"), "--", harness.program("ending"), "exit"],
            preload=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536)))
        self.assertEqual(result.status, 4, str(result))
        self.assertIn("cannot record", result.err)
        self.assertIn("its calls could not be recorded", " ".join(result.err.split()))
        self.assertNotIn("made no CUDA call", result.err)

    def test_limit_that_the_trace_reaches_is_not_the_programs(self):
        """The commands store what the collector could not, and reach the limit, too."""
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (400 << 10, 400 << 10))
        env = {"GPUVERIFY_SPOOL_MB": "1"}
        result = self.run_program([harness.gpuverify(), "run", "-o", self.path("trace.db"), "--", harness.program("flood"), "60000", "0"],
                                  preload=False, preexec_fn=limit, env=env, data=b"\n")
        self.assertEqual(result.status, 0, str(result))
        self.assertGreater(self.command("recover", self.spool, preexec_fn=limit, status=None).status, 0)
        self.command("recover", "--discard", self.spool)

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
