#!/usr/bin/env python3
"""scripts/check-api must notice when a row of the table is wrong, or docs/apis.md is old."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TABLE = os.path.join(CHECKOUT, "trace/calls.table")
DOCS = os.path.join(CHECKOUT, "docs/apis.md")


def run(*options):
    done = subprocess.run([os.path.join(CHECKOUT, "scripts/check-api"), *options], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


class CheckApi(unittest.TestCase):
    def changed(self, row, old, new):
        """The table with `old` replaced in the row of one call, checked."""
        with open(TABLE, encoding="utf-8") as file:
            text = file.read()
        pattern = re.compile(r"^[^\n/#]*\b" + row + r"[\[(].*?(?=^[\w/#]|^ +&|^$)", re.M | re.S)
        match = pattern.search(text)
        self.assertIsNotNone(match, f"the table has no row {row}")
        self.assertIn(old, match.group())
        text = text[:match.start()] + match.group().replace(old, new, 1) + text[match.end():]
        with tempfile.NamedTemporaryFile("w", suffix=".table") as file:
            file.write(text)
            file.flush()
            return run("--table", file.name)

    def fails(self, row, old, new, message):
        status, output = self.changed(row, old, new)
        self.assertEqual(status, 1, output)
        self.assertRegex(output, message)

    def test_the_table_as_it_is_passes(self):
        status, output = run()
        self.assertEqual(status, 0, output)

    def test_a_changed_type(self):
        self.fails("cuMemAlloc_v2", "size_t bytesize", "int bytesize",
                   r"cuMemAlloc_v2 parameter 2 is `int`, in the header `size_t`")

    def test_a_lost_const(self):
        self.fails("cuMemcpyHtoD_v2", "const void *srcHost", "void *srcHost",
                   r"cuMemcpyHtoD_v2 parameter 2")

    def test_a_changed_return_type(self):
        self.fails("cuInit", "cuInit", "cudaError_t cuInit", r"cuInit returns cudaError_t")

    def test_a_dropped_parameter(self):
        self.fails("cuEventElapsedTime", "float *pMilliseconds, ", "",
                   r"cuEventElapsedTime has 2 parameters, in the header 3")

    def test_parameters_of_one_type_in_another_order(self):
        self.fails("cudaEventElapsedTime", "cudaEvent_t start, cudaEvent_t end",
                   "cudaEvent_t end, cudaEvent_t start", r"is named end, which in the header")

    def test_a_renamed_call(self):
        self.fails("cuMemAlloc_v2", "cuMemAlloc_v2", "cuMemAlloc_v9",
                   r"cuMemAlloc_v9 is not declared")

    def test_a_renamed_wide_call(self):
        self.fails("cudaThreadExit", "cudaThreadExit", "cudaThreadLeave",
                   r"cudaThreadLeave is wide, but")

    def test_a_wide_call_with_too_few_registers(self):
        self.fails("cudaGraphInstantiate", "(5)", "(1)",
                   r"cudaGraphInstantiate passes 1 registers")

    def test_an_ordinary_call_made_wide(self):
        self.fails("cuInit", "INIT cuInit(unsigned int Flags)", "wide INIT cuInit(1)", r"cuInit is wide, but")

    def test_a_twin_that_is_not_declared(self):
        self.fails("cuStreamSynchronize", "_ptsz", "_ptds", r"cuStreamSynchronize_ptds is not declared")

    def test_a_twin_with_other_parameters(self):
        self.fails("cuMemcpyHtoD", "cuMemcpyHtoD(", "cuMemcpyHtoD[_v2](",
                   r"cuMemcpyHtoD_v2 parameter 1 is")

    def test_a_call_twice(self):
        self.fails("cuMemFree", "cuMemFree", "cuMemFree_v2", r"cuMemFree_v2 is in line \d+ already")

    def test_an_unknown_kind(self):
        self.fails("cuInit", "INIT", "BEGIN", r"BEGIN is no kind")

    def test_a_removed_row_makes_the_list_old(self):
        with open(DOCS, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("`cuMemAlloc_v2`", text)
        with tempfile.NamedTemporaryFile("w", suffix=".md") as file:
            file.write(text.replace("`cuMemAlloc_v2`", ""))
            file.flush()
            status, output = run("--docs", file.name)
        self.assertEqual(status, 1, output)
        self.assertIn("not up to date", output)


if __name__ == "__main__":
    if subprocess.run([os.path.join(CHECKOUT, "scripts/find-cuda-headers")],
                      stdout=subprocess.DEVNULL).returncode != 0:
        sys.exit(77)
    unittest.main()
