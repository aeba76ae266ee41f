"""python -m gpuverify, and the script gpuverify that pip installs: both become the command, except for `jupyter install`."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from gpuverify._files import command


def _environment() -> dict[bytes, bytes]:
    """The environment as it was before this Python: in the locale C it sets LC_CTYPE for itself and its children."""
    environment = dict(os.environb)
    try:
        with open("/proc/self/environ", "rb") as file:
            started = file.read().split(b"\0")
    except OSError:
        return environment
    if not any(variable.startswith(b"LC_CTYPE=") for variable in started):
        environment.pop(b"LC_CTYPE", None)
    return environment


def _name() -> str:
    """What the command's hints call it: the path of the script, if the shell would not find that one."""
    script = sys.argv[0]
    if os.path.basename(script) != "gpuverify":
        return "gpuverify"
    for folder in os.get_exec_path():
        if os.access(os.path.join(folder, "gpuverify"), os.X_OK):
            return "gpuverify" if folder == os.path.dirname(script) else script
    return script


def main() -> NoReturn:
    if sys.argv[1:3] == ["jupyter", "install"] and not {"-h", "--help"} & set(sys.argv):
        from gpuverify import jupyter  # the only command that needs this Python

        sys.exit(jupyter.install(sys.argv[3:]))
    if sys.argv[1:2] in (["export"], ["fleet"], ["mcp"]):
        os.environ.setdefault("GPUVERIFY_PYTHON", sys.executable)  # which the command may come back to
    try:
        path = command()
        # Python ignores these signals, and a program would inherit that.
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.execve(path, [_name(), *sys.argv[1:]], _environment())
    except OSError as why:
        sys.exit(f"gpuverify: {why}")


if __name__ == "__main__":
    main()
