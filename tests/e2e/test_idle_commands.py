"""Idle time as a user sees it: in commands and in rules. The outputs of whole traces are in
test_stored.py."""

import json

import harness
import stored

# A second device that is idle at the same times, or works all the time.
SECOND = ("INSERT INTO device (id, process, device, name, uuid, multiprocessors) VALUES (2, 1, 1, 'H100', 'GPU-2', 132)",
          "INSERT INTO gpu_place VALUES (2, 1, 1, 1, 8)")
SAME_WORK = "INSERT INTO gpu_op SELECT id + 1000, 2, kind, shape, start_ns, duration_ns, call, NULL, NULL, NULL, NULL FROM gpu_op"
ALL_THE_TIME = "INSERT INTO gpu_op VALUES (1000, 2, 1, 1, 1000000000, 38800000000, NULL, NULL, NULL, NULL, NULL)"


class Idle(harness.Case):

    def make(self, trace, *changes):
        stored.make_anew(trace, self.path("trace.db"), *changes)

    def read(self, *words, status=0):
        return self.command(words[0], self.path("trace.db"), *words[1:], status=status, sim=False)

    def told(self, *words):
        return json.loads(self.read("idle", "--format", "json", *words).out)

    def test_times_of_several_devices_add_up(self):
        """Each has its own, and all rows and lines add up to what they were idle."""
        self.make("starved")
        alone = self.told()
        self.make("starved", *SECOND, SAME_WORK)
        both = self.told()
        for told in alone, both:
            self.assertEqual({told["idle_ns"]}, {sum(row["duration_ns"] for row in told["idle"]),
                                                 sum(line["total_ns"] for line in told["lines"])})
        for name in "run_ns", "idle_ns":
            self.assertEqual(both[name], 2 * alone[name])
        totals = [{line["reason"]: line["total_ns"] for line in told["lines"]} for told in (alone, both)]
        self.assertEqual(totals[1], {reason: 2 * ns for reason, ns in totals[0].items()})

    def test_line_is_said_once_in_a_row(self):
        self.make("starved")
        listed = self.read("idle", "--reason", "gil", "-n", "1").out
        self.assertIn("thread 4250", listed)
        self.assertEqual(listed.count("log.py:12"), 1, listed)

    def test_one_starving_device_is_found_by_rules(self):
        self.make("starved", *SECOND, ALL_THE_TIME)
        self.assertIn("device 0 of process 4242 was idle for 63.6 % of its time",
                      self.read("check", "--max-idle", "20%", status=1).out)
        self.read("check", "--max-idle", "64%", "--max-idle-of", "waits=0%", "--max-idle-of", "start=3%")

    def test_part_of_a_trace(self):
        self.make("starved")
        part = ("--from", "1.7s", "--to", "5.7s")
        self.assertIn("1.99 s", self.read("report", "-s", "idle", *part).out)
        self.assertNotIn("torch", self.read("report", "-s", "idle", *part).out)

    def test_nobody_looked(self):
        self.make("starved", "DELETE FROM idle_sample")
        self.assertIn("no looks at the program's threads were recorded (GPUVERIFY_IDLE_HZ=0",
                      " ".join(self.read("idle", "-n", "1").out.split()))
        self.assertIn("has no known reason", self.read("check", "--max-idle-of", "data=5%", status=3).out)

    def test_mistakes_are_answered(self):
        self.make("starved")
        for words, answer in ((("idle", "--reason", "dta"), "did you mean 'data'?"),
                              (("check", "--max-idle-of", "dta=5%"), "did you mean 'data'?"),
                              (("check", "--max-idle-of", "data"), "such as data=5%"),
                              (("check", "--max-idle-of", "data=500%"), "such as data=5%"),
                              (("explain", "j3"), "and no idle time such as i3")):
            self.assertIn(answer, self.read(*words, status=2).err)
        self.assertIn("has no idle time i4000", self.read("explain", "i4000", status=3).err)
        self.assertIn("No idle time matches.", self.read("idle", "--min", "1h").out)

    def test_list_is_narrowed(self):
        self.make("starved", *SECOND, SAME_WORK)
        for words, count in ((("--reason", "data"), 38), (("--device", "1"), 63), (("--thread", "4242"), 126),
                             (("--thread", "1"), 0), (("--process", "4242", "--min", "1.1s"), 2)):
            self.assertEqual(len(self.told(*words)["idle"]), count, words)
