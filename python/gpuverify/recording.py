"""What a program says to gpuverify: ranges and marks for its trace, and when to record.

The functions are those of gpuverify.h, looked up in the process itself. Without the library each of
them does nothing, and a decorated function is the function itself.
"""

from __future__ import annotations

import ctypes
import functools
from types import TracebackType
from typing import Any, Callable, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

# Ranges and marks take no lock and return at once, so they keep the GIL. gv_start() waits for CUPTI.
_keeping_gil = ctypes.PyDLL(None)
_leaving_gil = ctypes.CDLL(None)


def _find(library: ctypes.CDLL, name: str, *types: Any) -> Callable[..., object] | None:
    found = getattr(library, name, None)
    if found is not None:
        found.argtypes = types
        found.restype = None
    return found


_push = _find(_keeping_gil, "gv_range_push", ctypes.c_char_p)
_pop = _find(_keeping_gil, "gv_range_pop")
_mark = _find(_keeping_gil, "gv_mark", ctypes.c_char_p)
_start = _find(_leaving_gil, "gv_start")
_stop = _find(_leaving_gil, "gv_stop")


def is_recordable() -> bool:
    """Whether the library is in this process."""
    return _push is not None


def is_recorded() -> bool:
    """Whether this process has used CUDA: its records then are in a file in shared memory."""
    import os
    import re

    own = re.compile(rf"/[^/]*\.{os.getpid()}\.[0-9a-f]+\.spool$")
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        return any(own.search(line.rstrip()) for line in file)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


class range:
    """A range of the calling thread, for `with` or as a decorator. It may be used again, also inside itself."""

    __slots__ = ("_text",)

    def __init__(self, name: str) -> None:
        self._text = b"" if _push is None else _bytes(name)

    def __enter__(self) -> range:
        if _push is not None:
            _push(self._text)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if _pop is not None:
            _pop()

    def __call__(self, function: _Function) -> _Function:
        import inspect  # takes as long as all of this package: only for programs that need it

        # Calling these only makes an object; its code runs later, in turns with other code of the thread.
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("gpuverify.range cannot decorate a generator or a coroutine function: "
                            "use `with gpuverify.range(...)` in it, around code without yield and await")
        if _push is None:
            return function

        @functools.wraps(function)
        def in_range(*arguments: Any, **named: Any) -> Any:
            with self:
                return function(*arguments, **named)

        return in_range  # type: ignore[return-value]


def mark(text: str) -> None:
    """Puts a mark into the trace."""
    if _mark is not None:
        _mark(_bytes(text))


def start() -> None:
    """Records this process from now on. Returns when the GPU side is recorded too, after a second at most."""
    if _start is not None:
        _start()


def stop() -> None:
    """Records no more calls of this process, until start()."""
    if _stop is not None:
        _stop()
