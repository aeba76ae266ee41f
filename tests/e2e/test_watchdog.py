"""A call that does not return is explained while the program hangs, and after a kill."""

import os
import signal
import sqlite3

import harness


class Hangs(harness.Case):
    """A program that hangs, and what its trace has of it."""

    def hang(self, milliseconds, **env):
        env.setdefault("GPUVERIFY_WATCHDOG", "0.2")
        return self.start([harness.workload("load_while_busy"), str(milliseconds)], env=env)

    def flights(self):
        """The trace as any SQLite client sees it during the run."""
        if not os.path.exists(self.path("trace.db")):
            return []
        trace = harness.Trace(self.path("trace.db"))
        try:
            return trace.dicts("SELECT * FROM in_flight")
        except sqlite3.Error:  # the schema is not there yet
            return []
        finally:
            trace.close()


class Hanging(Hangs):

    def test_explained_while_it_hangs(self):
        process = self.hang(60000)
        flight = harness.wait_for(self.flights, "the watchdog writes the call")[0]
        self.assertEqual((flight["name"], flight["cause"], flight["confidence"]),
                         ("cuModuleLoadData", "module-load", "inferred"))
        self.assertGreaterEqual(flight["elapsed_ns"], 200e6)
        self.assertIn("spin", flight["state"])
        told = self.command("explain", "trace.db")
        self.assertIn("it has not returned", " ".join(told.out.split()))
        self.assertIn("It waits for spin", " ".join(told.out.split()))
        first = flight["elapsed_ns"]
        harness.wait_for(lambda: self.flights()[0]["elapsed_ns"] > first, "the time goes on")

        process.send_signal(signal.SIGKILL)
        process.wait()
        trace = self.trace()
        flight = trace.dicts("SELECT * FROM in_flight")[0]
        self.assertEqual((flight["name"], flight["cause"]), ("cuModuleLoadData", "module-load"))
        self.assertGreater(flight["elapsed_ns"], first)
        told = self.command("explain", "trace.db")
        self.assertIn("the process ended in that call", " ".join(told.out.split()))

    def test_gone_when_it_has_returned(self):
        process = self.hang(3000)
        harness.wait_for(self.flights, "the watchdog writes the call")
        process.wait()
        trace = self.trace()
        self.assertEqual(trace.rows("SELECT * FROM in_flight"), [])
        self.assertGreaterEqual(trace.value(
            "SELECT max(duration_ns) FROM calls WHERE name = 'cuModuleLoadData'"), 2e9)

    def test_off(self):
        process = self.hang(1000, GPUVERIFY_WATCHDOG="0")
        process.wait()
        self.assertEqual(self.trace().rows("SELECT * FROM in_flight"), [])

    def test_silence_is_told_before_the_watchdog_speaks(self):
        """Missing records do not prove a hang."""
        for watchdog, said in (("3600", "in a call that has not returned. Such a call is shown after 3600 s"),
                               ("0", "GPUVERIFY_WATCHDOG=0: hanging calls are not detected")):
            process = self.hang(60000, GPUVERIFY_WATCHDOG=watchdog, GPUVERIFY_TRACE=self.path(watchdog + ".db"),
                                GPUVERIFY_STALL_US="10000000")
            told = harness.wait_for(lambda name=watchdog + ".db": self.silence(name), "silence is told")
            self.assertIn(said, told)
            for command in ("explain", "stalls"):
                told = " ".join(self.command(command, watchdog + ".db").out.split())
                self.assertIn("The last record is ", told)
                self.assertIn(said, told)
            self.assertIn("No unexpected stalls in the calls that returned", told)  # of stalls
            process.kill()
            process.wait()
            self.settle()
            self.assertNotIn("The last record is", self.command("report", watchdog + ".db").out)

    def silence(self, name):
        if not os.path.exists(self.path(name)):
            return None
        told = self.command("report", name, "-s", "findings", status=None)
        text = " ".join(told.out.split())
        return text if told.status == 0 and "The last record is" in text else None

    def test_kernel_that_may_never_end(self):
        """The kernel, its launch, and how to inspect it."""
        process = self.hang(60000, GPUVERIFY_STACKS="all")
        harness.wait_for(lambda: self.flights() and self.flights()[0]["elapsed_ns"] > 1.1e9, "it hangs for a while")
        told = " ".join(self.command("explain", "trace.db").out.split())
        self.assertIn("spin may never end: ", told)
        self.assertIn(f"cuda-gdb -p {process.pid}, then 'info cuda kernels'", told)
        self.assertIn(f"py-spy dump --pid {process.pid}", told)
        process.kill()
        process.wait()
        self.settle()
        told = " ".join(self.command("explain", "trace.db").out.split())
        self.assertRegex(told, r"spin may never end: .*It was launched at load_while_busy\.c:\d+.*cuda-gdb -p PID")

    def test_killed_before_the_watchdog_looked(self):
        process = self.hang(60000, GPUVERIFY_WATCHDOG="3600")

        def inside():
            if not os.path.exists(self.path("trace.db")):
                return 0
            trace = harness.Trace(self.path("trace.db"))
            try:
                return trace.count("cuLaunchKernel")
            except sqlite3.Error:  # the schema is not there yet
                return 0
            finally:
                trace.close()

        harness.wait_for(inside, "the kernel is launched")
        process.send_signal(signal.SIGKILL)
        process.wait()
        flight = self.trace().dicts("SELECT * FROM in_flight")[0]
        self.assertEqual((flight["name"], flight["cause"]), ("cuModuleLoadData", "module-load"))


