"""Each workload of kernels/stalls on the simulator, with the GPU side and without: its trace has the
stalls in its .expect file."""

import contextlib
import os
import sqlite3
import sys

import harness

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import stall_expectations as expectations  # noqa: E402

BUSY_MS = 100
# A machine that has other things to do holds threads up for longer than a GPU would: what is wrong
# with a trace for another reason is wrong each time. Where the program's own clock says that a call took
# longer than the GPU was busy, the time does not count.
ATTEMPTS = 3
DISTURBED_ATTEMPTS = 9
# Long enough to differ from everything else, also from compilation.
SIMULATED = {"GV_SIM_JIT_NS": "30000000", "GV_SIM_LOAD_NS": "60000", "GV_SIM_KERNEL_NS": "2000"}
MODES = {"measured": "auto", "inferred": "off"}
# Those whose length is not their argument's.
OWN_LENGTH = ("no_stalls", "lazy_deadlock")


@harness.depends_on_time("it compares what a trace says with how long the program was held up")
class Stalls(harness.Case):
    """One case for each program, mode and state, made below."""

    def check(self, name, mode, state):
        clean = disturbed = 0
        while clean < ATTEMPTS and disturbed < DISTURBED_ATTEMPTS:
            try:
                return self.attempt(name, mode, state)
            except expectations.Mismatch as mismatch:
                told = str(mismatch)
                os.unlink(self.path("trace.db"))
            if state == "busy" and expectations.longest_ms(self.output) > 1.1 * BUSY_MS:
                disturbed += 1
            else:
                clean += 1
        self.fail(f"{clean} times, and {disturbed} on a busy machine, the last: {told}")

    def attempt(self, name, mode, state):
        expectation = expectations.load(name)
        env = {**SIMULATED, **expectation.get("environment", {}), "GPUVERIFY_GPU": MODES[mode],
               "GPUVERIFY_CUPTI": os.path.join(harness.simulator(), "libcupti.so.13")}
        if expectation.get("machine"):
            env["GV_SIM_MACHINE"] = self.path("machine")
            os.makedirs(env["GV_SIM_MACHINE"], exist_ok=True)
        words = ["idle"] if state == "idle" else []
        if name not in OWN_LENGTH:
            words.append(str(BUSY_MS))
        result = self.run_program([harness.workload(os.path.join("stalls", name)), *words], env=env)
        self.output = result.out
        killed = expectations.is_killed(name, state)
        self.assertEqual(result.status, -9 if killed else 0, str(result))
        # A program that is stopped in the middle of something may lose a record, and one that asks an
        # event millions of times a second on a busy machine some of these calls.
        self.trace(losses=killed or name in ("stopped", "descheduled"))
        expectations.check(name, self.path("trace.db"), result.out, mode, state, BUSY_MS,
                           expectations.WIDE)


class Invented(harness.Case):
    """Excess stalls are detected: the expectations of a program without stalls can fail."""

    def expect(self, output, margin):
        expectations.check("no_stalls", self.path("trace.db"), output, "inferred", "busy", BUSY_MS, margin)

    def test_invented_stalls_are_seen(self):
        result = self.run_program([harness.workload("stalls/no_stalls"), "2000"],
                                  env={**SIMULATED, "GPUVERIFY_GPU": "off"})
        self.assertEqual(result.status, 0, str(result))
        self.trace()
        # A busy machine's own, if there are any.
        with contextlib.closing(sqlite3.connect(self.path("trace.db"))) as trace:
            trace.execute("DELETE FROM stall WHERE cause IN ('descheduled', 'unknown')")
            trace.commit()
        for margin in (expectations.WIDE, expectations.STRICT):
            self.expect(result.out, margin)
        for cause, ms in (("unknown", 500), ("unknown", 0.2), ("lazy-load", 5), ("jit", 500)):
            with contextlib.closing(sqlite3.connect(self.path("trace.db"))) as trace:
                # The last launch was not slow, or not as slow.
                trace.execute("UPDATE call SET duration_ns = ?1 WHERE id = (SELECT max(id) FROM calls WHERE"
                              " class = 'launch')", (int(ms * 1e6),))
                trace.execute("INSERT INTO stall (call, cause, expected, jit_ns, wait_ns, work_ns, confidence)"
                              " SELECT max(id), ?1, 0, 0, ?2, 0, 'inferred' FROM calls WHERE class = 'launch'",
                              (cause, int(ms * 1e6)))
                trace.commit()
            for margin in (expectations.WIDE, expectations.STRICT):
                with self.assertRaises(expectations.Mismatch, msg=f"{ms} ms of {cause}"):
                    self.expect(result.out.replace("slow", "quick"), margin)
            with contextlib.closing(sqlite3.connect(self.path("trace.db"))) as trace:
                trace.execute("DELETE FROM stall WHERE id = (SELECT max(id) FROM stall)")
                trace.commit()

    def test_of_loads_that_take_as_long_the_last_was_timed(self):
        """As a real driver reads compiled code from its cache: each load takes some hundred microseconds."""
        result = self.run_program([harness.workload("stalls/module_load_ptx_warm"), "idle"],
                                  env={**SIMULATED, "GPUVERIFY_GPU": "off"})
        self.assertEqual(result.status, 0, str(result))
        self.trace()
        with contextlib.closing(sqlite3.connect(self.path("trace.db"))) as trace:
            loads = [row[0] for row in trace.execute("SELECT id FROM calls WHERE name = 'cuModuleLoadData'"
                                                     " ORDER BY start_ns")]
            self.assertEqual(len(loads), 3)
            trace.execute("DELETE FROM stall")
            trace.execute("INSERT OR REPLACE INTO stall_advice VALUES (1, '-')")
            for load, us in zip(loads, (300, 344, 339)):
                trace.execute("UPDATE call SET duration_ns = ?1 WHERE id = ?2", (us * 1000, load))
                trace.execute("INSERT INTO stall (call, cause, expected, jit_ns, wait_ns, work_ns, confidence,"
                              " advice) VALUES (?1, 'jit', 0, ?2, 0, 0, 'inferred', 1)", (load, us * 1000))
            trace.commit()
        for margin in (expectations.WIDE, expectations.STRICT):
            expectations.check("module_load_ptx_warm", self.path("trace.db"), "timed load cuModuleLoadData 0.345",
                               "inferred", "idle", BUSY_MS, margin)


def add(name, mode, state):
    def case(self):
        self.check(name, mode, state)
    setattr(Stalls, f"test_{name}_{mode}_{state}", case)


for program in expectations.names():
    for how in MODES:
        for when in ("busy", "idle"):
            add(program, how, when)
