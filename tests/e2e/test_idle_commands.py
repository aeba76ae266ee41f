"""Idle time as a user sees it: in the verdict, in commands and in rules. The outputs of whole traces are in
test_stored.py."""

import json

import harness
import stored

# A second device that is idle at the same times, or works all the time.
SECOND = ("INSERT INTO device (id, process, device, name, uuid, multiprocessors) VALUES (2, 1, 1, 'H100', 'GPU-2', 132)",
          "INSERT INTO gpu_place VALUES (2, 1, 1, 1, 8)")
SAME_TIMES = ("INSERT INTO idle_time SELECT id + 1000, process, 1, thread, start_ns, duration_ns, gaps, reason,"
              " detail, samples, stack, confidence, previous_call, next_call FROM idle_time")
ITS_WORK = "INSERT INTO gpu_op SELECT id + 1000, 2, kind, shape, start_ns, duration_ns, NULL, NULL, NULL, NULL, NULL FROM gpu_op"
ALL_THE_TIME = "INSERT INTO gpu_op VALUES (1000, 2, 1, 1, 1000000000, 38800000000, NULL, NULL, NULL, NULL, NULL)"
ONLY_UNKNOWN = ("DELETE FROM idle_sample", "UPDATE idle_time SET reason = 'unknown', stack = NULL, detail = NULL")


