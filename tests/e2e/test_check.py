"""gpuverify check: rules that a trace keeps, breaks, or cannot answer."""

import json
import os
import xml.etree.ElementTree

import harness
import stored

KEPT = [["--no-load-after", "2s"], ["--no-load-after", "39 launches"], ["--no-jit"],
        ["--max-copy-ratio", "0.3"], ["--require-kernel", "gemm"], ["--require-kernel", "*tanh*"],
        ["--min-launches", "3"], ["--max-errors", "0"], ["--no-unfinished"], ["--clean-exit"], ["--max-losses", "0"],
        ["--min-gpu-busy", "14%"], ["--min-gpu-busy", "main=99%"], ["--max-gpu-gap", "1ms"], ["--max-stall", "900ms"],
        ["--no-stall", "jit"], ["--min-kernels", "39"], ["--max-own-cost", "0.5%"]]

# (SQL that spoils the trace, rule, message)
BROKEN = [
    (None, ["--min-gpu-busy", "0.9"], "the GPU was busy 14.3 % of the run: 859 ms of 6.00 s"),
    (None, ["--min-gpu-busy", "main=100%"], "the GPU was busy 99.5 % of main: 859 ms of 863 ms"),
    (None, ["--min-gpu-busy", "end=1%"], "the GPU was busy 0.0 % of the end: 0 ns of 937 ms"),
    ("DELETE FROM gpu_op", ["--min-gpu-busy", "1%"], "no device had work"),
    (None, ["--max-gpu-gap", "10us"], "was idle for 500 us"),
    (None, ["--max-stall", "10ms"], "2 calls lost more than that; stall s1, cudaLaunchKernel"),
    (None, ["--no-stall", "lock"], "1 call stalled"),
    (None, ["--no-stall", "any"], "2 calls stalled"),
    (None, ["--require-kernel", "mm*"], "no launch has a matching kernel name"),
    (None, ["--min-kernels", "40"], "39 kernels ran"),
    (None, ["--min-launches", "1000"], "39 calls launched"),
    ("UPDATE call SET result = 1 WHERE id = 5", ["--max-errors", "0"], "1 call returned an error"),
    ("INSERT INTO loss VALUES (1, 'call', 'launch', 7)", ["--max-losses", "6"],
     "7 records were lost"),
    ("UPDATE cost SET total_ns = 40 * total_ns WHERE what = 'stacks'", ["--max-own-cost", "0.5%"],
     "gpuverify cost at least 2.4 % of the run (stacks 2.2 %)"),
    ("INSERT INTO jit (id, process, start_ns, duration_ns, operation)"
     " VALUES (1, 1, 5000000000, 300000000, 3)", ["--no-jit"], "compiled 1 time, for 300 ms"),
    # Simultaneous time counts once.
    ("INSERT INTO gpu_op (id, place, kind, start_ns, duration_ns, copy_kind, bytes)"
     " VALUES (998, 1, 2, 4300000000, 800000000, 1, 1000), (999, 1, 2, 4300000000, 800000000, 2, 1000)",
     ["--max-copy-ratio", "20%"],
     "copies between host and device took 800 ms"),
    ("INSERT INTO load (id, thread, api, start_ns, duration_ns, result, kind, name)"
     " VALUES (1, 1, 1, 4400000000, 5, 0, 'cubin', 'x')", ["--no-load-after", "100ms"],
     "1 load of code came later; the first, cudaLaunchKernel of x"),
    ("INSERT INTO load (id, thread, api, start_ns, duration_ns, result, kind, name)"
     " VALUES (1, 1, 1, 4400000000, 5, 0, 'cubin', 'x')", ["--no-load-after", "5 launches"],
     "2 loads of code came later"),
    # One that was loaded lazily.
    (None, ["--no-load-after", "38 launches"],
     "1 load of code came later; the first, cudaLaunchKernel of vectorized_elementwise_kernel<tanh>"),
]


RUNNING = ("UPDATE process SET ended = NULL", "UPDATE meta SET value = 'recording' WHERE key = 'state'")
LOST = "INSERT INTO loss VALUES (1, 'range', '', 7)"


class Case(harness.Case):
    changes = ()

    def make(self, *changes):
        path = self.path("trace.db")
        stored.make_anew("lazy_launch", path, *self.changes, *changes)
        return path

    def check(self, *words, status=0):
        return self.command("check", self.path("trace.db"), *words, status=status, sim=False)


