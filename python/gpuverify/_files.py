"""Finds the command and the library that this package belongs to, and the trace of this program."""

from __future__ import annotations

import os

_HERE = os.path.dirname(os.path.abspath(__file__))


def command() -> str:
    """The path of the command gpuverify: the wheel's, else $GPUVERIFY_COMMAND, else the one on the PATH."""
    own = os.path.join(_HERE, "bin", "gpuverify")
    if os.path.exists(own):
        return own
    import shutil  # here, because the wheel's command should start at once

    found = os.environ.get("GPUVERIFY_COMMAND") or shutil.which("gpuverify")
    if not found:
        raise FileNotFoundError("the command gpuverify is neither in this package nor on the PATH; GPUVERIFY_COMMAND can name it")
    return found


def library() -> str | None:
    """The path of libgpuverify.so, for LD_PRELOAD, or None where there is none."""
    own = os.path.join(_HERE, "lib", "libgpuverify.so")
    if os.path.exists(own):
        return own
    import subprocess

    try:
        done = subprocess.run([command(), "--library"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    except OSError:
        return None
    return os.fsdecode(done.stdout).rstrip("\n") or None


def trace() -> str | None:
    """The trace that this program is recorded in, if GPUVERIFY_TRACE says so without %p, %h or %n."""
    path = os.environ.get("GPUVERIFY_TRACE", "").replace("%%", "\0")
    return path.replace("\0", "%") if path and "%" not in path else None