class Idle(harness.Case):

    def make(self, trace, *changes):
        stored.make_anew(trace, self.path("trace.db"), *changes)

    def read(self, *words, status=0):
        return self.command(words[0], self.path("trace.db"), *words[1:], status=status, sim=False)

    def findings(self, *words):
        shown = json.loads(self.read("report", "-s", "verdict", "--format", "json", *words).out)
        return shown["verdict"]["findings"]

    def lines(self):
        """{reason: the line} of `gpuverify idle`."""
        return {line["reason"]: line for line in json.loads(self.read("idle", "--format", "json").out)["lines"]}

    def test_devices_idle_at_the_same_time_count_once(self):
        self.make("starved")
        alone = self.lines()
        self.make("starved", *SECOND, ITS_WORK, SAME_TIMES)
        both = self.lines()
        for reason, line in both.items():
            self.assertEqual(line["saves_ns"], alone[reason]["saves_ns"], reason)
            self.assertEqual(line["total_ns"], 2 * alone[reason]["total_ns"], reason)
        [told] = [finding for finding in self.findings() if finding["class"] == "idle"]
        self.assertIn("38.0 s over all devices", told["evidence"])
        self.assertEqual(told["saves_ns"], 19_000_000_000)

    def test_parts_of_an_idle_time_add_up(self):
        """Parts for different reasons have the start of the whole, or of the first call in it."""
        for start_ns in 0, 400_000_000:
            self.make("starved", f"UPDATE idle_time SET start_ns = {start_ns} WHERE id = 2")
            told = json.loads(self.read("idle", "--format", "json").out)
            self.assertEqual(told["idle_ns"], told["total_ns"])

    def test_line_is_said_once_in_a_row(self):
        self.make("starved", "UPDATE idle_time SET detail = 'write_log, log.py:12 (thread 4250)' WHERE reason = 'gil'")
        listed = self.read("idle", "--reason", "gil", "-n", "1").out
        self.assertIn("thread 4250", listed)
        self.assertEqual(listed.count("log.py:12"), 1, listed)

    def test_what_another_finding_saves_is_not_saved_twice(self):
        self.make("starved", "UPDATE gpu_op SET duration_ns = 20000000", "DELETE FROM idle_time WHERE reason = 'gil'",
                  "UPDATE idle_time SET duration_ns = 300000000 WHERE reason = 'data'")
        saves = {finding["class"]: finding["saves_ns"] for finding in self.findings()}
        self.assertLess(saves["GPU mostly idle"] + saves["idle"], 41_200_000_000)

    def test_device_that_works_all_the_time_limits_what_is_saved(self):
        self.make("starved", *SECOND, ALL_THE_TIME)
        [told] = [finding for finding in self.findings() if finding["class"] == "idle"]
        self.assertEqual(told["saves_ns"], 41_200_000_000 - 38_800_000_000)

    def test_one_starving_device_is_found_by_rules(self):
        self.make("starved", *SECOND, ALL_THE_TIME)
        self.assertIn("device 0 of process 4242 was idle for 63.6 % of its time",
                      self.read("check", "--max-idle", "20%", status=1).out)
        self.read("check", "--max-idle", "64%", "--max-idle-of", "waits=0%", "--max-idle-of", "start=3%")

    def test_line_below_a_tenth_of_the_run_is_no_finding(self):
        self.make("starved")
        self.assertEqual([finding["class"] for finding in self.findings()], ["idle"])
        self.make("starved", "UPDATE idle_time SET duration_ns = 220000000 WHERE reason = 'gil'")
        idle = [finding["evidence"] for finding in self.findings() if finding["class"] == "idle"]
        self.assertEqual(len(idle), 2, idle)
        self.assertIn("waiting for the GIL, held by thread 4250 (logger), log.py:12 write_log", idle[1])

    def test_what_calls_explain_is_no_finding(self):
        self.make("starved", "UPDATE idle_time SET reason = 'cuda', stack = NULL WHERE reason = 'data'")
        self.assertNotIn("idle", [finding["class"] for finding in self.findings()])

    def test_lack_of_a_cpu_inside_calls_is_no_finding(self):
        self.make("starved", "UPDATE idle_time SET reason = 'descheduled'")
        self.assertIn("idle", [finding["class"] for finding in self.findings()])
        self.make("starved", "UPDATE idle_time SET reason = 'descheduled', samples = 0")
        self.assertNotIn("idle", [finding["class"] for finding in self.findings()])

    def test_part_of_a_trace(self):
        self.make("starved")
        part = ("--from", "1.7s", "--to", "5.7s")
        self.assertIn("2.00 s of 4.00 s", self.findings(*part)[0]["evidence"])
        self.assertIn("2.00 s", self.read("report", "-s", "idle", *part).out)
        self.assertNotIn("torch", self.read("report", "-s", "idle", *part).out)

    def test_nobody_looked(self):
        self.make("starved", *ONLY_UNKNOWN)
        for words in ("report", "-s", "verdict"), ("idle", "-n", "1"):
            self.assertIn("no looks at the program's threads were recorded (GPUVERIFY_IDLE_HZ=0",
                          " ".join(self.read(*words).out.split()))
        [told] = [finding for finding in self.findings() if finding["class"] == "GPU mostly idle"]
        self.assertIn("what the program does between its CUDA calls", told["next"])
        self.assertIn("has no known reason", self.read("check", "--max-idle-of", "data=5%", status=3).out)

    def test_mistakes_are_answered(self):
        self.make("starved")
        for words, answer in ((("idle", "--reason", "dta"), "did you mean 'data'?"),
                              (("check", "--max-idle-of", "dta=5%"), "did you mean 'data'?"),
                              (("check", "--max-idle-of", "data"), "such as data=5%"),
                              (("check", "--max-idle-of", "data=500%"), "such as data=5%"),
                              (("explain", "j3"), "nor an idle time such as i3")):
            self.assertIn(answer, self.read(*words, status=2).err)
        self.assertIn("has no idle time i4000", self.read("explain", "i4000", status=3).err)
        self.assertIn("No idle time matches.", self.read("idle", "--min", "1h").out)

    def test_list_is_narrowed(self):
        self.make("starved", *SECOND, SAME_TIMES)
        for words, count in ((("--reason", "data"), 38), (("--device", "1"), 42), (("--thread", "4242"), 84),
                             (("--thread", "1"), 0), (("--process", "4242", "--min", "1.1s"), 2)):
            shown = json.loads(self.read("idle", "--format", "json", *words).out)
            self.assertEqual(len(shown["idle"]), count, words)

    def test_host_by_nature_is_not_accused(self):
        self.make("mostly_host")
        host, network = self.findings()
        self.assertEqual((host["class"], network["class"]), ("mostly host work", "idle"))
        self.assertIn("the GPU had work for 400 ms of 41.0 s", host["evidence"])
        # With more for the GPU to do, it is worth a finding.
        self.make("mostly_host", "UPDATE gpu_op SET duration_ns = 1000000000")
        self.assertEqual(self.findings()[0]["class"], "idle")
        self.assertIn("running Python: model.py:20 advance", self.findings()[0]["evidence"])
