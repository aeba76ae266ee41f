#!/usr/bin/env python3
"""scripts/release, in copies of the checkout that have a date in their CHANGELOG.

  test_release.py [Refusals|Source|Again]     Again builds everything twice, in two folders
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(CHECKOUT, "tests"))
from version import VERSION  # noqa: E402

NOBODY = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
          for what, value in (("NAME", "a"), ("EMAIL", "a@example.org"), ("DATE", "2026-01-02T03:04:05Z"))}
NOBODY |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}


def run(*words, cwd=CHECKOUT, **variables):
    return subprocess.run(words, cwd=cwd, env={**os.environ, **NOBODY, **variables}, capture_output=True, text=True, check=False)


def git(*words, checkout):
    done = run("git", *words, cwd=checkout)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Case(unittest.TestCase):
    """self.made is a copy of this checkout as it is, in which all is committed, and the CHANGELOG has a date."""

    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.made)
        paths = run("git", "ls-files", "-co", "--exclude-standard", "-z").stdout.split("\0")
        for path in filter(None, paths):
            if os.path.exists(os.path.join(CHECKOUT, path)):
                os.makedirs(os.path.dirname(os.path.join(cls.made, path)), exist_ok=True)
                shutil.copy2(os.path.join(CHECKOUT, path), os.path.join(cls.made, path))
        git("init", "-q", checkout=cls.made)
        git("add", "-A", checkout=cls.made)
        cls.commit_heading(f"## {VERSION} - 2026-01-02")

    @classmethod
    def commit_heading(cls, heading):
        with open(os.path.join(cls.made, "CHANGELOG.md"), "r+", encoding="utf-8") as file:
            text = re.sub(r"^## .*", heading, file.read(), count=1, flags=re.M)
            file.seek(0)
            file.write(text)
            file.truncate()
        git("commit", "-q", "-a", "-m", "all", checkout=cls.made)

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def clone(self, name):
        folder = os.path.join(self.folder, name)
        git("clone", "-q", self.made, folder, checkout=self.folder)
        return folder

    def release(self, checkout, *words, status=0, only=("source",), **variables):
        names = [word for name in only for word in ("--only", name)]
        done = run("scripts/release", "-o", os.path.join(self.folder, "out"), *names, *words, cwd=checkout, **variables)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stderr if status else {name: sum_ for sum_, name in re.findall("^([0-9a-f]{64})  (.*)$", done.stdout, re.M)}


class Refusals(Case):
    def refused(self, words):
        self.assertIn(words, self.release(self.made, status=1))

    def test_what_is_not_committed(self):
        for name in ("README.md", "new"):
            with open(os.path.join(self.made, name), "a", encoding="utf-8") as file:
                file.write("x")
            self.refused("not committed")
            git("clean", "-qfd", checkout=self.made)
            git("checkout", "-q", ".", checkout=self.made)
        self.release(self.made)
        self.refused("is not empty")

    def test_a_version_that_differs(self):
        git("tag", "v99.0.0", checkout=self.made)
        self.refused(f"is tagged v99.0.0, but its version is {VERSION}")
        for heading, said in ((f"## {VERSION}, not released yet", f"needs '## {VERSION} - YYYY-MM-DD'"),
                              ("## 99.0.0 - 2026-01-02", f"meson.build says {VERSION}"),
                              (f"## {VERSION} - 2026-01-02\n\n## 0.0.9 - 2025-01-02", f"says nothing about {VERSION}")):
            self.commit_heading(heading)
            self.refused(said)
            git("reset", "-q", "--hard", "HEAD~", checkout=self.made)
        git("tag", "-d", "v99.0.0", checkout=self.made)


class Source(Case):
    def test_the_archive_has_all_and_is_the_same_again(self):
        first = self.release(self.made)
        self.assertEqual(sorted(first), [f"gpuverify-{VERSION}-notes.md", f"gpuverify-{VERSION}.tar.gz"])
        out = os.path.join(self.folder, "out")
        with open(os.path.join(self.made, "CHANGELOG.md"), encoding="utf-8") as changes, \
                open(os.path.join(out, f"gpuverify-{VERSION}-notes.md"), encoding="utf-8") as notes:
            self.assertEqual(notes.read(), re.split(r"^## .*\n", changes.read(), flags=re.M)[1])
        with tarfile.open(os.path.join(out, f"gpuverify-{VERSION}.tar.gz")) as archive:
            names = {member.name.partition("/")[2] for member in archive if member.isfile()}
            self.assertEqual({(member.uid, member.mtime) for member in archive}, {(0, 1767323045)})
        self.assertEqual(names, set(git("ls-files", checkout=self.made).split()))
        shutil.rmtree(out)
        self.addCleanup(os.umask, os.umask(0o077))
        self.assertEqual(self.release(self.clone("elsewhere"), TZ="Asia/Tokyo"), first)

    def test_the_signature(self):
        if not shutil.which("ssh-keygen"):
            self.skipTest("no ssh-keygen")
        key, out = os.path.join(self.folder, "key"), os.path.join(self.folder, "out")
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
        self.release(self.made, "--key", key)
        with open(key + ".pub", encoding="ascii") as public, open(os.path.join(out, "signers"), "w", encoding="ascii") as signers:
            signers.write("gpuverify " + public.read())
        verify = "ssh-keygen -Y verify -f signers -I gpuverify -n file -s SHA256SUMS.sig < SHA256SUMS && sha256sum -c --strict SHA256SUMS"
        with open(os.path.join(CHECKOUT, "docs/install.md"), encoding="utf-8") as file:
            text = file.read()
        for command in verify.split(" && "):
            self.assertIn("    " + command + "\n", text)
        self.assertEqual(run("sh", "-c", verify, cwd=out).returncode, 0)
        with open(os.path.join(out, "SHA256SUMS"), "a", encoding="ascii") as sums:
            sums.write("\n")
        self.assertNotEqual(run("sh", "-c", verify, cwd=out).returncode, 0)


class Again(Case):
    def test_built_in_two_folders(self):
        """With this machine's own libraries, whose build sees its folder's name."""
        headers = run("scripts/find-cuda-headers").stdout.splitlines()[0]
        made = []
        for name in ("a", "elsewhere/b"):
            made.append(self.release(self.clone(name), "--root", "host", only=("source", "bundle", "wheel-" + os.uname().machine),
                                     CUDA_HOME=os.path.dirname(headers),
                                     PATH=os.path.join(CHECKOUT, ".venv/bin") + os.pathsep + os.environ["PATH"]))
            shutil.rmtree(os.path.join(self.folder, "out"))
        self.assertEqual(len(made[0]), 4)
        self.assertEqual(*made)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
