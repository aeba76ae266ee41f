"""What a look from outside sees of Python's threads, in the Python that runs this: the GIL, its holder,
who waits for it, the garbage collector, and frames of threads that run meanwhile. Needs the library
python_looks in GV_PYTHON_LOOKS; how to start this Python is in GV_PYTHON, if it needs more than its path."""

import ctypes
import gc
import mmap
import os
import signal
import subprocess
import sys
import sysconfig
import threading
import time
import unittest

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
INNER, OUTER = 32, 16  # frames that are taken of a deep stack
FILE = os.path.basename(__file__)
with open(__file__, encoding="utf-8") as source:
    LINES = ["", *source.read().splitlines()]


class Gil(ctypes.Structure):
    _fields_ = [("is_known", ctypes.c_bool), ("holder", ctypes.c_uint32), ("low", ctypes.c_size_t),
                ("high", ctypes.c_size_t), ("collects", ctypes.c_bool)]


class Look(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint32), ("tid", ctypes.c_uint32), ("waiter", ctypes.c_uint32),
                ("times", ctypes.c_uint32), ("pause_us", ctypes.c_uint32), ("names", ctypes.c_bool),
                ("collecting", ctypes.c_bool), ("found", ctypes.c_bool), ("began", ctypes.c_uint32),
                ("stacks", ctypes.c_uint32), ("gil", Gil), ("directly", ctypes.c_bool),
                ("text", ctypes.c_char * (1 << 20))]

    def run(self):
        library.python_look_start(ctypes.byref(self))
        library.python_look_wait()
        return self

    def lists(self):
        """Distinct stacks: (function, line), innermost first, of this file; the name without its class. Where
        frames are left out: (None, how many)."""
        stacks = []
        for stack in self.text.decode().split("\n\n"):
            frames = [frame.rsplit(":", 2) for frame in stack.split("\n") if frame]
            frames = [(function.rsplit(".", 1)[-1] or None, int(line)) for file, function, line in frames
                      if os.path.basename(file) in (FILE, "")]
            if frames:
                stacks.append(frames)
        return stacks


library = ctypes.CDLL(os.environ["GV_PYTHON_LOOKS"])


def look(**what):
    return Look(**{"times": 1, "names": True, **what}).run()


def line_with(text):
    return next(number for number, line in enumerate(LINES) if text in line)


class Runner(threading.Thread):
    """Runs a function until it is stopped."""

    def __init__(self, function):
        super().__init__(daemon=True)
        self.function = function
        self.stopped = False

    def run(self):
        while not self.stopped:
            self.function()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stopped = True
        self.join()


def counts():
    sum(range(3000000))  # a long call of C


def collects():
    gc.collect()


def even(left):
    if left:
        return odd(left - 1)  # even calls odd
    return short(left) + short(left + 1)


def odd(left):
    if left:
        return even(left - 1)  # odd calls even
    total = short(left)
    for value in produce(3):
        total += short(value)
    return total


def short(value):
    return value + 1


def produce(count):
    for value in range(count):
        yield short(value)


def generates():
    sum(i for i in (j for j in (k for k in range(100))))  # its innermost frame is another one all the time


def calls():
    even(9)
    odd(4)
    Made(3)
    sorted(range(5), key=short)


def calls_deeply():
    even(70)


class Made:
    def __init__(self, value):
        self.value = short(value)


def sleeps():
    time.sleep(60)


def deeply(frames, times, names):
    """What the calling thread reads of itself, below some frames."""
    if frames:
        return deeply(frames - 1, times, names)
    seen = Look(times=times, names=names)
    library.python_look_own(ctypes.byref(seen))
    return seen


