"""Why the GPU was idle: each workload of kernels/idle on the simulator, and its twin. Also what the thread that looks
must survive."""

import os
import re
import shutil
import subprocess
import sys
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import idle_expectations as expectations  # noqa: E402

# What the driver's calls take must not be part of the picture, except for pinned memory.
SIMULATED = {"GV_SIM_PIN_NS_PER_MB": "200000", "GPUVERIFY_CUPTI": os.path.join(harness.simulator(), "libcupti.so.13")}
BUSY_MACHINE = "other programs take the CPU from the one that is looked at"


class IdleCase(harness.Case):
    gpu = "auto"

    def run_workload(self, words, python=sys.executable, **env):
        """Its trace, and how many ns its main thread had no CPU."""
        path = expectations.source(words[0])
        program = [python, path] if path.endswith(".py") else [harness.workload(f"idle/{words[0]}")]
        name = "-".join(words) + ".db"
        result = self.run_program([*program, *words[1:]], env={**SIMULATED, "GPUVERIFY_TRACE": self.path(name), **env})
        if result.status == 77:
            self.skipTest(result.out.strip())
        self.assertEqual((result.status, result.err), (0, ""), str(result))
        return self.trace(self.path(name)).database, expectations.descheduled_ns(result.out)

    def run_text(self, text, **env):
        """The output of Python code that can import gpu, and its trace."""
        result = self.run_well([sys.executable, self.write("program.py", text)],
                               env={**SIMULATED, "PYTHONPATH": expectations.IDLE, **env})
        return result.out, self.trace().database


@harness.depends_on_time(BUSY_MACHINE)
@unittest.skipUnless(os.path.exists(SIMULATED["GPUVERIFY_CUPTI"]), "no simulated libcupti was built")
class Reasons(IdleCase):
    """One case for each workload with its twin, made below."""

    def check(self, name, words, reason, env):
        path = expectations.source(words[0])
        trace, waited_ns = self.run_workload(words, **env)
        # What runs, and is in no system call, has no native stack by default.
        lines = expectations.marked(path, f"idle: {reason}") if words[0] != "native" else ()
        part = expectations.PARTS.get(name, "main")
        expectations.check_reason(trace, path, reason, lines, waited_ns, also=expectations.ALSO.get(name, ()), part=part)
        expectations.check_detail(trace, name, reason)
        if reason == "no-cpu":
            expectations.check_waited(trace, waited_ns)
        expectations.check_sum(trace)
        twin, waited_ns = self.run_workload([*words, "twin"], **env)
        expectations.check_twin(twin, path, reason, waited_ns, part)
        expectations.check_sum(twin)
        expectations.check_unknown(trace, twin)


def add(name, words, reason, env):
    def case(self):
        self.check(name, words, reason, env)
    setattr(Reasons, f"test_{name}", case)


for case_name, workload in expectations.WORKLOADS.items():
    add(case_name, *workload)


@harness.depends_on_time(BUSY_MACHINE)
@unittest.skipUnless(os.path.exists(SIMULATED["GPUVERIFY_CUPTI"]), "no simulated libcupti was built")
class Pythons(IdleCase):
    """What only each version of CPython can tell: one case for each that is here, made below."""

    def check(self, name):
        python = shutil.which(name)
        works = python and subprocess.run([python, "-c", "import ctypes"], capture_output=True,
                                          check=False).returncode == 0
        if not works:
            self.skipTest(f"no {name} here")
        for words, reason in (["gil.py"], "gil"), (["gil.py", "long"], "gil"), (["garbage.py"], "gc"):
            path = expectations.source(words[0])
            trace, waited_ns = self.run_workload(words, python=python, PYENV_VERSION=None, GPUVERIFY_IDLE_HZ="200")
            expectations.check_reason(trace, path, reason, expectations.marked(path, f"idle: {reason}"), waited_ns)


def add_python(name):
    def case(self):
        self.check(name)
    setattr(Pythons, "test_" + name.replace(".", "_"), case)


for version in range(9, 16):
    add_python(f"python3.{version}")


