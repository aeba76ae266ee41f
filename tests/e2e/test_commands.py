"""The gpuverify command: run, report, recover, and how it ends when used wrongly."""

import fcntl
import os
import pty
import re
import signal
import subprocess
import sys

import harness


def masked(text):
    """Removes numbers, units, and alignment."""
    text = re.sub(r"[.\u2581-\u2588]{9,}", "LINE", text)
    text = re.sub(r"\d+(\.\d+)?( (ns|us|ms|s)\b)?", "N", text)
    return re.sub(r"[ \t]+", " ", text)


class Run(harness.Case):
    """`gpuverify run` behaves like the program, with a summary on stderr."""

    def run_it(self, *arguments, **options):
        options.setdefault("preload", False)
        return self.run_program([harness.gpuverify(), "run", *arguments], **options)

    def ending(self, how, **options):
        return self.run_it("-o", self.path("trace.db"), "--", harness.program("ending"), how,
                           **options)

    def test_exit_code_is_the_programs(self):
        result = self.ending("exit")
        self.assertEqual(result.status, 4, str(result))
        self.assertEqual(result.out, "three launches\n")
        self.assertEqual(self.trace().count("cuLaunchKernel"), 3)

    def test_signal_that_kills_the_program_kills_run(self):
        for how, number in (("term", signal.SIGTERM), ("kill", signal.SIGKILL)):
            with self.subTest(how):
                result = self.ending(how)
                self.assertEqual(result.status, -number, str(result))
                self.assertEqual(self.trace().count("cuLaunchKernel"), 3)

    def test_summary_goes_to_stderr(self):
        result = self.ending("return", env={"GPUVERIFY_STALL_US": "10000000"})
        self.assertEqual(result.out, "three launches\n")
        self.assertRegex(result.err, r"\n  Next: gpuverify explain f\d   trace: trace.db\n")
        self.assertIn("Your code made 3 launches of 1 kernel.", result.err)
        self.assertLess(len(result.err.splitlines()), 30)

    def test_program_without_cuda(self):
        result = self.run_it("-o", self.path("trace.db"), "--", "/bin/echo", "hello")
        self.assertEqual((result.status, result.out), (0, "hello\n"), str(result))
        self.assertRegex(result.err, r"(?i)no CUDA call")
        self.assertFalse(os.path.exists(self.path("trace.db")))

    def test_options_are_the_settings(self):
        for option, value in (("gpu", "off"), ("gpu", "sampled"), ("stacks", "all"), ("graphs", "nodes"), ("keep", "10min,500MB")):
            with self.subTest(option):
                self.assertEqual(self.seen(f"--{option}", value), self.seen(**{"GPUVERIFY_" + option.upper(): value}))
        self.assertIn("GPUVERIFY_KEEP=2h", self.seen("--keep=2h", GPUVERIFY_KEEP="1h"))  # the option counts
        for words, told in ((("--keep", "10"), "a time from 1min, a size from 10MB, or both"), (("--gpu", "all"), "auto|on|off|sampled")):
            result = self.run_it(*words, "--", harness.program("ending"))
            self.assertEqual(result.status, 2)
            self.assertIn(told, result.err)

    def seen(self, *options, **env):
        """The settings that the program gets."""
        out = self.run_it(*options, "--", "/usr/bin/env", env={**dict.fromkeys(("GPUVERIFY_GPU", "GPUVERIFY_STACKS")), **env}).out
        return sorted(re.findall(r"^GPUVERIFY_(?:GPU|STACKS|GRAPHS|KEEP)=.*", out, re.M))

    def test_quiet_says_only_what_went_wrong(self):
        result = self.run_it("-q", "--html", "-o", "run.db", "--", harness.program("ending"), "exit")
        self.assertEqual((result.status, result.out, result.err), (4, "three launches\n", ""), str(result))
        self.assertTrue(os.path.exists(self.path("run.html")))
        self.assertEqual(self.trace(self.path("run.db")).count("cuLaunchKernel"), 3)
        self.assertRegex(self.run_it("--quiet", "--", "/bin/true").err, "(?i)no CUDA call")

    def test_a_job_prints_one_summary(self):
        told = {}
        for rank in ("0", "1"):
            env = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2"}
            told[rank] = self.run_it("-o", f"rank{rank}.db", "--", harness.program("ending"), env=env).err
            self.assertEqual(self.trace(self.path(f"rank{rank}.db")).count("cuLaunchKernel"), 3)
        self.assertIn("3 launches", told["0"])
        self.assertIn("This is rank 0 of 2. The others print nothing; gpuverify merge joins the traces.\n", told["0"])
        self.assertEqual(told["1"], "")
        for rank, count in (("0", "1"), ("3", "2"), ("3x", "8")):
            alone = self.run_it("-o", f"alone{rank}.db", "--", harness.program("ending"), env={"RANK": rank, "WORLD_SIZE": count}).err
            self.assertIn("3 launches", alone)
            self.assertNotIn("This is rank", alone)

    def test_default_trace_is_in_the_working_directory(self):
        result = self.run_it("--", harness.program("ending"), env={"GPUVERIFY_TRACE": None})
        self.assertEqual(result.status, 0, str(result))
        self.settle()
        self.assertRegex(" ".join(os.listdir(self.dir)), r"^gpuverify-e2e_ending-\d+\.db$")

    def test_relative_output(self):
        result = self.run_it("-o", "here.db", "--", harness.program("state"), "chdir")
        self.assertEqual(result.status, 0, str(result))
        self.assertEqual(self.trace(self.path("here.db")).count("cuLaunchKernel"), 5)

    def test_session_beside_the_trace_is_found(self):
        os.makedirs(self.path("sub", "e2e_ending"))
        ending = harness.program("ending")
        no_shared = {"GPUVERIFY_SPOOL_DIR": "/proc/nowhere/spool", "GPUVERIFY_TRACE": "%n/out.db"}
        for what, argv, env in (
                ("a pattern", [ending], {}),
                ("no collector", [ending], {"GPUVERIFY_COLLECTOR": "off"})):
            with self.subTest(what):
                result = self.run_it("--", *argv, env={**no_shared, **env}, cwd=self.path("sub"))
                self.assertEqual(result.out, "three launches\n")
                self.assertRegex(result.err, r"out(-\d)?\.db")
                self.assertIn("3 launches", result.err)

    def test_file_that_is_no_trace_is_left_alone_and_that_is_told(self):
        self.write("x.db", "mine")
        result = self.run_it("-o", "x.db", "--", harness.program("ending"), "return")
        self.assertIn("x.db is not a gpuverify trace, so it is kept", result.err)
        self.settle()
        with open(self.path("x.db"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")
        result = self.run_it("-o", "x-2.db", "--", harness.program("ending"), "return")
        self.assertNotIn("is kept", result.err)
        self.settle()

    def test_trace_of_an_earlier_run_does_not_pass_for_that_of_one_that_leaves_none(self):
        self.ending("return")
        self.settle()
        self.assertTrue(os.path.exists(self.path("trace.db")))
        self.run_it("-o", self.path("trace.db"), "--", "/bin/true")
        self.assertFalse(os.path.exists(self.path("trace.db")))

    def test_empty_file_stays_if_the_run_leaves_no_trace(self):
        self.write("trace.db", "")
        self.run_it("-o", self.path("trace.db"), "--", "/bin/true")
        self.assertTrue(os.path.exists(self.path("trace.db")))

    def test_trace_whose_name_is_too_long_is_refused_before_the_start(self):
        result = self.run_it("-o", "a" * 252 + ".db", "--", harness.program("ending"), "return")
        self.assertEqual((result.status, result.out), (3, ""))
        self.assertIn("File name too long", result.err)

    def test_program_that_is_not_there(self):
        self.assertEqual(self.run_it("--", "/nowhere/program").status, 127)
        # A folder of the path that may not be searched would make it 126, as with env(1).
        missing = self.run_it("--", "no-such-program-anywhere", env={"PATH": "/usr/bin:/bin"})
        self.assertEqual(missing.status, 127)
        self.assertEqual(self.run_it("--", self.write("plain", "text", 0o644)).status, 126)

    def test_program_is_found_on_the_path_and_gets_its_arguments(self):
        result = self.run_it("--", "printf", "%s|", "-o", "--", "a b")
        self.assertEqual((result.status, result.out), (0, "-o|--|a b|"), str(result))

    def test_other_preloads_are_kept(self):
        shim = harness.built(harness.PROGRAMS, "libe2e_shim.so")
        result = self.run_it("-o", self.path("trace.db"), "--", harness.program("shimmed"),
                             env={"LD_PRELOAD": shim}, preload=False)
        self.assertIn("shim: 4 launches, 2 allocations", result.out, str(result))
        self.assertEqual(self.trace().count("cuLaunchKernel"), 4)

    def test_stdin_is_the_programs(self):
        result = self.run_it("--", "cat", data=b"through\n")
        self.assertEqual((result.status, result.out), (0, "through\n"), str(result))

    def test_several_processes_are_one_trace(self):
        result = self.run_it("-o", self.path("trace.db"), "--", harness.program("children"),
                             "fork-exec")
        self.assertEqual(result.status, 0, str(result))
        self.assertEqual(self.trace().count("cuLaunchKernel"), 5)

    def test_trace_is_complete_when_run_returns(self):
        self.ending("return")
        trace = self.open_trace()
        self.assertEqual(trace.meta()["state"], "complete")

    def test_interrupt_from_the_keyboard(self):
        # Ctrl-C reaches the whole foreground group: the program dies of it, and run reports.
        process = self.start([harness.gpuverify(), "run", "-o", self.path("trace.db"), "--",
                              harness.program("flood"), "--blocked"], preload=False,
                             start_new_session=True)
        self.assertEqual(process.stdout.readline(), b"blocked\n")
        harness.pause(0.1)
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=harness.PROGRAM_S)
        self.assertEqual(process.returncode, -signal.SIGINT, err)
        self.assertIn(b"trace.db", err)
        self.assertEqual(self.trace().rows("SELECT name FROM in_flight"),
                         [("cuStreamSynchronize",)])

    def test_signal_sent_to_run_reaches_the_program(self):
        process = self.start([harness.gpuverify(), "run", "-o", self.path("trace.db"), "--",
                              harness.program("flood"), "--blocked"], preload=False)
        self.assertEqual(process.stdout.readline(), b"blocked\n")
        harness.pause(0.2)
        process.terminate()
        _, err = process.communicate(timeout=harness.PROGRAM_S)
        self.assertEqual(process.returncode, -signal.SIGTERM, err)
        self.assertEqual(self.trace().value("SELECT count(*) FROM in_flight"), 1)

    def test_program_that_handles_the_interrupt_goes_on(self):
        script = ("import signal,sys,time\n"
                  "signal.signal(signal.SIGINT, lambda *_: (print('handled'), sys.exit(7)))\n"
                  "print('ready', flush=True)\ntime.sleep(60)\n")
        process = self.start([harness.gpuverify(), "run", "--", sys.executable, "-c", script],
                             preload=False, start_new_session=True)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=harness.PROGRAM_S)
        self.assertEqual((process.returncode, out), (7, b"handled\n"), err)

    def test_terminal_is_the_programs(self):
        """On a terminal: stdin, stdout and the foreground are as without gpuverify."""
        script = ("import os,sys\n"
                  "print(sys.stdin.isatty(), sys.stdout.isatty(), "
                  "os.tcgetpgrp(0) == os.getpgrp())\n"
                  "print('got', input())\n")
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.dir)
            os.execve(harness.gpuverify(), [harness.gpuverify(), "run", "--", sys.executable,
                                            "-c", script], self.environment(False))
        os.write(terminal, b"typed\n")
        shown = b""
        while True:
            try:
                piece = os.read(terminal, 4096)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        _, status = os.waitpid(pid, 0)
        os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0, shown)
        self.assertIn(b"True True True", shown)
        self.assertIn(b"got typed", shown)

    def test_works_through_a_link_and_from_anywhere(self):
        os.symlink(harness.gpuverify(), self.path("gv"))
        result = self.run_program([self.path("gv"), "run", "-o", self.path("trace.db"), "--",
                                   harness.program("ending")], preload=False, cwd="/")
        self.assertEqual(result.status, 0, str(result))
        self.assertEqual(self.trace().count("cuLaunchKernel"), 3)


