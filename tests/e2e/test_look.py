"""gpuverify look: what a process that was started without gpuverify does now."""

import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import harness
import promises

sys.path.insert(0, os.path.join(harness.SOURCE, "tests", "look"))
import situations  # noqa: E402 pylint: disable=wrong-import-position

PROGRAM = os.path.join(harness.SOURCE, harness.PROGRAMS, "looked_at")


def line(kind, how):
    """The line of the program that its comment marks, as it is printed."""
    with open(f"{PROGRAM}.{kind}", encoding="utf-8") as file:
        number = next(i for i, text in enumerate(file, 1) if f"HERE {how}" in text)
    return rf"looked_at\.{kind}:{number}\b"


def plain(kind, how):
    return line(kind, how).replace("\\.", ".").replace("\\b", "")


class Look(harness.Case):

    def begin(self, kind, how, before=(), **options):
        argv = [harness.program("looked_at"), how] if kind == "c" else [sys.executable, PROGRAM + ".py", how]
        process = self.start([*before, *argv], preload=False, stdin=subprocess.PIPE, text=True, **options)
        self.assertEqual(process.stdout.readline(), "ready\n")
        harness.pause(0.1)
        return process

    def end(self, process):
        process.send_signal(signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()

    def look(self, process, *words):
        return json.loads(self.command("look", str(process.pid), "--format", "json", *(words or ("--seconds", "1")),
                                       sim=False).out)

    def main_thread(self, seen):
        return next(thread for thread in seen["threads"] if thread["tid"] == seen["pid"])

    def check(self, kind, how, summary, account, call=None):
        """What the main thread did most, and the sentence on the whole."""
        process = self.begin(kind, how)
        seen = self.look(process)
        part = self.main_thread(seen)["did"][0]
        shown = json.dumps(seen, indent=1)
        self.assertRegex(seen["summary"], summary, shown)
        self.assertRegex(seen["summary"], line(kind, how), shown)
        # A machine with more to do lets it wait for a CPU.
        self.assertIn((part["account"], part["call"]), ((account, call), ("no-cpu", call)), shown)
        self.assertTrue(seen["uses_cuda"], shown)
        self.assertIsNone(process.poll())
        self.end(process)
        return seen


@harness.depends_on_time("a thread that gets no CPU is seen as one that waits for it")
class Situations(Look):

    def test_a_wait_for_the_gpu(self):
        for kind, call in (("py", "cuCtxSynchronize"), ("c", "cuStreamSynchronize")):
            with self.subTest(kind):
                seen = self.check(kind, "sync", rf"\AThe GPU is busy, or hangs: the main thread waits for the GPU in {call} "
                                  r"at .*, in \d+ of \d+ looks\.\Z", None, call)
                self.assertIn("a kernel or a collective does not end", seen["advice"])

    def test_a_wait_that_spins(self):
        """In a driver whose own functions have no names."""
        shutil.copy(harness.built(harness.PROGRAMS, "libe2e_spinning_driver.so"), self.path("libcuda.so.1"))
        for call, said in (("cuCtxSynchronize", "waits for the GPU in"), ("cublasSgemm_v2", "is in"),
                           ("cuModuleLoadData", "loads code in")):
            with self.subTest(call):
                script = self.write("spins.py", 'import ctypes\ncuda = ctypes.CDLL("./libcuda.so.1")\nprint("ready", flush=True)\n'
                                    f"cuda.{call}(ctypes.byref(ctypes.c_void_p()), None)\n")
                process = self.start([sys.executable, script], preload=False, sim=False, stdin=subprocess.PIPE, text=True)
                self.assertEqual(process.stdout.readline(), "ready\n")
                harness.pause(0.1)
                seen = self.look(process)
                self.assertRegex(seen["summary"], rf"the main thread {said} {call} at spins\.py:4 ", json.dumps(seen, indent=1))
                frames = self.main_thread(seen)["did"][0]["frames"]
                kinds = [frame["kind"] == "python" for frame in frames if "libc.so" not in (frame["library"] or "")]
                self.assertEqual(kinds[:2], [False, False], json.dumps(frames, indent=1))
                self.assertIn(True, kinds)
                if call == "cuModuleLoadData":
                    self.assertIn("inside a CUDA call that can wait for the GPU: ", seen["summary"])
                    self.assertEqual(seen["advice"], "If it waits: code can be loaded onto the GPU only when its context is idle. "
                                     "Load code before the GPU has work.")
                self.end(process)

    def test_sleeping(self):
        for kind in ("py", "c"):
            with self.subTest(kind):
                seen = self.check(kind, "sleep", r"\AThe host does not wait for the GPU: the main thread is sleeping at ", "sleep")
                self.assertEqual(seen["advice"], "Sleep less; instead of polling for something, wait for it directly"
                                 " (cudaEventSynchronize, a condition variable).")

    def test_computing(self):
        self.check("py", "compute", "the main thread is (running Python|waiting for a CPU) at ", "python")
        self.check("c", "compute", "the main thread is (running native code on the CPU|waiting for a CPU) at ", "native")

    def test_computing_without_a_cpu(self):
        """Running at a line, and waiting for a CPU there, are one thing."""
        cpu = min(os.sched_getaffinity(0))
        process, other = (self.begin("c", "compute", preexec_fn=lambda: os.sched_setaffinity(0, [cpu])) for _ in range(2))
        seen = self.look(process, "--seconds", "3")
        did = self.main_thread(seen)["did"]
        places = [part["where"] for part in did]
        self.assertEqual(len(places), len(set(places)), json.dumps(seen, indent=1))
        self.assertEqual(sum(part["looks"] for part in did), seen["looks"])
        self.assertGreater(did[0]["without_cpu"] + (did[0]["account"] == "no-cpu"), 0, json.dumps(seen, indent=1))
        self.end(process)
        self.end(other)

    def test_many_lines(self):
        script = self.write("lines.py", "import time\nprint('ready', flush=True)\nwhile True:\n" + "    time.sleep(0.1)\n" * 12)
        process = self.start([sys.executable, script], preload=False, stdin=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        text = self.command("look", str(process.pid), "--seconds", "3", sim=False).out
        rows = re.findall(r"^[ \d-]+ \S+ +(\d+) of (\d+) +(.*)", text, re.M)
        self.assertEqual((len(rows), rows[-1][2]), (5, "others"), text)
        self.assertEqual(sum(int(row[0]) for row in rows), int(rows[0][1]), text)
        self.end(process)

    def test_frames_of_one_moment(self):
        """A running thread calls and returns all the time: its frames are those that it had while it was stopped."""
        colours = ("red", "blue", "green", "black", "white", "brown", "grey")
        script = self.write("turns.py", "".join(f"def {name}(left):\n    return left and {name}(left - 1)\n" for name in colours) +
                            'print("ready", flush=True)\nwhile True:\n' + "".join(f"    {name}(35)\n" for name in colours))
        process = self.start([sys.executable, script], preload=False, sim=False, stdin=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        stacks = [[frame["function"] for frame in part["frames"] if frame["kind"] == "python"]
                  for _ in range(3) for part in self.main_thread(self.look(process))["did"]]
        self.assertGreater(max(map(len, stacks)), 2, stacks)
        self.assertEqual([stack for stack in stacks if len(set(stack) - {"<module>"}) > 1], [])
        self.end(process)

    def test_a_lock(self):
        self.check("py", "lock", "the main thread is waiting for another thread at ", "thread-lock")
        seen = self.check("c", "lock", r"is waiting for another thread at .* \(thread \d+, e2e_looked_at, has the lock\)",
                          "thread-lock")
        self.assertNotIn(self.main_thread(seen)["did"][0]["waits_for"], (None, seen["pid"]))

    def test_a_pipe(self):
        for kind in ("py", "c"):
            with self.subTest(kind):
                self.check(kind, "read", "the main thread is waiting for another program at ", "child")

    def test_the_gil(self):
        process = self.begin("py", "gil")
        seen = self.look(process)
        self.assertEqual([thread["with_gil"] > 0 for thread in seen["threads"]], [False, True], str(seen))
        self.assertRegex(self.command("look", str(process.pid), "--once", sim=False).out,
                         r"\nThe GIL: thread \d+ had it in 1 of 1 look\.\n")
        self.assertRegex(seen["summary"], rf"is waiting for the GIL, held at {line('py', 'gil')}.* \(thread \d+, python", str(seen))
        self.end(process)

    def test_a_deadlock(self):
        process = self.begin("c", "deadlock")
        seen = self.look(process)
        self.assertRegex(seen["summary"], r"\AHangs: threads wait for each other's locks: the main thread at "
                         rf"{line('c', 'lock')} .*, thread \d+ \(e2e_looked_at\) at {line('c', 'deadlock')} ", str(seen))
        self.end(process)

    def test_as_text(self):
        process = self.begin("py", "sync")
        text = self.command("look", str(process.pid), "--once", sim=False, env={"COLUMNS": "200"}).out
        self.assertRegex(text, rf"\A.*looked_at\.py sync: pid {process.pid}, started .* ago, looked at 1 time in 0\.\d s\n")
        self.assertRegex(text,
                         rf"\n *{process.pid} +python\S* +1 of 1 +waits for the GPU in cuCtxSynchronize at {line('py', 'sync')} sync\n")
        self.assertRegex(text, rf"\nStack of {process.pid}, .*:\n(  .*\n)*  libcuda.so.1 cuCtxSynchronize\n(  .*\n)*"
                         rf"  {line('py', 'sync')} sync\n  looked_at.py:\d+ <module>\n")
        self.end(process)

    def test_more_threads_than_it_looks_at(self):
        process = self.begin("c", "crowd")
        self.assertIn("It has 1101 threads: only 1024 of them were looked at.",
                      self.command("look", str(process.pid), "--once", sim=False).out)
        self.end(process)

    def test_threads_that_get_no_cpu(self):
        """One that is asked to stop does so only when it runs: it is not waited for, and all others are seen too."""
        def on_one_cpu(policy):
            os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
            os.sched_setscheduler(0, policy, os.sched_param(0))

        process = self.begin("c", "busy", preexec_fn=lambda: on_one_cpu(os.SCHED_IDLE))
        others = [self.begin("c", "compute", preexec_fn=lambda: on_one_cpu(os.SCHED_OTHER)) for _ in range(2)]
        began = time.monotonic()
        seen = self.look(process, "--seconds", "2")
        self.assertLess(time.monotonic() - began, 2 + 4)
        self.assertEqual([thread["looks"] for thread in seen["threads"]], 21 * [seen["looks"]])
        for started in (process, *others):
            self.end(started)

    def test_many_seconds(self):
        """Between looks that are far from each other it rests."""
        process = self.begin("c", "sleep")
        looking = self.start([harness.gpuverify(), "look", str(process.pid), "--seconds", "600"], preload=False, sim=False, text=True)
        harness.pause(1.5)
        self.end(process)
        self.assertRegex(looking.communicate(timeout=harness.SOON_S)[0].replace("\n", " "), "looked at 1 time in .* ended meanwhile")

    def test_many_threads(self):
        process = self.begin("c", "threads")
        seen = self.look(process)
        self.assertEqual(len(seen["threads"]), 201)
        self.assertRegex(seen["summary"], f"the main thread is sleeping at {line('c', 'sleep')}")
        self.assertLess(seen["seconds"], 6)
        text = self.command("look", str(process.pid), "--once", sim=False).out
        self.assertLess(len(text.splitlines()), 40, text)
        self.end(process)


class Judged(Look):
    """In a situation of tests/look."""

    def judge(self, name, python=sys.executable, **environment):
        libraries = os.pathsep.join((harness.simulator(), harness.built("tests", "sim", "nccl")))
        process = self.start([python, situations.PROGRAM, name], preload=False, stdin=subprocess.PIPE, text=True,
                             env={"GV_SIM_DEVICES": "2", "LD_LIBRARY_PATH": libraries, **environment})
        self.assertEqual(process.stdout.readline(), "ready\n")
        harness.pause(0.1)
        seen = json.loads(self.command(*situations.words(name, process.pid), sim=False).out)
        self.assertIsNone(situations.mismatch(name, seen))
        self.assertIsNone(process.poll())
        self.end(process)


@harness.depends_on_time("a thread that gets no CPU is seen as one that waits for it")
class Truth(Judged):
    """The situations of tests/look, which the GPU suite has by the same names: one case for each, made below."""


@harness.depends_on_time("a thread that gets no CPU is seen as one that waits for it")
class Pythons(Judged):
    """Those situations that only each version of CPython can tell: one case for each that is here, made below."""

    def check(self, name):
        python = shutil.which(name)
        asked = python and subprocess.run([python, "-c", "import ctypes, sysconfig, zlib; "
                                           "print(sysconfig.get_config_var('Py_GIL_DISABLED'))"],
                                          capture_output=True, text=True, check=False)
        if not asked or asked.returncode:
            self.skipTest(f"no {name} here")
        for situation in situations.OF_PYTHON + (() if asked.stdout == "1\n" else situations.OF_THE_GIL):
            with self.subTest(situation):
                self.judge(situation, python, PYENV_VERSION=None)


def add(kind, name, *words):
    setattr(kind, "test_" + name.replace(".", "_"), lambda self: (self.judge if kind is Truth else self.check)(name, *words))


for version in range(9, 16):
    add(Pythons, f"python3.{version}")
for situation in situations.SITUATIONS:
    add(Truth, situation)


class Several(Look):

    def test_who_uses_a_gpu(self):
        """In a namespace of processes of its own: what else runs on this machine is none of our business."""
        harness.need_root(self, "cannot make a PID namespace")
        inside = ('"$1" sync > out & "$2" "$3.py" sleep > out2 & until grep -q ready out && grep -q ready out2; do sleep 0.05; done; '
                  'sleep 0.2; "$0" look; "$0" look --format json')
        out = self.run_well(["unshare", "-fp", "--mount-proc", "--kill-child", "sh", "-c", inside, harness.gpuverify(),
                             harness.program("looked_at"), sys.executable, PROGRAM],
                            preload=False, env={"COLUMNS": "200"}).out
        text, seen = out[:out.index("{")], json.loads(out[out.index("{"):])
        self.assertEqual([row["text"] for row in seen["processes"]],
                         [f"waits for the GPU in cuStreamSynchronize at {plain('c', 'sync')} wait_for_stream",
                          f"is sleeping at {plain('py', 'sleep')} sleep"])
        self.assertRegex(text, rf"\A *pid  .*\n *\d+ .* 1 +waits for the GPU in cuStreamSynchronize at {line('c', 'sync')}")

    @harness.depends_on_time("a look may take 5 s longer than it was asked to")
    def test_one_that_does_not_answer(self):
        process, other = self.begin("c", "sleep"), self.begin("c", "sync")
        env = {"LD_PRELOAD": harness.built(harness.PROGRAMS, "libe2e_no_answer.so"), "E2E_SILENT": str(process.pid)}
        began = time.monotonic()
        err = self.command("look", str(process.pid), "--seconds", "1", status=3, sim=False, env=env).err
        self.assertEqual(err, f"gpuverify: process {process.pid} does not answer: something keeps its memory locked, such as a "
                         "driver in trouble\n")
        seen = json.loads(self.command("look", "--seconds", "1", "--format", "json", sim=False, env=env).out)
        self.assertLess(time.monotonic() - began, 2 * (1 + 5) + 1)
        texts = {row["pid"]: row["text"] for row in seen["processes"]}
        self.assertIn("does not answer: something keeps", texts[process.pid])
        self.assertIn("waits for the GPU in cuStreamSynchronize", texts[other.pid])
        self.end(process)
        self.end(other)

    @harness.depends_on_time("a thread that gets no CPU is seen as one that waits for it")
    def test_a_rank_that_others_wait_for(self):
        launcher = self.write("launch.py", """import os, subprocess, sys
ranks = [subprocess.Popen([sys.executable, sys.argv[1], "sleep" if rank == 2 else "sync"],
                          env={**os.environ, "RANK": str(rank)}, stdout=subprocess.PIPE) for rank in range(4)]
for process in ranks:
    process.stdout.readline()
print("ready", flush=True)
sys.stdin.readline()
for process in ranks:
    process.kill()
    process.wait()
""")
        process = self.start([sys.executable, launcher, PROGRAM + ".py"], preload=False, stdin=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        harness.pause(0.1)
        seen = json.loads(self.command("look", str(process.pid), "--tree", "--seconds", "1", "--format", "json", sim=False).out)
        self.assertRegex(seen["summary"],
                         rf"\ARank 2 may hold up the others: it is sleeping at {line('py', 'sleep')} sleep\. Ranks 0, 1, 3: "
                         rf"each waits for the GPU in cuCtxSynchronize at {line('py', 'sync')} sync\.\Z")
        self.assertEqual([row["rank"] for row in seen["processes"]], [0, 1, 2, 3])
        env = {"LD_LIBRARY_PATH": os.path.join(harness.simulator(), "nvml")}
        others = json.loads(self.command("look", str(process.pid), "--tree", "--once", "--format", "json", sim=False, env=env).out)
        promises.check(self, "look-several", [seen, others])
        self.assertIn(f"gpuverify look {process.pid} --tree", self.command("look", str(process.pid), "--once", sim=False).out)
        process.communicate("\n", timeout=harness.SOON_S)

    def test_what_the_driver_says(self):
        process = self.begin("c", "sync")
        machine = self.path("machine")
        os.mkdir(machine)
        self.write(os.path.join(machine, str(process.pid)), "")
        env = {"LD_LIBRARY_PATH": os.path.join(harness.simulator(), "nvml"), "GV_SIM_MACHINE": machine}
        seen = json.loads(self.command("look", str(process.pid), "--once", "--format", "json", sim=False, env=env).out)
        locked = self.begin("c", "lock")
        more = [self.look(locked), json.loads(self.command("look", str(process.pid), "--once", "--format", "json", sim=False,
                                                           env={**env, "GV_SIM_NVML": "refuse"}).out)]
        promises.check(self, "look", [seen, *more])
        self.end(locked)
        self.assertRegex(seen["summary"], r"\AThe GPU is busy: the main thread waits for the GPU in cuStreamSynchronize")
        self.assertEqual((seen["gpus"][0]["busy_percent"], seen["gpus"][0]["processes"]), (97, 1))
        text = self.command("look", str(process.pid), "--once", sim=False, env=env).out
        self.assertRegex(text, r"\n +0 +Simulated GPU +97 +1980 +80\.0 GiB +1\.00 GiB +100 MiB +1\n")
        for how in ("hang", "refuse"):
            text = self.command("look", str(process.pid), "--once", sim=False, env={**env, "GV_SIM_NVML": how}).out
            self.assertRegex(text.replace("\n", " "), "The GPU is busy, or hangs: the main thread")
        self.end(process)


class Processes(Look):

    def refused(self, pid, **options):
        return self.command("look", str(pid), "--once", status=3, sim=False, **options).err

    def test_one_that_is_not_there(self):
        self.assertIn("there is no process 2147483646 here", self.refused(2147483646))
        self.assertIn("'x' is no process's number", self.command("look", "x", status=2, sim=False).err)

    def test_one_that_has_ended(self):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        self.assertRegex(self.refused(pid), rf"process {pid} \(.*\) has ended; only its parent, {os.getpid()}, has not noticed")
        os.waitpid(pid, 0)

    def child(self, pid):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
            return int(children.read().split()[0])

    def test_one_that_does_not_come_to_its_end(self):
        """The first of a PID namespace waits for the others, one of which has a debugger that does not let it go."""
        harness.need_root(self, "cannot make a PID namespace")
        outer = self.start(["unshare", "-fp", "sh", "-c", "sleep 1000 & echo ready; wait"], preload=False, text=True)
        self.assertEqual(outer.stdout.readline(), "ready\n")
        first = self.child(outer.pid)
        held = self.child(first)
        self.assertEqual(ctypes.CDLL(None, use_errno=True).ptrace(0x4206, held, None, None), 0)  # PTRACE_SEIZE
        os.kill(first, signal.SIGKILL)
        harness.wait_for(lambda: harness.command_line(first) == "", "it ends")
        self.assertIn(f"process {first} is ending: its memory is gone", self.refused(first))
        os.waitpid(held, 0)

    def test_one_that_ends_meanwhile(self):
        process = self.begin("c", "read")
        looking = self.start([harness.gpuverify(), "look", str(process.pid)], preload=False, sim=False, text=True)
        harness.pause(0.6)
        self.end(process)
        out, err = looking.communicate(timeout=harness.SOON_S)
        self.assertEqual((looking.returncode, err), (0, ""))
        self.assertRegex(out.replace("\n", " "), "it has ended meanwhile .*the main thread is waiting for another program at ")

    def test_one_that_begins_another_program_meanwhile(self):
        script = self.write("begins.py", """import os, sys, threading, time
for _ in range(4):
    threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()
print("ready", flush=True)
time.sleep(1)
os.execv(sys.argv[1], sys.argv[1:])
""")
        for words in ((), ("--format", "json")):
            process = self.start([sys.executable, script, harness.program("looked_at"), "sleep"], preload=False,
                                 stdin=subprocess.PIPE, text=True)
            self.assertEqual(process.stdout.readline(), "ready\n")
            out = self.command("look", str(process.pid), "--seconds", "3", *words, sim=False).out.replace("\n", " ")
            self.assertRegex(out, 'it began another program meanwhile|"began_another": ?true')
            self.assertRegex(out, rf"the main thread is sleeping at {line('c', 'sleep')}")
            self.assertNotIn("may not be stopped", out)
            self.end(process)

    def test_one_that_begins_programs_all_the_time(self):
        script = self.write("begins", '#!/bin/sh\n[ "$1" ] || echo ready\nsleep 0.01\nexec "$0" again\n', 0o755)
        process = self.start([script], preload=False, stdin=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        for words in ("--once", "--seconds=1"):
            said = self.command("look", str(process.pid), words, sim=False, status=None)
            self.assertRegex(said.err + said.out.replace("\n", " "),
                             "begins one program after the other|it began another program meanwhile|looked at 1 time")
        self.end(process)

    def test_one_whose_number_another_one_has_now(self):
        harness.need_root(self, "cannot make a PID namespace")
        script = self.write("again.py", """import subprocess, sys, time
def begin(how):
    process = subprocess.Popen([sys.argv[2], how], stdout=subprocess.PIPE)
    process.stdout.readline()
    return process
first = begin("sleep")
look = subprocess.Popen([sys.argv[1], "look", str(first.pid), "--seconds", "4", "--format", "json"])
time.sleep(1.1)
first.kill()
first.wait()
with open("/proc/sys/kernel/ns_last_pid", "w") as last:
    last.write(str(first.pid - 1))
second = begin("compute")
assert second.pid == first.pid
look.wait()
second.kill()
""")
        seen = json.loads(self.run_well(["unshare", "-fp", "--mount-proc", "--kill-child", sys.executable, script,
                                         harness.gpuverify(), harness.program("looked_at")], preload=False).out)
        self.assertTrue(seen["ended"], seen)
        self.assertLess(seen["seconds"], 3)
        self.assertEqual([part["account"] for part in self.main_thread(seen)["did"]], ["sleep"])

    def test_one_whose_main_thread_has_ended(self):
        process = self.begin("c", "alone")
        self.assertEqual(harness.process_state(process.pid), "Z")
        seen = self.look(process, "--once")
        self.assertRegex(seen["summary"], rf"the GPU: thread \d+ \(e2e_looked_at\) is sleeping at {line('c', 'sleep')}")
        self.assertRegex(seen["command"], "e2e_looked_at alone")
        self.end(process)

    def test_one_of_another_user(self):
        harness.need_root(self, "cannot become another user")
        process = self.begin("c", "sleep")
        os.chmod(self.dir, 0o755)
        err = self.refused(process.pid, user=65534)
        self.assertRegex(err, rf"this user may not read process {process.pid} \(e2e_looked_at\): it belongs to another user: "
                         f"sudo gpuverify look {process.pid}")
        self.end(process)

    def test_one_of_a_container(self):
        """Its files are below its root, not where its mappings say."""
        harness.need_root(self, "cannot make a container")
        inside = 'mount -t tmpfs none "$0" && cp "$1" "$0/program" && exec "$0/program" sync'
        hidden = self.path("hidden")
        os.mkdir(hidden)
        process = self.start(["unshare", "-m", "sh", "-c", inside, hidden, harness.program("looked_at")], preload=False,
                             stdin=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.assertFalse(os.listdir(hidden))
        self.assertRegex(self.look(process)["summary"], rf"waits for the GPU in cuStreamSynchronize at {line('c', 'sync')}")
        self.end(process)

    def test_one_whose_threads_have_other_numbers(self):
        """In a PID namespace, Python and locks know the inner ones."""
        harness.need_root(self, "cannot make a PID namespace")
        for kind, how, said in (("c", "deadlock", "Hangs: threads wait for each other's locks"), ("py", "sleep", line("py", "sleep"))):
            with self.subTest(kind):
                outer = self.begin(kind, how, before=["unshare", "-fp", "--kill-child"])
                inner = self.child(outer.pid)
                seen = json.loads(self.command("look", str(inner), "--once", "--format", "json", sim=False).out)
                self.assertRegex(seen["summary"], said, str(seen))
                self.end(outer)

    def test_the_child_that_it_waits_for(self):
        process = self.start(["sh", "-c", "echo ready; sleep 9; true"], preload=False, stdin=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        harness.pause(0.2)
        part = self.main_thread(self.look(process, "--once"))["did"][0]
        self.assertEqual((part["account"], part["detail"]), ("child", "sleep"))
        self.end(process)

    def test_where_it_is_forbidden(self):
        process = self.begin("c", "sleep")
        err = self.refused(process.pid, preexec_fn=lambda: harness.refuse("process_vm_readv"))
        self.assertRegex(err, rf"may not read process {process.pid} .*: (root may not either: in a container, start it with "
                         "--cap-add=SYS_PTRACE|something else forbids it|kernel.yama)")
        self.end(process)

    def test_running_threads_that_may_not_be_stopped(self):
        process = self.begin("py", "compute")
        text = self.command("look", str(process.pid), "--once", sim=False, preexec_fn=harness.refuse_ptrace).out
        self.assertIn("What running threads do natively is not known", text)
        self.assertRegex(text.replace("\n", " "), rf"the main thread is running Python at {line('py', 'compute')}")
        self.end(process)

    def test_where_no_process_or_thread_can_be_made(self):
        process = self.begin("c", "sleep")
        out = self.command("look", str(process.pid), "--once", sim=False, preexec_fn=lambda: harness.refuse("clone", "clone3")).out
        self.assertRegex(out.replace("\n", " "), rf"the main thread is sleeping at {line('c', 'sleep')}")
        self.end(process)

    def test_nobody_reads_the_output(self):
        process = self.begin("c", "sleep")
        looking = self.start([harness.gpuverify(), "look", str(process.pid), "--once"], preload=False, sim=False)
        looking.stdout.close()
        self.assertEqual((looking.wait(harness.SOON_S), looking.stderr.read()), (-signal.SIGPIPE, b""))
        with open("/dev/full", "wb") as full:
            looking = self.start([harness.gpuverify(), "look", str(process.pid), "--once"], preload=False, sim=False, stdout=full)
        self.assertEqual(looking.wait(harness.SOON_S), 3)
        self.assertRegex(looking.stderr.read(), b"^gpuverify: cannot write the output.*\n$")
        self.end(process)

    def test_one_that_is_stopped(self):
        process = self.begin("c", "sleep")
        process.send_signal(signal.SIGSTOP)
        harness.wait_for(lambda: harness.process_state(process.pid) == "T", "it is stopped")
        self.assertIn(f"It is stopped: kill -CONT {process.pid} lets it go on.",
                      self.command("look", str(process.pid), "--once", sim=False).out.replace("\n", " "))
        self.end(process)

    def test_one_that_a_debugger_has_stopped(self):
        process = self.begin("c", "sleep")
        libc = ctypes.CDLL(None, use_errno=True)
        self.assertEqual(libc.ptrace(16, process.pid, None, None), 0)  # PTRACE_ATTACH
        os.waitpid(process.pid, os.WUNTRACED)
        text = self.command("look", str(process.pid), "--once", sim=False).out.replace("\n", " ")
        self.assertIn(f"It is stopped by a debugger, process {os.getpid()}.", text)
        libc.ptrace(17, process.pid, None, None)
        self.end(process)

    def test_names_cannot_control_the_terminal(self):
        script = self.write("a\x1b[2Jb.py", 'import time\nprint("ready", flush=True)\ntime.sleep(1000)\n')
        process = self.start([sys.executable, script], preload=False, stdin=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        for words in ((), ("--format", "json")):
            out = self.command("look", str(process.pid), "--once", *words, sim=False).out
            self.assertNotIn("\x1b", out)
            self.assertRegex(out, r"\\(x1b|u001b)\[2Jb\.py:3")
        self.assertIn("It does not use CUDA", out)
        self.end(process)

    @harness.depends_on_time("a look may take 5 s longer than it was asked to")
    def test_one_that_lies(self):
        """Lists of threads and frames that go round, long tables, tens of thousands of mappings that change."""
        process = self.start([harness.program("lies")], preload=False, stdin=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        for words, seconds in ((("--once",), 0), (("--seconds", "1"), 1), (("--seconds", "1", "--tree"), 1)):
            began = time.monotonic()
            out = self.command("look", str(process.pid), *words, sim=False).out
            self.assertLess(time.monotonic() - began, seconds + 5)
            self.assertNotIn("\033", out)
        self.assertIsNone(process.poll())
        self.end(process)

    def test_waits_that_begin_meanwhile(self):
        """A stop of a running thread may come just as it begins to wait: that wait must not end with EINTR."""
        process = self.begin("c", "waits")
        for _ in range(10):
            self.command("look", str(process.pid), "--once", sim=False)
        self.command("look", str(process.pid), "--seconds", "2", sim=False)
        self.assertIsNone(process.poll())
        self.end(process)

    def test_a_program_does_not_notice(self):
        """Its waits are not interrupted, and it ends as always."""
        process = self.begin("c", "read")
        for _ in range(20):
            self.command("look", str(process.pid), "--once", sim=False)
        process.stdin.write("x")
        process.stdin.flush()
        self.assertEqual(process.wait(harness.SOON_S), 0)
        self.assertEqual(process.stderr.read(), "")
        self.end(process)
