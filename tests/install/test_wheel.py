#!/usr/bin/env python3
"""Makes the wheel with scripts/wheel, installs it into fresh virtual environments, uses it on the simulator and
removes it.

  test_wheel.py BUILD PYTHONS [TEST...]     BUILD has been compiled and has a simulator; PYTHONS/bin has further
                                            Pythons, from tests/fetch_pythons.py

Needs pip of 25 or newer and auditwheel in .venv: scripts/setup all brings them. Exits 77 if all tests are skipped.
"""

import csv
import glob
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import zipfile

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(CHECKOUT, "tests"))
from version import VERSION  # noqa: E402

BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
PYTHONS = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else ""
SIMULATOR = os.path.join(BUILD, "tests", "sim")
ROOT = os.path.join(BUILD, "bundle", "root")
LIMIT_BYTES = 3 << 20

PROGRAM = "import ctypes; print(ctypes.CDLL('libcuda.so.1').cuInit(0))"
# Shows what Python changes for its children: it ignores SIGPIPE and SIGXFSZ, and sets LC_CTYPE in the locale C.
INHERITED = "grep SigIgn /proc/$$/status; env | grep ^L | sort"


def make(folder, *options):
    """The wheel's path, and whether it was built in the old distribution; None and the reason if it cannot be made."""
    done = subprocess.run([os.path.join(CHECKOUT, "scripts", "wheel"), "-o", folder, *options], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        return None, done.stdout + done.stderr
    return re.search(r"^(\S+\.whl): \d+ KB$", done.stdout, re.M).group(1), "this machine's own" not in done.stderr


def tool(name, version=0):
    """The words of a command that scripts/setup brings."""
    words = (os.path.join(CHECKOUT, ".venv/bin/python"), "-m", name)
    done = subprocess.run([*words, "--version"], capture_output=True, text=True, check=False)
    found = re.match(rf"{name} (\d+)", done.stdout)
    if not found or int(found.group(1)) < version:
        raise unittest.SkipTest(f"no {name} {version or ''} in .venv: scripts/setup all brings it")
    return words


def files_of(folder):
    return {os.path.relpath(os.path.join(parent, name), folder)
            for parent, folders, names in os.walk(folder) for name in folders + names}


class Case(unittest.TestCase):
    def check_contents(self, path):
        """RECORD lists every file, and each linked library has its licence."""
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            self.assertEqual(len(names), len(set(names)))
            info = f"gpuverify-{VERSION}.dist-info"
            self.assertTrue(os.path.basename(path).startswith(f"gpuverify-{VERSION}-py3-none-"), path)
            rows = list(csv.reader(io.StringIO(archive.read(f"{info}/RECORD").decode())))
            self.assertEqual([row[0] for row in rows], names)
            for name in ("bin/gpuverify", "lib/libgpuverify.so", "lib/libgpuverify-cupti.so", "lib/libgpuverify-nvtx.so",
                         "include/gpuverify.h", "__main__.py"):
                self.assertIn(f"gpuverify/{name}", names)
            data = info.replace(".dist-info", ".data/data/share")
            for name in ("man/man1/gpuverify.1", "bash-completion/completions/gpuverify.bash", "zsh/site-functions/_gpuverify",
                         "fish/vendor_completions.d/gpuverify.fish"):
                self.assertIn(f"{data}/{name}", names)
            self.assertTrue(archive.getinfo("gpuverify/bin/gpuverify").external_attr >> 16 & 0o111)
            entries = archive.read(f"{info}/entry_points.txt").decode()
            self.assertIn("\n[pytest11]\ngpuverify.pytest_plugin = gpuverify.pytest_plugin\n", entries,
                             "the pytest plugin and its entry in python/metadata/entry_points.txt belong together")
            bill = json.loads(archive.read(f"{info}/sboms/gpuverify.cdx.json"))
            metadata = archive.read(f"{info}/METADATA").decode()
        self.assertIn(f"\nVersion: {VERSION}\n", metadata)
        self.assertEqual(bill["metadata"]["component"]["version"], VERSION)
        self.assertLess(os.path.getsize(path), LIMIT_BYTES)
        linked = {part["name"] for part in bill["components"]}
        self.assertLessEqual({"sqlite3", "elfutils", "libunwind", "zlib", "gcc"}, linked)
        for name in [f"{part}.txt" for part in linked] + ["LICENSE", "LGPL-3.txt"]:
            self.assertIn(f"{info}/licenses/{name}", names)
            self.assertIn(f"\nLicense-File: {name}\n", metadata)

    def check_tag(self, path):
        """auditwheel finds that the file keeps what its name says."""
        wanted = path.rpartition("-")[2].partition(".whl")[0]
        said = " ".join(subprocess.run([*tool("auditwheel"), "show", path], capture_output=True, text=True,
                                       check=True).stdout.split())
        self.assertIn(f'is consistent with the following platform tag: "{wanted}"', said)


class Made(Case):
    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.made)
        cls.wheel, cls.is_old = make(cls.made)
        if not cls.wheel:
            raise AssertionError(cls.is_old)

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        # A collector may still be at work in it.
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def bare(self, *words, **variables):
        """Runs it in the empty folder, on the simulator, with nothing but PATH and what is given."""
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, timeout=300, check=False,
                              env={"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": SIMULATOR, "GPUVERIFY_SPOOL_DIR": self.folder,
                                   "GPUVERIFY_CUPTI": os.path.join(SIMULATOR, "libcupti.so.13"), **variables})
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        self.assertNotIn("cannot be preloaded", done.stderr)
        return done.stdout.strip()

    def calls(self, name):
        trace = sqlite3.connect(os.path.join(self.folder, name))
        self.addCleanup(trace.close)
        return [row[0] for row in trace.execute("SELECT DISTINCT name FROM calls")]


