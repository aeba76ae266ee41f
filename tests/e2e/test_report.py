"""gpuverify report: its sections, its formats, and parts of a run."""

import csv
import io
import json
import os
import pty
import re
import sqlite3
import subprocess

import harness
import stored


class Report(harness.Case):
    def setUp(self):
        super().setUp()
        stored.make("add", self.path("add.db"))

    def report(self, *words, status=0, **options):
        return self.command("report", "add.db", *words, status=status, sim=False, **options)

    def sections(self):
        result = self.report("--section", "nonsense", status=2)
        names = re.search(r"choose from:(.*)", result.err)[1].split()
        return [name for name in names if name != "verdict"]  # an older name of findings

    def test_every_section_is_in_the_help(self):
        told = " ".join(self.command("report", "--help", sim=False).out.split())
        for name in self.sections():
            self.assertRegex(told, rf"\b{name}\b")

    def test_every_section_in_every_format(self):
        names = self.sections()
        database = sqlite3.connect(self.path("add.db"))
        database.executescript("INSERT INTO api (id, name, class) VALUES (90, 'cuStreamBeginCapture_v2', 'stream');"
                               "INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream) VALUES"
                               " (90, 1, 90, 1930000000, 900, 0, 1), (91, 1, 7, 1931000000, 900, 900, NULL);"
                               "INSERT INTO range_text VALUES (1, 1, 1, 'a range');"
                               "INSERT INTO range (thread, kind, text, start_ns, duration_ns, depth)"
                               " VALUES (1, 1, 1, 1500000000, 90000000, 0);"
                               "INSERT INTO thread VALUES (3, 1, 3, 4244, 'loop', 0);"
                               "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 7)"
                               " INSERT INTO call (id, thread, api, start_ns, duration_ns, result)"
                               " SELECT 200 + i, 3, 4, 1510000000 + i * 30000000, 900, 0 FROM n;"
                               "INSERT INTO range (thread, kind, text, start_ns, duration_ns)"
                               " SELECT 3, 2, 1, start_ns - 10, 20 FROM call WHERE thread = 3;"
                               "UPDATE gpu_op SET graph_node = id WHERE kind = 1;"
                               "INSERT INTO older_name VALUES (1, 'calls'), (2, 'data');"
                               "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)"
                               " INSERT INTO older SELECT i, 1, w, w / 2 + 1, 1,"
                               " CASE w WHEN 1 THEN 60 ELSE 1 + i / 10 * 9 END * 1000000000, NULL, NULL"
                               " FROM n, (SELECT 1 AS w UNION SELECT 3);"
                               "INSERT INTO process (id, identity, pid, parent_pid, start_ticks, program, forked, start_ns, end_ns)"
                               " VALUES (9, 9, 4300, 1, 1, 'second', 0, 1500000000, 2500000000);"
                               "INSERT INTO process_rank VALUES (1, 0, 0, 2, 'job', 'vm', NULL), (9, 1, 1, 2, 'job', 'vm', NULL);"
                               "INSERT INTO api (id, name, class, kind) VALUES (91, 'ncclAllReduce', 'collective', 'collective');"
                               "INSERT INTO thread VALUES (9, 9, 1, 4300, 'second', 0);"
                               "INSERT INTO call (id, thread, api, start_ns, duration_ns, result) VALUES"
                               " (300, 1, 91, 1600000000, 900, 0), (301, 9, 91, 1610000000, 900, 0);"
                               "INSERT INTO collective VALUES (1, 300, 'all-reduce', 7, 0, 0, 2, 4, 'float32', 16, NULL, NULL),"
                               " (2, 301, 'all-reduce', 7, 0, 1, 2, 4, 'float32', 16, NULL, NULL);")
        database.close()
        for name in names:
            if name == "findings":
                continue
            rows = json.loads(self.report("-f", "json", "-s", name, "--top", "0").out)["sections"][name]
            self.assertTrue(rows, f"the stored trace has nothing for {name}")
            table = list(csv.DictReader(io.StringIO(
                self.report("-s", name, "--format", "csv", "--top", "0").out)))
            self.assertEqual(len(table), len(rows), name)
            self.assertEqual(list(table[0]), list(rows[0]), name)
            self.assertGreaterEqual(
                len(self.report("-s", name, "--format", "markdown").out.splitlines()), 5)
            self.assertTrue(self.report("-s", name).out.strip(), name)

    def test_document_of_the_whole_report_leaves_thousands_of_rows_to_those_who_ask(self):
        out = self.report("--format", "json").out
        self.assertEqual(set(json.loads(out)["sections"]), set(self.sections()) - {"findings", "timeline", "samples"})
        self.assertLess(len(out.splitlines()), 2000)

    def test_pictures_and_the_summary_are_fenced_in_markdown(self):
        out = self.report("--format", "markdown").out
        self.assertLess(len(out.splitlines()), 280)
        parts = out.split("```\n")
        self.assertEqual(len(parts) % 2, 1)
        fenced = "".join(parts[1::2])
        for words in ("gpuverify: add.py", "Over time, from", "GPU 0 busy", "Samples of the device"):
            self.assertIn(words, fenced)
        self.assertNotIn("| lane", out)
        self.assertIn("| kernel |", "".join(parts[0::2]))

    def test_sections_stand_alone_in_the_order_of_the_report(self):
        out = self.report("-s", "calls", "-s", "kernels").out
        self.assertNotIn("The GPU", out)
        self.assertLess(out.index("Kernels,"), out.index("Calls,"))

    def test_section_without_rows(self):
        self.assertIn("none", self.report("-s", "losses", "--process", "4242", "--from", "1.9s",
                                          "-s", "errors").out)

    def test_section_of_a_gpu_that_was_not_seen(self):
        trace = sqlite3.connect(self.path("add.db"))
        trace.execute("UPDATE process SET gpu = 'host-only'")
        trace.execute("DELETE FROM gpu_op")
        trace.commit()
        trace.close()
        for name in "kernels", "copies", "latency", "gaps":
            self.assertIn("unknown: GPU activity was not recorded completely", self.report("-s", name).out)

    def test_compiling_that_was_not_seen_is_not_0(self):
        """CUPTI had not returned it when the process was killed."""
        def compiling(*changes):
            trace = sqlite3.connect(self.path("add.db"))
            with trace:
                for change in ("UPDATE process SET gpu = 'cupti'", *changes):
                    trace.execute(change)
            trace.close()
            return [row["compiling_ns"] for row in
                    json.loads(self.report("-s", "loads", "-f", "json").out)["sections"]["loads"]]
        self.assertEqual(compiling(), [1060000000, 0])
        self.assertEqual(compiling("UPDATE process SET ended = 'killed'"), [1060000000, None])
        self.assertEqual(compiling("UPDATE process SET ended = NULL"), [1060000000, None])
        lost = "INSERT INTO loss VALUES (1, 'GPU operation', 'last flush', 1)"
        self.assertEqual(compiling("UPDATE process SET ended = 'exit'", lost), [1060000000, None])
        # Machine code is not compiled.
        self.assertEqual(compiling("UPDATE load SET kind = 'cubin'"), [1060000000, 0])

    def test_a_part_by_the_clock_is_that_part(self):
        """The trace began at 22:13:20."""
        part = self.report("-s", "calls", "--from", "1s", "--to", "1700ms").out
        self.assertNotEqual(part, self.report("-s", "calls").out)
        for start, end in (("22:13:21", "1700ms"), ("2023-11-14 22:13:21", "1.7s")):
            self.assertEqual(self.report("-s", "calls", "--from", start, "--to", end).out, part)
        part = self.report("-s", "calls", "--to", "1s").out
        for words in (("--to", "22:13:21"), ("--from", "2023-11-14", "--to", "2023-11-14T22:13:21")):
            self.assertEqual(self.report("-s", "calls", *words).out, part)
        # The next day's: all the rest.
        self.assertEqual(self.report("-s", "calls", "--from", "1s", "--to", "22:00").out,
                         self.report("-s", "calls", "--from", "1s").out)

    def test_a_time_that_the_clock_shows_twice(self):
        """Summer time ends two seconds after the start: 23:13:21 is in the trace, and there again an hour later."""
        part = self.report("-s", "calls", "--from", "1s", "--to", "1700ms").out
        for start in "23:13:21", "2023-11-14 23:13:21":
            self.assertEqual(self.report("-s", "calls", "--from", start, "--to", "1700ms",
                                         env={"TZ": "STD0DST-1,J1/0,J318/23:13:22"}).out, part)

    def test_parts_that_are_not_there(self):
        for words, status, said in ((("--from", "500ms", "--to", "100ms"), 2, "--from is not before --to"),
                                    (("--from", "500ms", "--to", "500ms"), 2, "--from is not before --to"),
                                    (("--from", "03:00"), 3, "03:00 is not in this trace, which goes from 2023-11-14 22:13:20 to "),
                                    (("--from", "2023-11-15"), 3, "2023-11-15 is not in this trace"),
                                    (("--to", "2023-11-14"), 3, "2023-11-14 is not in this trace"),
                                    (("--from", "22:13:21", "--to", "1s"), 2, "--from is not before --to"),
                                    (("--device", "7"), 3, "this trace has no device 7; it has: 0, 1\n"),
                                    (("--process", "1"), 3, "this trace has no process 1"),
                                    (("--thread", "1"), 3, "this trace has no thread 1")):
            with self.subTest(words):
                self.assertIn(said, self.report(*words, status=status).err)

    def test_failed_call_is_told_with_when_where_and_how_much(self):
        script = self.write("big.py", "import ctypes\ncuda = ctypes.CDLL('libcuda.so.1')\n"
                                      "context, address = ctypes.c_void_p(), ctypes.c_uint64()\n"
                                      "cuda.cuInit(0)\ncuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)\n"
                                      "cuda.cuCtxSetCurrent(context)\n"
                                      "print(cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 << 50)))\n")
        for setting, where in (("all", "big.py:7"), ("stalls", "big.py:7"), ("off", None)):
            result = self.run_well(["python3", script], env={"GPUVERIFY_STACKS": setting})
            self.assertEqual(result.out, "2\n")
            self.settle()
            words = ("report", "trace.db", "--section", "errors")
            row = json.loads(self.command(*words, "--format", "json").out)["sections"]["errors"][0]
            self.assertEqual((row["call"], row["size_bytes"]), ("cuMemAlloc_v2", 1 << 50))
            self.assertGreater(row["first_ns"], 0)
            self.assertIn(where or "None", str(row["where"]))
            note = "GPUVERIFY_STACKS=off"
            self.assertEqual(note in self.command(*words).out, where is None)
        self.assertIn("cuMemAlloc_v2 (gpuverify report --section errors)",
                      self.command("report", "trace.db").out)

    def test_known_errors_are_told_with_what_to_do(self):
        load = harness.workload("load_while_busy")
        for fail, said in (("cuModuleLoadData:1=209", "NO_BINARY_FOR_GPU (209): what was loaded has no code for this GPU"),
                           ("cuModuleGetFunction:1=500", "NOT_FOUND (500): nothing has the name that was asked for"),
                           ("cuStreamCreate:1=999", "UNKNOWN (999): the driver does not say why. Fix: check the kernel's"),
                           ("cuModuleLoadData:2=700", "ADDRESS (700): a kernel accessed invalid memory")):
            with self.subTest(fail):
                trace = self.path(fail + ".db")
                self.assertNotEqual(self.run_program([load, "1"], env={"GV_SIM_FAIL": fail, "GPUVERIFY_TRACE": trace}).status, 0)
                self.settle()
                told, errors = (" ".join(self.command("report", trace, "-s", section).out.split())
                                for section in ("findings", "errors"))
                self.assertIn(said, told)
                self.assertIn(said, errors)
                if "209" in fail:
                    self.assertIn("fix: fix what failed: ", told)
                if "700" in fail:
                    self.assertLess(told.index(said), told.index(" fix: "))

    def test_a_lost_capture_names_the_call_and_the_lines(self):
        cupti = os.path.join(harness.simulator(), "libcupti.so.13")
        place = r"\(capture_lost\.c:\d+ \w+\)"
        begun = f" failed in it \\(900\\)\\. It began with cuStreamBeginCapture_v2 {place}"
        ended = f", and cuStreamEndCapture {place} returned 901"
        allocated = f"A graph capture was lost: cuMemAlloc_v2 {place}{begun}"
        for words, said in (("global allocate", allocated + ended + r"\. Fix: Make the call before the capture\. Or begin the capture "),
                            ("thread allocate", allocated + ended + r"\. Fix: Make the call before the capture\. Or begin the capture "),
                            ("global allocate other", allocated + ended + r"\. Fix: Begin the capture in the mode \w+ThreadLocal "),
                            ("global allocate exit", allocated + r"\. Fix: Make the call before the capture\. "),
                            ("relaxed wait", f"cuCtxSynchronize {place}{begun}{ended}. Fix: Wait for the GPU, and ask about it, "),
                            # as drivers before 580
                            ("global load", f"cuModuleLoadData {place}{begun}{ended}. Fix: Load before the capture: "),
                            ("relaxed allocate", None), ("thread allocate other", None), ("global none", None)):
            for gpu in ("auto", "off"):
                with self.subTest(words, gpu=gpu):
                    trace = self.path("lost.db")
                    fail = "cuModuleLoadData:2=900,cuStreamEndCapture:1=901" if "load" in words else ""
                    result = self.run_program([harness.gpuverify(), "run", "-o", trace, "--", harness.workload("capture_lost"),
                                               *words.split()], preload=False,
                                              env={"GPUVERIFY_CUPTI": cupti, "GPUVERIFY_GPU": gpu, "GV_SIM_FAIL": fail})
                    told = " ".join(result.err.split())
                    rows = json.loads(self.command("report", trace, "-s", "captures", "-f", "json").out)["sections"]["captures"]
                    if said is None:
                        self.assertNotIn("capture was lost", told)
                        self.assertEqual(rows, [])
                        continue
                    self.assertRegex(told, said)
                    self.assertEqual(told.count("(900)"), 1, told)
                    for command in (["report", trace, "-s", "findings"], ["explain", trace]):
                        self.assertRegex(" ".join(self.command(*command).out.split()), said)
                    self.assertEqual([(row["result"], row["begun_by"]) for row in rows], [(900, "cuStreamBeginCapture_v2")])
                    self.assertIn("cuStreamBeginCapture_v2", self.command("query", trace, "lost-captures").out)

    def test_cuda_after_a_fork(self):
        script = self.write("forks.py", """
import ctypes, os
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
children = [os.fork() or os._exit(cuda.cuCtxSynchronize()) for _ in range(2)]
print(*children, *[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
""")
        first, second, *codes = self.run_well(["python3", script]).out.split()
        self.assertEqual(codes, ["3", "3"])
        self.settle()
        told = " ".join(self.command("report", "trace.db", "-s", "findings").out.split())
        self.assertIn("CUDA was started before the fork and cannot be used in the child. Fix: start children with spawn or "
                      "forkserver", told)
        errors = json.loads(self.command("report", "trace.db", "-s", "errors", "--format", "json").out)["sections"]["errors"]
        self.assertEqual([set(row["process"].split(", ")) for row in errors], [{first, second}])

    def test_cuda_only_in_the_child_of_a_fork(self):
        """Its first call comes too early in its own process: the parent starts CUDA later."""
        script = self.write("forks.py", """
import ctypes, os
cuda = ctypes.CDLL("libcuda.so.1")
children = [os.fork() or os._exit(cuda.cuCtxSynchronize()) for _ in range(2)]
print(*[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children], cuda.cuInit(0))
""")
        self.assertEqual(self.run_well(["python3", script]).out.split(), ["3", "3", "0"])
        self.settle()
        told = " ".join(self.command("report", "trace.db", "-s", "findings").out.split())
        self.assertIn("(3), 2 times: ", told)
        self.assertNotIn("before the fork", told)

    def test_memory_goes_with_its_context(self):
        """Three megabytes at a time, six times: in contexts of its own, and in the runtime's."""
        script = self.write("again.py", """
import ctypes
cuda, runtime = ctypes.CDLL('libcuda.so.1'), ctypes.CDLL('libcudart.so.13')
context, address = ctypes.c_void_p(), ctypes.c_void_p()
size = ctypes.c_size_t(3 << 20)
cuda.cuInit(0)
for _ in range(3):
    assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), size) == 0
    assert cuda.cuCtxDestroy_v2(context) == 0
for _ in range(3):
    assert runtime.cudaMalloc(ctypes.byref(address), size) == 0
    assert runtime.cudaDeviceReset() == 0
assert runtime.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(1 << 20)) == 0
""")
        self.run_well(["python3", script])
        self.settle()
        sections = json.loads(self.command("report", "trace.db", "-f", "json").out)["sections"]
        memory = sections["memory"][0]
        self.assertEqual((memory["peak_bytes"], memory["never_freed_bytes"]), (3 << 20, 1 << 20))
        self.assertEqual([(row["call"], row["times"]) for row in sections["leaks"]], [("cudaMalloc", 1)])

    def test_memory_goes_with_the_primary_context_that_ended(self):
        """Of two devices: each is reset while the other is current, or given up by all that used it."""
        script = self.write("ends.py", """
import ctypes, sys
cuda = ctypes.CDLL('libcuda.so.1')
cuda.cuInit(0)
contexts, address = [ctypes.c_void_p(), ctypes.c_void_p()], ctypes.c_void_p()
for device, context in enumerate(contexts):
    for _ in range(2):
        assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 + device << 20)) == 0
end = cuda.cuDevicePrimaryCtxReset_v2 if 'reset' in sys.argv else cuda.cuDevicePrimaryCtxRelease_v2
for device in map(int, sys.argv[2:]):
    assert end(device) == 0
""")
        for words, left in (("reset", 3), ("reset 0", 2), ("reset 1", 1), ("reset 0 1", 0), ("release 0 1", 3),
                            ("release 0 1 0", 2), ("release 1 1", 1), ("release 0 1 1 0", 0)):
            with self.subTest(words):
                path = self.path(words.replace(" ", "_") + ".db")
                self.run_well(["python3", script, *words.split()],
                              env={"GV_SIM_DEVICES": "2", "GPUVERIFY_TRACE": path})
                self.settle()
                memory = json.loads(self.command("report", path, "-f", "json").out)["sections"]["memory"][0]
                self.assertEqual((memory["peak_bytes"], memory["never_freed_bytes"]), (2 << 20, left << 20))

    def test_memory_goes_with_the_runtimes_device(self):
        script = self.write("both.py", """
import ctypes
runtime, address = ctypes.CDLL('libcudart.so.13'), ctypes.c_void_p()
for device in range(2):
    assert runtime.cudaSetDevice(device) == 0
    assert runtime.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(1 + device << 20)) == 0
for device in range(2):
    assert runtime.cudaSetDevice(device) == 0
    assert runtime.cudaDeviceReset() == 0
""")
        self.run_well(["python3", script], env={"GV_SIM_DEVICES": "2"})
        self.settle()
        memory = json.loads(self.command("report", "trace.db", "-f", "json").out)["sections"]["memory"][0]
        self.assertEqual((memory["peak_bytes"], memory["never_freed_bytes"]), (2 << 20, 0))

    def test_csv_of_several_sections(self):
        """Reads it as docs/json.md shows."""
        def tables(text):
            parts = [part.removeprefix("# ").split("\n", 1) for part in text.split("\n\n# ")]
            return {name: list(csv.DictReader(io.StringIO(table))) for name, table in parts}
        shown = tables(self.report("--format", "csv").out)
        document = json.loads(self.report("--format", "json").out)
        self.assertEqual([row["key"] for row in shown.pop("findings")], [finding["key"] for finding in document["findings"]])
        self.assertEqual(list(shown), list(document["sections"]))
        for name, rows in document["sections"].items():
            self.assertEqual(len(shown[name]), len(rows), name)
        for row, same in zip(shown["kernels"], document["sections"]["kernels"]):
            self.assertEqual((row["kernel"], int(row["total_ns"])), (same["kernel"], same["total_ns"]))
        picked = self.report("--format", "csv", "-s", "copies", "-s", "kernels").out
        self.assertEqual(list(tables(picked)), ["kernels", "copies"])
        # One section is a table alone; its lines end as those of any text.
        alone = self.report("--format", "csv", "-s", "findings").out
        self.assertEqual(alone.splitlines()[0].split(","), list(document["findings"][0]))
        # The older name of the section.
        self.assertEqual(self.report("--format", "csv", "-s", "verdict").out, alone)
        self.assertNotIn("\r", picked + alone)

    def test_top(self):
        rows = json.loads(self.report("-f", "json", "-n", "2").out)["sections"]["calls"]
        self.assertEqual([row["call"] for row in rows],
                         ["cuLibraryLoadData", "cuDevicePrimaryCtxRetain"])

    def part(self, *words):
        return json.loads(self.report("--format", "json", "--top", "0", *words).out)

    def test_parts_add_up(self):
        whole = self.part()["numbers"]
        parts = [self.part("--process", pid)["numbers"] for pid in ("4242", "4243")]
        for key in ("calls", "launches", "loads", "stalls", "in_flight", "lost_records",
                    "kernels_run"):
            values = [part[key] or 0 for part in parts]
            self.assertEqual(sum(values), whole[key] if whole[key] is not None else sum(values), key)
        before, after = self.part("--to", "1.6s"), self.part("--from", "1.6s")
        self.assertEqual(before["numbers"]["calls"] + after["numbers"]["calls"], whole["calls"])

    def test_device(self):
        one = self.part("--device", "1")
        self.assertEqual([row["kernel"] for row in one["sections"]["kernels"]], ["scale"])
        self.assertEqual(one["sections"]["copies"], [])

    def test_thread(self):
        self.assertEqual(self.part("--thread", "4243")["numbers"]["calls"], 1)
        self.assertIn("this trace has no thread 1", self.report("--thread", "1", status=3).err)
        self.assertIn("this trace has no process 1", self.report("--process", "1", status=3).err)

    def test_terminal(self):
        """Colours and the terminal's width on a terminal, and NO_COLOR."""
        def shown(**env):
            reader, writer = pty.openpty()
            try:
                subprocess.run(["stty", "cols", "70"], stdin=writer, check=True)
                subprocess.run([harness.gpuverify(), "report", self.path("add.db")], stdout=writer,
                               stderr=subprocess.DEVNULL, check=True, stdin=subprocess.DEVNULL,
                               env={**self.environment(False), "TERM": "xterm", **env})
                os.set_blocking(reader, False)
                text = b""
                while True:
                    try:
                        text += os.read(reader, 65536)
                    except BlockingIOError:
                        return text.decode()
            finally:
                os.close(reader)
                os.close(writer)
        coloured, plain = shown(), shown(NO_COLOR="1")
        for code in ("\x1b[1m", "\x1b[2m", "\x1b[31m"):  # heads; context; what costs time
            self.assertIn(code, coloured)
        self.assertNotIn("\x1b", plain)
        prose = plain[:plain.index("  Next:")].splitlines()
        self.assertLessEqual(max(len(line) for line in prose), 70)

    def test_letters_where_there_is_no_unicode(self):
        out = self.report("-s", "timeline", env={"LANG": "C"}).out
        self.assertTrue(out.isascii(), out)
        self.assertIn("#", out)

    def test_shares_of_waiting_are_of_all_threads(self):
        """Four threads that always wait are waiting 100 %, not 400 %."""
        stored.make("lazy_launch", self.path("waits.db"))
        database = sqlite3.connect(self.path("waits.db"))
        for number in range(3, 7):
            database.execute("INSERT INTO thread VALUES (?, 1, ?, ?, 'waits', 1)", (number, number, 5000 + number))
            database.execute("INSERT INTO call (id, thread, api, start_ns, duration_ns, result) VALUES"
                             " (?, ?, 3, 4200000000, 100000000000, 0)", (1000 + number, number))
        database.commit()
        database.close()
        rows = json.loads(self.command("report", self.path("waits.db"), "-s", "sync", "-f", "json", sim=False).out)
        share = rows["sections"]["sync"][0]["of_the_run"]
        self.assertGreater(share, 0.99)
        self.assertLessEqual(share, 1)

    def test_a_run_that_another_profiler_saw_has_a_ledger_of_its_calls(self):
        path = self.path("trace.db")
        stored.make_anew("other_profiler", path, "DELETE FROM gpu_op", "DELETE FROM gpu_place")
        self.assertEqual(self.command("query", path, "--format", "csv", "SELECT DISTINCT device FROM ledger").out.split(), ["device"])
        self.assertEqual(json.loads(self.command("query", path, "--format", "json", "SELECT sum(what = 'not-seen') AS unseen,"
                                                 " count(*) > 1 AS some FROM ledger").out), [{"unseen": 0, "some": 1}])

    def test_several_times_of_another_profiler_are_one_line(self):
        def notes(*changes):
            path = self.path("other.db")
            stored.make_anew("other_profiler", path, "DELETE FROM gpu_change WHERE at_ns > 2000000000", *changes)
            return json.loads(self.command("report", path, "-f", "json", sim=False).out)["notes"]
        self.assertEqual(notes(), ["From 2.00 s to 9.00 s torch.profiler had the GPU side: stalls of that time are inferred."])
        running = "UPDATE process SET end_ns = NULL, ended = 'killed'"
        self.assertIn("From 2.00 s on torch.profiler had the GPU side: stalls of that time are inferred.", notes(running))
        self.assertEqual(
            notes("INSERT INTO gpu_change VALUES (1, 3000000000, 'seen', NULL), (1, 6200000000, 'other', 'libmine.so'),"
                  " (1, 6300000000, 'seen', NULL), (1, 6500000000, 'other', 'torch.profiler'), (1, 7000000000, 'seen', NULL)"),
            ["In 2 times, 1.50 s in all, torch.profiler had the GPU side: stalls of these times are inferred.",
             "From 6.20 s to 6.30 s libmine.so had the GPU side: stalls of that time are inferred."])

    def test_stacks_without_native_frames_because_libunwind_was_missing(self):
        def notes(*changes):
            path = self.path("python.db")
            stored.make_anew("add", path, *changes)
            return json.loads(self.command("report", path, "-f", "json", sim=False).out)["notes"]
        note = "Stacks have no native frames: gpuverify was built without libunwind."
        frames, built_without = "UPDATE frame SET kind = '{}'", "INSERT INTO meta VALUES ('native_frames', 'no libunwind')"
        self.assertIn(note, notes(frames.format("python"), built_without))
        self.assertNotIn(note, notes(frames.format("python")))
        self.assertNotIn(note, notes(frames.format("native"), built_without))