class Looks(unittest.TestCase):

    def expect_own(self, frames):
        seen = deeply(frames, 40, True)
        self.assertEqual(seen.stacks, 40)
        self.assertTrue(seen.found)
        [stack] = seen.lists()
        inner = [("deeply", line_with("    library.python_look_own"))]
        inner += [("deeply", line_with("        return deeply"))] * frames
        inner += [("expect_own", line_with("        seen = deeply(frames, 40"))]
        self.assertEqual(stack[:min(frames + 2, INNER)], inner[:INNER])
        self.assertEqual(stack[-1][0], "<module>")
        return seen

    def test_own_frames(self):
        """In the main thread, directly once that has proven right."""
        for frames in (0, 20, 100, 0):
            seen = self.expect_own(frames)
        self.assertEqual(seen.directly, not FREE_THREADED)

    def test_own_frames_of_another_thread(self):
        seen = []
        for _ in range(3):
            thread = threading.Thread(target=lambda: seen.append(deeply(5, 40, True)))
            thread.start()
            thread.join()
        self.assertEqual([(look.stacks, look.directly) for look in seen], [(40, False)] * 3)
        self.assertEqual([len(look.lists()) for look in seen], [1] * 3)

    def wait_for_gil(self, function, **what):
        with Runner(function) as thread:
            seen = Look(waiter=threading.get_native_id(), times=3000, pause_us=1000, names=True, **what)
            library.python_look_start(ctypes.byref(seen))
            for _ in range(10000):
                time.sleep(0.001)  # waits for the GIL afterwards
                if seen.found:
                    break
            library.python_look_wait()
            self.assertTrue(seen.gil.is_known)
            self.assertTrue(seen.found)
            self.assertEqual(seen.gil.holder, thread.native_id)
            return seen

    @unittest.skipIf(FREE_THREADED, "it has no GIL")
    def test_who_has_the_gil_and_who_waits(self):
        seen = self.wait_for_gil(counts)
        self.assertFalse(seen.gil.collects)
        self.assertEqual(seen.lists()[0][0], ("counts", line_with("a long call of C")))

    @unittest.skipIf(FREE_THREADED, "it has no GIL")
    def test_garbage_collector(self):
        kept = [[number] for number in range(300000)]
        seen = self.wait_for_gil(collects, collecting=True)
        self.assertEqual(seen.lists()[0][0], ("collects", line_with("    gc.collect()")))
        del kept

    def test_nobody_has_the_gil(self):
        seen = look(tid=threading.get_native_id())
        self.assertEqual(seen.gil.is_known, not FREE_THREADED)
        self.assertEqual((seen.gil.holder, seen.gil.collects), (0, False))
        names = [name for name, _ in seen.lists()[0]]
        self.assertEqual(names[:3], ["run", "look", "test_nobody_has_the_gil"])

    def test_thread_that_runs_no_python(self):
        self.assertEqual(look(tid=1).stacks, 0)

    def expect_calls(self, function, times):
        """Each stack is one that there was: a caller's line calls what is called. But a thread that is stopped
        while it makes a frame may show its last caller: one of 200 000 looks."""
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-4)
        try:
            with Runner(function) as thread, Runner(function):
                seen = look(tid=thread.native_id, times=times)
        finally:
            sys.setswitchinterval(interval)
        stacks = seen.lists()
        self.assertGreater(seen.stacks, seen.times / 2)
        self.assertGreater(len(stacks), 3)  # it is the same thread at different times
        called = {"__init__": "Made(", function.__name__: "self.function("}
        wrong = [stack for stack in stacks if any(
            name and caller and called.get(name, name) not in LINES[line]
            for (name, _), (caller, line) in zip(stack, stack[1:]))]
        self.assertLessEqual(len(wrong), 1, wrong)
        return stacks

    def test_frames_that_change_meanwhile(self):
        cut = [stack for stack in self.expect_calls(calls, 20000) if stack[-1][0] != "run"]
        self.assertLessEqual(len(cut), 1, cut)  # of a frame that is being made

    def test_more_frames_than_are_taken(self):
        deep = 0
        for stack in self.expect_calls(calls_deeply, 5000):
            self.assertEqual(stack[-1][0], "run", stack)
            depth = 0
            for name, left_out in reversed(stack):
                if name in ("even", "odd"):
                    self.assertEqual(name, ("even", "odd")[depth % 2], stack)
                depth += 1 if name else left_out
            self.assertLessEqual(len(stack), INNER + OUTER + 1)
            deep += (None, depth - len(stack) + 1) in stack
        self.assertGreater(deep, 3)

    def test_generator_that_runs(self):
        with Runner(generates) as thread:
            seen = look(tid=thread.native_id, times=600, pause_us=1000)
        self.assertGreater(seen.stacks, seen.times / 2)
        self.assertLessEqual({stack[-1][0] for stack in seen.lists()}, {"run"})

    def test_many_threads_that_come_and_go(self):
        def starts():
            thread = threading.Thread(target=short, args=(1,))
            thread.start()
            thread.join()
        with Runner(starts), Runner(starts), Runner(counts) as counting:
            seen = look(tid=counting.native_id, times=5000)
        self.assertEqual(seen.began, seen.times)
        self.assertGreater(seen.stacks, seen.times / 2)
        self.assertLessEqual({stack[0][0] for stack in seen.lists()}, {"counts", "run"})

    def test_forked_child(self):
        pid = os.fork()
        if pid == 0:
            sleeps()
        try:
            self.expect_sleep(pid, "sleeps", line_with("time.sleep(60)"), __file__)
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def test_started_child(self):
        with subprocess.Popen([os.environ.get("GV_PYTHON", sys.executable), "-c",
                               "import time\n\n\ndef rests():\n    time.sleep(60)\n\n\nrests()"]) as child:
            try:
                self.expect_sleep(child.pid, "rests", 5, "<string>")
            finally:
                child.kill()

    def expect_sleep(self, pid, function, line, file):
        wanted = f"{file}:{function}:{line}\n"
        for _ in range(200):
            seen = look(pid=pid, tid=pid)
            if wanted in seen.text.decode() and seen.gil.holder == 0:
                break
            time.sleep(0.05)
        self.assertEqual(seen.text.decode().split("\n")[0] + "\n", wanted)
        self.assertEqual(seen.gil.is_known, not FREE_THREADED)
        self.assertEqual(seen.gil.holder, 0)

    def test_child_that_is_not_python(self):
        with subprocess.Popen(["sleep", "60"]) as child:
            try:
                time.sleep(0.1)
                self.assertEqual(look(pid=child.pid, tid=child.pid).began, 0)
            finally:
                child.kill()

    def test_what_it_costs_to_find_no_python(self):
        """Hardly more in a process with many mappings, as those of large libraries have."""
        def cost():
            with subprocess.Popen(["sleep", "60"]) as child:
                time.sleep(0.1)
                before = time.process_time_ns()
                self.assertEqual(look(pid=child.pid, tid=child.pid).began, 0)
                after = time.process_time_ns()
                child.kill()
            return after - before

        cost()  # finds our own interpreter
        few = min(cost() for _ in range(5))
        kept = [mmap.mmap(-1, 4096, prot=mmap.PROT_READ | number % 2 * mmap.PROT_WRITE) for number in range(8000)]
        many = min(cost() for _ in range(5))
        self.assertLess(many, 4 * few, f"{len(kept)} mappings")

    def test_process_that_is_gone(self):
        with subprocess.Popen(["true"]) as child:
            child.wait()
        self.assertEqual(look(pid=child.pid, tid=child.pid).began, 0)


if __name__ == "__main__":
    if not (3, 9) <= sys.version_info < (3, 16):
        print(f"Python {sys.version.split()[0]} is not known")
        sys.exit(77)
    assert library.python_look_bytes() == ctypes.sizeof(Look)
    unittest.main()