class Wheel(Made):
    def test_contents(self):
        self.check_contents(self.wheel)

    def test_a_program_inherits_what_it_would_without_python(self):
        place = os.path.join(self.folder, "unpacked")
        with zipfile.ZipFile(self.wheel) as archive:
            archive.extractall(place)
        command = os.path.join(place, "gpuverify/bin/gpuverify")
        os.chmod(command, 0o755)
        words = ("run", "-o", "run.db", "--", "sh", "-c", INHERITED)
        plain = self.bare(command, *words)
        self.assertIn("LD_PRELOAD", plain)
        self.assertEqual(self.bare(sys.executable, "-m", "gpuverify", *words, PYTHONPATH=place), plain)

    def test_in_a_checkout_it_finds_the_command_that_a_variable_names(self):
        command = os.path.join(BUILD, "report/gpuverify")
        for words in (("-m", "gpuverify", "--library"), ("-c", "from gpuverify import _files; print(_files.library())")):
            said = self.bare(sys.executable, *words, PYTHONPATH=os.path.join(CHECKOUT, "python"), GPUVERIFY_COMMAND=command)
            self.assertEqual(said, os.path.join(BUILD, "preload/libgpuverify.so"))

    def test_the_same_sources_make_the_same_wheel(self):
        again, _ = make(os.path.join(self.folder, "again"))
        with open(self.wheel, "rb") as one, open(again, "rb") as other:
            self.assertEqual(one.read(), other.read())


class Readme(Case):
    def test_its_command_makes_and_installs_the_wheel(self):
        """As written, in this checkout and a fresh environment."""
        pip = tool("pip", 25)
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        place = os.path.join(folder, "venv")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
        with open(os.path.join(place, "bin/pip"), "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nexec " + " ".join(pip) + f' --python {place}/bin/python "$@"\n')
        os.chmod(os.path.join(place, "bin/pip"), 0o755)
        with open(os.path.join(CHECKOUT, "README.md"), encoding="utf-8") as text:
            line = next(line for line in text if "scripts/wheel" in line)
        done = subprocess.run(["bash", "-c", re.sub(r"  +#.*", "", line).strip() + " && gpuverify --version"], cwd=CHECKOUT,
                              capture_output=True, text=True, check=False,
                              env={"PATH": f"{place}/bin:/usr/bin:/bin", "HOME": folder})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"\ngpuverify \d")


