#!/usr/bin/env python3
"""A debootstrap that is killed while scripts/build-root.sh makes a root leaves nothing mounted there.

Exits 77 without a mount namespace.
"""

import os
import platform
import subprocess
import sys
import tempfile
import unittest

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KILLED = """#!/bin/sh
for root; do [ -d "$root" ] && break; done
mkdir "$root/proc"
mount -t tmpfs gv-build-root "$root/proc" || exit
touch "$root/proc/mounted" "$MADE/came-so-far"
kill -KILL $$
"""


class KilledDebootstrap(unittest.TestCase):
    def test_leaves_nothing_mounted(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "debootstrap")
            with open(program, "w", encoding="utf-8") as file:
                file.write(KILLED)
            os.chmod(program, 0o755)
            root = os.path.join(folder, "root")
            made = subprocess.run(["bash", "-c", '. "$0" && build_root_make "$1"',
                                   os.path.join(CHECKOUT, "scripts/build-root.sh"), root],
                                  env={**os.environ, "PATH": folder + ":" + os.environ["PATH"], "MADE": folder},
                                  capture_output=True, text=True, check=False)
            with open("/proc/mounts", encoding="utf-8") as file:
                mounted = [line.split()[1] for line in file if line.startswith("gv-build-root ")]
            for path in mounted:
                subprocess.run(["umount", "-l", path], check=False)
            self.assertEqual(made.returncode, 1, made)
            self.assertTrue(os.path.exists(os.path.join(folder, "came-so-far")), made)
            self.assertEqual(mounted, [])
            self.assertTrue(os.path.exists(os.path.join(root, "unfinished")))


if __name__ == "__main__":
    if platform.machine() != "x86_64" or subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"],
                                                        capture_output=True, check=False).returncode != 0:
        print("no mount namespace to be had")
        sys.exit(77)
    unittest.main()
