#!/usr/bin/env python3
"""Makes the Debian packages with scripts/deb in Debian 11, and installs, uses and removes them in a Debian 13.

  test_deb.py BUILD [TEST...]     under BUILD/bundle debootstrap makes the two

Exits 77 where they cannot be made.
"""

import filecmp
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(CHECKOUT, "tests"))
from version import VERSION  # noqa: E402

BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
OLD = os.path.join(BUILD, "bundle", "root")
NEW = os.path.join(BUILD, "bundle", "root-trixie")
# These packages are not uploaded to Debian, so they close no bug there.
NO_UPLOAD = "initial-upload-closes-no-bugs"
# What installing any package writes, and what is written at any time.
OTHERS = re.compile(r"/(var/(lib/(dpkg|apt|systemd|ucf)|cache|log|backups)|etc/ld\.so\.cache|etc/alternatives|tmp|root|dev|proc)(/|$)")


def shell(text, *words, **settings):
    return subprocess.run(["bash", "-c", text, *words], cwd=CHECKOUT, capture_output=True, text=True, check=False,
                          env={**os.environ, **settings})


def no_debian(why):
    print(f"no Debian to build or install in: {why.strip()[-200:]}")
    sys.exit(77)


def make_new():
    """Makes a Debian 13 with what a user of the packages has."""
    done = shell('. scripts/build-root.sh; build_root_suite=trixie build_root_packages=man-db,python3; build_root_make "$0"', NEW)
    if done.returncode != 0:
        no_debian(done.stdout)


def make(folder, *options, needs="complete"):
    done = subprocess.run([os.path.join(CHECKOUT, "scripts", "deb"), "-o", folder, "--root", OLD, *options], capture_output=True,
                          text=True, check=False)
    if done.returncode != 0 and not os.path.exists(os.path.join(OLD, needs)):
        no_debian(done.stderr)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return sorted(glob.glob(f"{folder}/*.deb"))


