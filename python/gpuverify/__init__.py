"""gpuverify for Python: reads traces, and names what a program does in them.

    import gpuverify

    with gpuverify.range("forward"):        # also a decorator
        model(batch)
    gpuverify.mark("epoch 2")

    with gpuverify.open("train.db") as trace:
        print(trace.findings)
        for stall in trace.stalls:
            print(stall.cause, stall.wait_ns)

`range`, `mark`, `start` and `stop` do nothing in a program that does not run under gpuverify.
`%load_ext gpuverify` gives IPython and notebooks the magic `%%gpuverify`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .recording import mark, range, start, stop

if TYPE_CHECKING:
    from .trace import Trace

__all__ = ["mark", "open", "range", "start", "stop"]


def open(path: str | os.PathLike[str]) -> Trace:
    """Opens a trace for reading. Of a program that still runs, it reads what was recorded until now."""
    from .trace import Trace  # programs that only name what they do need no SQLite

    return Trace(path)


def load_ipython_extension(shell: Any) -> None:
    """For `%load_ext gpuverify`."""
    from . import cells

    cells.load(shell)


def unload_ipython_extension(shell: Any) -> None:
    from . import cells

    cells.unload(shell)