class WhoWaitsForWhom(Hangs):
    """What the commands print about a program that hangs, with the GPU side and without."""

    def flights_of(self, program, gpu, *names):
        """Its calls in flight by name, once all of these are written."""
        self.start([program, "60000"], env={"GPUVERIFY_WATCHDOG": "0.2", "GPUVERIFY_GPU": gpu})

        def written():
            flights = {flight["name"]: flight for flight in self.flights()}
            return flights if set(names) <= set(flights) else None

        return harness.wait_for(written, f"the watchdog writes {names}")

    def deadlock(self, gpu):
        flight = self.flights_of(harness.workload("stalls/lazy_deadlock"), gpu, "cuLaunchKernel")["cuLaunchKernel"]
        self.assertEqual((flight["kernel"], flight["cause"]), ("set_flag", "lazy-load"))
        self.assertIn("It waits for spin_for_flag, ", flight["state"])
        self.assertIn("If it waits for set_flag in turn, this is a deadlock.", flight["state"])
        self.assertRegex(flight["advice"], r"^Load set_flag at the program's start")
        self.assertIsNone(flight["blocked_by_thread"])
        told = self.command("explain", "trace.db").out
        self.assertRegex(told, r"(?m)^  state +It waits for spin_for_flag")
        self.assertRegex(told, r"(?m)^  fix +Load set_flag at the")
        told = " ".join(told.split())
        self.assertIn("it has not returned", told)
        self.assertIn("this is a deadlock", told)

    def test_a_deadlock_of_lazy_loading(self):
        self.deadlock("auto")

    def test_a_deadlock_of_lazy_loading_host_only(self):
        self.deadlock("off")

    def behind(self, gpu):
        flights = self.flights_of(harness.workload("stalls/lock_launch"), gpu, "cuModuleLoadData",
                                  "cuLaunchKernel")
        load, launch = flights["cuModuleLoadData"], flights["cuLaunchKernel"]
        self.assertEqual((load["cause"], load["blocked_by_thread"]), ("module-load", None))
        self.assertEqual((launch["cause"], launch["blocked_by_thread"]), ("lock", load["thread"]))
        self.assertNotEqual(launch["thread"], load["thread"])
        self.assertIn(f"Thread {load['thread']} has been in cuModuleLoadData since ", launch["state"])
        self.assertIn("It waits for spin, ", launch["state"])
        self.assertEqual(launch["advice"], load["advice"])

    def test_behind_another_thread(self):
        self.behind("auto")

    def test_behind_another_thread_host_only(self):
        self.behind("off")

    def other_stream(self, gpu):
        load = self.flights_of(harness.program("hang_load"), gpu, "cuModuleLoadData")["cuModuleLoadData"]
        self.assertEqual(load["cause"], "module-load")
        self.assertRegex(load["state"], r"^It waits for spin, launched [\d.]+ s into the run, which is not"
                                        r" known to have ended\.$")
        self.assertEqual(load["advice"], "Load code before the GPU has work.")

    def test_another_stream_was_waited_for(self):
        self.other_stream("auto")

    def test_another_stream_was_waited_for_host_only(self):
        self.other_stream("off")
