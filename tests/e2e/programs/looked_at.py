"""looked_at.py HOW: uses CUDA, prints "ready", and then does one thing for ever. `HERE HOW` marks the line that
gpuverify look has to name."""

import ctypes
import sys
import threading
import time

cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
device, context, module, function = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
cuda.cuDeviceGet(ctypes.byref(device), 0)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
cuda.cuCtxSetCurrent(context)
cuda.cuModuleLoadData(ctypes.byref(module), b".version 7.0\n.target sm_70\n.address_size 64\n"
                      b".visible .entry spin(.param .u64 nanoseconds)\n{\n ret;\n}\n")
cuda.cuModuleGetFunction(ctypes.byref(function), module, b"spin")
lock = threading.Lock()


def sync():
    nanoseconds = ctypes.c_uint64(10 ** 12)
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(nanoseconds))
    cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, arguments, None)
    print("ready", flush=True)
    cuda.cuCtxSynchronize()  # HERE sync


def sleep():
    print("ready", flush=True)
    time.sleep(10000)  # HERE sleep


def compute():
    print("ready", flush=True)
    sum(range(10 ** 15))  # HERE compute


def wait_for_lock():
    lock.acquire()
    print("ready", flush=True)
    lock.acquire()  # HERE lock


def read():
    print("ready", flush=True)
    sys.stdin.buffer.read(1)  # HERE read


def wait_for_gil():
    def keep():
        ctypes.PyDLL(None).sleep(10000)  # HERE gil
    threading.Thread(target=keep, daemon=True).start()


if sys.argv[1] == "gil":
    sys.setswitchinterval(1)
    print("ready", flush=True)
    wait_for_gil()
{"sync": sync, "sleep": sleep, "compute": compute, "lock": wait_for_lock, "read": read, "gil": sleep}[sys.argv[1]]()
