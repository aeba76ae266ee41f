#!/usr/bin/env python3
"""Makes archives with scripts/bundle, unpacks them in an empty folder and uses them with an empty
environment.

  test_bundle.py BUILD [ROOT]     BUILD has been compiled and has a simulator; ROOT: the root to build
                                  in, made by debootstrap where it is not there; without: built here

Exits 77 where there is no ROOT to be had.
"""

import filecmp
import glob
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(CHECKOUT, "tests"))
from version import VERSION  # noqa: E402

BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
ROOT = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else ""
SIMULATOR = os.path.join(BUILD, "tests", "sim")
# The glibc of the root's distribution, Debian 11.
GLIBC_OF_ROOT = (2, 31)
LIMIT_BYTES = 5 << 20
# With the libraries of the root: recording, and all commands that read traces.
END_TO_END = ("stored", "hostile", "killed", "watchdog", *(f"test_{name}." for name in (
    "anonymise", "by_range", "check", "collectives", "diff", "export_files", "fleet", "gpu_lines", "idle_commands", "jobs",
    "json", "keep", "memory", "own_cost", "page", "query", "ranges", "ranks", "report", "sampled", "stall_commands", "steps",
    "timeline", "tracks", "findings")))
TIMES_SLOWER_MOST = 5
LIBC = re.compile(r"(libc|libm|libdl|libpthread|librt)\.so\.\d+|ld-linux.*")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def bundle(folder):
    done = subprocess.run([os.path.join(CHECKOUT, "scripts", "bundle"), "--with-tests", "--root",
                           ROOT or "host", "-o", folder], capture_output=True, text=True,
                          check=False)
    if ROOT and done.returncode != 0 and not os.path.exists(os.path.join(ROOT, "complete")):
        print(f"no root to build in: {done.stderr.strip()[-200:]}")
        sys.exit(77)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


class Bundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.made)
        bundle(cls.made)
        cls.archives = {"tests" in os.path.basename(path): path
                        for path in glob.glob(os.path.join(cls.made, "gpuverify-*.tar.gz"))}

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        # A collector may still be at work in it.
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def unpack(self, with_tests=False):
        subprocess.run(["tar", "-xf", self.archives[with_tests], "-C", self.folder], check=True)
        names = os.listdir(self.folder)
        self.assertEqual(len(names), 1, names)
        return os.path.join(self.folder, names[0])

    def bare(self, *words, status=0, **variables):
        """Runs it in the empty folder with nothing but PATH and what is given."""
        place = os.path.join(self.folder, "place")
        os.makedirs(place, exist_ok=True)
        done = subprocess.run(words, cwd=place, env={"PATH": "/usr/bin:/bin", **variables},
                              capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, status, f"{words}: {done.stdout}{done.stderr}")
        self.assertNotIn("cannot be preloaded", done.stderr)
        return done.stdout

    def on_simulator(self, *words):
        return self.bare(*words, LD_LIBRARY_PATH=SIMULATOR, GPUVERIFY_SPOOL_DIR=self.folder,
                         GPUVERIFY_CUPTI=os.path.join(SIMULATOR, "libcupti.so.13"))

    def traced(self, command, program):
        self.on_simulator(command, "run", "-o", "trace.db", "--",
                          os.path.join(BUILD, "kernels", program))
        trace = sqlite3.connect(os.path.join(self.folder, "place", "trace.db"))
        self.addCleanup(trace.close)
        return trace

    def objects(self, place):
        return glob.glob(f"{place}/lib/*") + glob.glob(f"{place}/bin/*")

    def test_small_and_all_there(self):
        self.assertEqual(set(self.archives), {False, True})
        self.assertLess(os.path.getsize(self.archives[False]), LIMIT_BYTES)
        place = self.unpack()
        self.assertEqual(os.path.basename(place), f"gpuverify-{VERSION}-linux-{os.uname().machine}")
        self.assertIn(f"gpuverify {VERSION}\n".encode(), read(os.path.join(place, "VERSION")))
        self.assertEqual(self.bare(os.path.join(place, "bin/gpuverify"), "--version"), f"gpuverify {VERSION}\n")
        for name in ("bin/gpuverify", "lib/libgpuverify.so", "lib/libgpuverify-cupti.so",
                     "lib/libgpuverify-nvtx.so", "include/gpuverify.h",
                     "install.sh", "LICENSE", "README.md", "VERSION", "share/man/man1/gpuverify.1",
                     "share/bash-completion/completions/gpuverify.bash", "share/zsh/site-functions/_gpuverify",
                     "share/fish/vendor_completions.d/gpuverify.fish",
                     "share/doc/gpuverify/README.md", "share/doc/gpuverify/docs/stalls.md",
                     "share/doc/gpuverify/gpuverify.cdx.json", "share/doc/gpuverify/licenses/elfutils.txt",
                     "share/doc/gpuverify/licenses/LGPL-3.txt", "share/doc/gpuverify/licenses/libunwind.txt",
                     "share/doc/gpuverify/licenses/sqlite3.txt"):
            self.assertTrue(os.path.exists(os.path.join(place, name)), name)
        documents = [(name, read(os.path.join(folder, name)))
                     for folder, _, names in os.walk(os.path.join(place, "share")) for name in names]
        self.assertEqual(len(documents), len(set(documents)), "documents that are there twice")
        self.bare("sh", "-c", f"cd {place} && sha256sum --quiet -c SHA256SUMS")

    def test_needs_only_libc_of_the_version_it_states(self):
        place = self.unpack()
        with open(os.path.join(place, "VERSION"), encoding="utf-8") as file:
            stated = tuple(map(int, re.search(r"needs glibc ([\d.]+)", file.read()).group(1)
                               .split(".")))
        asked = []
        for path in self.objects(place):
            text = subprocess.run(["readelf", "-dVW", path], capture_output=True, text=True,
                                  check=True).stdout
            for library in re.findall(r"\(NEEDED\).*\[(.*)\]", text):
                self.assertRegex(library, LIBC, path)
            asked += [tuple(map(int, version.split(".")))
                      for version in re.findall(r"GLIBC_([\d.]+)", text)]
        self.assertEqual(max(asked), stated)
        if ROOT:
            self.assertLessEqual(stated, GLIBC_OF_ROOT)

    @unittest.skipUnless(ROOT, "that of the machine that builds")
    def test_programs_of_the_archive_need_no_newer_libc(self):
        place = self.unpack(with_tests=True)
        programs = [path for folder, _, names in os.walk(f"{place}/kernels")
                    for path in (os.path.join(folder, name) for name in names) if os.access(path, os.X_OK) and is_elf(path)]
        self.assertGreater(len(programs), 20)
        for path in programs:
            text = subprocess.run(["readelf", "-VW", path], capture_output=True, text=True,
                                  check=True).stdout
            asked = [tuple(map(int, version.split(".")))
                     for version in re.findall(r"GLIBC_([\d.]+)", text)]
            self.assertLessEqual(max(asked), GLIBC_OF_ROOT, path)

    def test_traces_with_an_empty_environment(self):
        place = self.unpack()
        trace = self.traced(os.path.join(place, "bin", "gpuverify"), "driver_tour")
        launches, = trace.execute("SELECT count(*) FROM calls WHERE name = 'cuLaunchKernel'"
                                  ).fetchone()
        on_gpu, = trace.execute("SELECT count(*) FROM gpu_ops WHERE kind = 'kernel'").fetchone()
        self.assertGreater(launches, 0)
        self.assertGreater(on_gpu, 0, "the CUPTI module of the bundle")
        said = self.bare(os.path.join(place, "bin", "gpuverify"), "report", "trace.db")
        self.assertIn("cuLaunchKernel", said)

    @unittest.skipUnless(ROOT, "shown in the root")
    def test_runs_in_the_old_distribution(self):
        place = self.unpack()
        inside = tempfile.mkdtemp(dir=os.path.join(ROOT, "tmp"))
        self.addCleanup(shutil.rmtree, inside, ignore_errors=True)
        shutil.copytree(place, inside, dirs_exist_ok=True)
        seen = inside[len(ROOT):]
        said = self.bare("/usr/sbin/chroot", ROOT, f"{seen}/bin/gpuverify", "--version")
        self.assertIn("gpuverify", said)
        said = self.bare("/usr/sbin/chroot", ROOT, "/usr/bin/env",
                         f"LD_PRELOAD={seen}/lib/libgpuverify.so", "/bin/echo", "well")
        self.assertEqual(said, "well\n")

    def test_names_native_frames(self):
        place = self.unpack()
        trace = self.traced(os.path.join(place, "bin", "gpuverify"), "stalls/module_load_cubin")
        names = {name for name, in trace.execute(
            "SELECT function FROM frames WHERE kind = 'native'")}
        self.assertIn("main", names, "elfutils is not linked in")
        self.assertEqual(trace.execute("SELECT value FROM meta WHERE key = 'native_frames'").fetchall(), [])

    def test_installs_again_and_uninstalls(self):
        place = self.unpack()
        prefix = os.path.join(self.folder, "prefix")
        script = os.path.join(place, "install.sh")
        os.makedirs(os.path.join(prefix, "bin"))
        for _ in range(2):
            self.bare(script, "--prefix", prefix)
        trace = self.traced(os.path.join(prefix, "bin", "gpuverify"), "driver_tour")
        self.assertGreater(trace.execute("SELECT count(*) FROM calls").fetchone()[0], 0)
        foreign = os.path.join(prefix, "lib", "foreign.so")
        with open(foreign, "w", encoding="utf-8"):
            pass
        said = self.bare(script, f"--prefix={prefix}", "--uninstall")
        self.assertIn("removed gpuverify", said)
        left = [os.path.join(folder, name) for folder, folders, names in os.walk(prefix)
                for name in folders + names]
        self.assertEqual(sorted(left), [os.path.join(prefix, "bin"), os.path.dirname(foreign), foreign],
                         "what was there before, and what others have put there")
        said = self.bare(script, f"--prefix={prefix}", "--uninstall")
        self.assertIn("nothing to remove", said)
        self.assertNotIn("removed", said)
        fresh = os.path.join(self.folder, "fresh")
        self.bare(script, "--prefix", fresh)
        self.bare(script, "--prefix", fresh, "--uninstall")
        self.assertFalse(os.path.exists(fresh))

    def test_prefix_is_meant_from_where_the_user_stands(self):
        script = os.path.join(self.unpack(), "install.sh")
        self.bare(script, "--prefix", "here")
        self.assertTrue(os.path.exists(os.path.join(self.folder, "place/here/bin/gpuverify")))
        for words in (["--prefix", ""], ["--prefix="], ["--prefix"], ["--uninstall", "--prefix="],
                      ["--prefix", "--uninstall"], ["--prefix=~"], ["--prefix", "~/tools"]):
            self.assertEqual(self.bare(script, *words, status=2), "")
        self.assertEqual(os.listdir(os.path.join(self.folder, "place")), ["here"])

    def test_refuses_to_install_what_is_damaged(self):
        place = self.unpack()
        with open(os.path.join(place, "lib", "libgpuverify.so"), "ab") as file:
            file.write(b"x")
        prefix = os.path.join(self.folder, "prefix")
        self.bare(os.path.join(place, "install.sh"), "--prefix", prefix, status=1)
        self.assertFalse(os.path.exists(prefix))

    def test_gpu_suite_of_the_archive(self):
        place = self.unpack(with_tests=True)
        said = self.on_simulator(os.path.join(place, "test-gpu"), "-k", "forked processes")
        self.assertIn("1 passed, 0 failed, 0 skipped", said)
        said = self.on_simulator(os.path.join(place, "test-gpu"), "-k", "tiny_kernels")
        self.assertIn("2 passed, 0 failed, 0 skipped", said)

    def test_a_folder_that_is_no_root_is_left_alone(self):
        if os.geteuid() != 0:
            self.skipTest("only root gets that far")
        mine = os.path.join(self.folder, "mine")
        with open(mine, "w", encoding="utf-8"):
            pass
        done = subprocess.run([os.path.join(CHECKOUT, "scripts", "bundle"), "--root", self.folder,
                               "-o", self.made], capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no root of ours", done.stderr)
        self.assertTrue(os.path.exists(mine))

    @unittest.skipUnless(ROOT, "the libraries are those of the other end-to-end tests")
    def test_end_to_end_tests_with_its_libraries(self):
        """An older distribution's SQLite does not know everything: commands have failed with it that work with newer ones."""
        place = self.unpack()
        build = os.path.join(self.folder, "build")
        shutil.copytree(BUILD, build, symlinks=True, copy_function=os.symlink,
                        ignore=shutil.ignore_patterns("bundle", "report", "preload", "cupti", "nvtx"))
        os.mkdir(os.path.join(build, "report"))
        os.symlink(os.path.join(place, "bin", "gpuverify"), os.path.join(build, "report/gpuverify"))
        for room, name in (("preload", "libgpuverify.so"), ("cupti", "libgpuverify-cupti.so"),
                           ("nvtx", "libgpuverify-nvtx.so")):
            os.mkdir(os.path.join(build, room))
            os.symlink(os.path.join(place, "lib", name), os.path.join(build, room, name))
        done = subprocess.run(
            [sys.executable, os.path.join(CHECKOUT, "tests", "e2e", "run.py"), "--build", build,
             "-j", "2", *(f"-k{part}" for part in END_TO_END)],
            capture_output=True, text=True, timeout=900, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^[1-9]\d+ passed, 0 failed")
        for part in END_TO_END:
            if part.startswith("test_"):
                self.assertTrue(os.path.exists(os.path.join(CHECKOUT, "tests", "e2e", f"{part}py")), part)

    @unittest.skipUnless(ROOT, "the libraries are those of the build")
    def test_reports_of_many_steps_take_no_longer_than_with_newer_libraries(self):
        """An older SQLite plans queries differently: such a report has taken minutes with it, and a second with this machine's."""
        built, unpacked = os.path.join(BUILD, "report", "gpuverify"), os.path.join(self.unpack(), "bin", "gpuverify")
        # About 17 000 steps. --from makes each report compute them; the trace has those of the whole run.
        self.on_simulator(built, "run", "-o", "trace.db", "--", os.path.join(BUILD, "kernels/verdicts/verdict"), "copies", "700")
        took_s = []
        for reader in (built, unpacked):
            before_s = os.times().children_user  # other tests run beside this one
            self.bare(reader, "report", "trace.db", "--from", "1ns")
            took_s.append(os.times().children_user - before_s)
        self.assertLess(took_s[1], TIMES_SLOWER_MOST * took_s[0])

    def test_benchmark_of_the_archive(self):
        place = self.unpack(with_tests=True)
        for group, words in (("gpu", "launch: host-only / plain"), ("gpu-kinds", "graph of 1000")):
            numbers = os.path.join(self.folder, f"{group}.json")
            said = self.on_simulator(os.path.join(place, "scripts", "bench"), "--build", place, "--scale",
                                     "0.001", "--json", numbers, group)
            self.assertIn(words, said)
            self.assertTrue(os.path.exists(numbers))

    @unittest.skipIf(ROOT, "shown by what is built here")
    def test_the_same_sources_make_the_same_archive(self):
        again = os.path.join(self.folder, "again")
        bundle(again)
        for path in self.archives.values():
            self.assertTrue(filecmp.cmp(path, os.path.join(again, os.path.basename(path)), False),
                            path)


if __name__ == "__main__":
    if not BUILD:
        sys.exit(__doc__)
    unittest.main(argv=sys.argv[:1])
