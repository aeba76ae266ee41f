#!/usr/bin/env python3
"""Draws the pictures of docs/page.md anew: tests/browser/screenshots.py PAGE FOLDER

PAGE is that of a program on a GPU: gpuverify export train.db --to html -o page.html
Then make them smaller: pngquant --force --ext .png 64 docs/page*.png
"""

import os
import sys

import chromium

# name, width, height, dark, keys to press
PICTURES = (
    ("page", 1280, 1000, False, ""),
    ("page-story", 1280, 900, True, "fz"),
    ("page-phone", 390, 780, False, ""),
)


def main(page, folder):
    with chromium.Browser() as browser:
        for name, width, height, dark, keys in PICTURES:
            opened = browser.open("file://" + os.path.abspath(page), width=width, height=height, dark=dark)
            opened.until("document.querySelector('#timeline canvas') && gvPage")
            for key in keys:
                opened.key(key)
            opened.value("new Promise((done) => setTimeout(done, 1500))")  # scrolling is smooth
            opened.screenshot(os.path.join(folder, name + ".png"))
            if opened.problems:
                sys.exit(f"{name}: {opened.problems}")


if __name__ == "__main__":
    main(*sys.argv[1:])
