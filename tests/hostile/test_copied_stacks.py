"""Copies of stacks hold the program's data. They are unwound and cleared, whatever ends first."""

import os
import signal
import subprocess

import harness

SECRET = b"secret-word-of-the-stack"


class Copies(harness.Case):
    def begin(self, **env):
        return self.start([harness.built("tests", "hostile", "programs", "hostile_secrets")],
                          env={"GPUVERIFY_STACKS": "all", **env}, stdin=subprocess.PIPE)

    def make_calls(self, program, count):
        program.stdin.write(f"{count}\n".encode())
        program.stdin.flush()
        self.assertEqual(program.stdout.readline(), b"called\n")

    def places_of_secret(self):
        """The files of the spool and of the trace that have it."""
        found = []
        for folder in (self.spool, self.dir):
            for name in os.listdir(folder):
                with open(os.path.join(folder, name), "rb") as file:
                    if SECRET in file.read():
                        found.append(name)
        return found

    def check_stacks(self, count):
        """Of so many calls, each has its chain."""
        rows = self.trace(losses=True).rows("SELECT stack FROM calls WHERE name = 'cuCtxSynchronize' AND stack IS NOT NULL")
        self.assertEqual(len(rows), count)
        functions = [function for function, in self.traces[-1].rows(
            "SELECT function FROM frames WHERE stack = ? AND depth < 2 ORDER BY depth", rows[0][0])]
        if functions != [None, None]:
            self.assertEqual(functions, ["call", "main"])

    def test_nothing_is_left_once_the_collector_has_read_it(self):
        program = self.begin()
        self.make_calls(program, 300)
        harness.wait_for(lambda: not self.places_of_secret(), "the copies are cleared")
        program.communicate()
        self.check_stacks(300)
        self.assertEqual(self.places_of_secret(), [])

    def test_program_and_collector_are_killed(self):
        program = self.begin()
        self.make_calls(program, 10)
        collector = self.await_collector()
        os.kill(collector, signal.SIGSTOP)
        self.make_calls(program, 50)
        self.assertTrue(self.places_of_secret(), "the copies wait")
        os.kill(collector, signal.SIGKILL)
        program.kill()
        program.wait()
        self.command("recover")
        self.check_stacks(60)
        self.assertEqual(self.places_of_secret(), [])

    def test_jumps_out_of_copying(self):
        """They leave no part of the ring behind."""
        program = self.start([harness.built("tests", "hostile", "programs", "hostile_jumping")],
                             env={"GPUVERIFY_STACKS": "all"}, stdin=subprocess.PIPE)
        self.assertEqual(program.stdout.readline(), b"jumped\n")
        seen = ["query", self.path("trace.db"), "-v", "SELECT count(*) FROM calls WHERE name = 'cuCtxSetCurrent'"]
        harness.wait_for(lambda: self.command(*seen, status=None).out == "3\n", "the collector has seen the calls")
        collector, = self.collectors()
        os.kill(collector, signal.SIGSTOP)
        program.stdin.write(b"\n")
        program.stdin.flush()
        self.assertEqual(program.stdout.readline(), b"called\n")
        os.kill(collector, signal.SIGCONT)
        program.communicate()
        last = self.trace(losses=True).rows("SELECT name, stack IS NOT NULL FROM calls ORDER BY start_ns DESC LIMIT 400")
        self.assertEqual(set(last), {("cuCtxSynchronize", 1)})

    def test_ring_is_full(self):
        program = self.begin(GPUVERIFY_COLLECTOR="off")
        self.make_calls(program, 3000)
        self.assertLess(sum(os.stat(os.path.join(self.spool, name)).st_blocks * 512 for name in os.listdir(self.spool)), 16 << 20)
        program.kill()
        program.wait()
        self.command("recover", "-o", self.path("trace.db"))
        taken = self.trace(losses=True).value("SELECT count(stack) FROM calls WHERE name = 'cuCtxSynchronize'")
        self.check_stacks(taken)
        self.assertGreater(taken, 100)
        self.assertEqual(self.places_of_secret(), [])