@harness.depends_on_time(BUSY_MACHINE)
@unittest.skipUnless(os.path.exists(SIMULATED["GPUVERIFY_CUPTI"]), "no simulated libcupti was built")
class Devices(IdleCase):
    def check(self, trace, device, mark, waited_ns):
        path = expectations.source("two_devices.py")
        expectations.check_reason(trace, path, mark.split()[-1], expectations.marked(path, mark), waited_ns, f"device = {device}")

    def test_each_device_has_its_own_idle_time(self):
        trace, waited_ns = self.run_workload(["two_devices.py"], GV_SIM_DEVICES="2")
        self.check(trace, 1, "idle: sleep", waited_ns)
        self.assertLess(expectations.idle_ns(trace, "device = 0 AND reason = 'sleep'"),
                        0.05 * expectations.idle_ns(trace, "device = 1"))
        expectations.check_sum(trace)
        twin, waited_ns = self.run_workload(["two_devices.py", "twin"], GV_SIM_DEVICES="2", **expectations.OFTEN)
        self.check(twin, 1, "idle: sleep", waited_ns)
        self.check(twin, 0, "twin: thread-lock", waited_ns)
        expectations.check_sum(twin)


class NativeStacks(IdleCase):
    """Those of running threads, which the collector stops."""

    gpu = "off"

    def test_running_thread(self):
        trace, _ = self.run_workload(["native"], GPUVERIFY_IDLE_STACKS="native")
        if trace.execute("SELECT 1 FROM not_taken WHERE what = 'native stack'").fetchone():
            self.skipTest("ptrace is refused here")
        path = expectations.source("native")
        found = dict(trace.execute("SELECT f.line, count(*) FROM idle_sample s JOIN frames f ON f.stack = s.stack"
                                   " WHERE f.depth = 0 AND f.file LIKE '%/native.c' GROUP BY 1"))
        line = min(expectations.marked(path, "idle: native"))
        self.assertTrue(found.keys() & {line - 1, line}, found)  # the line, and the loop around it

    def test_refused(self):
        self.run_well([harness.workload("idle/native")], preexec_fn=harness.refuse_ptrace,
                      env={**SIMULATED, "GPUVERIFY_IDLE_STACKS": "native"})
        trace = self.trace()
        self.assertEqual(trace.rows("SELECT what, reason, count FROM not_taken"), [("native stack", "ptrace refused", 1)])


@harness.depends_on_time(BUSY_MACHINE)
class HostOnly(IdleCase):
    """Without the GPU side, the idle time is inferred from the calls."""

    gpu = "off"

    def check(self, program, reason):
        path = expectations.source(program)
        trace, waited_ns = self.run_workload([program])
        expectations.check_reason(trace, path, reason, expectations.marked(path, f"idle: {reason}"), waited_ns)
        self.assertEqual({row[0] for row in trace.execute("SELECT device FROM idle WHERE reason = ?", (reason,))}, {None})
        # The program runs 0.6 s, and little of it is the GPU's.
        self.assertGreater(expectations.idle_ns(trace), 0.45e9, expectations.story(trace))

    def test_python(self):
        self.check("python_code.py", "python")

    def test_lock(self):
        self.check("locks.py", "thread-lock")