class Check(Case):
    def test_rules_that_are_kept(self):
        self.make()
        for rule in KEPT:
            self.assertEqual(self.check(*rule).out.splitlines()[-1], "1 rule: 0 broken")
        everything = [word for rule in KEPT for word in rule]
        self.assertEqual(self.check(*everything).out.splitlines()[-1], f"{len(KEPT)} rules: 0 broken")
        self.assertIn("kept: no-load-after 39 launches\n", self.check(*everything, "--all").out)

    def test_rules_that_are_broken(self):
        for change, rule, said in BROKEN:
            self.make(*([change] if change else []))
            shown = self.check(*rule, status=1).out
            self.assertIn("broken: " + " ".join(rule)[2:] + ": ", shown)
            self.assertIn(said, shown)

    def test_kernels_have_their_full_and_their_short_name(self):
        for gpu in ((), ("UPDATE process SET gpu = 'host-only'", "DELETE FROM gpu_op")):
            self.make("UPDATE kernel SET name = 'math::fill(float*)' WHERE name = 'gemm'",
                      "UPDATE gpu_name SET name = 'math::fill(float*)' WHERE name = 'gemm'", *gpu)
            for name, status in (("fill", 0), ("math::fill(float[*])", 0), ("fil", 1), ("math::fill", 1)):
                self.check("--require-kernel", name, status=status)

    def test_lines_are_as_wide_as_asked_for(self):
        self.make()
        words = ("check", self.path("trace.db"), "--max-stall", "10ms", "--min-launches", "1")
        whole, narrow = (self.command(*words, status=1, sim=False, env={"COLUMNS": columns}).out
                         for columns in ("", "60"))
        self.assertEqual(len(whole.splitlines()), 2)
        self.assertGreater(max(map(len, whole.splitlines())), 60)
        self.assertLessEqual(max(map(len, narrow.splitlines())), 60)
        self.assertEqual(narrow.split(), whole.split())

    def test_what_is_not_known_is_no_pass(self):
        self.make("UPDATE process SET gpu = 'host-only', gpu_why = 'no libcupti'",
                  "DELETE FROM gpu_op", "UPDATE call SET kernel = NULL")
        for rule in (["--min-gpu-busy", "1%"], ["--max-gpu-gap", "1h"], ["--no-jit"],
                     ["--max-copy-ratio", "9"], ["--min-kernels", "0"]):
            result = self.check(*rule, status=3)
            self.assertIn("was not recorded: no libcupti", result.out)
            self.assertIn("1 rule: 0 broken, 1 cannot be checked with this trace", result.out)
        self.assertIn("no launch has a matching kernel name, but",
                      self.check("--require-kernel", "gemm", status=3).out)
        self.check("--no-jit", "--min-launches", "1000", status=1)
        self.check("--max-stall", "1h")
        # Code that is loaded lazily is no call: only a stall tells of it.
        self.assertIn("1 load of code came later; the first, cudaLaunchKernel",
                      self.check("--no-load-after", "9ms", status=1).out)
        self.make("UPDATE process SET gpu = 'host-only'", "DELETE FROM load",
                  "DELETE FROM gpu_module", "DELETE FROM stall")
        for after in "10ms", "5 launches":
            self.assertIn("lazy loads are unknown",
                          self.check("--no-load-after", after, status=3).out)
        self.make("INSERT INTO loss VALUES (1, 'GPU operation', 'launch', 7)")
        self.assertIn("a part of the GPU side is missing",
                      self.check("--no-load-after", "39 launches", status=3).out)
        # There is nothing that could have loaded.
        self.check("--no-load-after", "1h")
        self.check("--no-load-after", "1000000 launches")
        self.make("INSERT INTO meta VALUES ('stall_threshold_ns', 100000)",
                  "DELETE FROM stall")
        self.assertIn("has only stalls of at least 100 us", self.check("--max-stall", "99us", status=3).out)
        self.check("--max-stall", "100us")

    def test_compiling_that_was_not_seen_is_no_pass(self):
        for change in ("UPDATE process SET gpu = 'host-only'",
                       "INSERT INTO loss VALUES (1, 'GPU operation', 'launch', 7)"):
            self.make(change)
            for cause in "jit", "any":
                self.make(change, "DELETE FROM stall")
                self.assertIn("cudaLaunchKernel took 853 ms; how much of that was waiting or compiling is not "
                              "fully known", self.check("--no-stall", cause, status=3).out)
            self.check("--max-stall", "852ms", status=3)
            self.check("--max-stall", "853ms")  # no call took longer
        # With a partial GPU side, a wait would look like work.
        self.check("--no-stall", "sync-copy", status=3)
        self.make("UPDATE process SET gpu = 'host-only'")
        self.check("--no-stall", "sync-copy")

    def test_what_another_profiler_hid_is_no_pass(self):
        stored.make_anew("other_profiler", self.path("trace.db"))
        # 2.97 s of a run of 9 s, of which 6 s were seen.
        self.check("--min-gpu-busy", "49%", "--min-kernels", "3")
        self.check("--max-gpu-gap", "1s", status=1)
        for words in (["--min-gpu-busy", "75%"], ["--min-kernels", "4"], ["--max-gpu-gap", "2s"], ["--no-jit"],
                      ["--no-stall", "jit"], ["--no-load-after", "6s"]):
            with self.subTest(words):
                self.assertIn("not known: ", self.check(*words, status=3).out)

    def test_calls_that_were_lost_may_have_broken_it(self):
        bounds = {"--max-errors": "0", "--max-stall": "2s", "--no-stall": "sync-copy", "--no-load-after": "2s",
                  "--min-launches": "1000", "--require-kernel": "mm*", "--no-unfinished": None,
                  "--max-gpu-gap": "1ms", "--no-jit": None, "--max-copy-ratio": "0.3", "--min-gpu-busy": "14%",
                  "--min-kernels": "40", "--clean-exit": None}
        calls = {"--max-errors", "--max-stall", "--no-stall", "--no-load-after"}
        launches = {"--min-launches", "--require-kernel"}
        gpu = {"--max-gpu-gap", "--no-jit", "--max-copy-ratio", "--min-kernels"}
        for loss, unknown in (("'call', 'event'", calls | {"--min-gpu-busy"}),
                              ("'call', 'launch'", calls | launches | {"--min-gpu-busy"}),
                              ("'thread', ''", calls | launches | {"--no-unfinished", "--min-gpu-busy"}),
                              ("'record', 'missing in the spool'", calls | launches | gpu | {
                                  "--no-unfinished", "--min-gpu-busy"}),
                              ("'load', ''", {"--no-load-after"}),
                              ("'GPU record', ''", gpu | {"--no-stall"}),
                              ("'Python stack', ''", set())):
            self.make(f"INSERT INTO loss VALUES (1, {loss}, 7)", "UPDATE process SET end_ns = NULL",
                      "INSERT OR REPLACE INTO meta VALUES ('stall_threshold_ns', 100000)")
            for rule, value in bounds.items():
                shown = self.check(rule, *([value] if value else []), status=None).out
                self.assertEqual(shown.startswith("not known"), rule in unknown, (loss, shown))
        self.assertIn("7 records were lost, and could change it",
                      self.make("INSERT INTO loss VALUES (1, 'call', 'event', 7)") and
                      self.check("--max-errors", "0", status=3).out)
        # What was recorded breaks it, or keeps it, whatever was lost.
        self.check("--max-stall", "10ms", "--no-stall", "lock", "--no-load-after", "38 launches", status=1)
        self.check("--min-launches", "3", "--require-kernel", "gemm", "--min-kernels", "39")

    def test_accounts(self):
        """Rank 2 of the job runs Python for 80 % of its time; cudaStreamSynchronize claims a part of that."""
        stored.make_anew("job", self.path("trace.db"))
        for account, share in (("python", "79.6"), ("waits", "17.0")):
            self.assertIn(f"device 0 of process 4002 was idle for {share} % of its time for that reason\n",
                          self.check("--max-idle-of", account + "=5%", status=1).out)
        self.assertIn("has no known reason", self.check("--max-idle-of", "data=5%", status=3).out)
        # Words of version 0.1: lock, now thread-lock; descheduled, no-cpu; cuda, what calls did; phases.
        self.check(*(word for old in ("lock=8%", "descheduled=8%", "cuda=8%", "start=1%", "end=1%") for word in ("--max-idle-of", old)))
        self.check("--max-idle-of", "start=0.1%", status=1)

    def test_share_of_the_time_that_was_lost_in_part(self):
        """A run that has no known end may be longer; one operation that was lost may be all that another device did."""
        lost = "INSERT INTO loss VALUES (1, 'call', 'launch', 7)"
        self.make(lost)
        self.check("--min-gpu-busy", "14%")
        self.check("--min-gpu-busy", "15%", status=1)
        self.make(lost, "UPDATE process SET end_ns = NULL")
        self.assertIn("in which the GPU was busy is unknown", self.check("--min-gpu-busy", "14%", status=3).out)
        lost = "INSERT INTO loss VALUES (1, 'GPU operation', 'launch', 7)"
        self.make(lost)
        self.check("--min-gpu-busy", "14%")
        self.make(lost, "INSERT INTO device (process, device, name, uuid) VALUES (1, 1, 'another', 'GPU-2')")
        self.check("--min-gpu-busy", "7%")
        self.check("--min-gpu-busy", "8%", status=3)

    def test_processes_that_ended_badly(self):
        for change, said in (("exit_code = 3", "1 process ended badly; process 4242 exited with code 3"),
                             ("ended = 'killed', exit_code = NULL, exit_signal = 6", "process 4242 crashed (SIGABRT)"),
                             ("ended = 'killed', exit_code = NULL", "process 4242 was killed or crashed")):
            self.make("UPDATE process SET " + change)
            self.assertIn(said, self.check("--clean-exit", status=1).out)
        for change in "exit_code = 0", "ended = 'exec', exit_code = NULL":
            self.make("UPDATE process SET " + change)
            self.check("--clean-exit")
        self.make("UPDATE process SET exit_code = NULL")
        self.assertIn("how process 4242 ended is not known", self.check("--clean-exit", status=3).out)

    def test_running_program_may_have_a_call_that_hangs(self):
        self.make("UPDATE process SET ended = NULL",
                  "UPDATE meta SET value = 'recording' WHERE key = 'state'")
        self.assertIn("still runs; an unfinished call is reported only after GPUVERIFY_WATCHDOG",
                      self.check("--no-unfinished", status=3).out)

    def test_running_program_may_do_more(self):
        running = ("UPDATE process SET ended = NULL", "UPDATE meta SET value = 'recording' WHERE key = 'state'")
        self.make(*running, "DELETE FROM stall")
        for rule in (["--max-errors", "0"], ["--max-losses", "0"], ["--max-stall", "900ms"], ["--no-stall", "lock"],
                     ["--no-load-after", "2s"], ["--min-launches", "1000"], ["--require-kernel", "mm*"],
                     ["--max-copy-ratio", "0.3"], ["--no-jit"], ["--min-kernels", "40"],
                     ["--min-gpu-busy", "1%"], ["--max-gpu-gap", "1h"], ["--max-own-cost", "50%"],
                     ["--max-own-cost", "0.001%"]):
            self.assertIn("not known: " + " ".join(rule)[2:] + ": ", self.check(*rule, status=3).out)
        self.assertIn("process 4242 still runs", self.check("--max-errors", "0", status=3).out)
        # More records cannot change it.
        for rule in (["--min-launches", "3"], ["--require-kernel", "gemm"], ["--min-kernels", "39"]):
            self.check(*rule)
        self.make(*running, "UPDATE call SET result = 1 WHERE id = 5")
        self.check("--max-errors", "0", status=1)

    def test_call_that_had_not_returned(self):
        flight = "INSERT INTO flight (process, thread_serial, api, start_ns) VALUES (1, 1, 1, 5)"
        for change in ("UPDATE process SET ended = 'killed', exit_code = NULL", "UPDATE process SET exit_code = 1"):
            self.make(flight, change)
            self.assertIn("broken: no-unfinished: 1 call had not returned, such as cudaLaunchKernel",
                          self.check("--no-unfinished", status=1).out)
        # Another thread ended the program normally.
        for change in ("UPDATE process SET exit_code = 0", "UPDATE process SET ended = 'exec', exit_code = NULL"):
            self.make(flight, change)
            self.check("--no-unfinished")

    def test_call_that_had_not_returned_may_have_worked(self):
        self.make("DELETE FROM stall",
                  "INSERT INTO flight (process, thread_serial, api, start_ns, seen_ns)"
                  " VALUES (1, 1, 1, 5, 900000005)")
        self.assertIn("; whether it waited or worked is unknown",
                      self.check("--max-stall", "10ms", status=3).out)

    def test_losses_are_told(self):
        self.make("INSERT INTO loss VALUES (1, 'call', 'launch', 7)")
        self.assertIn("7 records of this trace were lost", self.check("--no-jit").err)
        self.make("INSERT INTO loss VALUES (1, 'call', 'launch', 1)")
        self.assertIn("1 record of this trace was lost", self.check("--no-jit").err)

    def test_rules_in_a_named_pipe_are_not_waited_for(self):
        rules = self.path("gpu.rules")
        os.mkfifo(rules)
        self.assertIn("cannot read", self.check("--rules", rules, status=3).err)

    def test_rules_from_a_file(self):
        self.make()
        rules = self.path("gpu.rules")
        with open(rules, "w", encoding="utf-8") as file:
            file.write("# what CI wants\nmax-stall 1s   # enough\r\n--no-stall=jit\n\n  no-jit\n"
                       "require-kernel '*tanh*' # a comment\nno-load-after 39 launches\n"
                       "min-gpu-busy = 10%")
        self.assertEqual(self.check("--rules", rules).out.splitlines()[-1], "6 rules: 0 broken")
        self.assertEqual(self.check("--rules", rules, "--min-kernels", "99", status=1).out.splitlines(),
                         ["broken: min-kernels 99: 39 kernels ran", "7 rules: 1 broken"])
        for text, said in (("max-stal 1s", "line 1: unknown rule 'max-stal'; did you mean"),
                           ("\nmax-stall 5", "line 2: invalid value '5' for max-stall"),
                           ("no-jit yes", "no-jit takes no value"), ("max-stall", "invalid value ''"),
                           ("junit x.xml", "unknown rule 'junit'"),
                           ("require-kernel 'a' b", "line 1: unexpected text after the quoted value of require-kernel"),
                           ("require-kernel 'a'b'", "unexpected text after"), ("require-kernel 'a'#b", "unexpected text after"),
                           ("no-stall nix", "unknown cause 'nix'"), ("a\0b", "not text, or too long"),
                           ("x" * 5000, "not text, or too long")):
            with open(rules, "w", encoding="utf-8") as file:
                file.write(text)
            self.assertIn(said, self.check("--rules", rules, status=2).err)
        self.check("--rules", self.path("nowhere"), status=3)

    def test_junit(self):
        self.make()
        path = self.path("out.xml")
        self.check("--min-kernels", "99", "--require-kernel", '<&">\x1b', "--no-jit", "--junit", path,
                   status=1)
        suite = xml.etree.ElementTree.parse(path).getroot()
        self.assertEqual((suite.tag, suite.attrib["tests"], suite.attrib["failures"],
                          suite.attrib["errors"]), ("testsuite", "3", "2", "0"))
        self.assertEqual([case.attrib["name"] for case in suite],
                         ["min-kernels 99", 'require-kernel <&">\ufffd', "no-jit"])
        self.assertEqual(suite[0][0].tag, "failure")
        self.assertEqual(suite[0][0].attrib["message"], "39 kernels ran")
        self.assertEqual(len(suite[2]), 0)
        shown = self.check("--min-kernels", "99", "--junit", "-", status=1).out
        self.assertEqual(self.check("--min-kernels", "99", "--junit", "/dev/stdout", status=1).out, shown)
        self.assertEqual(xml.etree.ElementTree.fromstring(shown.encode()).attrib["failures"], "1")
        self.assertIn("cannot write", self.check("--no-jit", "--junit", "/nowhere/x.xml",
                                                 status=3).err)
        self.assertEqual([name for name in os.listdir(self.path(".")) if name.startswith("out.xml")],
                         ["out.xml"])

    def test_formats(self):
        self.make()
        shown = self.check("--no-jit", "--min-kernels", "99", "--format", "json", status=1).out
        self.assertEqual(json.loads(shown),
                         [{"rule": "no-jit", "value": None, "outcome": "kept", "found": None},
                          {"rule": "min-kernels", "value": "99", "outcome": "broken",
                           "found": "39 kernels ran"}])

    def test_wrong_use(self):
        self.make()
        for words, said in (([], "no rule to check"), (["--no-stall", "x"], "unknown cause 'x'"),
                            (["--min-gpu-busy", "50"], "invalid value '50' for min-gpu-busy"),
                            (["--max-finding", "man=10%"], "invalid value 'man=10%' for max-finding"),
                            (["--no-load-after", "5 lunches"], "invalid value '5 lunches' for no-load-after"),
                            (["--max-stal", "5s"], "did you mean '--max-stall'")):
            self.assertIn(said, self.check(*words, status=2).err)


