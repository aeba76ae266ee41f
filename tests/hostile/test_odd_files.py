"""What an object's path leads to is not what the program mapped, or is no file at all."""

import os
import shutil
import subprocess
import sys
import unittest

import harness

# Loads the library at a path, and calls CUDA in it 20 times. With "memory": from a file in memory, as loaders of
# generated code do, under the number that the collector's trace, and others of its files, are likely to have.
PROGRAM = """
import ctypes, os, sys
path = sys.argv[1]
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
context = ctypes.c_void_p()
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
result = ctypes.c_int()
for number in range(3, 12) if sys.argv[2] == "memory" else [0]:
    if number:
        memory = os.memfd_create("plugin")
        with open(path, "rb") as file:
            os.write(memory, file.read())
        os.dup2(memory, number + 20)
        os.dup2(number + 20, number)
    library = ctypes.CDLL(f"/proc/self/fd/{number}" if number else path)
    for _ in range(20):
        library.plugin(ctypes.byref(result))
"""


def plugin():
    return harness.built("tests", "hostile", "programs", "libhostile_plugin_one.so")


class OddFiles(harness.Case):
    def run_plugin(self, path, how, **env):
        self.run_well([sys.executable, self.write("program.py", PROGRAM), path, how], env={"GPUVERIFY_STACKS": "all", **env},
                      timeout=60)

    def test_libraries_from_files_in_memory(self):
        """Their path means other files in the collector, one of which is the trace."""
        if not shutil.which("strace"):
            self.skipTest("no strace here")
        self.run_plugin(plugin(), "memory", GPUVERIFY_COLLECTOR="off")
        opened = self.path("opened")
        self.run_well(["strace", "-f", "-e", "trace=openat,open", "-o", opened, harness.gpuverify(), "recover", "-o", self.path("trace.db"),
                       self.spool], preload=False, quiet=False)
        self.assertEqual(self.trace().count("cuCtxSynchronize"), 9 * 20)
        with open(opened, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("trace.db", text)
        self.assertNotIn("/proc/self/fd/", text)

    @unittest.skipUnless(shutil.which("objcopy"), "no objcopy here")
    def test_debugging_information_that_is_a_pipe(self):
        path = self.path("libplugin.so")
        shutil.copy(plugin(), path)
        with open(self.path("libplugin.debug"), "w", encoding="utf-8"):
            pass
        subprocess.run(["objcopy", "--strip-debug", "--add-gnu-debuglink=libplugin.debug", path], cwd=self.dir, check=True)
        os.remove(self.path("libplugin.debug"))
        os.mkfifo(self.path("libplugin.debug"))
        self.run_plugin(path, "file")
        self.assertEqual(self.trace().count("cuCtxSynchronize"), 20)
