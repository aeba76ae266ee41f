"""gpuverify top: what a running program does, as plain text. tests/top_terminal.py has the terminal."""

import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request

import harness
import stored

LOOP = os.path.join(harness.SOURCE, harness.PROGRAMS, "training_loop.py")
HANGS = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
device, context, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
cuda.cuDeviceGet(ctypes.byref(device), 0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
cuda.cuCtxSetCurrent(context)
cuda.cuModuleLoadData(ctypes.byref(module), b".version 7.0\\n.target sm_70\\n.address_size 64\\n"
                      b".visible .entry spin(.param .u64 nanoseconds)\\n{\\n ret;\\n}\\n")
cuda.cuModuleGetFunction(ctypes.byref(function), module, b"spin")
time = ctypes.c_uint64(10 ** 12)
arguments = (ctypes.c_void_p * 1)(ctypes.addressof(time))
cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, arguments, None)
print("ready", flush=True)
cuda.cuCtxSynchronize()
"""


@harness.depends_on_time("it shows the last two seconds, and the collector must have had time to store them")
class Top(harness.Case):
    gpu = "on"

    def begin(self, *argv, **env):
        process = self.start([sys.executable, *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def loop(self, **env):
        return self.begin(LOOP, "60", GV_SIM_JIT_NS=5000000, **env)

    def end(self, process):
        process.stdin.close()
        self.assertEqual(process.wait(harness.SOON_S), 0)
        process.stdout.close()

    def once(self, *words):
        return self.command("top", "--once", *words).out

    def once_until(self, pattern, *words):
        """Waits until the picture has this."""
        harness.wait_for(lambda: re.search(pattern, self.once(*words)), f"{pattern} in\n{self.once(*words)}")

    def test_a_loop_at_a_glance(self):
        process = self.loop()
        trace = self.path("trace.db")
        for operand in (trace, str(process.pid)):
            for pattern in (rf"\Atraining_loop  pid {process.pid}  for ",
                            r"busy [1-9]\d* %", r"\n\d+ launches/s  \d+ calls/s  nothing lost\n",
                            r"newest: call .* ago, look .* ago, GPU .* ago\n",
                            r"100\.0 % +\d+/s  spin\n",
                            r"100\.0 % +\d+/s  training_loop\.py:\d+ forward\n",
                            r"idle .* ago  sleeping: training_loop\.py:\d+ read_data\n",
                            r"call .*cuModuleLoadData  training_loop\.py:\d+ load\n"):
                self.once_until(pattern, operand)
        self.end(process)

    def test_native_code_has_its_functions_and_lines(self):
        process = self.start([harness.workload("load_in_loop"), "1000"])
        harness.wait_for(lambda: self.command("top", "--once", self.path("trace.db"), status=None).status == 0, "no trace")
        self.once_until(r"call .* ago  cuModuleLoadData  load_in_loop\.c:\d+ load_filter\n", self.path("trace.db"))
        self.once_until(r"/s  load_in_loop\.c:\d+ main\n", str(process.pid))
        process.kill()
        process.communicate()

    def test_how_full_the_gpu_is(self):
        with open(self.path("gpm"), "w", encoding="utf-8") as file:
            file.write("2=41 5=3.6 10=84.2")
        process = self.loop(GV_SIM_GPM=self.path("gpm"),
                            LD_LIBRARY_PATH=f"{harness.simulator()}:{harness.simulator()}/nvml")
        self.once_until(r"MHz  SMs 41 %  DRAM 84 %  tensor cores 4 %\n", self.path("trace.db"))
        server = self.start([harness.gpuverify(), "metrics", "--listen", "127.0.0.1:0", self.path("trace.db")],
                            preload=False, text=True)
        address = re.search(r"http://\S+", server.stdout.readline()).group()
        with urllib.request.urlopen(address, timeout=harness.SOON_S) as page:
            self.assertRegex(page.read().decode(), r'\ngpuverify_gpu_use_ratio{gpu="GPU-.*",unit="DRAM"} 0\.842000000\n')
        # Without new ones, the last is not what is now.
        os.remove(self.path("gpm"))
        self.once_until(r"MHz\n", self.path("trace.db"))
        harness.wait_for(lambda: "gpuverify_gpu_use_ratio{" not in urllib.request.urlopen(address, timeout=harness.SOON_S).read().decode(),
                         "the metric is still there")
        with open(self.path("gpm"), "w", encoding="utf-8") as file:
            file.write("2=20 10=30")
        self.once_until(r"MHz  SMs 20 %  DRAM 30 %\n", self.path("trace.db"))
        server.terminate()
        server.communicate(timeout=harness.SOON_S)
        self.end(process)

    def test_a_call_that_does_not_return(self):
        process = self.begin("-c", HANGS)
        self.once_until(rf"{process.pid} +\S+ +\S+ \S+  waits in cuCtxSynchronize\n", self.path("trace.db"))
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()

    def test_lines_until_the_program_ends(self):
        process = self.loop()
        top = self.start([harness.gpuverify(), "top", "--interval", "100ms", self.path("trace.db")], preload=False, text=True)
        lines = [top.stdout.readline()]
        while len(lines) < 3 or "still reading" in lines[-3]:
            lines.append(top.stdout.readline())
        lines = lines[-3:]
        for line in lines:
            self.assertRegex(line, r"\A[\d.]+ s  .*launches/s  .* calls/s.*\(.*call .* ago.*\)\n\Z")
        self.end(process)
        rest, err = top.communicate(timeout=harness.SOON_S)
        self.assertEqual((top.returncode, err), (0, ""))
        self.assertIn("ended after", rest)
        self.assertTrue(rest.endswith("It has ended. gpuverify report says what cost time.\n"), rest)
        self.assertNotIn("\x1b", rest)

    def test_a_trace_that_goes_away(self):
        for change, said in ((os.remove, "was deleted"), (lambda path: shutil.copy(path, path + "2") and
                                                          os.replace(path + "2", path), "is now another file")):
            process = self.loop()
            path = self.path("trace.db")
            top = self.start([harness.gpuverify(), "top", "--interval", "100ms", path], preload=False, text=True)
            top.stdout.readline()
            os.link(path, path + ".kept")
            change(path)
            _, err = top.communicate(timeout=harness.SOON_S)
            self.assertEqual((top.returncode, err), (3, f"gpuverify: trace.db {said}\n"))
            self.end(process)
            os.replace(path + ".kept", path)
            self.command("recover", self.spool)  # its collector stopped writing
            self.settle()
            os.remove(path)

    def test_a_killed_program_and_its_killed_collector(self):
        process = self.loop()
        top = self.start([harness.gpuverify(), "top", "--interval", "100ms", self.path("trace.db")], preload=False, text=True)
        top.stdout.readline()
        os.kill(self.await_collector(), signal.SIGKILL)
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()
        out, _ = top.communicate(timeout=harness.SOON_S)
        self.assertEqual(top.returncode, 0)
        self.assertIn("It has ended", out)
        self.command("recover", self.spool)

    def test_a_page_that_another_process_writes(self):
        process = self.loop()
        self.once_until(r"launches/s", self.path("trace.db"))
        collector = self.await_collector()
        os.kill(collector, signal.SIGSTOP)
        page, = (os.path.join(self.spool, name) for name in os.listdir(self.spool) if name.endswith(".live"))
        with open(page, "rb") as file:
            good = file.read()
        for bad in (b"", good[:20], good[:-100], b"\xff" * len(good), bytes(16) + good[16:], good[:72] + b"\xff" * (len(good) - 72),
                    good[:64] + b"\xff" * 8 + good[72:], good.replace(b"\0", b"\x1b")[:72] + good[72:].replace(b"\0", b"\x1b")):
            with open(page, "wb") as file:
                file.write(bad)
            result = self.command("top", "--once", self.path("trace.db"), status=None)
            self.assertIn(result.status, (0, 3), result.err)
            self.assertNotIn("\x1b", result.out)
        os.kill(collector, signal.SIGCONT)
        harness.wait_for(lambda: "launches/s" in self.command("top", "--once", self.path("trace.db"), status=None).out, "a new page")
        self.end(process)

    def test_wrong_words(self):
        self.command("top", "--interval", "1ms", self.path("none.db"), status=2, sim=False)
        self.assertIn("cannot read", self.command("top", self.path("none.db"), status=3, sim=False).err)
        self.assertIn("process 1 is not recorded", self.command("top", "1", status=3, sim=False).err)


class TopOfStored(harness.Case):
    def test_a_finished_trace_is_for_the_report(self):
        stored.make_anew("add", self.path("trace.db"))
        for words in ((), ("--once",)):
            self.assertEqual(self.command("top", *words, self.path("trace.db"), sim=False).out,
                             "It has ended. gpuverify report says what cost time.\n")
