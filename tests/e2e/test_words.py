"""Messages for mistyped words, long names, and different spellings of a path."""

import os
import re
import subprocess

import harness
import stored

# The function of a call in the trace, with its template arguments.
LONG = "void app::" + "f<" * 40 + "int" + ">" * 40 + "(int)"


class Words(harness.Case):

    def refused(self, *words):
        return self.command(*words, status=2, sim=False).err.splitlines()[0]

    def make(self, name="lazy_launch", *changes):
        stored.make_anew(name, self.path("trace.db"), *changes)

    def test_the_nearest_word_is_named_wherever_there_is_a_list(self):
        self.make()
        for wanted, *words in (
                ("kernels", "report", "trace.db", "-s", "kernel"), ("kernels", "diff", "a", "b", "-s", "kernles"),
                ("lazy-load", "stalls", "trace.db", "-c", "lazy_load"), ("json", "stalls", "trace.db", "-f", "jsn"),
                ("bash", "help", "--completion", "bahs"), ("markdown", "check", "trace.db", "-f", "markdwon"),
                ("sync-copy", "check", "trace.db", "--no-stall", "sync-copi"), ("stalls", "schema", "stall_"),
                ("slow-calls", "query", "trace.db", "slow-call"), ("stalls", "stals"), ("top", "report", "--topp", "1")):
            with self.subTest(words):
                self.assertRegex(self.refused(*words), f"did you mean '(--)?{wanted}'")
        # What is near to nothing suggests nothing.
        for words in (("report", "trace.db", "-s", "xy"), ("stalls", "trace.db", "-c", "x"), ("schema", "zzzzzz")):
            self.assertNotIn("did you mean", self.refused(*words))

    def test_a_name_of_an_earlier_version_gets_what_replaces_it(self):
        self.make()
        for wanted, *words in (("'gpuverify explain f1'", "report", "trace.db", "--explain-verdict"),
                               ("'sampled'", "run", "--gpu", "windows", "true"), ("'perfetto'", "export", "trace.db", "--to=chrome"),
                               ("'folded'", "export", "trace.db", "--to", "speedscope"), ("'findings'", "diff", "a", "b", "-s", "verdict"),
                               ("'ledger' and 'ledger_lines'", "diff", "a", "b", "-s", "idle")):
            with self.subTest(words):
                self.assertIn(wanted, self.refused(*words).rpartition("; ")[2])

    def test_bash_completes_values_of_options(self):
        script = self.path("complete.sh")
        with open(script, "w", encoding="utf-8") as file:
            file.write(self.command("help", "--completion", "bash", sim=False).out
                       + 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gpuverify; echo "${COMPREPLY[@]}"\n')
        # bash takes "=" for a word of its own.
        for words, wanted in ((("--gpu", "s"), "sampled"), (("--gpu", "=", "s"), "sampled"), (("--gpu", "="), "auto on off sampled")):
            with self.subTest(words):
                done = subprocess.run(["bash", script, "gpuverify", "run", *words], capture_output=True, text=True, check=True)
                self.assertEqual(done.stdout.strip(), wanted)

    def test_options_that_would_be_ignored_are_refused(self):
        self.make()
        for words in (("help", "--man", "--completion", "bash"), ("help", "--man", "run"),
                      ("help", "--completion", "zsh", "run"), ("query", "--list", "--value"),
                      ("query", "trace.db", "SELECT 1", "--value", "--format", "json"),
                      ("check", "trace.db", "--no-jit", "--junit", "-", "--format", "json"),
                      ("probe", "--json", "-", "--format", "json")):
            with self.subTest(words):
                self.assertIn("cannot be used with", self.refused(*words))
        for words in (("help", "--man"), ("help", "--completion", "zsh"), ("query", "--list", "--format", "json"),
                      ("check", "trace.db", "--no-jit", "--junit", "-")):
            self.command(*words, sim=False)

    def test_tables_are_shown_to_those_who_ask_for_tables(self):
        told = self.refused("schema", "call")
        self.assertIn("'call' is an internal table, which may change", told)
        self.assertIn("did you mean the view 'calls'?", told)
        self.assertIn("(a table, which may change)", self.command("schema", "call", "--tables", sim=False).out)
        self.assertIn("calls: ", self.command("schema", "calls", sim=False).out)

    def test_a_list_that_not_all_are_in_is_added_up(self):
        self.make()
        for words, listed in ((("-m", "820ms"), "Listed: 1 call that lost 853 ms.\nAll stalls:\n2 calls"),
                              (("-n", "1"), "Listed: 1 call that lost 853 ms.\nAll stalls:\n2 calls"),
                              (("-c", "explicit-sync"), "Listed: 1 requested wait, 99.9 ms.\nAll stalls:\n2 calls"),
                              (("-a", "-m", "90ms", "-n", "2"), "Listed: 2 calls that lost 853 ms.\nAll stalls:\n2 calls"),
                              (("-m", "9s"), "No stall matches.\nAll stalls:\n2 calls")):
            with self.subTest(words):
                self.assertIn(listed, self.command("stalls", "trace.db", *words, sim=False).out)
        for words in ((), ("-a",), ("-m", "1ns")):
            self.assertNotIn("Listed", self.command("stalls", "trace.db", *words, sim=False).out)

    def test_a_path_has_one_spelling(self):
        os.mkdir(self.path("below"))
        self.make()
        os.rename(self.path("trace.db"), self.path("below", "trace.db"))
        for path in ("below/trace.db", "./below/trace.db", ".//below/trace.db", self.path("below", "trace.db")):
            with self.subTest(path):
                told = self.command("stalls", path, sim=False).out + self.command("report", path, sim=False).out
                for name in ("s1", "f1"):
                    self.assertEqual(told.count(f"Next: gpuverify explain below/trace.db {name}"), 1)
                self.assertIn("trace: below/trace.db", told)
                self.assertNotIn("./", told)
                self.assertNotIn(self.dir, told)
        # One that a relative path cannot name.
        os.rename(self.path("below"), self.path("-b"))
        self.assertIn("gpuverify explain ./-b/trace.db s1", self.command("stalls", "./-b/trace.db", sim=False).out)
        told = self.command("stalls", "../trace.db", sim=False, cwd=self.path("-b"), status=None)
        self.assertIn("../trace.db", told.err)

    def test_run_names_the_trace_as_the_other_commands_do(self):
        for given in ("below.db", "./below.db", self.path("below.db")):
            result = self.run_program([harness.gpuverify(), "run", "-o", given, "--", harness.program("ending"), "return"],
                                      preload=False)
            self.assertRegex(result.err, r"Next: gpuverify explain f\d   trace: below.db\n")

    def test_the_newest_trace_is_found(self):
        self.make()
        os.rename(self.path("trace.db"), self.path("-new.db"))
        self.make("add")
        os.utime(self.path("trace.db"), (0, 0))
        self.write("newer.db", "not a trace")
        shown = {}
        for words in (("report",), ("stalls",), ("explain",), ("explain", "s2"), ("explain", "2")):
            result = self.command(*words, sim=False)
            self.assertEqual(result.err, "gpuverify: reading ./-new.db, the newest trace here\n")
            shown[words] = result.out
            self.assertEqual(self.command(words[0], "./-new.db", *words[1:], sim=False).out, result.out)
        self.assertEqual(shown["explain", "s2"], shown["explain", "2"])
        self.assertIn("Next: gpuverify explain s1", shown["stalls",])
        # An older one has to be named, also in what is offered.
        self.assertIn("Next: gpuverify explain trace.db s1", self.command("stalls", "trace.db", sim=False).out)
        # A gate must not pick its trace.
        for words in (("check", "--no-jit"), ("diff",), ("query",)):
            self.assertIn("usage: gpuverify", self.command(*words, sim=False, status=2).err)
        os.mkdir(self.path("empty"))
        self.assertIn("this folder has no trace", self.command("stalls", sim=False, status=2, cwd=self.path("empty")).err)
        for word, status in (("s99", 3), ("s0", 3), ("x5", 3)):
            self.command("explain", word, sim=False, status=status)
        self.command("explain", "trace.db", "x5", sim=False, status=2)

    def test_offered_commands_are_called_as_gpuverify_was(self):
        self.make()
        folder = os.path.relpath(os.path.dirname(harness.gpuverify()), self.dir)
        told = self.run_program([os.path.join(folder, "gpuverify"), "stalls"], preload=False, sim=False).out
        self.assertIn(f"Next: {folder}/gpuverify explain s1\n", told)

    def test_labels_of_the_picture_are_whole_words(self):
        wide = "vectorized_elementwise_kernel_with_a_name_that_no_picture_has_room_for_since_it_goes_on_and_on_and_on"
        for name, shown in ((f"void at::{wide}<float>(int)", None), ("void at::gemm_kernel<at::Tensor, 128>(int)", "gemm_kernel"),
                            ("void at::native::elementwise_kernel<at::native::" + "Functor<float, " * 9 + "x" +
                             ">" * 9 + ">(int)", "elementwise_kernel")):
            self.make("busy_anyway", f"UPDATE gpu_name SET name = '{name}'")
            told = self.command("explain", "trace.db", "5", sim=False).out
            lane = next(line for line in told.splitlines() if line.startswith("  stream 7"))
            words = re.findall(r"[A-Za-z_<>.]{3,}", lane.split(None, 2)[2].strip("."))
            words = [word for word in words if re.search("[a-z]", word)]
            self.assertEqual([word.split("<")[0] for word in words], [shown] if shown else [], told)

    def test_long_functions_are_short_where_people_read(self):
        self.make("lazy_launch", f"UPDATE frame SET kind = 'native', function = '{LONG}'")
        told = self.command("stalls", "trace.db", sim=False).out
        self.assertRegex(told, r"train.py:31 app::f<f<f<.*<\.\.\.>>")
        self.assertLess(max(map(len, told.splitlines())), 200)


    def test_a_kernel_has_one_spelling(self):
        """In sentences, tables and pictures. Programs get the full name."""
        name = "_ZN6detail18elementwise_kernelIZ4mainEUlfiE0_Li4EEEvT_Pf"
        short = "elementwise_kernel<main::{lambda#2}, 4>"
        self.make("hang", f"UPDATE kernel SET name = '{name}'")
        told = "".join(self.command(*words, sim=False).out for words in (
            ("report", "trace.db"), ("report", "trace.db", "-f", "markdown"), ("explain", "trace.db")))
        self.assertIn(f" in cuLaunchKernel of {short} after", " ".join(told.split()))
        self.assertIn(f" cuLaunchKernel  {short} ", told)
        self.assertNotIn("_ZN6", told)
        self.assertNotIn("detail::", told)
        rows = self.command("report", "trace.db", "-f", "csv", "-s", "flights", sim=False).out
        self.assertIn("void detail::elementwise_kernel<main::{lambda(float, int)#2}, 4>(main::{lambda", rows)


class Failed(harness.Case):
    gpu = "auto"

    def test_headline_says_that_the_gpu_was_simulated(self):
        if not os.path.exists(harness.workload("saxpy_static")):
            self.skipTest("there is no nvcc")
        for env, words in (({}, "GPU busy"),
                           ({"GV_SIM_FAIL": "cuMemAlloc_v2:1=2"}, "simulated GPU"),
                           ({"GV_SIM_FAIL": "cuLaunchKernel:1=700"}, "the simulated GPU did not run your code")):
            with self.subTest(env):
                result = self.run_program([harness.gpuverify(), "run", "-o", "t.db", "--",
                                           harness.workload("saxpy_static")], preload=False, env=env)
                if "host-only" in result.err:
                    self.skipTest("no simulated libcupti was built")
                head, told = result.err[result.err.index("gpuverify: "):].split("\n", 1)
                self.assertIn("on a simulated GPU", head)
                self.assertIn(words, " ".join((told + head).split()))


class Shims(harness.Case):

    def test_doctor_follows_a_script_in_the_place_of_python(self):
        real = os.path.realpath(f"/proc/{os.getpid()}/exe")
        os.mkdir(self.path("shims"))
        self.write("shims/python3", f"#!/bin/sh\nexec {real} \"$@\"\n", 0o755)
        self.write("train", "#!/usr/bin/env python3\n", 0o755)
        self.write("train.py", "pass\n")
        places = {"PATH": self.path("shims") + ":/usr/bin:/bin"}
        for program in ("python3", self.path("shims", "python3"), "./train", "./train.py"):
            with self.subTest(program):
                out = " ".join(self.command("doctor", program, env=places, status=None).out.split())
                self.assertIn(f"shims/python3 is a shell script that starts {real}", out)
                self.assertIn(f"{real} is dynamic", out)
        # Starts nothing that is not needed.
        self.write("shims/python3", f"#!/bin/sh\ntouch {self.path('started')}\n", 0o755)
        self.command("doctor", "--no-trial", "python3", env=places, status=None)
        self.write("shims/other", f"#!/bin/sh\ntouch {self.path('started')}\n", 0o755)
        self.command("doctor", "other", env=places, status=None)
        self.assertFalse(os.path.exists(self.path("started")))
