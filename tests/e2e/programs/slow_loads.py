"""Loads modules, which takes long, from many kinds of Python frames. Prints what a stack must show for
each load, innermost first: file, function and line of each frame."""

import asyncio
import contextlib
import ctypes
import functools
import sys
import threading

sys.dont_write_bytecode = True

cuda = ctypes.CDLL("libcuda.so.1")
device = ctypes.c_int()
context = ctypes.c_void_p()
PTX = b".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry empty()\n{\n ret;\n}\n// %d"
number = 0


def must(result):
    if result != 0:
        sys.exit(f"a CUDA call returned {result}")


def tell():
    frame = sys._getframe(1)
    said = []
    while frame:
        code = frame.f_code
        said.append(f"{code.co_filename}:{code.co_name}:{frame.f_lineno}")
        frame = frame.f_back
    print("\t".join(said), flush=True)


class Loader:
    def load(self):
        global number
        number += 1
        module = ctypes.c_void_p()
        image = PTX % number
        tell(); must(cuda.cuModuleLoadData(ctypes.byref(module), image))  # noqa: E702 one line

    @staticmethod
    def still():
        Loader().load()


def generator(count):
    for _ in range(count):
        yield Loader().load()


def compréhension():
    return [value for value in generator(1)]  # noqa: C416 (a comprehension has a frame)


def recursive(depth):
    if depth:
        return recursive(depth - 1)
    return Loader.still()


def on_a_thread():
    must(cuda.cuCtxSetCurrent(context))
    Loader().load()


def handling():
    """Handles one exception while another one propagates."""
    try:
        try:
            raise KeyError(1)
        except KeyError:
            Loader.still()
            raise ValueError from None
        finally:
            Loader.still()
    except ValueError:
        Loader.still()


def delegating():
    yield from generator(1)


@contextlib.contextmanager
def around():
    try:
        yield
    finally:
        Loader.still()


class Attributes:
    @property
    def computed(self):
        return Loader.still()

    def __getattr__(self, name):
        return Loader.still()

    def __del__(self):
        Loader.still()


@functools.lru_cache(None)
def cached(value):
    return Loader.still() or value


async def coroutine():
    await asyncio.sleep(0)
    Loader.still()


async def asynchronous():
    async for _ in asynchronous_generator():
        await coroutine()
    await asyncio.gather(coroutine(), coroutine())


async def asynchronous_generator():
    yield Loader.still()


def traced():
    """Traced code differs from untraced code."""
    sys.settrace(lambda *_: lambda *_: None)
    Loader.still()
    sys.settrace(None)


def often():
    """Code that has run often differs again."""
    for _ in range(3000):
        cached(0)
    Loader.still()


class Made:
    def __init__(self, really):
        if really:
            Loader.still()


def make():
    """What starts an object that is made often is called without the way through C."""
    for number in range(3000):
        Made(number == 2999)


def through_c():
    """C code calls back into Python: two interpreter loops on one stack."""
    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    def compare(_left, _right):
        Loader().load()
        return 0
    values = (ctypes.c_int * 2)(1, 2)
    ctypes.CDLL(None).qsort(values, 2, 4, compare)


must(cuda.cuInit(0))
must(cuda.cuDeviceGet(ctypes.byref(device), 0))
must(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
must(cuda.cuCtxSetCurrent(context))
Loader.still()
compréhension()
list(delegating())
(lambda: Loader.still())()
recursive(5)
recursive(300)
sorted([2, 1], key=lambda value: Loader.still() or value)
through_c()
handling()
with around():
    pass
attributes = Attributes()
attributes.computed  # noqa: B018 what it does is what it is for
attributes.other  # noqa: B018
del attributes
cached(0)
often()
make()
traced()
asyncio.run(asynchronous())


class Body:
    class Inner:
        Loader.still()


thread = threading.Thread(target=on_a_thread)
thread.start()
thread.join()
import loads_when_imported  # noqa: E402,F401 that it is imported is the point
for name in ("ürl", "路径", "𝔘"):
    exec(compile("\n" * 1000 + "Loader.still()", f"/no/such/{name}/file.py", "exec"))
