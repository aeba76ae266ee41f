"""Does everything under names that an anonymised trace must not have: sys.argv has a word for them, and a range's text."""

import ctypes
import os
import sys
import threading
import time

cuda = ctypes.CDLL("libcuda.so.1")
own = ctypes.PyDLL(None)
WORD = sys.argv[1]


def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    if result:
        sys.exit(f"{name} returned {result}")


PTX = f""".version 7.0
.target sm_70
.address_size 64
.visible .entry spin_{WORD}(.param .u64 spin_ns) {{ ret; }}
""".encode()


# As `python3 -c` does.
exec(f"def {WORD}_launch(*arguments): call('cuLaunchKernel', *arguments)")  # noqa: S102


def launch(kernel, stream, ns):
    spin = ctypes.c_uint64(ns)
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(spin))
    globals()[WORD + "_launch"](kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, None)


def work():
    device, context, module, kernel, stream = ctypes.c_int(), *(ctypes.c_void_p() for _ in range(4))
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    call("cuStreamCreate", ctypes.byref(stream), 1)
    for step in range(4):
        own.gv_range_push(f"{WORD} step {step}".encode())
        call("cuModuleLoadData", ctypes.byref(module), PTX)  # a stall, while the GPU works
        call("cuModuleGetFunction", ctypes.byref(kernel), module, f"spin_{WORD}".encode())
        launch(kernel, stream, 20_000_000)
        own.gv_mark(f"{WORD} mark".encode())
        own.gv_range_pop()
    call("cuStreamSynchronize", stream)
    with open(f"/tmp/{WORD}-{os.getpid()}", "wb") as file:  # idle
        for _ in range(20):
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
            time.sleep(0.005)
        os.unlink(file.name)
    launch(kernel, stream, 1_000_000)
    call("cuCtxSynchronize")


exec(compile("def private_function(): work()", __file__, "exec"), globals())  # noqa: S102
globals()["private_function"].__code__ = globals()["private_function"].__code__.replace(
    co_name=WORD + "_function", **({"co_qualname": WORD + "_function"} if sys.version_info >= (3, 11) else {}))
thread = threading.Thread(target=globals()["private_function"])
thread.start()
thread.join()
