"""Which line of the program holds the GPU's memory, and what happens when there is none left.

kernels/memory/memory.c prints what is true.
"""

import json
import os
import shutil
import subprocess
import unittest

import harness

MB = 1 << 20
SMALL = {"GV_SIM_MEMORY_MB": "1024"}


class Memory(harness.Case):
    gpu = "auto"

    def ran(self, way, status=0, **env):
        """Runs a way of the workload; returns its truth and its trace."""
        result = self.run_well([harness.workload("memory/memory"), way], status=status,
                               env={"GV_SIM_DEVICES": "2", **SMALL, **env})
        truth = {}
        for line in result.out.splitlines():
            name, value = line.split()
            truth[name] = int(value)
        return truth, self.trace()

    def facts(self, trace):
        facts = dict(trace.rows("SELECT key, value FROM fact WHERE key GLOB 'memory_*'"))
        return {"peak": facts["memory_peak_bytes"], "left": facts["memory_left_bytes"]}

    def lines(self, trace, what, space="device"):
        """{line: value} of memory_lines."""
        return dict(trace.rows(f"SELECT line, {what} FROM memory_lines WHERE space = ?", space))

    def said(self, *arguments, status=0):
        return " ".join(self.command(*arguments, status=status).out.split())

    def test_peak_and_leaks_of_each_kind(self):
        for way in ("peak", "leak", "growth", "churn", "vmm", "vmm_leak", "pool", "managed", "rows_and_arrays", "ipc", "devices"):
            with self.subTest(way):
                truth, trace = self.ran(way, GPUVERIFY_TRACE=self.path("trace.db"))
                self.assertEqual(self.facts(trace), {"peak": truth["peak"], "left": truth["left"]})
                trace.close()
                os.unlink(self.path("trace.db"))

    def test_the_peak_belongs_to_its_lines(self):
        truth, trace = self.ran("peak")
        self.assertEqual(trace.rows("SELECT device, file LIKE '%kernels/memory/memory.c', line, function, name, space, blocks,"
                                    " bytes, share * 1024 FROM memory_peak WHERE what = 'allocated'"),
                         [(0, 1, truth["first_line"], "peak", "cuMemAlloc_v2", "device", 2, 80 * MB, 80.0),
                          (0, 1, truth["second_line"], "peak", "cuMemAlloc_v2", "device", 1, 30 * MB, 30.0)])
        self.assertEqual(self.lines(trace, "peak_bytes"), {truth["early_line"]: 100 * MB, truth["first_line"]: 80 * MB,
                                                           truth["second_line"]: 30 * MB})
        self.assertEqual(self.lines(trace, "at_peak_bytes")[truth["early_line"]], 0)

    def test_each_device_has_its_peak(self):
        truth, trace = self.ran("devices")
        self.assertEqual(trace.rows("SELECT device, sum(bytes) FROM memory_peak WHERE what = 'allocated' GROUP BY device"),
                         [(0, truth["peak_of_other"]), (1, truth["peak"])])

    def test_what_was_never_freed(self):
        truth, trace = self.ran("leak")
        left = self.lines(trace, "left_bytes")
        self.assertEqual(left.pop(truth["line"]), truth["left"])
        self.assertEqual(set(left.values()), {0})

    def test_memory_that_grows_is_a_fact(self):
        truth, trace = self.ran("growth", GV_SIM_LOAD_NS="0")
        said = f"memory.c:{truth['line']} growth allocates throughout the run; 40.0 MiB from 20 calls was never freed"
        self.assertEqual(trace.rows("SELECT name, detail FROM facts"), [("memory grows", said)])
        self.assertRegex(self.said("report", "trace.db", "-s", "findings"), "memory grows .* fix: free it, or keep fewer: gpu")
        for way in ("leak", "churn", "peak"):  # at the start only, or freed
            _, trace = self.ran(way, GPUVERIFY_TRACE=self.path(f"{way}.db"))
            self.settle()
            other = self.open_trace(self.path(f"{way}.db"))
            self.assertEqual(other.rows("SELECT name FROM facts WHERE name = 'memory grows'"), [], way)

    def test_what_is_allocated_again_and_again(self):
        truth, trace = self.ran("churn")
        self.assertEqual(self.lines(trace, "churn"), {truth["line"]: truth["times"], truth["once_line"]: 1})
        self.assertEqual(self.lines(trace, "allocations")[truth["line"]], truth["times"])
        self.assertEqual(self.lines(trace, "freed")[truth["line"]], truth["times"])
        life, time, duration = trace.rows(
            "SELECT max(life_ns), max(time_ns), (SELECT sum(duration_ns) FROM calls WHERE bytes = 4 << 20)"
            " FROM memory_lines WHERE line = ?", truth["line"])[0]
        self.assertGreater(life, 0)
        self.assertGreater(time, duration) # the frees too

    def test_physical_memory_has_a_line(self):
        truth, trace = self.ran("vmm_leak")
        self.assertEqual(self.lines(trace, "left_bytes"), {truth["line"]: truth["left"]})

    def test_allocations_without_a_line(self):
        truth, trace = self.ran("leak", GPUVERIFY_STACKS="off")
        self.assertEqual(trace.rows("SELECT file, line, name, bytes FROM memory_peak WHERE what = 'allocated'"),
                         [(None, None, "cuMemAlloc_v2", truth["peak"])])

    # ---- no memory left ----

    def test_out_of_memory_is_the_first_fact(self):
        truth, _ = self.ran("full", status=1)
        first = json.loads(self.command("report", "trace.db", "-s", "findings", "-f", "json").out)["facts"][0]
        self.assertEqual(first["name"], "out of memory")
        self.assertEqual(first["detail"],
                         f"cuMemAlloc_v2 of 768 MiB failed at memory.c:{truth['refused_line']} fill. At the peak,"
                         f" memory.c:{truth['held_line']} fill held 768 MiB of the device's 1.00 GiB")
        self.assertIn("query trace.db memory-peak", self.said("report", "trace.db", "-s", "findings"))

    def test_program_that_goes_on_is_not_out_of_memory(self):
        for way, words in (("full_again", "and succeeded later"), ("full_less", "and the program went on without it")):
            with self.subTest(way):
                path = self.path(way + ".db")
                self.run_well([harness.workload("memory/memory"), way], env={**SMALL, "GPUVERIFY_TRACE": path})
                self.settle()
                facts = json.loads(self.command("report", path, "-s", "findings", "-f", "json").out)["facts"]
                self.assertEqual([words in fact["detail"] for fact in facts if fact["name"] == "memory full"], [True])
                self.assertNotIn("out of memory", [fact["name"] for fact in facts])

    def test_device_that_is_nearly_full_is_a_fact(self):
        for size_mb, found in ((113, ["97 % of the device's 113 MiB was in use. At the peak,"]), (140, [])):
            with self.subTest(size_mb):
                path = self.path(f"{size_mb}.db")
                self.run_well([harness.workload("memory/memory"), "peak"],
                              env={"GV_SIM_MEMORY_MB": str(size_mb), "GPUVERIFY_TRACE": path})
                self.settle()
                facts = json.loads(self.command("report", path, "-s", "findings", "-f", "json").out)["facts"]
                full = [fact["detail"] for fact in facts if fact["name"] == "memory full"]
                self.assertEqual([text[:len(words)] for text, words in zip(full, found, strict=True)], found)

    # ---- commands ----

    def test_report(self):
        truth, _ = self.ran("peak")
        sections = json.loads(self.command("report", "trace.db", "-f", "json").out)["sections"]
        self.assertEqual([(row["line"], row["blocks"], row["size_bytes"]) for row in sections["memory_peak"]],
                         [(f"memory.c:{truth['first_line']} peak", 2, 80 * MB),
                          (f"memory.c:{truth['second_line']} peak", 1, 30 * MB)])
        self.assertEqual({row["line"]: (row["times"], row["allocated_bytes"]) for row in sections["memory_lines"]},
                         {f"memory.c:{truth['early_line']} peak": (1, 100 * MB),
                          f"memory.c:{truth['first_line']} peak": (2, 80 * MB),
                          f"memory.c:{truth['second_line']} peak": (1, 30 * MB)})
        part = self.said("report", "trace.db", "--to", "1ns", "-s", "memory_peak")
        self.assertIn("none", part)

    def test_check(self):
        truth, _ = self.ran("peak")
        self.command("check", "trace.db", "--max-peak-memory", "110MiB")
        self.assertIn(f"110 MiB were allocated at once, 80.0 MiB of it by memory.c:{truth['first_line']} peak",
                      self.said("check", "trace.db", "--max-peak-memory", "109.9MiB", status=1))
        # Another process allocated at the second line too.
        subprocess.run(["sqlite3", self.path("trace.db"), "INSERT INTO memory_holder SELECT line, 2, device, 79 << 20, 1"
                        " FROM memory_holder WHERE blocks = 1"], check=True)
        self.assertIn(f"109 MiB of it by memory.c:{truth['second_line']} peak",
                      self.said("check", "trace.db", "--max-peak-memory", "1MB", status=1))
        self.assertIn("such as 500MB", " ".join(self.command("check", "trace.db", "--max-peak-memory", "1XB", status=2).err.split()))

    def test_check_where_calls_are_missing(self):
        """A lost call may have allocated: the rule can only be broken."""
        self.ran("peak")
        copy = self.path("lost.db")
        shutil.copy(self.path("trace.db"), copy)
        subprocess.run(["sqlite3", copy, "INSERT INTO loss VALUES (1, 'call', 'alloc', 3)"], check=True)
        self.command("check", copy, "--max-peak-memory", "1GB", status=3)
        self.command("check", copy, "--max-peak-memory", "1MB", status=1)

    def test_diff_by_line(self):
        truth, _ = self.ran("peak")
        os.rename(self.path("trace.db"), self.path("before.db"))
        self.ran("leak")
        said = self.said("diff", "before.db", "trace.db", "--all")
        self.assertIn(f"device memory.c:{truth['first_line']} 80.0 MiB 0 B -80.0 MiB gone", said)


