"""Finds the command and the library."""

from __future__ import annotations

import os
import shutil

_HERE = os.path.dirname(os.path.abspath(__file__))


def command() -> str:
    """The path of the command: in this package, else GPUVERIFY_COMMAND, else on PATH."""
    own = os.path.join(_HERE, "bin", "gpuverify")
    found = own if os.path.exists(own) else os.environ.get("GPUVERIFY_COMMAND") or shutil.which("gpuverify")
    if not found:
        raise FileNotFoundError("the command gpuverify was not found: install it, or name it in GPUVERIFY_COMMAND")
    return found


def library() -> str | None:
    """The path of libgpuverify.so in this package; None: the package has none."""
    own = os.path.join(_HERE, "lib", "libgpuverify.so")
    return own if os.path.exists(own) else None
