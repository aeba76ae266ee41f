#!/usr/bin/env python3
"""scripts/find-cuda-headers finds what the build can use, and says what to do when there is none."""

import os
import runpy
import subprocess
import tempfile
import unittest
from unittest import mock

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILES = ("cuda.h", "cuda_runtime_api.h", "crt/host_defines.h")


class FindHeaders(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def headers(self, where, version, files=FILES):
        for name in files:
            path = os.path.join(self.folder.name, where, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#define CUDA_VERSION {version}\n")
        return os.path.join(self.folder.name, where)

    def find(self, *words, **environment):
        done = subprocess.run([os.path.join(CHECKOUT, "scripts/find-cuda-headers"), *words],
                              text=True, capture_output=True, env={**os.environ, **environment})
        return done.returncode, done.stdout.splitlines(), done.stderr

    def test_a_folder_that_is_named(self):
        folder = self.headers("include", 13000)
        self.assertEqual(self.find(folder), (0, [folder, "13000"], ""))

    def test_newer_headers_are_good(self):
        self.assertEqual(self.find(self.headers("include", 13050))[1][1], "13050")

    def test_cuda_home_comes_first(self):
        folder = self.headers("include", 13010)
        self.assertEqual(self.find(CUDA_HOME=self.folder.name)[1], [folder, "13010"])

    def test_a_folder_that_is_named_is_the_only_one(self):
        self.headers("include", 13000)
        status, _, message = self.find("/nowhere", CUDA_HOME=self.folder.name)
        self.assertEqual(status, 1)
        self.assertIn("/nowhere: no such folder", message)

    def test_a_python_environment_is_among_the_places(self):
        folder = self.headers("lib/python3.11/site-packages/nvidia/cu13/include", 13020)
        script = os.path.join(CHECKOUT, "scripts/find-cuda-headers")
        with mock.patch.dict(os.environ, VIRTUAL_ENV=self.folder.name):
            self.assertIn(folder, list(runpy.run_path(script)["places"]()))

    def test_old_headers_are_refused(self):
        status, _, message = self.find(self.headers("include", 12080))
        self.assertEqual(status, 1)
        self.assertIn("CUDA 12, 13.0 or newer is needed", message)

    def test_a_missing_part_is_named_and_the_way_out(self):
        status, found, message = self.find(self.headers("include", 13000, FILES[:2]))
        self.assertEqual((status, found), (1, []))
        self.assertIn("no crt/host_defines.h", message)
        self.assertIn("scripts/fetch-cuda-headers", message)


if __name__ == "__main__":
    unittest.main()
