"""Copies of stacks hold the program's data. They are unwound and cleared, whatever ends first."""

import os
import random
import shutil
import signal
import subprocess

import harness

SECRET = b"secret-word-of-the-stack"


def damage(path, generator, what):
    """The last parts of a spool are the ring and the list of objects (trace/spool.h)."""
    objects, chunks = 4096 * 512, 9 * 64
    with open(path, "r+b") as file:
        for _ in range(300):
            if what == 0:
                file.seek(os.path.getsize(path) - objects + generator.randrange(60 * 512))
            else:
                chunk = os.path.getsize(path) - objects - 4096 * (chunks - generator.randrange(256))
                file.seek(chunk + 8 + generator.randrange(320))
            file.write(generator.choice((generator.randbytes(8), b"\xff" * 8, b"\0")))


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
        harness.wait_for(lambda: harness.is_dead(collector), "the collector is dead")
        self.command("recover")
        self.check_stacks(60)
        self.assertEqual(self.places_of_secret(), [])

    def test_damaged_ring_and_list_of_objects(self):
        """recover stores the calls, and some of their stacks."""
        program = self.begin(GPUVERIFY_COLLECTOR="off")
        self.make_calls(program, 200)
        program.kill()
        program.wait()
        kept = self.path("kept")
        shutil.copytree(self.spool, kept)
        generator = random.Random(1)
        for round_ in range(12):
            for name in os.listdir(kept):
                shutil.copy(os.path.join(kept, name), self.spool)
                if name.endswith(".spool"):
                    damage(os.path.join(self.spool, name), generator, round_ % 2)
            trace = self.path(f"{round_}.db")
            self.command("recover", "-o", trace)
            self.assertEqual(self.open_trace(trace).count("cuCtxSynchronize"), 200)

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
