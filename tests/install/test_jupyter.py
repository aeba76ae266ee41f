#!/usr/bin/env python3
"""Adds the kernel of `gpuverify jupyter install`, and runs notebooks in it, on the simulator; on a real GPU with GV_REAL_GPU=1.

  test_jupyter.py BUILD [TEST...]     BUILD has been compiled, with a simulator

Needs nbclient and ipykernel beside the Python that runs it: scripts/setup all brings them into .venv. Exits 77 without them.
"""

import glob
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

try:
    import jupyter_client
    import nbclient
    import nbformat
except ImportError:
    nbclient = None

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
SIMULATOR = os.path.join(BUILD, "tests", "sim")
COMMAND = os.path.join(BUILD, "report", "gpuverify")
SECONDS = 120

START = f"""\
import sys; sys.path.insert(0, {os.path.join(CHECKOUT, "kernels", "idle")!r})
import asyncio, ctypes, time, gpu
gpu.start(); gpu.work(1)
def load(name):
    assert gpu.cuda.cuModuleLoadData(ctypes.byref(ctypes.c_void_p()), gpu.PTX.replace(b"spin(", name)) == 0
"""
STALLS = """\
%%gpuverify
gpu.launch(200)
load(b'busy(')
time.sleep(0.3)
gpu.work(20)
6 * 7"""
RAISES = """\
%%gpuverify
gpu.work(1)
raise KeyError('mine')"""
AWAITS = """\
%%gpuverify
await asyncio.sleep(0.01)
gpu.work(1)"""
TIMED = """\
%%gpuverify
%%time
gpu.work(1)"""
# A stall and a wait in a file whose name would be code in a page, and clear a terminal.
HOSTILE = """\
%%gpuverify
gpu.launch(100)
exec(compile("load(b'hostile(')\\ntime.sleep(0.2)", "<img src=x onerror=alert(1)>\\x1b[2J.py", "exec"))
gpu.work(1)"""
NESTED = """\
%%gpuverify
get_ipython().run_cell("gpu.work(1)")
get_ipython().run_cell("")
gpu.work(1)"""
UNFINISHED = """\
%%gpuverify
gpu.launch(20000)"""


def text_of(outputs, kind="text/plain"):
    return "".join(output["data"].get(kind, "") for output in outputs if output["output_type"] == "display_data")


