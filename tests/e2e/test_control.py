"""Recording that is stopped and started while the program runs: gv_start() and gv_stop() of gpuverify.h,
GPUVERIFY_START=later, and gpuverify start, stop and mark from outside."""

import os
import re
import subprocess
import sys
import time
import unittest

import harness

PROGRAM = harness.built(harness.PROGRAMS, "e2e_controlled")

FROM_PYTHON = """
import ctypes
gpuverify = ctypes.CDLL(None)
cuda = ctypes.CDLL("libcuda.so.1")
assert cuda.cuInit(0) == 0
if hasattr(gpuverify, "gv_stop"):
    gpuverify.gv_stop()
    gpuverify.gv_start()
"""


def launches(trace, where="1"):
    return trace.value(f"SELECT count(*) FROM calls WHERE name = 'cuLaunchKernel' AND {where}")


def periods(trace, side="calls", columns="why"):
    return [row[0] if "," not in columns else row for row in trace.rows(
        f"SELECT {columns} FROM recording WHERE side = '{side}' AND start_ns IS NOT NULL ORDER BY process, start_ns")]


class FromInside(harness.Case):

    def recorded(self, how, **env):
        self.run_twice([PROGRAM, how], env={"GPUVERIFY_GPU": "on", **env})
        return self.trace()

    def check_parts(self, trace):
        self.assertEqual(launches(trace), 12)
        self.assertEqual(launches(trace, "kernel = 'tick'"), 1)  # named while recording was stopped
        self.assertEqual(trace.value("SELECT count(*) FROM calls WHERE class = 'copy'"), 0)
        self.assertEqual(trace.value("SELECT count(*) FROM calls WHERE name GLOB 'cuMemAlloc*'"), 1)
        self.assertEqual(trace.value("SELECT count(*) FROM loads"), 2)
        self.assertEqual(periods(trace), ["recording was stopped", "exit"])

    def test_a_part_is_left_out(self):
        trace = self.recorded("parts")
        self.check_parts(trace)
        self.assertEqual(trace.value("SELECT count(*) FROM gpu_ops"), 12)
        self.assertEqual(trace.value("SELECT count(*) FROM gpu_ops WHERE call IS NULL"), 0)
        self.assertEqual(periods(trace, "gpu", "gpu"), ["seen", "stopped", "seen"])

    def check_queued(self, trace):
        self.assertEqual(launches(trace), 7)
        self.assertEqual(trace.value("SELECT count(call) FROM gpu_ops"), 7)
        self.assertEqual(trace.value("SELECT count(*) FROM gpu_ops"), 7)
        self.assertEqual(trace.rows("SELECT * FROM losses WHERE count > 0"), [])

    def test_work_that_runs_after_a_start_but_was_launched_before(self):
        self.check_queued(self.recorded("queued"))

    def test_a_stop_that_is_over_before_it_is_noticed(self):
        self.check_queued(self.recorded("queued-unseen"))

    def test_without_the_gpu_side(self):
        trace = self.recorded("parts", GPUVERIFY_GPU="off")
        self.check_parts(trace)
        self.assertEqual(trace.value("SELECT count(*) FROM recording WHERE side = 'gpu' AND gpu IS NOT NULL"), 0)
        stopped_ns = trace.value("SELECT max(start_ns) - min(end_ns) FROM recording WHERE side = 'calls'")
        self.assertEqual(trace.value("SELECT sum(total_ns) FROM ledger WHERE what = 'not-seen'"), stopped_ns)

    def test_reports_are_of_the_recorded_time(self):
        trace = self.recorded("parts")
        stopped_ns = trace.value("SELECT max(start_ns) - min(end_ns) FROM recording WHERE side = 'calls'")
        facts = dict(trace.rows("SELECT key, value FROM fact"))
        self.assertEqual((facts["stopped_ns"], facts["recorded_periods"]), (stopped_ns, 2))
        self.assertEqual(facts["process_ns"] - facts["recorded_ns"], stopped_ns)
        self.assertGreaterEqual(facts["gpu_unseen_ns"], stopped_ns)
        # What is followed meanwhile counts for nothing: an allocation, a load, a name.
        self.assertEqual(facts["calls"], trace.value("SELECT count(*) FROM calls") - 3)
        self.assertEqual(trace.value(
            "SELECT count(*) FROM idle i JOIN (SELECT min(end_ns) AS from_ns, max(start_ns) AS to_ns FROM recording"
            " WHERE side = 'calls') r ON i.start_ns < r.to_ns AND i.start_ns + i.duration_ns > r.from_ns"), 0)
        self.assertRegex(self.command("report", trace.path).out.split("\n\n")[0],
                         r"; recorded [^ ]+ ms\s+of\s[^ ]+\sms,\sin\s2\speriods:(?s:.*)ran\s+your\s+code\s+while\s+recording\s+was\s+on")

    def test_nothing_is_said_of_a_run_that_was_not_recorded(self):
        path = self.path("none.db")
        self.run_well([harness.built("kernels", "steps", "steps"), "slow", "4"], env={"GPUVERIFY_START": "later", "GPUVERIFY_TRACE": path})
        said = self.command("report", self.trace(path).path).out
        self.assertIn("No CUDA call was made while recording was on.", said)
        self.assertNotIn("no kernel", said)

    def test_before_the_first_call(self):
        trace = self.recorded("early", GPUVERIFY_START="later")
        self.assertEqual(launches(trace), 4)
        self.assertEqual(trace.value("SELECT count(*) FROM gpu_ops"), 4)

    def test_ranges_and_steps_of_the_recorded_time(self):
        trace = self.recorded("steps", GPUVERIFY_START="later")
        self.assertEqual(trace.rows("SELECT message, count, launches FROM range_summary ORDER BY message"),
                         [("read", 7, 0), ("step", 7, 7)])
        self.assertEqual(trace.rows("SELECT number, launches FROM steps"), [(number, 1) for number in range(3, 10)])
        said = " ".join(self.command("report", trace.path).out.split())
        self.assertRegex(said, "the slowest, number 7, took [^ ]+ ms longer, mostly in `read`: the GPU was idle")

    def test_often_beside_launching_threads(self):
        log = self.path("kinds")
        trace = self.recorded("often", GV_SIM_CUPTI_LOG=log)
        with open(log, encoding="utf-8") as file:
            self.assertNotIn("disable", file.read())  # that would crash a program now and then
        self.assertEqual(len(periods(trace)), 1001)
        self.assertGreater(launches(trace), 0)
        self.assertEqual(trace.value("SELECT max(number) FROM recording_change"), 2000)

    def test_a_child_of_a_stopped_program_is_stopped(self):
        trace = self.recorded("fork")
        self.assertEqual(launches(trace), 3)
        self.assertEqual(trace.value("SELECT why FROM recording WHERE side = 'calls' AND start_ns IS NULL"),
                         "recording was never started")

    def test_a_capture_that_began_before(self):
        trace = self.recorded("captured")
        self.assertEqual(launches(trace), 2)
        self.assertEqual(trace.rows("SELECT kind FROM gpu_ops"), [("graph",)])

    def test_a_graph_that_was_made_before_recording_stopped(self):
        self.assertEqual(self.recorded("made-before").rows("SELECT kind FROM gpu_ops"), [("graph",)])

    def test_a_graph_that_was_made_while_recording_was_stopped(self):
        self.assertEqual(self.recorded("made-while-stopped").rows("SELECT kind FROM gpu_ops"), [("graph",)])

    def test_a_graph_that_was_made_before_the_first_start(self):
        # CUPTI, which was off, would crash if its launch were recorded as a whole.
        trace = self.recorded("made-while-stopped", GPUVERIFY_START="later")
        self.assertEqual(trace.rows("SELECT o.kind, c.class FROM gpu_ops o JOIN calls c ON c.id = o.call"),
                         [("kernel", "launch")] * 2)

    def test_the_context_that_was_set_while_recording_was_stopped(self):
        trace = self.recorded("contexts")
        first, other = trace.rows("SELECT object FROM calls WHERE name = 'cuCtxSetCurrent' AND result = 0 GROUP BY 1 ORDER BY min(id)")
        # Of several in a row with the same context, only the first one is recorded: the others change nothing.
        self.assertEqual(trace.rows("SELECT object, result = 0 FROM calls WHERE name = 'cuCtxSetCurrent' ORDER BY id")[-8:],
                         [(8, 0)] * 3 + [(*other, 1), (*first, 1), (*first, 1), (*other, 1), (*other, 0)])
        self.assertEqual(trace.rows("SELECT context FROM calls WHERE name IN ('cuLaunchKernel', 'cuCtxSynchronize') ORDER BY id"),
                         [(1,)] * 3 + [(2,), (1,)])

    def test_the_context_is_set_once_whatever_comes_of_it(self):
        trace = self.recorded("sets", GV_SIM_FAIL="cuCtxSetCurrent:5=719")
        self.assertEqual(trace.rows("SELECT result FROM calls WHERE name = 'cuCtxSetCurrent' ORDER BY id"), [(0,), (719,)])

    @harness.depends_on_time("on a busy machine, there are fewer looks")
    def test_idle_threads_are_looked_at_in_short_times_too(self):
        trace = self.recorded("slices", GPUVERIFY_START="later", GPUVERIFY_IDLE_HZ="50")
        self.assertGreater(trace.value("SELECT count(*) FROM idle_sample"), 0)

    def test_killed_while_stopped(self):
        self.assertEqual(self.run_program([PROGRAM, "killed"], env={"GPUVERIFY_GPU": "on"}).status, -9)
        trace = self.trace()
        self.assertEqual(launches(trace), 3)
        self.assertEqual(trace.rows("SELECT * FROM losses WHERE count > 0"), [])
        self.assertEqual(periods(trace), ["recording was stopped"])

    def test_a_call_that_was_left_by_a_jump_ends(self):
        self.assertEqual(self.run_program([PROGRAM, "left"], env={"GPUVERIFY_GPU": "off"}).status, -9)
        trace = self.trace()
        self.assertEqual(trace.rows("SELECT result FROM calls WHERE name LIKE 'cuOccupancy%'"), [(None,)])
        self.assertEqual((launches(trace), trace.rows("SELECT * FROM in_flight")), (0, []))

    def test_from_python(self):
        self.run_twice([sys.executable, "-c", FROM_PYTHON])
        self.assertEqual(len(periods(self.trace())), 2)