class Ranges(Case):
    """Thread 1 pushes, thread 2 does not: its call is in the ranges of thread 1."""

    changes = ["INSERT INTO range_text VALUES (1, 1, 1, 'warm-up'), (2, 1, 2, 'step 1'), (3, 1, 3, 'ready'), "
               "(4, 1, 4, 'request'), (5, 1, 5, 'data')",
               "INSERT INTO range (id, thread, kind, domain, text, start_ns, duration_ns, depth) VALUES "
               "(1, 1, 1, NULL, 1, 4199000000, 5000000, 0), (2, 1, 3, NULL, 3, 4205000000, 0, NULL), "
               "(3, 1, 1, NULL, 2, 4209000000, 900000000, 0), (4, 1, 2, 5, 4, 4240000000, 1000000000, NULL)",
               "INSERT INTO call_range VALUES (1, 1, 1), (1, 39, 3)"]

    def said(self, *rule, status):
        """What is said of a rule that is broken (1) or not known (3)."""
        how, named, said = self.check(*rule, status=status).out.splitlines()[0].split(": ", maxsplit=2)
        self.assertEqual((how, named), ({1: "broken", 3: "not known"}[status], " ".join(rule)[2:]))
        return said

    def test_stalls(self):
        self.make()
        self.assertEqual(self.said("--max-stall-in", "step 1=100ms", status=1),
                         "2 calls in these ranges lost more than that; stall s1, cudaLaunchKernel, lost 853 ms "
                         "(lazy-load) at train.py:31 step")
        for name in "step #", "s*", "step*":
            self.check("--max-stall-in", name + "=820ms", status=1)
            self.check("--max-stall-in", name + "=853ms")
        self.assertIn("1 call in these ranges lost more than that; stall s2, cudaMemcpyAsync, lost 813 ms (lock)",
                      self.check("--max-stall-in", "data: request=100ms", status=1).out)
        self.check("--max-stall-in", "request=814ms", "--max-stall-in", "warm-up=100us")
        with open(self.path("gpu.rules"), "w", encoding="utf-8") as rules:
            rules.write("max-stall-in 'step #=5ms'     # of each step\nno-load-after mark request\n")
        self.assertIn("2 rules: 1 broken", self.check("--rules", self.path("gpu.rules"), status=1).out)
        shown = self.check("--max-stall-in", "request=1ms", "--junit", "-", status=1).out
        self.assertIn('name="max-stall-in request=1ms"', shown)

    def test_stalls_that_were_not_seen(self):
        self.make(LOST)
        for kept in "step 1=1s", "warm-up=1s":
            self.assertEqual(self.said("--max-stall-in", kept, status=3), "7 records were lost, and could change it")
        self.check("--max-stall-in", "step 1=1ms", status=1)
        # The range may have ended before the call; the other thread may have been in ranges of its own.
        self.make(LOST, "UPDATE range SET duration_ns = NULL")
        self.assertIn("so it may not have been in one", self.said("--max-stall-in", "step 1=1ms", status=3))
        self.make(LOST, "DELETE FROM stall WHERE call = 39")
        self.said("--max-stall-in", "step 1=1ms", status=3)
        self.make("UPDATE range SET duration_ns = NULL")
        self.said("--max-stall-in", "step 1=1ms", status=1)
        self.make(*RUNNING)
        self.assertEqual(self.said("--max-stall-in", "step 1=1s", status=3), "process 4242 still runs")
        self.said("--max-stall-in", "step 1=1ms", status=1)
        self.make("INSERT INTO meta VALUES ('stall_threshold_ns', 100000)")
        self.assertIn("only stalls of at least 100 us", self.said("--max-stall-in", "warm-up=99us", status=3))
        self.make("UPDATE process SET gpu = 'host-only'", "DELETE FROM stall")
        self.assertIn("cudaLaunchKernel took 853 ms; how much of that was",
                      self.said("--max-stall-in", "step 1=100ms", status=3))
        self.check("--max-stall-in", "step 1=854ms", "--max-stall-in", "warm-up=100us")

    def test_call_that_had_not_returned(self):
        flight = ("INSERT INTO flight (process, thread_serial, api, start_ns, seen_ns) "
                  "VALUES (1, 1, 1, %d, 9000000000)")
        self.make(flight % 5_100_000_000, "DELETE FROM stall")
        self.assertIn("had not returned after", self.said("--max-stall-in", "step 1=1s", status=3))
        self.check("--max-stall-in", "warm-up=1s")
        self.make(flight % 5_200_000_000, "DELETE FROM stall")
        self.check("--max-stall-in", "step 1=1s")

    def test_idle_time(self):
        self.make()
        self.assertEqual(self.said("--max-idle-in", "step #=4%", status=1),
                         "no device had work in 5.6 % of the time of these ranges")
        self.check("--max-idle-in", "step 1=6%", "--max-idle-in", "*=30%")
        self.said("--max-idle-in", "*=10%", status=1)
        self.make(LOST)
        self.said("--max-idle-in", "step 1=6%", status=3)
        self.said("--max-idle-in", "step 1=4%", status=3)
        self.make("UPDATE range SET duration_ns = NULL WHERE id = 3")
        self.assertEqual(self.said("--max-idle-in", "step 1=99%", status=3),
                         "1 of these ranges has no end, so their time is not known")
        self.make("UPDATE process SET gpu = 'host-only', gpu_why = 'no libcupti'")
        self.assertIn("no libcupti", self.said("--max-idle-in", "step 1=99%", status=3))
        self.make(*RUNNING)
        self.said("--max-idle-in", "step 1=99%", status=3)

    def test_idle_time_of_a_part_of_a_sum(self):
        self.make(*(statement for i in range(6) for statement in (
            f"INSERT INTO range_text VALUES ({10 + i}, 1, {10 + i}, 'batch {i}')",
            f"INSERT INTO range (id, thread, kind, text, start_ns, duration_ns, depth) "
            f"VALUES ({10 + i}, 2, 1, {10 + i}, {5_300_000_000 + i * 1000}, 500, 0)")))
        for name in "batch 3", "batch #":
            self.assertIn("100.0 %", self.said("--max-idle-in", name + "=50%", status=1))

    def test_loads(self):
        self.make()
        self.assertRegex(self.said("--no-load-after", "mark ready", status=1),
                         "1 load of code came later; the first, cudaLaunchKernel of .*, 5.00 ms after that")
        self.assertIn("1.00 ms after that", self.said("--no-load-after", "mark step #", status=1))
        self.check("--no-load-after", "mark data: request")
        self.make(LOST)
        self.said("--no-load-after", "mark ready", status=1)
        self.said("--no-load-after", "mark request", status=3)
        self.check("--no-load-after", "39 launches")  # does not depend on ranges
        self.make(*RUNNING)
        self.said("--no-load-after", "mark request", status=3)
        # The mark of another process says nothing about this one.
        self.make("INSERT INTO process (id, identity, pid, start_ns, end_ns, ended, exit_code, gpu) "
                  "VALUES (2, 2, 4243, 0, 6000000000, 'exit', 0, 'cupti')",
                  "INSERT INTO thread (id, process, serial, records) VALUES (9, 2, 1, 1)",
                  "UPDATE range SET thread = 9 WHERE kind = 3")
        self.check("--no-load-after", "mark ready")

    def test_ranges_that_are_not_there(self):
        self.make()
        for rule in (["--max-stall-in", "stepp 1=1ms"], ["--max-idle-in", "stepp 1=1%"]):
            self.assertEqual(self.said(*rule, status=3), "this trace has no range 'stepp 1'; did you mean 'step 1'?")
        self.assertEqual(self.said("--max-stall-in", "ready=1ms", status=3),
                         "this trace has no range 'ready'; it has: step #, warm-up, data: request")
        self.assertEqual(self.said("--no-load-after", "mark reddy", status=3),
                         "this trace has no mark or range 'reddy'; did you mean 'ready'?")
        self.make("DELETE FROM range")
        self.assertEqual(self.said("--no-load-after", "mark ready", status=3), "this trace has no marks or ranges")

    def test_wrong_use(self):
        self.make()
        for rule in (["--max-stall-in", "step"], ["--max-stall-in", "=5ms"], ["--max-stall-in", "step=5"],
                     ["--max-idle-in", "step=5ms"], ["--max-idle-in", "step=200%"], ["--no-load-after", "mark "]):
            self.assertIn(f"invalid value '{rule[1]}' for {rule[0][2:]}", self.check(*rule, status=2).err)


