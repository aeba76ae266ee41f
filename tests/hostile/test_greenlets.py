"""Greenlets, gevent's server, and PyPy's greenlets: a stack is copied away and back while CUDA is called from it.

GV_HOSTILE_SERVERS: how often the server is run, instead of once for each setting."""

import os
import re
import shutil
import subprocess
import sys
import unittest

import harness

SERVERS = int(os.environ.get("GV_HOSTILE_SERVERS", "1"))
EVERY_CALL = {"GPUVERIFY_STACKS": "all"}
MANY_CALLS = {"GPUVERIFY_STALL_US": "1"}
PROGRAMS = os.path.join(harness.SOURCE, "tests", "hostile", "programs")
OF_CALLS = ("FROM frames WHERE stack IN (SELECT stack FROM calls WHERE name IN ('cuCtxSynchronize', 'cuMemAlloc_v2'))"
            " ORDER BY stack, depth")


def python_with(package):
    """The interpreter that has it, of those that tests may use."""
    for python in (sys.executable, os.path.join(harness.SOURCE, ".venv", "bin", "python")):
        if os.path.exists(python) and subprocess.run([python, "-c", f"import {package}"], capture_output=True, check=False).returncode == 0:
            return python
    raise unittest.SkipTest(f"Python's package {package} is needed: scripts/setup installs it")


class Greenlets(harness.Case):
    def run_both(self, python, program, *arguments):
        for env in (MANY_CALLS, EVERY_CALL):
            self.run_twice([python, os.path.join(PROGRAMS, program), *arguments], env=env)
            self.settle()
            shutil.move(self.path("trace.db"), self.path("last.db"))
        return self.open_trace(self.path("last.db"))

    def python_chains(self, trace):
        """The Python functions of each stack, innermost first, without their classes."""
        stacks = {}
        for stack, function in trace.rows("SELECT stack, function " + OF_CALLS.replace("WHERE", "WHERE kind = 'python' AND", 1)):
            stacks.setdefault(stack, []).append(function.rpartition(".")[2])
        self.assertTrue(stacks, "there are Python frames")
        return {" < ".join(functions) for functions in stacks.values()}

    def test_greenlets_that_start_at_several_depths(self):
        trace = self.run_both(python_with("greenlet"), "greenlets.py", "1", "5")
        inside = "(deeper|callback|inside|<lambda>)"
        for chain in self.python_chains(trace):
            self.assertRegex(chain, f"^call( < {inside})* < (run|rounds < main < <module>|rounds < in_thread < run < .*)$")
        # Nothing beyond the greenlet's start is known.
        ends = trace.rows("SELECT DISTINCT library FROM frames JOIN stack_end USING (stack) JOIN"
                          " (SELECT stack, max(depth) AS depth FROM frames GROUP BY stack) USING (stack, depth)"
                          " WHERE how = 'stopped'")
        self.assertEqual([os.path.basename(library)[:10] for library, in ends], ["_greenlet."])

    def test_server_and_workers_of_gevent(self):
        python = python_with("gevent")
        for _ in range(SERVERS):
            trace = self.run_both(python, "gevent_server.py", "100")
        chains = self.python_chains(trace)
        for outer in ("work", "application", "in_real_thread"):
            self.assertTrue([chain for chain in chains if re.match(f"call( < call)* < {outer}( <|$)", chain)], outer)

    def test_greenlets_of_pypy(self):
        python = shutil.which("pypy3")
        if not python:
            self.skipTest("there is no pypy3")
        self.run_both(python, "greenlets.py", "1", "5")