@unittest.skipUnless(os.uname().machine == "x86_64", "needs the trap flag of x86-64")
class Cost(harness.Case):

    def instructions(self, **env):
        """(name, stopped, recorded) of some calls."""
        done = self.run_program([harness.built("tests", "bench", "bench_instructions")], env={
            "GPUVERIFY_STALL_US": "10000000", "GPUVERIFY_STACKS": "off", "GPUVERIFY_IDLE_HZ": "0", **env})
        lines = re.findall(r"(\w+) stopped (\d+) recorded (\d+)$", done.out, re.M)
        self.assertEqual(len(lines), 12, done)
        return [(name, int(stopped), int(recorded)) for name, stopped, recorded in lines]

    def test_a_call_that_is_not_recorded_costs_a_few_instructions(self):
        found = self.instructions()
        for name, stopped, recorded in found:
            self.assertTrue(0 < 4 * stopped < recorded, (name, stopped, recorded))
        cannot = self.instructions(GPUVERIFY_SPOOL_DIR="/proc/none", GPUVERIFY_TRACE="/proc/none/trace.db")
        self.assertEqual(cannot, [(name, stopped, stopped) for name, stopped, _ in found])


class FromOutside(harness.Case):

    def begin(self, **env):
        process = self.start([PROGRAM, "wait"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def work(self, process):
        process.stdin.write("\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "done\n")

    def end(self, process, path=None):
        process.stdin.close()
        self.assertEqual(process.wait(harness.SOON_S), 0)
        process.stdout.close()
        return self.trace(path)

    def test_start_stop_and_mark_a_process(self):
        process = self.begin(GPUVERIFY_START="later")
        pid = str(process.pid)
        self.work(process)
        self.assertEqual(self.command("start", pid).out, f"process {pid}: recording is on\n")
        self.assertEqual(self.command("start", pid).out, f"process {pid}: recording is on, as before\n")
        self.work(process)
        self.command("mark", pid, "half \N{EURO SIGN}")
        self.work(process)
        self.assertEqual(self.command("stop", pid).out, f"process {pid}: recording is stopped\n")
        self.work(process)
        trace = self.end(process)
        self.assertEqual(launches(trace), 6)
        mark = trace.dicts("SELECT * FROM ranges")[0]
        self.assertEqual((mark["kind"], mark["domain"], mark["message"]), ("mark", "gpuverify", "half \N{EURO SIGN}"))
        self.assertEqual(launches(trace, f"start_ns < {mark['start_ns']}"), 3)
        self.assertEqual(periods(trace), ["recording was stopped"])

    def test_all_processes_of_a_trace(self):
        path = self.path("it.db")
        process = self.begin(GPUVERIFY_TRACE=path)
        self.command("stop", path)
        self.work(process)
        self.command("start", path)
        self.work(process)
        trace = self.end(process, path)
        self.assertEqual(launches(trace), 23)
        self.assertEqual(len(periods(trace)), 2)

    def wake_ups(self, pid):
        """Of the thread that looks at idle threads, in half a second."""
        tasks = f"/proc/{pid}/task"

        def text(task, name):
            with open(os.path.join(tasks, task, name), encoding="utf-8") as file:
                return file.read()

        looks = next(task for task in os.listdir(tasks) if text(task, "comm") == "gpuverify-idle\n")

        def count():
            return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)$", text(looks, "status"), re.M)[1])

        before = count()
        time.sleep(0.5)
        return count() - before

    @harness.depends_on_time("on a busy machine, there are fewer looks")
    def test_a_stopped_process_is_not_looked_at(self):
        process = self.begin(GPUVERIFY_IDLE_HZ="100")
        recorded = self.wake_ups(process.pid)
        self.command("stop", str(process.pid))
        self.wake_ups(process.pid)  # the last look
        self.assertLess(4 * self.wake_ups(process.pid), recorded)
        self.command("start", str(process.pid))
        self.assertGreater(2 * self.wake_ups(process.pid), recorded)
        self.end(process)

    def test_nobody_to_tell(self):
        outside = os.path.join(self.dir, "outside")
        os.mkdir(outside)
        os.symlink("/etc/passwd", os.path.join(outside, f"1-1-00000000.{os.getpid()}.0123456789abcdef.spool"))
        for operand in (str(os.getpid()), "1", "0", "-1", "99999999999999999999", "../nothing.db", "/etc/passwd", ""):
            for env in ({}, {"GPUVERIFY_SPOOL_DIR": outside}):
                result = self.command("stop", "--", operand, status=3, env=env)
                self.assertIn("gpuverify: ", result.err)

    def test_a_folder_that_is_a_link(self):
        link = os.path.join(self.dir, "link")
        os.symlink(self.dir, link)
        result = self.command("stop", "1", status=3, env={"GPUVERIFY_SPOOL_DIR": link})
        self.assertIn("gpuverify: 1: Not a directory", result.err)

    def test_another_user(self):
        harness.need_root(self, "to be another user")
        process = self.begin()
        spools = self.spool
        os.chown(spools, 12345, 12345)
        result = self.command("stop", str(process.pid), status=3, env={"GPUVERIFY_SPOOL_DIR": spools})
        self.assertIn("belong to another user", result.err)
        os.chown(spools, os.geteuid(), os.getegid())
        self.assertEqual(periods(self.end(process)), ["exit"])


if __name__ == "__main__":
    unittest.main()
