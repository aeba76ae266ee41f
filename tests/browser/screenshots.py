#!/usr/bin/env python3
"""Draws the pictures of README.md and docs/page.md anew, of README's example on the simulator:

  tests/browser/screenshots.py [BUILD]      into docs/
"""

import os
import shutil
import subprocess
import sys
import tempfile

import chromium

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ATTEMPTS = 20
DOCS = os.path.join(CHECKOUT, "docs")

# name, width, height, dark, keys to press
PICTURES = (
    ("page", 1280, 1000, False, ""),
    ("page-story", 1280, 900, True, "fz"),
    ("page-phone", 390, 780, False, ""),
)


def record(build, folder):
    """The example's page."""
    env = {"PATH": os.environ["PATH"], "GV_BUILD": build, "GPUVERIFY_SPOOL_DIR": folder}

    def gpuverify(*words):
        done = subprocess.run([os.path.join(CHECKOUT, "scripts/with-sim"), "gpuverify", *words], cwd=folder, check=True,
                              text=True, stdout=subprocess.PIPE, env=env)
        return done.stdout.strip()

    for _ in range(ATTEMPTS):
        gpuverify("run", "--quiet", "--html", "-o", "slow.db", "--", os.path.join(build, "kernels/load_in_loop"))
        if "no-cpu" not in gpuverify("query", "slow.db", "SELECT what FROM findings WHERE lost_ns > 20000000"):
            return os.path.join(folder, "slow.html")
    sys.exit("the machine is busy: the program waited for a CPU")


def main(build):
    with tempfile.TemporaryDirectory() as folder, chromium.Browser() as browser:
        page = record(os.path.abspath(build), folder)
        for name, width, height, dark, keys in PICTURES:
            path = os.path.join(DOCS, name + ".png")
            opened = browser.open("file://" + page, width=width, height=height, dark=dark)
            opened.until("document.querySelector('#timeline canvas') && gvPage")
            for key in keys:
                opened.key(key)
            opened.value("new Promise((done) => setTimeout(done, 1500))")  # scrolling is smooth
            opened.screenshot(path)
            if opened.problems:
                sys.exit(f"{name}: {opened.problems}")
            if shutil.which("pngquant"):  # a third of the size
                subprocess.run(["pngquant", "--force", "--ext", ".png", "64", path], check=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(CHECKOUT, "build"))