@harness.depends_on_time(BUSY_MACHINE)
class Lives(IdleCase):
    """The thread that looks, in processes that begin and end in every way."""

    gpu = "off"

    def expect_mostly(self, reason, trace, where="1"):
        """Of the time until the last work: a busy machine can make an end take long."""
        found = trace.execute(f"SELECT reason FROM idle WHERE next_call IS NOT NULL AND previous_call IS NOT NULL AND {where}"
                              " GROUP BY reason ORDER BY sum(duration_ns) DESC").fetchone()
        self.assertEqual(found and found[0], reason, expectations.story(trace))

    def process_ids(self, trace, order):
        return [row[0] for row in trace.execute(f"SELECT id FROM processes ORDER BY {order}")]

    THREADS = """
import os, time
import gpu
for _ in gpu.rounds(0.2):
    time.sleep(0.05)
print(len(os.listdir("/proc/self/task")))
"""

    def test_two_threads_of_ours(self):
        out, trace = self.run_text(self.THREADS)
        self.assertEqual(out.splitlines()[0], "3")
        self.expect_mostly("sleep", trace)

    WAITS = """
import ctypes, os, sys, threading
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
if len(sys.argv) > 1 and os.fork():
    os._exit(0)
if len(sys.argv) > 1: # CUDA cannot be used in a forked child
    os.execv(sys.executable, [sys.executable, sys.argv[0]])
device, context = ctypes.c_int(), ctypes.c_void_p()
cuda.cuDeviceGet(ctypes.byref(device), 0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
cuda.cuCtxSetCurrent(context)
cuda.cuCtxSynchronize()
print("ready", flush=True)
threading.Thread(target=lambda: threading.Event().wait(), daemon=True).start()
sys.stdin.readline()
"""

    NOW = r"THREADS NOW.*\n.*waiting .*waits\.py:\d+ <module>"

    def now(self):
        return self.command("top", "--once", self.path("trace.db")).out

    def transactions(self):
        """How many the trace has had: a number in the head of its file."""
        with open(self.path("trace.db"), "rb") as file:
            return int.from_bytes(file.read(28)[24:], "big")

    def expect_few_transactions(self, *words):
        process = self.start([sys.executable, self.write("waits.py", self.WAITS), *words], stdin=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        harness.wait_for(lambda: re.search(self.NOW, self.now()), "it is looked at")
        before = self.transactions()
        harness.pause(3)
        found = self.transactions() - before
        pictures = [self.now() for _ in range(6)]
        process.stdin.close()
        process.wait(harness.SOON_S)
        process.stdout.close()
        self.assertGreater(found, 3)  # `top` shows what it does
        self.assertLess(found, 24)  # 60 passes
        return pictures

    def test_an_idle_process_is_stored_seldom(self):
        for picture in self.expect_few_transactions():
            self.assertRegex(picture, self.NOW)

    def test_an_idle_daemon_is_stored_seldom(self):
        self.expect_few_transactions("daemon")

    def test_no_thread_if_not_wanted(self):
        out, trace = self.run_text(self.THREADS, GPUVERIFY_IDLE_HZ="0")
        self.assertEqual(out.splitlines()[0], "1")
        self.assertEqual(trace.execute("SELECT coalesce(sum(samples), 0) FROM idle").fetchone()[0], 0)

    def test_child_that_uses_the_gpu_itself(self):
        _, trace = self.run_text("""
import os, threading, time
import gpu
pid = os.fork()
for _ in gpu.rounds(0.4):
    if pid:
        time.sleep(0.05)
    else:
        threading.Event().wait(0.05)
if pid:
    os.waitpid(pid, 0)
""")
        parent, child = self.process_ids(trace, "parent_pid IN (SELECT pid FROM processes), id")
        self.expect_mostly("sleep", trace, f"process = {parent}")
        self.expect_mostly("thread-lock", trace, f"process = {child}")

    def test_child_that_computes_and_then_only_waits(self):
        _, trace = self.run_text("""
import os, threading
import gpu
for _ in gpu.rounds(0.1):
    pass
pid = os.fork()
if not pid:
    gpu.compute(700)
    threading.Event().wait(0.8)
    os._exit(0)
os.waitpid(pid, 0)
gpu.work()
""")
        self.expect_mostly("child", trace, "process = (SELECT min(id) FROM processes)")

    def test_many_children_leave_time_for_looks(self):
        """A search for what they do tells of several of them in one look: there are looks without one between two searches."""
        _, trace = self.run_text("""
import os, signal, time
import gpu
def child(run):
    pid = os.fork()
    if not pid:
        run()
        os._exit(0)
    return pid
def tick():
    while os.write(writer, b"x"):
        time.sleep(0.05)
reader, writer = os.pipe()
children = [child(tick), *(child(lambda: time.sleep(60)) for _ in range(40))]
for _ in gpu.rounds(3):
    os.read(reader, 1)
for pid in children:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
""")
        told = [count for count, in trace.execute("SELECT count(*) FROM idle_sample WHERE about = 2 GROUP BY at_ns")]
        self.assertLess(5 * sum(count > 1 for count in told), len(told), told)

    def ask_child(self, connect):
        """The trace of a program that asks a child again and again, which takes a while to answer."""
        return self.run_text("""
import os, socket, time
import gpu
""" + connect + """
if not os.fork():
    server = accept()
    client.close()
    while server.recv(1):
        time.sleep(0.04)
        server.sendall(b"x")
    os._exit(0)
for _ in gpu.rounds():
    client.sendall(b"x")
    client.recv(1)
client.close()
os.wait()
""")[1]

    def test_child_behind_a_connection(self):
        """It is the network's, with a time limit (which polls) and without, however busy the child."""
        listen = """
listener = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listener.getsockname(), timeout={})
accept = lambda: listener.accept()[0]
"""
        for timeout in (None, 9):
            with self.subTest(timeout):
                self.expect_mostly("network", self.ask_child(listen.format(timeout)))

    def test_child_behind_a_unix_socket(self):
        self.expect_mostly("child", self.ask_child("client, server = socket.socketpair()\naccept = lambda: server\n"))

    def test_caller_of_a_line_is_the_one_of_that_time(self):
        """Of a line that is reached in two ways, each idle time has its own."""
        self.run_text("""
import time
import gpu

def wait(seconds):
    time.sleep(seconds)

def at_the_start():
    wait(.15)

def in_each_step():
    wait(.15)

gpu.start()
gpu.work(5)
at_the_start()
for _ in range(8):
    gpu.work(5)
    in_each_step()
gpu.work(5)
""")
        callers = self.trace().database.execute(
            "SELECT f.function, sum(i.duration_ns) / 1e9 FROM idle i JOIN frames f ON f.stack = i.stack"
            " WHERE f.function IN ('at_the_start', 'in_each_step') GROUP BY 1 ORDER BY 1").fetchall()
        self.assertEqual([name for name, _ in callers], ["at_the_start", "in_each_step"])
        self.assertGreater(callers[1][1], 4 * callers[0][1])

    def test_line_of_a_deep_import(self):
        """Packages import one another until the innermost 48 frames are all theirs."""
        modules = 30
        os.mkdir(self.path("site-packages"))
        self.write("site-packages/entry.py", "def load(depth):\n    if depth:\n        load(depth - 1)\n    else:\n        import deep_0\n")
        for number in range(modules):
            self.write(f"site-packages/deep_{number}.py", f"import deep_{number + 1}\n")
        self.write(f"site-packages/deep_{modules}.py", "values = [str(i) for i in range(300_000)]\n")
        _, trace = self.run_text("""
import sys
import gpu
sys.path.insert(0, sys.path[0] + "/site-packages")
import entry
for _ in gpu.rounds(1):
    for name in [name for name in sys.modules if name.startswith("deep_")]:
        del sys.modules[name]
    entry.load(10)  # the line
""", GPUVERIFY_IDLE_HZ="200")
        self.expect_mostly("import", trace)
        self.assertGreater(expectations.named_ns(trace, "program.py", {9}, "reason = 'import'"),
                           0.7 * expectations.idle_ns(trace, "reason = 'import'"), expectations.story(trace))
        number, = trace.execute("SELECT id FROM idle WHERE reason = 'import' ORDER BY duration_ns DESC").fetchone()
        told = self.command("explain", self.path("trace.db"), f"i{number}", "-f", "json").out
        self.assertRegex(told, r'"where": ".* <- \.\.\. \d+ frames \.\.\. <- program\.py:9 <module>"')

    def test_forked_child_without_the_gpu(self):
        out, trace = self.run_text("""
import os, time
import gpu
gpu.start()
gpu.work()
pid = os.fork()
if not pid:
    time.sleep(0.3)
    print(len(os.listdir("/proc/self/task")), flush=True)
    os._exit(0)
for _ in gpu.rounds(0.4):
    time.sleep(0.05)
os.waitpid(pid, 0)
""")
        self.assertEqual(out.splitlines()[0], "1")
        self.expect_mostly("sleep", trace)

    def test_exec(self):
        _, trace = self.run_text("""
import os, sys, threading, time
import gpu
for _ in gpu.rounds(0.3):
    if "again" in sys.argv:
        threading.Event().wait(0.05)
    else:
        time.sleep(0.05)
if "again" not in sys.argv:
    os.execv(sys.executable, [sys.executable, __file__, "again"])
""")
        before, after = self.process_ids(trace, "start_ns")
        self.expect_mostly("sleep", trace, f"process = {before}")
        self.expect_mostly("thread-lock", trace, f"process = {after}")

    def test_threads_that_end(self):
        _, trace = self.run_text("""
import threading, time
import gpu
gpu.start()
def drive():
    gpu.bind()
    for _ in range(2):
        gpu.work(1)
        time.sleep(0.02)
for _ in range(8):
    threads = [threading.Thread(target=drive) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
""", **expectations.OFTEN)
        self.assertEqual(trace.execute("SELECT count(*) FROM threads").fetchone()[0], 33)
        self.assertGreater(expectations.idle_ns(trace, "reason = 'sleep'"), 0, expectations.story(trace))

    def look_at_turns(self, bind=""):
        """A program whose threads take turns: its trace, and how many CPUs it may use."""
        _, trace = self.run_text("""
import concurrent.futures, os, threading, time, zlib
import gpu
lock = threading.Lock()
data = zlib.compress(os.urandom(1 << 20) * 2, 1)
def read():
    with lock:
        zlib.decompress(data)
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    for future in [pool.submit(time.sleep, 0.05) for _ in range(8)]:
        future.result()
    """ + bind + """
    for _ in gpu.rounds(2.0):
        for future in [pool.submit(read) for _ in range(16)]:
            future.result()
""", GPUVERIFY_IDLE_HZ="100")
        # In the first second, all threads count.
        return trace, trace.execute("SELECT cpus FROM idle_sample_cpu ORDER BY sample DESC LIMIT 1").fetchone()[0]

    def test_cpus_of_a_process_whose_threads_take_turns(self):
        trace, cpus = self.look_at_turns()
        looks = "FROM idle_sample LEFT JOIN idle_sample_cpu ON sample = id WHERE about <> 2 AND about <> 4"
        self.assertEqual(trace.execute(f"SELECT count(*) {looks} AND (span_ns IS NULL) <> (cpus IS NULL)").fetchone()[0], 0)
        threads, used = trace.execute("SELECT count(DISTINCT pid_or_tid), sum(process_cpu_ns) * 1.0 / sum(span_ns)"
                                      f" {looks} AND about = 3").fetchone()
        self.assertGreater(threads, 1)
        self.assertTrue(0.1 < used < 1.5, used)
        self.assertTrue(0 < cpus <= os.cpu_count(), cpus)
        _, bound = self.look_at_turns("os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])")
        self.assertEqual(bound, cpus)  # only the main thread is

    def test_interpreter_that_ends_before_the_process(self):
        """The C library calls usleep(256000) when the interpreter is gone; the exit status is 256000 modulo 256."""
        _, trace = self.run_text("""
import ctypes, sys, time
import gpu
libc = ctypes.CDLL(None)
for _ in gpu.rounds(0.2):
    time.sleep(0.05)
libc.on_exit(libc.usleep, None)
sys.exit(256000)
""", **expectations.OFTEN)
        self.assertGreater(expectations.idle_ns(trace, "reason = 'sleep'"), 0.2e9, expectations.story(trace))

    def test_daemon_threads_at_the_end(self):
        _, trace = self.run_text("""
import threading, time
import gpu
gpu.start()
def drive():
    gpu.bind()
    while True:
        gpu.work(1)
        gpu.compute(2)
for _ in range(4):
    threading.Thread(target=drive, daemon=True).start()
time.sleep(0.3)
""", **expectations.OFTEN)
        self.assertGreater(trace.execute("SELECT count(*) FROM calls").fetchone()[0], 10)