class Report(harness.Case):
    def report(self, program, *arguments, status=None, **options):
        self.run_program([harness.program(program), *arguments], **options)
        self.settle()
        return self.command("report", self.path("trace.db"), status=status)

    def test_calls_loads_and_kernels(self):
        result = self.report("ending", status=0)
        self.assertEqual(result.err, "")
        for expected in ("e2e_ending", "cuLaunchKernel", "cuModuleLoadData", "cuInit", "tick",
                         "ptx"):
            self.assertIn(expected, result.out)
        line = next(line for line in result.out.splitlines()
                    if re.search(r"\bcuLaunchKernel\b", line))
        self.assertRegex(line, r"\b3\b")

    @harness.depends_on_time("what is said of stalls depends on how long things took")
    def test_two_runs_read_the_same_but_for_the_numbers(self):
        runs = []
        for _ in range(2):
            # The summary and idle time depend on how long things took; any look at idle threads may come late.
            # Which calls have a stack is a matter of chance, but for all.
            self.report("errno_kept", env={"GPUVERIFY_STALL_US": "10000000", "GPUVERIFY_STACKS": "all"})
            report = self.command("report", self.path("trace.db"), "--top", "0").out
            runs.append(masked(re.sub(r"(?ms)\A.*?^$\n^Run$|^Idle time of the devices.*?^$", "", report)))
        first, second = runs
        self.assertEqual(sorted(first.splitlines()), sorted(second.splitlines()))

    def test_errors_have_names(self):
        result = self.report("errno_kept")
        self.assertIn("cuModuleGetFunction", result.out)
        self.assertIn("NOT_FOUND", result.out)
        self.assertIn("500", result.out)

    def test_call_it_died_in(self):
        process = self.start([harness.program("flood"), "--blocked"])
        self.assertEqual(process.stdout.readline(), b"blocked\n")
        harness.pause(0.1)
        process.kill()
        process.communicate()
        self.settle()
        result = self.command("report", self.path("trace.db"), status=None)
        self.assertIn(result.status, (0, 1), str(result))
        self.assertIn("cuStreamSynchronize", result.out)

    def test_losses_are_told(self):
        process = self.start([harness.program("flood"), "40000", "1"], stdin=subprocess.PIPE,
                             env={"GPUVERIFY_SPOOL_MB": "1", "GPUVERIFY_EXIT_WAIT": "0.1"})
        self.assertEqual(process.stdout.readline(), b"ready\n")
        collector = self.await_collector()
        os.kill(collector, signal.SIGSTOP)
        process.communicate(b"\n", timeout=harness.PROGRAM_S)
        os.kill(collector, signal.SIGCONT)
        self.settle()
        result = self.command("report", self.path("trace.db"), status=None)
        self.assertRegex(" ".join(result.out.split()), "records were lost .* GPUVERIFY_SPOOL_MB=1024")

    def test_waits_for_a_trace_that_is_being_finished(self):
        process = self.start([harness.program("flood"), "300000", "0"], stdin=subprocess.PIPE,
                             env={"GPUVERIFY_EXIT_WAIT": "0"})
        process.communicate(b"\n", timeout=harness.PROGRAM_S)
        result = self.command("report", self.path("trace.db"))
        line = next(line for line in result.out.splitlines()
                    if line.startswith("cuLaunchKernel "))
        trace = self.trace(losses=True)
        self.assertIn(str(trace.count("cuLaunchKernel")), re.sub(r"(?<=\d)[,' ](?=\d{3})", "",
                                                                 line))
        self.assertEqual(trace.count("cuLaunchKernel")
                         + sum(row["count"] for row in trace.lost() if row["class"] == "launch"),
                         300000)

    def test_waits_for_a_trace_without_a_word_in_it(self):
        """Its collector works: it has locked the session, and the disk is slow."""
        self.run_well([harness.program("ending")], env={"GPUVERIFY_COLLECTOR": "off"})
        self.write("trace.db", "", mode=0o600)
        names = [name for name in self.spool_files() if name.endswith(".session")]
        with open(os.path.join(self.spool, names[0]), "rb") as session:
            fcntl.flock(session, fcntl.LOCK_EX)
            report = self.start([harness.gpuverify(), "report", self.path("trace.db")],
                                preload=False, sim=False)
            harness.pause(0.3)
            self.assertIsNone(report.poll(), "it did not wait")
            fcntl.flock(session, fcntl.LOCK_UN)
            out, err = report.communicate(timeout=harness.PROGRAM_S)
        self.assertIn(b"cuLaunchKernel", out, err)


