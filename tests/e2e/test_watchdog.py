"""A call that does not return is explained while the program hangs in it, and after it was killed."""

import os
import signal
import sqlite3

import harness


class Hanging(harness.Case):

    def hang(self, milliseconds, **env):
        env.setdefault("GPUVERIFY_WATCHDOG", "0.2")
        return self.start([harness.workload("load_while_busy"), str(milliseconds)], env=env)

    def flights(self):
        """What any SQLite client sees of the trace that is being written."""
        if not os.path.exists(self.path("trace.db")):
            return []
        trace = harness.Trace(self.path("trace.db"))
        try:
            return trace.dicts("SELECT * FROM in_flight")
        except sqlite3.Error:  # the schema is not there yet
            return []
        finally:
            trace.close()

    def test_explained_while_it_hangs(self):
        process = self.hang(60000)
        flight = harness.wait_for(self.flights, "the watchdog writes the call")[0]
        self.assertEqual((flight["name"], flight["cause"], flight["confidence"]),
                         ("cuModuleLoadData", "module-load", "inferred"))
        self.assertGreaterEqual(flight["elapsed_ns"], 200e6)
        self.assertIn("spin", flight["advice"])
        told = self.command("explain", "trace.db")
        self.assertIn("and is still inside it", " ".join(told.out.split()))
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
        self.assertIn("the process ended inside it", " ".join(told.out.split()))

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