class Tag(Made):
    def test_auditwheel_confirms_it(self):
        if not self.is_old:
            self.skipTest("built with this machine's own libraries, whose glibc may have no tag")
        self.assertIn("-py3-none-manylinux_2_28_", self.wheel)
        self.check_tag(self.wheel)


class Pythons(Made):
    """A case for each Python: in a fresh virtual environment."""

    def environment(self, python):
        """A fresh virtual environment; its Python starts as `python` does."""
        place = os.path.join(self.folder, "venv")
        self.bare(python, "-m", "venv", "--without-pip", place)
        with open(python, "rb") as file:
            start = file.read(100000)
        if start.startswith(b"#!"):  # a script of tests/fetch_pythons.py
            real = os.path.join(place, "bin", os.path.basename(python))
            os.unlink(real)
            with open(real, "wb") as file:
                file.write(re.sub(rb"(?m)^exec (\S+)", rb'exec \1 --argv0 "$0"', start))
            os.chmod(real, 0o755)
        return place

    def check_python(self, python):
        pip = tool("pip", 25)
        place = self.environment(python)
        its_python, command = os.path.join(place, "bin/python"), os.path.join(place, "bin/gpuverify")
        before = files_of(place)
        self.bare(*pip, "--python", its_python, "install", "--no-index", self.wheel)

        self.assertEqual(self.bare(command, "--version"), f"gpuverify {VERSION}")
        self.assertEqual(self.bare(its_python, "-m", "gpuverify", "--version"), f"gpuverify {VERSION}")
        self.assertEqual(self.bare(command, "run", "-o", "run.db", "--", its_python, "-c", PROGRAM), "0")
        self.assertIn("cuInit", self.calls("run.db"))
        self.assertEqual(self.bare(its_python, "-m", "gpuverify", "run", "-o", "module.db", "--", its_python, "-c", PROGRAM), "0")
        self.assertIn("cuInit", self.calls("module.db"))
        library = self.bare(command, "--library")
        self.assertTrue(library.startswith(os.path.realpath(place)), library)
        found = "from gpuverify import _files; print(_files.command(), _files.library())"
        package = os.path.dirname(os.path.dirname(library))
        self.assertEqual(self.bare(its_python, "-c", found).split(), [os.path.join(package, "bin/gpuverify"), library])

        self.bare(*pip, "--python", its_python, "uninstall", "--yes", "gpuverify")
        left = files_of(place) - before  # pip leaves folders that others may use too
        self.assertEqual([name for name in left if not os.path.isdir(os.path.join(place, name)) or not name.startswith("share")], [])

    def test_this_python(self):
        self.check_python(sys.executable)


def python_case(python):
    def case(self):
        self.check_python(python)
    return case


for path in sorted(glob.glob(os.path.join(PYTHONS, "bin/python*")) if PYTHONS else []):
    setattr(Pythons, "test_" + os.path.basename(path).replace(".", "_"), python_case(path))


class Aarch64(Case):
    def test_it_is_built_and_runs(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        path, why = make(folder, "--target", "aarch64")
        if not path and not os.path.exists(os.path.join(ROOT, "complete-aarch64")):
            self.skipTest(why.splitlines()[-1])
        self.assertTrue(path, why)
        self.assertTrue(path.endswith("-py3-none-manylinux_2_28_aarch64.whl"), path)
        self.check_contents(path)
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
        command = os.path.join(folder, "gpuverify/bin/gpuverify")
        os.chmod(command, 0o755)
        said = subprocess.run(["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu", command, "--version"], check=True,
                              capture_output=True, text=True).stdout
        self.assertRegex(said, r"^gpuverify \d")
        self.check_tag(path)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    result = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], exit=False).result
    if result.skipped and len(result.skipped) == result.testsRun:
        print(result.skipped[-1][1])
        sys.exit(77)
    sys.exit(not result.wasSuccessful())
