"""Samples of the devices from a simulated NVIDIA management library."""

import contextlib
import json
import os
import sqlite3
import unittest

import harness
import stored


class Samples(harness.Case):
    def run_busy(self, nvml=None, here=True, **env):
        """A program that keeps the simulated GPU busy for half a second."""
        folders = [harness.simulator()]
        if here:
            folders.append(os.path.join(harness.simulator(), "nvml"))
        if nvml:
            env["GV_SIM_NVML"] = nvml
        result = self.run_well([harness.workload("stalls/lazy_launch"), "500"],
                               env={"LD_LIBRARY_PATH": ":".join(folders), **env})
        self.assertIn("timed", result.out)
        return self.trace()

    def test_each_value(self):
        trace = self.run_busy()
        self.assertEqual(trace.rows(
            "SELECT DISTINCT gpu_percent, memory_percent, memory_used_bytes, power_mw, sm_clock_mhz,"
            " memory_clock_mhz, temperature_c FROM samples"),
            [(97, 41, 1 << 30, 351000, 1980, 2619, 54)])
        self.assertEqual(trace.rows("SELECT DISTINCT uuid FROM samples"),
                         trace.rows("SELECT DISTINCT uuid FROM devices"))

    @harness.depends_on_time("there is a sample every 100 ms")
    def test_ten_times_a_second_while_the_program_runs(self):
        trace = self.run_busy()
        times = [row[0] for row in trace.rows("SELECT at_ns FROM samples ORDER BY id")]
        end_ns = trace.value("SELECT end_ns FROM processes")
        self.assertEqual(times, sorted(times))
        self.assertGreaterEqual(len(times), 2)
        self.assertLessEqual(len(times), 2 + (end_ns - times[0]) / 1e8)
        self.assertGreaterEqual(times[0], 0)
        self.assertLess(times[-1], end_ns)

    def test_in_host_only_mode_too(self):
        self.assertGreater(self.run_busy(GPUVERIFY_GPU="off").value("SELECT count(*) FROM samples"),
                           0)

    def test_only_devices_of_the_program(self):
        """The machine has two devices, and the driver shows one to this program."""
        trace = self.run_busy(GV_SIM_NVML_DEVICES="2")
        self.assertEqual(trace.value("SELECT count(DISTINCT uuid) FROM samples"), 1)

    def test_what_a_device_does_not_tell_is_null(self):
        self.assertEqual(self.run_busy("partial").rows(
            "SELECT DISTINCT gpu_percent, memory_percent, power_mw, temperature_c FROM samples"),
            [(None, None, None, 54)])

    @harness.depends_on_time("there is a sample of GPM every 200 ms")
    def test_how_full_the_units_are(self):
        with open(self.path("gpm"), "w", encoding="utf-8") as file:
            file.write("2=41.5 3=12 5=3 10=84 11=0 12=20.04 20=1000 21=54083 61=7 clocks=5")
        trace = self.run_busy(GV_SIM_GPM=self.path("gpm"), GV_SIM_NVML_DEVICES="2")
        self.assertEqual(trace.rows(
            "SELECT DISTINCT sm_percent, occupancy_percent, tensor_percent, dram_percent, fp64_percent, fp32_percent,"
            " fp16_percent, pcie_percent, pcie_tx_mib, pcie_rx_mib, nvlink_tx_mib, nvlink_rx_mib, slowed_by"
            " FROM samples WHERE gpm_ns IS NOT NULL"),
            [(41.5, 12, 3, 84, 0, 20, None, 90, 1000, 54083, 7, None, "power")])
        self.assertGreaterEqual(trace.value("SELECT min(gpm_ns) FROM samples"), 100000000)
        self.assertEqual(trace.value("SELECT count(*) FROM samples s JOIN samples n ON n.gpm_ns IS NOT NULL"
                                     " WHERE s.gpm_ns IS NOT NULL AND s.id < n.id AND s.at_ns > n.at_ns - n.gpm_ns + 20000000"), 0)

        exported = self.command("export", self.path("trace.db"), "--to", "perfetto", "-o", "-").out
        for counter in "SMs active", "DRAM", "tensor cores", "PCIe received":
            self.assertIn(counter, exported)
        for line in "SMs active", "occupancy", "tensor cores", "DRAM", "PCIe":
            self.assertRegex(self.command("report", self.path("trace.db"), "-s", "samples").out, rf"(?m)^{line} .*mean ")

    @harness.depends_on_time("a sample of GPM takes 200 ms, and three are needed")
    def test_what_a_busy_gpu_was_full_of(self):
        said = {"2=98 3=50 5=3 10=84": "memory-bound: DRAM 84 %, tensor cores 3 %",
                "2=41 3=12 5=0 10=9": "half empty: SMs active 41 %, occupancy 12 %"}
        folders = f"{harness.simulator()}:{harness.simulator()}/nvml"
        for numbers, words in said.items():
            with open(self.path("gpm"), "w", encoding="utf-8") as file:
                file.write(numbers)
            for work, times in ("accelerated", 2), ("idle", 0):
                told = self.command("run", "-o", self.path(work + ".db"), "--", harness.workload("verdicts/verdict"), work, "1500",
                                    sim=True, status=None, env={"LD_LIBRARY_PATH": folders, "GV_SIM_GPM": self.path("gpm"),
                                                                "GPUVERIFY_GPU": "auto", "COLUMNS": "400"})
                self.assertEqual(" ".join((told.out + told.err).split()).count(words), times, told)
                os.remove(self.path(work + ".db"))

    @harness.depends_on_time("a sample of GPM takes 200 ms, and three are needed")
    def test_what_limits_it_if_only_calls_are_known(self):
        """Then its utilisation, 97 %, says how long it was busy."""
        with open(self.path("gpm"), "w", encoding="utf-8") as file:
            file.write("2=98 3=50 5=3 10=84")
        folders = f"{harness.simulator()}:{harness.simulator()}/nvml"
        said = [(None, "memory-bound: DRAM 87 %, tensor cores 3 %, on average")]
        for mode, nvml, wanted in ("off", "", said), ("sampled", "", said), ("off", "partial", []):
            self.command("run", "-o", self.path(f"{mode}{nvml}.db"), "--", harness.workload("verdicts/verdict"), "accelerated", "1500",
                         sim=True, status=None, env={"LD_LIBRARY_PATH": folders, "GV_SIM_GPM": self.path("gpm"), "GV_SIM_NVML": nvml,
                                                     "GPUVERIFY_GPU": mode})
            self.assertEqual(harness.Trace(self.path(f"{mode}{nvml}.db")).rows(
                "SELECT device, words FROM gpu_use WHERE phase = 'run'"), wanted)

    def test_a_sample_counts_for_as_long_as_it_covers(self):
        """25 of 0.2 s with full DRAM until 5 s, then two of 2 s with none; the run begins at 0.1 s."""
        path = self.path("lines.db")
        stored.make_anew("lines", path, "DELETE FROM sample",
                         "INSERT INTO sample (id, uuid, at_ns, gpu_percent)"
                         " WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 90)"
                         " SELECT i, 'GPU-1', i * 100000000, iif(i <= 50, 80, 20) FROM n WHERE i <= 50 OR i % 20 = 10",
                         "INSERT INTO sample_gpm (sample, duration_ns, dram_tenths)"
                         " SELECT id, iif(id <= 50, 200000000, 2000000000), iif(id <= 50, 1000, 0) FROM sample WHERE id % 2 = 0")
        said = self.command("report", path, "-s", "samples", sim=False, env={"LC_ALL": "C"}).out
        self.assertRegex(said, r"(?m)^DRAM +#+[#=_-]?\.+ +mean 55\.06, most 100 %$")
        # Nothing is known of the time before the two last, but for a second each.
        self.assertRegex(said, r"(?m)^GPU +[#=]+ +_+ +_+ +mean 62\.61, most 80 %$")
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.execute("UPDATE sample_gpm SET duration_ns = 600000000, dram_tenths = 0 WHERE sample = 48")
            database.commit()
        said = json.loads(self.command("query", path, "samples", "--format", "json", sim=False).out)
        self.assertEqual([round(row["dram_percent"], 2) for row in said if row["second"] in (3, 4)], [100, 57.14])

    def test_without_gpm_nothing_is_claimed(self):
        trace = self.run_busy()
        self.assertEqual(trace.rows("SELECT DISTINCT gpm_ns, sm_percent, slowed_by FROM samples"), [(None, None, None)])
        self.assertEqual(trace.rows("SELECT * FROM sample_gpm"), [])

    def test_no_library_no_samples(self):
        self.assertEqual(self.run_busy(here=False).rows("SELECT * FROM samples"), [])

    def test_library_that_refuses(self):
        self.assertEqual(self.run_busy("refuse").rows("SELECT * FROM samples"), [])

    def test_library_that_hangs_holds_nothing(self):
        trace = self.run_busy("hang", GPUVERIFY_EXIT_WAIT="60")
        self.assertEqual(trace.rows("SELECT * FROM samples"), [])
        self.assertGreater(trace.count("cuLaunchKernel"), 0)
        self.assertEqual(trace.value("SELECT value FROM meta WHERE key = 'state'"), "complete")


if __name__ == "__main__":
    unittest.main()
