#!/usr/bin/env python3
"""Installs a build into a folder, moves the folder, and runs gpuverify from there.

  test_install.py BUILD        BUILD has been compiled; a simulator is part of it
"""

import glob
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
MESON = os.environ.get("MESON", "meson")
CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(CHECKOUT, "tests"))
from version import VERSION  # noqa: E402

PROGRAM = os.path.join(BUILD, "kernels/driver_tour")


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        staged = os.path.join(cls.folder, "staged")
        subprocess.run([MESON, "install", "-C", BUILD, "--no-rebuild", "--quiet"], check=True,
                       env={**os.environ, "DESTDIR": staged}, stdout=subprocess.DEVNULL)
        command = glob.glob(f"{staged}/**/bin/gpuverify", recursive=True)
        cls.prefix = os.path.join(cls.folder, "moved")
        shutil.move(os.path.dirname(os.path.dirname(command[0])), cls.prefix)

    def find(self, name):
        found = glob.glob(f"{self.prefix}/**/{name}", recursive=True)
        self.assertEqual(len(found), 1, f"{name}: {found}")
        return found[0]

    def environment(self, **more):
        settings = {name: value for name, value in os.environ.items()
                    if not name.startswith(("GPUVERIFY_", "LD_"))}
        settings["LD_LIBRARY_PATH"] = os.path.join(BUILD, "tests/sim")
        settings["GPUVERIFY_SPOOL_DIR"] = tempfile.mkdtemp(dir=self.folder)
        return {**settings, **more}

    def launches(self, trace):
        connection = sqlite3.connect(f"file:{trace}?mode=ro", uri=True)
        try:
            return connection.execute(
                "SELECT count(*) FROM calls WHERE name = 'cuLaunchKernel'").fetchone()[0]
        finally:
            connection.close()

    def test_the_version_is_that_of_meson_build(self):
        said = subprocess.run([os.path.join(self.prefix, "bin/gpuverify"), "--version"], capture_output=True, text=True, check=True)
        self.assertEqual(said.stdout, f"gpuverify {VERSION}\n")
        with open(os.path.join(self.prefix, "share/man/man1/gpuverify.1"), encoding="utf-8") as file:
            self.assertIn(f'"gpuverify {VERSION}"', file.readline())
        with open(self.find("CHANGELOG.md"), encoding="utf-8") as file:
            self.assertIn(f"\n## {VERSION}", file.read())

    def test_everything_is_where_a_packager_expects_it(self):
        self.assertTrue(os.access(os.path.join(self.prefix, "bin/gpuverify"), os.X_OK))
        library = self.find("libgpuverify.so")
        self.assertTrue(library.startswith(os.path.join(self.prefix, "lib")), library)
        self.assertTrue(os.path.exists(os.path.join(self.prefix, "share/man/man1/gpuverify.1")))
        self.assertTrue(os.path.exists(os.path.join(self.prefix, "share/doc/gpuverify/README.md")))
        for name in ("LICENSE", "CHANGELOG.md", "trace-format.md", "look-several.json"):
            self.assertIn("/share/doc/gpuverify/", self.find(name))

        for name in ("share/bash-completion/completions/gpuverify.bash",
                     "share/zsh/site-functions/_gpuverify", "share/fish/vendor_completions.d/gpuverify.fish"):
            self.assertTrue(os.path.exists(os.path.join(self.prefix, name)), name)

    def test_the_readmes_command_installs_and_ninja_removes(self):
        """As written, in a clone; sudo puts the files elsewhere."""
        clone = tempfile.mkdtemp(dir=self.folder)
        os.symlink(BUILD, os.path.join(clone, "build"))
        into = os.path.join(clone, "into")
        with open(os.path.join(clone, "sudo"), "w", encoding="utf-8") as sudo:
            sudo.write(f'#!/bin/sh\n[ "$1" = ldconfig ] || DESTDIR={into} exec "$@"\n')
        os.chmod(os.path.join(clone, "sudo"), 0o755)
        with open(os.path.join(CHECKOUT, "README.md"), encoding="utf-8") as text:
            line = next(line for line in text if line.startswith("    sudo ninja"))
        command = re.sub(r"  +#.*", "", line).strip()
        for words, there in ((command, True), (command.replace("build install", "build uninstall"), False)):
            done = subprocess.run(["bash", "-c", words], cwd=clone, capture_output=True, text=True, check=False,
                                  env={"PATH": f"{clone}:{os.environ['PATH']}", "HOME": clone})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            left = [name for _, _, names in os.walk(into) for name in names]
            self.assertEqual("gpuverify" in left, there, left)
        self.assertEqual(left, [])

    def test_links_of_installed_pages_lead_somewhere(self):
        folder = os.path.join(self.prefix, "share/doc/gpuverify")
        for page in glob.glob(f"{folder}/**/*.md", recursive=True):
            with open(page, encoding="utf-8") as text:
                links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text.read())
            for link in links:
                path = os.path.join(os.path.dirname(page), link)
                self.assertTrue(os.path.exists(path), f"{os.path.relpath(page, folder)}: {link}")

    def test_nothing_of_the_tests_is_installed(self):
        names = {os.path.basename(path) for path in glob.glob(f"{self.prefix}/**", recursive=True)}
        for name in ("libcuda.so.1", "libcudart.so.13", "driver_tour_linked"):
            self.assertNotIn(name, names)

    def test_the_moved_command_finds_its_library(self):
        trace = os.path.join(self.folder, "run.db")
        subprocess.run([os.path.join(self.prefix, "bin/gpuverify"), "run", "-o", trace, "--",
                        PROGRAM], check=True, env=self.environment(), stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=300)
        self.assertGreater(self.launches(trace), 0)

    def test_the_moved_library_finds_its_collector(self):
        trace = os.path.join(self.folder, "preloaded.db")
        environment = self.environment(GPUVERIFY_TRACE=trace, LD_PRELOAD="libgpuverify.so")
        environment["LD_LIBRARY_PATH"] += ":" + os.path.dirname(self.find("libgpuverify.so"))
        subprocess.run([PROGRAM], check=True, env=environment, stdout=subprocess.DEVNULL,
                       timeout=300)
        self.assertGreater(self.launches(trace), 0)


if __name__ == "__main__":
    if not BUILD:
        sys.exit(__doc__)
    unittest.main(argv=sys.argv[:1])
