#!/usr/bin/env python3
"""Builds packaging/docker/Dockerfile with podman, and records programs on the simulator in containers of its image.

  test_containers.py BUILD     BUILD has been compiled and has a simulator

Exits 77 where podman cannot run a container.
"""

import glob
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
LOCKED = ("--user", "65534:65534", "--cap-drop", "all", "--security-opt", "no-new-privileges", "--read-only",
          "--read-only-tmpfs=false")


class Containers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.place, ignore_errors=True)
        # The program's libraries come from this machine; an image of a distribution would need a network.
        base = os.path.join(cls.place, "base.tar")
        with tarfile.open(base, "w") as tar:
            for name in ("usr", "tmp", "etc", "out", "sim", "kernels", "gpuverify", "traces"):
                entry = tarfile.TarInfo(name)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
                tar.addfile(entry)
            for name in ("bin", "lib", "lib64"):
                if os.path.islink("/" + name):
                    entry = tarfile.TarInfo(name)
                    entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink("/" + name)
                    tar.addfile(entry)
            passwd = tarfile.TarInfo("etc/passwd")
            passwd.size = len(b"root:x:0:0::/:/bin/sh\n")
            tar.addfile(passwd, io.BytesIO(b"root:x:0:0::/:/bin/sh\n"))
        if not shutil.which("podman"):
            cls.skip("there is no podman")
        cls.podman("import", base, "localhost/gv-plain", why=cls.skip)
        if cls.run_in("localhost/gv-plain", "true").returncode != 0:
            cls.skip("podman cannot run a container: " + cls.run_in("localhost/gv-plain", "true").stderr.strip()[-200:])
        subprocess.run([os.path.join(CHECKOUT, "scripts/bundle"), "--root", "host", "-o", cls.place], check=True,
                       capture_output=True)
        for target in ("base", "sidecar"):
            cls.podman("build", "-q", "-f", os.path.join(CHECKOUT, "packaging/docker/Dockerfile"), "--target", target,
                       "--build-arg", "BASE=localhost/gv-plain", "-t", f"localhost/gv-{target}", cls.place)

    @staticmethod
    def skip(why):
        print(why)
        sys.exit(77)

    @classmethod
    def podman(cls, *words, why=None):
        done = subprocess.run(["podman", "--root", f"{cls.place}/store", "--runroot", f"{cls.place}/run", "--storage-driver",
                               "vfs", "--cgroup-manager", "cgroupfs", "--events-backend", "none", "--runtime", "runc", *words],
                              capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 0 and words[0] != "run":
            (why or cls.fail)(f"podman {words[0]}: {done.stderr[-500:]}")
        return done

    @classmethod
    def run_in(cls, image, *words, options=()):
        # Low ones: without CAP_SYS_RESOURCE, higher limits than this machine's are refused.
        limits = ["--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024"]
        return cls.podman("run", "--rm", "--network", "none", *limits, "-v", "/usr:/usr:ro", "-v",
                          f"{BUILD}/tests/sim:/sim:ro", "-v", f"{BUILD}/kernels:/kernels:ro", "-e", "LD_LIBRARY_PATH=/sim",
                          "-e", "GPUVERIFY_CUPTI=/sim/libcupti.so.13", *options, image, *words)

    def setUp(self):
        self.out = tempfile.mkdtemp(dir=self.place)
        os.chmod(self.out, 0o777)

    def traced(self, *options, words=("gpuverify", "run", "-o", "/out/t.db", "--", "/kernels/driver_tour"), complete=True,
               image="localhost/gv-base"):
        done = self.run_in(image, *words, options=("-v", f"{self.out}:/out", *options))
        self.assertEqual(done.returncode, 0, done.stderr)
        paths = glob.glob(f"{self.out}/*.db")
        self.assertEqual(len(paths), 1, done.stderr)
        rows = subprocess.run([f"{BUILD}/report/gpuverify", "query", paths[0], "--format", "json",
                               "SELECT (SELECT count(*) FROM gpu_ops) AS operations, (SELECT sum(count) FROM losses) AS lost,"
                               " (SELECT value FROM meta WHERE key = 'state') AS state"],
                              capture_output=True, text=True, check=True)
        row = json.loads(rows.stdout)[0]
        self.assertGreater(row["operations"], 0)
        self.assertIn(row["lost"], (None, 0))
        if complete:
            self.assertEqual(row["state"], "complete")

    def doctor(self, *options):
        done = self.run_in("localhost/gv-base", "gpuverify", "doctor", "--format", "json", options=options)
        return {check["what"]: check for check in json.loads(done.stdout)}

    def test_locked_down(self):
        for shm in ("64m", "64k"):
            with self.subTest(shm):
                self.traced(*LOCKED, "--shm-size", shm)
                shutil.rmtree(self.out)
                self.setUp()

    def test_no_shared_memory(self):
        self.traced(*LOCKED, "--ipc", "none")

    def test_hidden_processes_and_limits(self):
        self.traced("--user", "65534", "--security-opt", "proc-opts=hidepid=2", "--pids-limit", "40", "-m", "200m",
                    "--cpus", "0.5")

    def test_first_process_with_the_library(self):
        self.traced(*LOCKED, "-e", "LD_PRELOAD=/opt/gpuverify/lib/libgpuverify.so", "-e", "GPUVERIFY_TRACE=/out/t.db",
                    words=("/kernels/driver_tour",))

    def test_shell_script_as_entry_point(self):
        self.traced(*LOCKED, "-e", "LD_PRELOAD=/opt/gpuverify/lib/libgpuverify.so", "-e", "GPUVERIFY_TRACE=/out/t.db",
                    words=("sh", "-c", "/kernels/driver_tour; true"), complete=False)  # the shell does not wait for the collector

    def test_patch_for_kubernetes(self):
        """What docs/containers.md adds to a pod; the program's own image has no gpuverify."""
        with open(os.path.join(CHECKOUT, "docs/containers.md"), encoding="utf-8") as page:
            patch = re.search(r"```yaml\n# gpuverify.yaml(.*?)```", page.read(), re.S)[1]
        copy, *words = re.search(r"command: \[(.*)\]", patch)[1].split(", ")
        copied = tempfile.mkdtemp(dir=self.place)
        os.chmod(copied, 0o777)
        done = self.run_in("localhost/gv-sidecar", *words, options=("--entrypoint", copy, "-v", f"{copied}:/gpuverify"))
        self.assertEqual(done.returncode, 0, done.stderr)
        # Kubernetes replaces $(POD).
        variables = re.findall(r"name: (\w+), value: (\S+)}", patch.replace("$(POD)", "train-3-x7k2p"))
        self.traced(*LOCKED, "-v", f"{copied}:/gpuverify:ro", "-v", f"{self.out}:/traces",
                    *(word for variable in variables for word in ("-e", "=".join(variable))),
                    words=("/kernels/driver_tour",), image="localhost/gv-plain")
        self.assertEqual(os.listdir(self.out), ["train-3-x7k2p-driver_tour-1.db"])

    def test_sidecar_shows_help(self):
        done = self.run_in("localhost/gv-sidecar")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("usage", done.stdout.lower())

    def test_doctor_finds_what_is_missing(self):
        checks = self.doctor(*LOCKED, "--ipc", "none")
        self.assertEqual(checks["trace"]["state"], "wrong")
        self.assertIn("-v", checks["trace"]["fix"])
        self.assertIn("--tmpfs /tmp", checks["trial"]["fix"])
        self.assertEqual(checks["shared memory"]["state"], "note")
        checks = self.doctor("-w", "/tmp", "--pids-limit", "8")
        self.assertIn("--pids-limit", checks["processes"]["fix"])

    def test_doctor_is_content(self):
        checks = self.doctor("-w", "/tmp", "--shm-size", "1g")
        self.assertEqual([what for what, check in checks.items() if check["state"] == "wrong"], [])


if __name__ == "__main__":
    if not BUILD:
        sys.exit(__doc__)
    unittest.main(argv=sys.argv[:1])