class Recover(harness.Case):
    """Records without a collector, stored by the next command."""

    def left_behind(self, **env):
        self.run_well([harness.program("ending")],
                      env={"GPUVERIFY_COLLECTOR": "off", **env})
        self.assertTrue(self.spool_files())

    def test_from_the_spool_directory(self):
        self.left_behind()
        self.command("recover", self.spool)
        self.assertEqual(self.trace().count("cuLaunchKernel"), 3)

    def test_from_a_spool_file(self):
        self.left_behind()
        spool = [name for name in self.spool_files() if name.endswith(".spool")][0]
        self.command("recover", os.path.join(self.spool, spool))
        self.assertEqual(self.open_trace().count("cuLaunchKernel"), 3)
        for name in self.spool_files():
            os.unlink(os.path.join(self.spool, name))

    def test_a_program_that_cannot_start_takes_no_trace_away(self):
        path = self.path("trace.db")
        self.command("run", "-o", path, "--", harness.program("ending"), status=None)
        with open(path, "rb") as file:
            before = file.read()
        for argv, status in ((["no-such-program"], 127), ([self.path("")], 126), ([path], 126)):
            self.command("run", "-o", path, "--", *argv, status=status)
            with open(path, "rb") as file:
                self.assertEqual(file.read(), before, argv)

    def test_offered_commands_can_be_pasted(self):
        folder = self.path("a $(touch pwned) 'b'")
        os.mkdir(folder)
        path = os.path.join(folder, "x y.db")
        told = self.command("run", "-o", path, "--", harness.program("ending"), status=None)
        command = re.search(r"^ *Next: (gpuverify explain .*)$", told.out + told.err, re.M)[1]
        result = self.run_program(["sh", "-c", f"alias gpuverify={harness.gpuverify()}\n{command}"],
                                  preload=False)
        self.assertEqual((result.status, result.err), (0, ""), command)
        self.assertIn("finding f", result.out)
        self.assertFalse(os.path.exists(self.path("pwned")))

    def test_spool_that_cannot_be_read_is_kept(self):
        self.left_behind()
        files = self.spool_files()
        spool = [name for name in files if name.endswith(".spool")][0]
        for size in (100000, 4096, 100):  # in front of the first segment; in the header
            os.truncate(os.path.join(self.spool, spool), size)
            result = self.command("recover", self.spool, status=3)
            self.assertIn("1 of its spools", result.err)
            self.assertIn("cut or damaged", result.err)
            self.assertEqual(self.spool_files(), files)
        for name in files:
            os.unlink(os.path.join(self.spool, name))

    def test_spool_that_is_cut_is_read_as_far_as_it_goes(self):
        self.run_well([harness.program("flood"), "20000", "0"], data=b"\n",
                      env={"GPUVERIFY_COLLECTOR": "off"})
        spool = [name for name in self.spool_files() if name.endswith(".spool")][0]
        os.truncate(os.path.join(self.spool, spool), 1000000)
        self.command("recover", self.spool)
        trace = self.trace(losses=True)
        stored = trace.count("cuLaunchKernel")
        self.assertGreater(stored, 0)
        self.assertLess(stored, 20000)
        lost = trace.value("SELECT count FROM losses WHERE what = 'record'"
                           " AND class = 'at most: the spool was cut'")
        self.assertGreaterEqual(lost, 20000 - stored)

    def test_without_arguments_finds_what_the_user_left(self):
        self.left_behind()
        self.command("recover")
        self.assertEqual(self.trace().count("cuLaunchKernel"), 3)

    def test_to_another_file(self):
        self.left_behind()
        self.command("recover", "-o", self.path("found.db"), self.spool)
        self.assertEqual(self.trace(self.path("found.db")).count("cuLaunchKernel"), 3)

    def test_twice_is_once(self):
        self.left_behind()
        self.command("recover", self.spool)
        self.command("recover", self.spool)
        self.assertEqual(self.trace().count("cuLaunchKernel"), 3)

    def test_report_finds_what_was_never_written(self):
        self.left_behind()
        self.assertFalse(os.path.exists(self.path("trace.db")))
        self.command("report", self.path("trace.db"))
        self.assertEqual(self.trace().count("cuLaunchKernel"), 3)

    def test_report_finds_what_was_never_begun(self):
        self.left_behind()
        self.write("trace.db", "", mode=0o600)
        self.command("report", self.path("trace.db"))
        self.assertEqual(self.trace().count("cuLaunchKernel"), 3)

    def test_by_the_name_of_the_trace(self):
        self.left_behind()
        self.command("recover", self.path("trace.db"))
        self.assertEqual(self.trace().count("cuLaunchKernel"), 3)

    def test_several_sessions_are_not_put_into_one_file(self):
        self.left_behind(GPUVERIFY_TRACE=self.path("a.db"))
        self.left_behind(GPUVERIFY_TRACE=self.path("b.db"))
        self.write("found.db", "")
        before = self.spool_files()
        result = self.command("recover", "-o", self.path("found.db"), self.spool, status=2)
        self.assertIn("2 sessions", result.err)
        self.assertEqual(result.out, "")
        self.assertEqual(os.path.getsize(self.path("found.db")), 0)
        self.assertEqual(self.spool_files(), before)
        self.command("recover", self.spool)
        for name in ("a.db", "b.db"):
            self.assertEqual(self.trace(self.path(name)).count("cuLaunchKernel"), 3)

    def test_session_named_twice_is_one(self):
        self.left_behind()
        files = [os.path.join(self.spool, name) for name in self.spool_files()]
        self.command("recover", "-o", self.path("found.db"), *files)
        self.assertEqual(self.trace(self.path("found.db")).count("cuLaunchKernel"), 3)

    def test_what_is_another_users_is_left_to_them(self):
        harness.need_root(self, "needs another user's files")
        self.left_behind()
        before = self.spool_files()
        for name in before:
            os.chown(os.path.join(self.spool, name), 65534, 65534)
        result = self.command("recover", self.spool, status=3)
        self.assertIn("belongs to another user", result.err)
        self.assertEqual(self.spool_files(), before)
        for name in before:
            os.chown(os.path.join(self.spool, name), 0, 0)
        self.command("recover", self.spool)
        self.assertEqual(self.trace().count("cuLaunchKernel"), 3)

    def test_live_session_is_left_to_its_collector(self):
        process = self.start([harness.program("flood"), "10", "0"], stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        self.await_collector()
        self.command("recover", self.spool, status=None)
        out, err = process.communicate(b"\n", timeout=harness.PROGRAM_S)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn(b"cuLaunchKernel 10", out)
        self.assertEqual(self.trace().count("cuLaunchKernel"), 10)

    def test_spool_of_nonsense_is_refused(self):
        self.write("nonsense.spool", os.urandom(100000))
        result = self.command("recover", self.path("nonsense.spool"), status=3)
        self.assertRegex(result.err, r"nonsense\.spool")
        self.assertTrue(os.path.exists(self.path("nonsense.spool")))
        self.assertIn("No such file", self.command("recover", self.path("nowhere"), status=3).err)


class Usage(harness.Case):
    """Exit codes: 0 fine, 1 finding, 2 usage, 3 cannot read or write."""

    def test_help_and_version_go_to_stdout(self):
        for arguments in (["--help"], ["help"], ["help", "run"], ["help", "report"],
                          ["help", "recover"], ["help", "environment"], ["--version"], ["--library"],
                          ["run", "--help"], ["report", "--help"]):
            with self.subTest(" ".join(arguments)):
                result = self.command(*arguments)
                self.assertNotEqual(result.out, "")
                self.assertEqual(result.err, "")

    def test_help_tells_every_environment_variable(self):
        shown = self.command("help", "environment").out
        table = os.path.join(harness.SOURCE, "trace", "settings.def")
        with open(table, encoding="utf-8") as file:
            names = re.findall(r"^GV_SETTING_\w+\(\w+, (\w+)", file.read(), re.M)
        self.assertGreater(len(names), 5)
        for name in names:
            self.assertIn(f"GPUVERIFY_{name}", shown)

    def test_wrong_usage_is_2(self):
        for arguments in ([], ["nonsense"], ["--nonsense"], ["report"], ["run"], ["run", "-o"],
                          ["run", "--nonsense", "true"], ["report", "--nonsense"],
                          ["help", "nonsense"], ["top", "a", "b"]):
            with self.subTest(" ".join(arguments)):
                result = self.command(*arguments, status=2)
                self.assertEqual(result.out, "")
                self.assertNotEqual(result.err, "")

    def test_mistyped_command_gets_a_hint(self):
        for words in (("report", "", "x.db"), ("report", "x.db", ""), ("diff", "x.db", "--", ""), ("run", ""), ("look", ""), ("fleet", "")):
            self.assertIn(f"gpuverify {words[0]}: an argument is empty", self.command(*words, status=2).err)
        self.assertIn("report", self.command("reprot", status=2).err)
        self.assertIn("did you mean 'gpuverify run -- timeout'?", self.command("timeout", status=2).err)

    def test_file_that_cannot_be_read_is_3(self):
        self.write("text.db", "not a trace\n")
        os.makedirs(self.path("folder.db"))
        self.write("empty.db", "")
        for name in ("missing.db", "text.db", "folder.db", "empty.db"):
            with self.subTest(name):
                result = self.command("report", self.path(name), status=3)
                self.assertEqual(result.out, "")
                self.assertIn(name, result.err)

    def test_a_report_changes_nothing(self):
        self.run_well([harness.program("ending")])
        self.settle()
        os.chmod(self.path("trace.db"), 0o400)
        before = os.stat(self.path("trace.db"))
        self.command("report", self.path("trace.db"))
        self.assertEqual(os.stat(self.path("trace.db")).st_mtime_ns, before.st_mtime_ns)

    def test_output_that_cannot_be_written_is_3(self):
        self.run_well([harness.program("ending")])
        self.settle()
        with open("/dev/full", "wb") as full:
            result = self.run_program([harness.gpuverify(), "report", self.path("trace.db")],
                                      preload=False, stdout=full)
        self.assertEqual(result.status, 3, str(result))

    def test_reader_that_goes_away_is_no_crash(self):
        self.run_well([harness.program("ending")])
        self.settle()
        read_end, write_end = os.pipe()
        os.close(read_end)
        result = self.run_program([harness.gpuverify(), "report", self.path("trace.db")],
                                  preload=False, stdout=write_end)
        os.close(write_end)
        self.assertIn(result.status, (3, -signal.SIGPIPE, 0), str(result))
