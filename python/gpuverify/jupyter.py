"""Jupyter: `gpuverify jupyter install` adds a kernel, and `python -m gpuverify.jupyter` is what Jupyter starts for it."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
from typing import NoReturn

from ._files import library

NAME = "gpuverify"


def install(words: list[str]) -> str | None:
    """Adds the kernel; `gpuverify jupyter --help` describes the options. What went wrong, or None."""
    parser = argparse.ArgumentParser("gpuverify jupyter install", add_help=False)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--prefix")
    where.add_argument("--sys-prefix", action="store_const", const=sys.prefix, dest="prefix")
    prefix = parser.parse_args(words).prefix
    from .trace import TraceError, run

    try:
        run("--library")  # says if it cannot be preloaded
        kernelspec = importlib.import_module("ipykernel.kernelspec")
        manager = importlib.import_module("jupyter_client.kernelspec").KernelSpecManager()
        with tempfile.TemporaryDirectory() as folder:
            made = kernelspec.write_kernel_spec(os.path.join(folder, NAME), {
                "argv": [sys.executable, "-m", __name__, "-f", "{connection_file}"],
                "display_name": f"Python {sys.version_info.major} ({NAME})"})
            print(f"the kernel {NAME} is in", manager.install_kernel_spec(made, NAME, user=prefix is None, prefix=prefix))
    except ImportError as why:
        return f"gpuverify: {sys.executable} cannot be a kernel: {why}; pip install ipykernel"
    except (OSError, TraceError) as why:
        return f"gpuverify: {why}"
    return None


def start(words: list[str]) -> NoReturn:
    """Becomes an IPython kernel under the library. If there is none, the kernel works, and %%gpuverify says that nothing is recorded."""
    environment = dict(os.environ)
    found = library()
    if found:
        environment["LD_PRELOAD"] = os.pathsep.join(filter(None, (found, environment.get("LD_PRELOAD"))))
        # Absolute: a notebook may change its folder.
        trace = os.path.abspath(f"gpuverify-jupyter-{os.getpid()}.db").replace("%", "%%")
        environment["GPUVERIFY_TRACE"] = environment.get("GPUVERIFY_TRACE") or trace
    os.execve(sys.executable, [sys.executable, "-m", "ipykernel_launcher", *words, "--ext", NAME], environment)


if __name__ == "__main__":
    start(sys.argv[1:])