@harness.depends_on_time("there is a sample every 100 ms")
class Outside(harness.Case):
    """What the calls do not show, from samples of the device: the simulated NVML says that 1 GiB is used."""

    gpu = "auto"

    def held(self, seconds, **env):
        script = self.write("held.py", """
import ctypes, sys, time
cuda, address = ctypes.CDLL("libcuda.so.1"), ctypes.c_uint64()
context = ctypes.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(24 << 20)) == 0
time.sleep(float(sys.argv[1]))
assert cuda.cuMemFree_v2(address) == 0
time.sleep(2 * float(sys.argv[1]))
""")
        folders = [harness.simulator(), os.path.join(harness.simulator(), "nvml")]
        path = self.path(f"{seconds}.db")
        self.run_well(["python3", script, str(seconds)],
                      env={"LD_LIBRARY_PATH": ":".join(folders), "GPUVERIFY_TRACE": path, **env})
        return dict(self.trace(path).rows("SELECT what, bytes FROM memory_peak"))

    def expect(self, outside, others, **env):
        """The simulated device uses as much before the allocation, so the next sample may show either. On a busy machine, samples
        may come too late."""
        wanted = [{"allocated": 24 * MB, "outside": outside + more, **others} for more in (0, 24 * MB)]
        if self.held(0.5, **env) not in wanted:
            self.assertIn(self.held(4, **env), wanted)

    def test_what_is_used_besides(self):
        self.expect(1000 * MB, {})

    def test_other_processes_have_their_part(self):
        machine = self.path("machine")
        os.mkdir(machine)
        with subprocess.Popen(["sleep", "60"]) as process:
            listed = os.path.join(machine, str(process.pid))
            with open(listed, "w", encoding="utf-8"):
                pass
            try:
                self.expect(900 * MB, {"other processes": 100 * MB}, GV_SIM_MACHINE=machine)
            finally:
                os.unlink(listed)
                process.kill()


if __name__ == "__main__":
    unittest.main()