class Accept(Case):
    """Known stalls. The trace has a lazy-load of 853 ms at train.py:31 step, and a lock of 813 ms without a line."""

    def known(self, *lines):
        return self.write("known.stalls", "".join(line + "\n" for line in lines))

    def lines(self):
        with open(self.path("known.stalls"), encoding="utf-8") as file:
            return file.read().splitlines()

    def test_only_other_stalls_break_the_rules(self):
        self.make()
        self.check("--accept", self.path("known.stalls"), "--update")
        self.assertEqual(self.lines(), ["lazy-load train.py step=1706ms", "lock ?=1627ms"])
        for rules in ((), ("--max-stall", "10ms"), ("--no-stall", "lazy-load")):
            self.assertIn(" 0 broken\n", self.check("--accept", self.path("known.stalls"), *rules).out)
        for known, rules, said in (
                (["lock ?=1s"], (), "the longest, stall s1, cudaLaunchKernel, lost 853 ms (lazy-load) at train.py:31 step"),
                (["lock ?=1s"], ("--max-stall", "10ms"), "max-stall 10ms: 1 call lost more"),
                (["lazy-load train.py:31 step=1s", "lock ?=813ms"], (), "stall s2"),  # it lost 40 us more
                (["lazy-load train.py:31 step=1s", "lock ?=1s"], ("--max-errors", "0", "--min-launches", "1000"), "min-launches"),
                (["lazy-load train.py:32 step=1s", "lock ?=1s"], (), "stall s1"),
                (["free train.py step=1s", "lock ?=1s"], (), "stall s1")):
            self.assertIn(said, self.check("--accept", self.known(*known), *rules, status=1).out, known)

    def test_known_findings(self):
        """The cudaMemcpyAsync at the end waits for the GPU, the start has no line."""
        self.make()
        self.assertRegex(self.check("--max-finding", "10%", status=1).out,
                         r"^broken: max-finding 10%: 3 findings lose more than that; f\d takes 100.0 % of the start: host-code\n")
        self.check("--max-finding", "main=10%")
        path = self.path("known.stalls")
        self.assertIn("accepts 2 findings now", self.check("--max-finding", "10%", "--accept", path, "--update").err)
        self.assertEqual(sorted(self.lines()), ["host-code", "waits"])
        self.known("# known", "waits", "launching old.py step", "lock ?=1s")
        shown = self.check("--max-finding", "10%", "--accept", path, status=1)
        self.assertIn("2 findings lose more", shown.out)
        self.assertIn("known.stalls:3: launching old.py step: this finding is gone; --update removes it\n", shown.err)
        self.check("--max-finding", "10%", "--accept", path, "--update", status=1)
        self.assertEqual(self.lines(), ["# known", "waits", "lock ?=1s"])
        self.make(*RUNNING)
        self.known("launching old.py step", "host-code")
        self.check("--max-finding", "90%", "--accept", path, "--update", status=3)
        self.assertEqual(len(self.lines()), 2)

    def test_a_stall_that_is_gone_is_told_and_then_removed(self):
        self.make()
        lines = ["# of the first release", "free old.py load=1s", "lock ?=1s", "", "lazy-load train.py step=1s",
                 "module-load old.py load=2s"]
        path = self.known(*lines)
        told = self.check("--accept", path).err
        self.assertIn("known.stalls:2: free old.py load=1s: this stall is gone; --update removes it\n", told)
        self.assertIn("known.stalls:6: module-load", told)
        self.assertEqual(self.lines(), lines)
        self.check("--accept", path, "--update")
        self.assertEqual(self.lines(), [lines[0], *lines[2:5]])
        self.assertNotIn("gone", self.check("--accept", path, "--update").err)

    def test_an_update_never_loosens(self):
        self.make()
        path = self.known("lock ?=1ms")
        self.check("--accept", path, "--update", status=1)
        self.assertEqual(self.lines(), ["lock ?=1ms"])

    def test_what_a_trace_does_not_know_is_not_gone(self):
        for changes in (RUNNING, ("INSERT INTO loss VALUES (1, 'call', 'sync', 7)",), ("INSERT INTO loss VALUES (1, 'stack', '', 7)",),
                        ("INSERT INTO older VALUES (0, 1, 1, 1, 1, 1, 1, 1)",)):
            self.make(*changes)
            path = self.known("lock ?=1s", "lazy-load train.py step=1s", "free old.py load=1s")
            self.assertNotIn("gone", self.check("--accept", path, "--update", status=None).err)
            self.assertEqual(len(self.lines()), 3)

    def test_what_is_below_the_threshold_of_the_trace_is_not_gone(self):
        """A line allows twice what its stall lost."""
        gone = ["free old.py load=1s", "free old.py save=99ms"]
        for threshold_ns, kept, said in (
                (49_000_000, 0, ""), (500_000_000, 1, "1 known stall is not in this trace, which has only stalls of at least 500 ms"),
                (500_000_001, 2, "2 known stalls are not in this trace")):
            self.make(f"INSERT OR REPLACE INTO meta VALUES ('stall_threshold_ns', {threshold_ns})")
            told = " ".join(self.check("--accept", self.known(*gone, "lock ?=1s", "lazy-load train.py step=1s"), "--update").err.split())
            self.assertIn(said, told)
            self.assertEqual((len(self.lines()), told.count("this stall is gone"), "GPUVERIFY_STALL_US" in told),
                             (2 + kept, 2 - kept, bool(kept)))

    def test_a_trace_whose_stalls_make_no_file(self):
        self.make("UPDATE stall SET wait_ns = 9000000000000000000, jit_ns = 9000000000000000000")
        self.assertRegex(self.check("--accept", self.path("known.stalls"), "--update", status=3).err,
                         r"cannot write \S*known.stalls: line 1: '.*=\d{14}ms' is not a line of the program and a time")
        self.assertFalse(os.path.exists(self.path("known.stalls")))

    def test_words_that_are_wrong(self):
        self.make()
        for line, said in (("fre x.py=1s", "line 1: unknown cause 'fre'"),
                           ("free x.py=1", "'x.py=1' is not a line of the program and a time"),
                           ("lock ?=1s\0", "line 1: not text"), ("free =1s", "is not a line")):
            self.assertIn(said, self.check("--accept", self.known(line), status=2).err)
        self.assertIn("--update needs --accept", self.check("--update", "--max-errors", "0", status=2).err)
        self.assertIn("No such file", self.check("--accept", self.path("none"), status=3).err)

    def test_a_hostile_name_cannot_write_lines(self):
        self.make("UPDATE frame SET function = char(10) || 'lock ?=9s' WHERE depth = 1")
        self.check("--accept", self.path("known.stalls"), "--update", status=1)
        self.assertEqual(self.lines(), ["lock ?=1627ms"])
