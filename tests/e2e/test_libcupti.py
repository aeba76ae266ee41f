"""Where libcupti is searched, and which of several is used."""

import os
import shutil
import unittest

import harness
import test_gpu_side

SYSTEM = ("/usr/local/cuda/lib64/libcupti.so.13", "/usr/local/cuda/lib/libcupti.so.13",
          "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13")


@unittest.skipUnless(os.path.exists(test_gpu_side.libcupti()),
                     "no simulated libcupti was built: no cupti.h beside the CUDA headers")
class Places(harness.Case):
    gpu = "auto"

    def setUp(self):
        super().setUp()
        # The simulator without its libcupti: nothing is found unless a test puts it there.
        for name in ("libcuda.so.1", "libcudart.so.13"):
            self.put(name, "driver")

    def put(self, name, *folder, source=None):
        place = self.path(*folder)
        os.makedirs(place, exist_ok=True)
        shutil.copy(source or os.path.join(harness.simulator(), name), place)
        return os.path.join(place, name)

    def cupti(self, *folder):
        return self.put("libcupti.so.13", *folder)

    def found(self, program=None, **env):
        """The trace names the library; the program works with each."""
        env.setdefault("LD_LIBRARY_PATH", self.path("driver"))
        argv = [program] if program else [harness.program("gpu_work"), "streams"]
        self.run_well(argv, quiet=False, env=env)
        gpu, library, why = self.trace().rows(
            "SELECT gpu, cupti_library, gpu_why FROM processes")[0]
        return (gpu, os.path.normpath(library) if library else None, why)

    def test_nowhere(self):
        if any(os.path.exists(place) for place in SYSTEM):
            self.skipTest("this machine has a libcupti of its own")
        gpu, library, why = self.found()
        self.assertEqual((gpu, library), ("host-only", None))
        self.assertIn("nvidia-cuda-cupti", why)
        self.assertIn("GPUVERIFY_CUPTI", why)

    def test_folders_of_cuda_home(self):
        for folder in ("lib64", "extras/CUPTI/lib64", "lib"):
            with self.subTest(folder):
                shutil.rmtree(self.path("cuda"), ignore_errors=True)
                os.path.exists(self.path("trace.db")) and os.unlink(self.path("trace.db"))
                library = self.cupti("cuda", folder)
                self.assertEqual(self.found(CUDA_HOME=self.path("cuda")), ("cupti", library, None))

    def test_beside_the_mapped_cudart(self):
        """As a toolkit has it."""
        os.makedirs(self.path("toolkit/lib64"))
        os.rename(self.path("driver/libcudart.so.13"), self.path("toolkit/lib64/libcudart.so.13"))
        library = self.cupti("toolkit/extras/CUPTI/lib64")
        self.assertEqual(
            self.found(harness.workload("runtime_tour_shared"),
                       LD_LIBRARY_PATH=f"{self.path('driver')}:{self.path('toolkit/lib64')}"),
            ("cupti", library, None))

    def test_packages_of_python(self):
        """By any library of theirs that is mapped."""
        for packages in ("lib/python3.12/site-packages", "lib/python3/dist-packages"):
            for folder in ("nvidia/cuda_cupti/lib", "nvidia/cu13/lib"):
                with self.subTest(f"{packages}/{folder}"):
                    os.path.exists(self.path("trace.db")) and os.unlink(self.path("trace.db"))
                    shutil.rmtree(self.path("lib"), ignore_errors=True)
                    self.put("libcuda.so.1", packages, "somebodys")
                    library = self.cupti(packages, folder)
                    self.assertEqual(self.found(LD_LIBRARY_PATH=self.path(packages, "somebodys")),
                                     ("cupti", library, None))

    def test_virtual_environment(self):
        library = self.cupti("venv/lib/python3.11/site-packages/nvidia/cuda_cupti/lib")
        self.assertEqual(self.found(VIRTUAL_ENV=self.path("venv")), ("cupti", library, None))

    def test_conda(self):
        library = self.cupti("conda/lib")
        self.assertEqual(self.found(CONDA_PREFIX=self.path("conda")), ("cupti", library, None))

    def test_one_that_the_program_has_mapped_is_taken_before_all_others(self):
        self.cupti("cuda/lib64")
        library = self.cupti("its-own")
        self.assertEqual(self.found(CUDA_HOME=self.path("cuda"),
                                    LD_PRELOAD=f"{harness.library()}:{library}"),
                         ("cupti", library, None))

    def test_the_one_that_the_user_names(self):
        self.cupti("cuda/lib64")
        library = self.put("libcupti.so.12", "named")
        self.assertEqual(self.found(CUDA_HOME=self.path("cuda"), GPUVERIFY_CUPTI=library),
                         ("cupti", library, None))

    def test_too_old(self):
        library = self.cupti("old")
        gpu, _, why = self.found(GPUVERIFY_CUPTI=library, GV_SIM_CUPTI_VERSION="16")
        self.assertEqual(gpu, "host-only")
        self.assertIn(library, why)
        self.assertIn("CUPTI 11.6 or newer is needed", why)

    def test_a_file_that_is_none(self):
        for contents in (b"", b"\x7fELF", b"#!/bin/sh\n"):
            with self.subTest(contents):
                os.path.exists(self.path("trace.db")) and os.unlink(self.path("trace.db"))
                library = self.write("libcupti.so.13", contents)
                gpu, _, why = self.found(GPUVERIFY_CUPTI=library)
                self.assertEqual(gpu, "host-only")
                self.assertIn(library, why)

    def test_what_the_loader_cannot_open_without_harm(self):
        """It would wait for a pipe for ever, and read beyond the end of a library that was cut."""
        with open(os.path.join(harness.simulator(), "libcupti.so.13"), "rb") as library:
            cut = library.read(8192)
        os.mkfifo(self.path("pipe"))
        os.mkdir(self.path("folder"))
        for path in self.path("pipe"), self.path("folder"), self.write("cut.so", cut):
            with self.subTest(path):
                os.path.exists(self.path("trace.db")) and os.unlink(self.path("trace.db"))
                gpu, _, why = self.found(GPUVERIFY_CUPTI=path)
                self.assertEqual((gpu, why), ("host-only", f"GPUVERIFY_CUPTI: {path}: not a library"))


if __name__ == "__main__":
    unittest.main()
