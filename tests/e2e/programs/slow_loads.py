"""Loads modules, which takes long, from many kinds of Python frames. Prints what a stack must show for
each load, innermost first: function and line."""

import ctypes
import sys
import threading

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
        said.append(f"{frame.f_code.co_name}:{frame.f_lineno}")
        frame = frame.f_back
    print(" ".join(said), flush=True)


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
    return [value for value in generator(1)]


def recursive(depth):
    if depth:
        return recursive(depth - 1)
    return Loader.still()


def on_a_thread():
    must(cuda.cuCtxSetCurrent(context))
    Loader().load()


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
(lambda: Loader.still())()
recursive(5)
max([1, 2], key=lambda value: Loader.still() or value)
through_c()
thread = threading.Thread(target=on_a_thread)
thread.start()
thread.join()
exec(compile("\n" * 1000 + "Loader.still()", "/no/such/ürl/file.py", "exec"))