def environment(folder):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GPUVERIFY_", "JUPYTER", "IPYTHON", "LD_PRELOAD"))}
    simulator = {} if os.environ.get("GV_REAL_GPU") else {
        "LD_LIBRARY_PATH": SIMULATOR, "GPUVERIFY_CUPTI": os.path.join(SIMULATOR, "libcupti.so.13")}
    return {**kept, **simulator, "GPUVERIFY_COMMAND": COMMAND, "GPUVERIFY_SPOOL_DIR": os.path.join(folder, "spool"),
            "IPYTHONDIR": os.path.join(folder, "ipython"), "PYTHONPATH": os.path.join(CHECKOUT, "python"),
            "PYTHONDONTWRITEBYTECODE": "1", "JUPYTER_PATH": os.path.join(folder, "share", "jupyter"),
            "JUPYTER_RUNTIME_DIR": os.path.join(folder, "runtime")}


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        # A collector may still be at work in it.
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        os.mkdir(os.path.join(cls.folder, "spool"))
        cls.variables = environment(cls.folder)
        done = subprocess.run([sys.executable, "-m", "gpuverify", "jupyter", "install", "--prefix", cls.folder], env=cls.variables,
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        os.environ.update(cls.variables)  # kernels inherit it

    def notebook(self, *sources, kernel="gpuverify"):
        """The outputs of each cell, and its number."""
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
        nbclient.NotebookClient(book, kernel_name=kernel, timeout=SECONDS, allow_errors=True,
                                resources={"metadata": {"path": self.folder}}).execute()
        return [cell["outputs"] for cell in book.cells]

    def traces(self):
        return glob.glob(os.path.join(self.folder, "gpuverify-jupyter-*.db"))


class Kernel(Case):
    def test_cells_show_what_they_lost(self):
        outputs = self.notebook(START, STALLS, RAISES, AWAITS, TIMED, STALLS, HOSTILE, NESTED, "%%gpuverify\npass", UNFINISHED)
        stalls, raises, awaits, timed, again, hostile, nested, idle, unfinished = map(text_of, outputs[1:])

        self.assertRegex(stalls, r"\AIn\[2\] took \d+ ms, GPU busy \d+ %, 2 launches, \d stalls? \(\d+ ms\)\.\nGPU busy +[▁-█]")
        self.assertRegex(stalls, r"\nstalled for \d+ ms: cuModuleLoadData, In\[1\]:5 load, module-load \(1 call\)\n  fix: Load the ptx")
        self.assertRegex(stalls, r"\n\d+ ms +sleep +- +In\[2\]:4 <module>\n")
        self.assertRegex(stalls, r"\ngpuverify report \S+/gpuverify-jupyter-\d+\.db --range 'In\[2\]'\Z")
        self.assertEqual(outputs[1][0]["data"]["text/plain"], "42")
        page = text_of(outputs[1], "text/html")
        self.assertIn("<b>In[2] took ", page)
        self.assertIn("<svg ", page)
        self.assertIn("In[1]:5 load, module-load (1 call)<br>fix: Load the ptx", page)
        self.assertRegex(again, r"\AIn\[6\] took .* \d stalls? ")

        self.assertEqual(outputs[2][0]["ename"], "KeyError")
        self.assertIn("line 3", re.sub("\x1b\\[[0-9;]*m", "", "\n".join(outputs[2][0]["traceback"])))
        self.assertRegex(raises, r"\AIn\[3\] took .* 1 launch, ")
        self.assertRegex(awaits, r"\AIn\[4\] took .* 1 launch, ")
        self.assertIn("Wall time", outputs[4][0]["text"])
        self.assertRegex(timed, r"\AIn\[5\] took .* 1 launch, ")
        self.assertRegex(nested, r"\AIn\[8\] took .* 2 launches, ")
        self.assertRegex(idle, r"\AIn\[9\] took .* and made no CUDA call\.")
        self.assertIn("! Work of 1 call is missing", unfinished)

        page = text_of(outputs[6], "text/html")
        self.assertIn("&lt;img src=x onerror=alert(1)&gt;", page)
        self.assertNotIn("<img", page)
        self.assertNotIn("\x1b", page + hostile)

        trace, = self.traces()
        with sqlite3.connect(trace) as database:
            self.assertEqual([name for name, in database.execute("SELECT message FROM ranges ORDER BY id")],
                             [f"In[{number}]" for number in range(1, 11)])


class Restarted(Case):
    def test_interrupt_and_restart(self):
        manager, client = jupyter_client.manager.start_new_kernel(kernel_name="gpuverify", startup_timeout=SECONDS, cwd=self.folder)
        self.addCleanup(manager.shutdown_kernel, now=True)
        self.addCleanup(client.stop_channels)

        def run(source, then=None):
            outputs = []

            def hook(message):
                if then and message["msg_type"] == "stream":
                    then()
                outputs.append({"output_type": message["msg_type"], **message["content"]})

            client.execute_interactive(source, output_hook=hook, timeout=SECONDS)
            return outputs

        run(START)
        shown = run("%%gpuverify\ngpu.work(1)\nprint('now', flush=True)\ntime.sleep(100)", manager.interrupt_kernel)
        self.assertIn("KeyboardInterrupt", [output.get("ename") for output in shown])
        self.assertRegex(text_of(shown), r"\AIn\[2\] took .* 1 launch, ")
        # A prompt that was set back: its cells have the same names.
        run("get_ipython().execution_count = 1")
        self.assertRegex(text_of(run("%%gpuverify\ngpu.work(1)\ngpu.work(1)")), r"\AIn\[[12]\] \(run 2\) took .* 2 launches, ")
        manager.restart_kernel()
        client.wait_for_ready(timeout=SECONDS)
        run(START)
        self.assertRegex(text_of(run("%%gpuverify\ngpu.work(1)")), r"\AIn\[2\] took .* 1 launch, ")
        self.assertEqual(len(self.traces()), 2)


class Elsewhere(Case):
    def test_a_kernel_without_the_library(self):
        outputs = self.notebook("%load_ext gpuverify", "%%gpuverify\n6 * 7", kernel="python3")
        self.assertEqual(outputs[1][0]["data"]["text/plain"], "42")
        self.assertIn("choose the kernel 'Python 3 (gpuverify)', which `gpuverify jupyter install` adds", text_of(outputs[1]))

    def test_a_terminal(self):
        cells = ["%load_ext gpuverify", START, STALLS, "%reload_ext gpuverify", "%%gpuverify\ngpu.work(1)", "%unload_ext gpuverify",
                 "%%gpuverify\ngpu.work(1)"]
        with open(os.path.join(self.folder, "terminal.py"), "w", encoding="utf-8") as file:
            file.write("from IPython.core.interactiveshell import InteractiveShell\nshell = InteractiveShell.instance()\n"
                       f"for cell in {cells!r}:\n    shell.run_cell(cell, store_history=True)\n")
        done = subprocess.run([COMMAND, "run", "-o", "terminal.db", "--", sys.executable, "terminal.py"], cwd=self.folder,
                              env=self.variables, capture_output=True, text=True, timeout=SECONDS, check=False)
        self.assertRegex(done.stdout, r"\nIn\[3\] took \d+ ms, .*\n(?s:.*)cuModuleLoadData, In\[2\]:5 load, module-load \(1 call\)")
        self.assertRegex(done.stdout, r"\nIn\[5\] took .* 1 launch, ")
        self.assertIn("magic `%%gpuverify` not found", done.stdout + done.stderr)

    def test_kernelspec(self):
        with open(os.path.join(self.folder, "share/jupyter/kernels/gpuverify/kernel.json"), encoding="utf-8") as file:
            described = json.load(file)
        self.assertEqual((described["display_name"], described["argv"][0]), ("Python 3 (gpuverify)", sys.executable))
        for words, status, said in ((["--bad"], 2, "unrecognized arguments: --bad"), (["--help"], 0, "--sys-prefix"),
                                    (["--prefix", "/proc/none"], 1, "/proc/none")):
            done = subprocess.run([sys.executable, "-m", "gpuverify", "jupyter", "install", *words], env=self.variables,
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(said, done.stdout + done.stderr)
        done = subprocess.run([COMMAND, "jupyter", "install"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn("run 'python3 -m gpuverify jupyter install'", done.stderr)


if __name__ == "__main__":
    if not BUILD:
        sys.exit(__doc__)
    if nbclient is None:
        print("no nbclient or ipykernel in .venv: scripts/setup all brings them")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
