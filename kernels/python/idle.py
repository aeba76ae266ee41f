"""Shared by the programs whose GPU is idle for a known reason: TWIN, and rounds of some time.

The word `twin` on the command line makes a program do nearly the same for another reason. The comments `# idle: REASON` and
`# twin: REASON` mark the line that a trace must name (tests/idle_expectations.py).
"""
import sys
import time

TWIN = "twin" in sys.argv[1:]


def rounds(work, seconds=3.0):
    """Calls work(), which uses the GPU and waits for it, before the first round and after each."""
    work()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
        work()


def compute(ms):
    """Runs Python for about that long."""
    end = time.monotonic() + ms / 1e3
    value = 0
    while time.monotonic() < end:
        value += sum(i for i in range(100))
    return value