def inside(*words):
    """Runs it in the Debian 13 as a user with a usual environment would, on the simulator."""
    done = subprocess.run(["unshare", "--mount", "sh", "-c", 'mount --bind /proc "$0/proc" && exec chroot "$0" "$@"', NEW,
                           "env", "-i", "PATH=/usr/sbin:/usr/bin", "HOME=/root", "DEBIAN_FRONTEND=noninteractive",
                           "LC_ALL=C.UTF-8", "MANWIDTH=100", "LD_LIBRARY_PATH=/tmp/gv/sim", "GPUVERIFY_SPOOL_DIR=/tmp/gv",
                           "GPUVERIFY_CUPTI=/tmp/gv/sim/libcupti.so.13", *words],
                          capture_output=True, text=True, timeout=600, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def simulator():
    """The simulated libraries and a program, built in the Debian 11 because newer systems can run that. Others build there too:
    scripts/stage.sh has the lock."""
    done = shell("""
        . scripts/build-root.sh
        exec 9>"$1"
        flock 9
        rm -rf "$0/deb/sim"
        build_root_meson "$0" setup /deb/sim /deb/amd64/gpuverify -Dreport=false -Dpreload=false -Dtests=disabled \\
            -Dnvcc=disabled -Dwerror=false -Dcuda-include=/cuda/include &&
        build_root_chroot "$0" ninja -C /deb/sim tests/sim/libcuda.so.1 tests/sim/libcupti.so.13 kernels/driver_tour
        """, OLD, os.path.join(BUILD, "bundle", "lock-root"))
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return [f"{OLD}/deb/sim/{name}" for name in ("tests/sim/libcuda.so.1", "tests/sim/libcupti.so.13", "kernels/driver_tour")]


def files():
    """Every file of the Debian 13 that installing other packages leaves alone."""
    found = set()
    for parent, folders, names in os.walk(NEW):
        seen = parent[len(NEW):]
        folders[:] = [name for name in folders if not OTHERS.match(f"{seen}/{name}")]
        found.update(f"{seen}/{name}" for name in folders + names if not OTHERS.match(f"{seen}/{name}"))
    return found


class Deb(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.packages = make(os.path.join(cls.folder, "first"))
        make_new()

    def test_names_carry_the_version_of_meson_build(self):
        self.assertEqual([os.path.basename(path) for path in self.packages],
                         [f"gpuverify_{VERSION}-1_amd64.deb", f"python3-gpuverify_{VERSION}-1_all.deb"])

    def test_lintian_finds_nothing(self):
        if not shutil.which("lintian"):
            self.skipTest("no lintian: scripts/setup all brings it")
        done = subprocess.run(["lintian", "--allow-root", "--tag-display-limit", "0", "--suppress-tags", NO_UPLOAD, *self.packages],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_the_same_sources_make_the_same_packages(self):
        again = make(os.path.join(self.folder, "again"))
        self.assertEqual(len(again), len(self.packages))
        for one, other in zip(self.packages, again):
            self.assertTrue(filecmp.cmp(one, other, shallow=False), f"{os.path.basename(one)} differs")

    def test_installed_used_and_purged(self):
        place = os.path.join(NEW, "tmp/gv")
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(f"{place}/sim")
        for path in simulator():
            shutil.copy(path, f"{place}/sim")
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        for path in self.packages:
            shutil.copy(path, place)
        names = [f"/tmp/gv/{os.path.basename(path)}" for path in self.packages]
        inside("apt-get", "-q", "update")
        before = files()

        inside("apt-get", "-q", "-y", "--no-install-recommends", "install", *names)
        try:
            self.use()
        finally:
            inside("apt-get", "-q", "-y", "purge", "gpuverify", "python3-gpuverify")
            inside("apt-get", "-q", "-y", "autoremove", "--purge")
        self.assertEqual(files() - before, set())
        self.assertEqual(before - files(), set())

    def use(self):
        inside("gpuverify", "run", "-o", "/tmp/gv/run.db", "--", "/tmp/gv/sim/driver_tour")
        self.assertIn("cuLaunchKernel", inside("gpuverify", "report", "/tmp/gv/run.db"))
        self.assertNotEqual(inside("gpuverify", "query", "/tmp/gv/run.db", "SELECT name FROM gpu_ops WHERE kind = 'kernel'"), "",
                            "the CUPTI module of the package")
        self.assertIn("main", inside("gpuverify", "query", "/tmp/gv/run.db", "SELECT function FROM frames WHERE kind = 'native'"),
                      "native frames have names")
        self.assertNotIn("no libunwind", inside("gpuverify", "query", "/tmp/gv/run.db", "SELECT value FROM meta"))
        self.assertIn("gpuverify run", inside("man", "gpuverify"))
        library = inside("gpuverify", "--library").strip()
        inside(f"LD_PRELOAD={library}", "GPUVERIFY_TRACE=/tmp/gv/preloaded.db", "/tmp/gv/sim/driver_tour")
        self.assertIn("cuLaunchKernel", inside("gpuverify", "report", "/tmp/gv/preloaded.db"))
        said = inside("python3", "-c", "import gpuverify; print(gpuverify.open('/tmp/gv/run.db').findings)")
        self.assertNotIn(said.strip(), ("", "None"))
        self.assertEqual(inside("python3", "-m", "gpuverify", "--version").strip(), f"gpuverify {VERSION}")
        self.assertIn("gpuverify.pytest_plugin", inside("python3", "-c", "from importlib.metadata import entry_points as find; "
                                                        "print([entry.value for entry in find(group='pytest11')])"))


class Arm64(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.package, _ = make(cls.folder, "--target", "arm64", needs="complete-aarch64")

    def test_it_names_its_architecture_and_dependencies(self):
        said = subprocess.run(["dpkg-deb", "-f", self.package, "Architecture", "Depends"], capture_output=True, text=True,
                              check=True).stdout
        self.assertIn("Architecture: arm64\n", said)
        for name in ("libc6", "libdw1", "libelf1", "libsqlite3-0", "libstdc++6", "libunwind8"):
            self.assertRegex(said, rf"[ ,]{re.escape(name)}( \(>=|[,\n])")


if __name__ == "__main__":
    if not BUILD:
        sys.exit(__doc__)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
