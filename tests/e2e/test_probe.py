"""gpuverify probe: its table matches the simulator, and it reports what it cannot measure."""

import contextlib
import ctypes
import json
import os
import pty
import re
import sqlite3
import subprocess
import sys

import harness
import promises
import stored

sys.path.insert(0, os.path.join(harness.SOURCE, "tests"))
import probe_expectations as expected  # noqa: E402

KEPT = r"data/gpuverify/probe-[\w.-]+-GV-SIM-simulated-GPU-0\.json"


@harness.depends_on_time("the probe concludes from how long calls take")
class Probe(harness.Case):
    def probe(self, *options, env=None, **more):
        return self.run_program([harness.gpuverify(), "probe", *options], preload=False,
                                env={"XDG_DATA_HOME": self.path("data"), **(env or {})}, **more)

    def test_the_simulators_table(self):
        """Every answer, in both loading modes; a failed one is reported as such."""
        result = self.probe("--busy", "40ms", "--format", "markdown",
                            env={"GV_SIM_FAIL": "cuMemAllocManaged:1=801,cuMemGetInfo_v2:1=500",
                                 "GV_SIM_DRIVER_VERSION": "12040", "GV_SIM_PIN_NS_PER_MB": "500000"})
        self.assertEqual(result.status, 0, str(result))
        kept = re.search("saved in (" + re.escape(self.path("")) + KEPT + ")", result.err)
        self.assertTrue(kept, str(result))
        with open(kept.group(1), encoding="utf-8") as file:
            probe = json.load(file)
        self.assertEqual((probe["gpu"], probe["driver_version"]), ("GV_SIM simulated GPU 0", 12040))
        promises.check(self, "probe", [probe])
        # The runtime of CUDA 13 is found first, and does not work with this driver.
        self.assertEqual(probe["runtime_version"] // 1000, 12)
        for mode, waits in (("LAZY", expected.WAITS), ("EAGER", expected.EAGER_WAITS)):
            rows = [row for row in probe["calls"] if row["mode"] == mode]
            odd = {row["call"]: (row["status"], row["error"])
                   for row in rows if row["status"] != "measured"}
            self.assertEqual(odd, {"cuMemAllocManaged": ("failed", 801),
                                   "cuMemGetInfo": ("not here", None)})
            measured = [row for row in rows if row["status"] == "measured"]
            self.assertEqual(expected.waiting(probe, mode), waits)
            self.assertEqual(expected.waiting_behind(probe, mode), expected.BEHIND)
            self.assertEqual(expected.waiting_behind(probe, mode, expected.PINNING),
                             expected.BEHIND_PINNING)
            for row in measured:
                if row["waits"] and row["beside"] == "gpu":
                    self.assertGreater(row["busy_ns"], row["kernel_ns"] * 0.5, row)
                self.assertLessEqual(row["idle_ns"] * 2, row["kernel_ns"], row)
        self.assertRegex(result.out, r"\| `cuModuleUnload` \|  \| \S+ \w+ \| \d\S+ ms \| yes \|")
        self.assertRegex(result.out, r"\| `cuMemAllocManaged` \| 1 MB \| - \| - \| failed with 801, "
                                     r"CUDA_ERROR_NOT_SUPPORTED \|")
        differing = result.out.split("CUDA_MODULE_LOADING=EAGER")[1]
        self.assertEqual(set(re.findall(r"^\| `(\w+)`", differing, re.M)),
                         {"cuLibraryLoadData", "cuKernelGetFunction", "cuLaunchKernel",
                          "cuLibraryUnload"})

    def test_progress_on_a_terminal(self):
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        child = self.start([harness.gpuverify(), "probe", "--busy", "20ms"], preload=False, stdout=subprocess.DEVNULL, stderr=theirs,
                           env={"XDG_DATA_HOME": self.path("data")})
        os.close(theirs)
        text = b""
        while not re.search(rb"measured \d+ of \d+\s*\r\x1b\[Kgpuverify: measured [2-9]", text):
            text += os.read(ours, 4096)
        child.kill()
        child.wait()

    def test_json_on_stdout(self):
        """Only that, and no file of such a name."""
        for name in ("-", "/dev/stdout"):
            result = self.probe("--busy", "20ms", "--json", name, cwd=self.path(""))
            self.assertEqual((result.status, result.err), (0, ""), str(result))
            self.assertEqual(json.loads(result.out)["format"], "gpuverify probe 1")
        self.assertFalse({"-", "data"} & set(os.listdir(self.path(""))))

    def test_a_machine_without_a_driver(self):
        with contextlib.suppress(OSError):
            ctypes.CDLL("libcuda.so.1")
            self.skipTest("this machine has a CUDA driver")
        result = self.probe(sim=False)
        self.assertEqual((result.status, result.out), (3, ""), str(result))
        self.assertIn("no CUDA driver", result.err)
        self.assertFalse(os.path.exists(self.path("data")))

    def test_a_driver_without_a_gpu(self):
        result = self.probe(env={"GV_SIM_NO_DEVICE": "1"})
        self.assertEqual((result.status, result.out), (3, ""), str(result))
        self.assertIn("CUDA error 100", result.err)

    def test_a_gpu_that_is_not_there(self):
        result = self.probe("--gpu", "7")
        self.assertEqual((result.status, result.out), (3, ""), str(result))
        self.assertIn("CUDA error 101", result.err)

    def test_wrong_use(self):
        for options in (("--busy", "5s"), ("--busy", "fast"), ("--format", "xml"), ("more",)):
            with self.subTest(options):
                self.assertEqual(self.probe(*options).status, 2)

    def test_the_page_has_every_row(self):
        """The tables in docs/blocking-calls.md have the current rows."""
        with open(os.path.join(harness.SOURCE, "docs/blocking-calls.md"), encoding="utf-8") as page:
            measured = page.read().split("<!-- measured", 1)[1]
        with open(os.path.join(harness.SOURCE, "report/probe/calls.def"), encoding="utf-8") as table:
            rows = re.findall(r'^GV_PROBE_CALL\(\w+, "[^"]*", "([^"]*)", "([^"]*)"', table.read(), re.M)
        lazy = measured.split("## With CUDA_MODULE_LOADING=EAGER")[0]
        shown = re.findall(r"^\| `([^`]*)` \| (.*?) \|", lazy, re.M)
        if not shown:
            self.skipTest("no measured table yet")
        self.assertEqual(sorted(shown), sorted(rows))


class Explained(harness.Case):
    """explain quotes a probe of the stall's driver and GPU about its cause."""

    def setUp(self):
        super().setUp()
        stored.make("lazy_launch", self.path("trace.db"))
        with contextlib.closing(sqlite3.connect(self.path("trace.db"))) as database, database:
            database.execute("UPDATE process SET driver_version = 13000")
            database.execute("DELETE FROM device")
            database.execute("INSERT INTO device (process, device, name) VALUES (1, 0, 'A GPU')")
        os.makedirs(self.path("data/gpuverify"))

    def keep(self, name, calls=None, **changes):
        call = {"mode": "LAZY", "beside": "gpu", "call": "cuLaunchKernel", "with": "first use",
                "cause": "lazy-load", "status": "measured", "waits": True, "rounds": 3, "waited": 3,
                "idle_ns": 100000, "busy_ns": 50200000, "kernel_ns": 50000000}
        result = {"format": "gpuverify probe 1", "gpu": "A GPU", "driver": "580.1",
                  "driver_version": 13000, "unix_s": 1795000000,
                  "calls": [{**call, **changed} for changed in (calls or [{}])], **changes}
        self.write(f"data/gpuverify/probe-{name}.json", json.dumps(result), 0o644)

    def explained(self, *words):
        out = self.command("explain", self.path("trace.db"), *words, sim=False,
                           env={"XDG_DATA_HOME": self.path("data")}).out
        return " ".join(out.split())

    def test_what_was_measured(self):
        self.keep("a", [{"mode": "EAGER", "waits": False, "busy_ns": 700}, {},
                        {"call": "cuKernelGetFunction"}])
        self.assertIn("probe gpuverify probe measured on 2026-11-18, on A GPU with driver 580.1: "
                      "cuLaunchKernel (first use) takes 100 us on an idle GPU and 50.2 ms beside a "
                      "kernel of 50.0 ms: it waits. fix", self.explained("1"))

    def test_a_lock(self):
        self.keep("a", [{"cause": "lock", "beside": "load", "with": "", "waits": False}])
        self.assertRegex(self.explained("2"), r"\w+ takes 100 us alone and 50.2 ms beside a load that "
                                              r"waits for a kernel of 50.0 ms: it does not wait\.")

    def test_a_lock_of_a_call_that_pins(self):
        rows = [{"cause": "lock", "beside": beside, "with": beside} for beside in ("load", "unpin", "pin")]
        self.keep("a", rows)
        self.assertIn("(load) takes", self.explained("2"))
        with contextlib.closing(sqlite3.connect(self.path("trace.db"))) as database, database:
            database.execute("UPDATE api SET name = 'cudaMallocHost', kind = 'alloc-host' WHERE id ="
                             " (SELECT c.api FROM stall s JOIN call c ON c.id = s.blocked_by)")
        self.assertIn("(pin) takes", self.explained("2"))

    def test_the_newest_counts(self):
        self.keep("a", [{"idle_ns": 1000}])
        self.keep("b", [{"idle_ns": 2000}], unix_s=1795000001)
        self.keep("c", [{"idle_ns": 3000}])
        self.assertIn("takes 2.00 us on an idle GPU", self.explained("1"))

    def test_others_say_nothing(self):
        self.keep("gpu", gpu="Another GPU")
        self.keep("driver", driver_version=12090)
        self.keep("format", format="gpuverify probe 2")
        self.keep("cause", [{"cause": "free"}])
        self.keep("failed", [{"status": "failed"}])
        self.write("data/gpuverify/probe-broken.json", '{"format": ', 0o644)
        self.write("data/gpuverify/probe-empty.json", "", 0o644)
        self.write("data/gpuverify/probe-large.json", " " * (1 << 21), 0o644)
        self.assertNotIn("gpuverify probe", self.explained("1"))

    def test_its_text_reaches_no_terminal(self):
        self.keep("a", [{"with": "\x1b[31mred\n" + "x" * 500}])
        out = self.explained("1")
        self.assertIn("[31mred", out)
        self.assertNotIn("\x1b", out)
        self.assertNotIn("x" * 161, out)
