"""Host functions through libcudart: one of a library, which has a name, and Python's, which have none."""

import ctypes
import os
import sys

SLEEP_US = 60000
PER_THREAD = ctypes.c_void_p(2)

runtime = ctypes.CDLL("libcudart.so.13")
libc = ctypes.CDLL(None)
HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


def check(name, *arguments):
    result = getattr(runtime, name)(*arguments)
    if result != 0:
        sys.exit(f"{name} returned {result}")


@HOST_FUNCTION
def work(data):
    print("host function", data, flush=True)


@CALLBACK
def call_back(stream_given, result, data):
    print("callback", stream_given == stream.value, result, data, flush=True)


stream = ctypes.c_void_p()
memory = ctypes.c_void_p()
check("cudaMalloc", ctypes.byref(memory), ctypes.c_size_t(4096))
check("cudaStreamCreate", ctypes.byref(stream))

runtime.cudaLaunchHostFunc(stream, libc.usleep, ctypes.c_void_p(SLEEP_US))  # the line that is told
check("cudaFree", memory)

check("cudaLaunchHostFunc", stream, work, ctypes.c_void_p(11))
check("cudaStreamAddCallback", stream, call_back, ctypes.c_void_p(22), 0)
check("cudaStreamSynchronize", stream)

check("cudaLaunchHostFunc_ptsz", None, libc.usleep, ctypes.c_void_p(SLEEP_US))
check("cudaStreamSynchronize", PER_THREAD)

print("no function:", runtime.cudaLaunchHostFunc(stream, None, None) != 0)

check("cudaLaunchHostFunc", stream, libc.usleep, ctypes.c_void_p(SLEEP_US))
if os.fork() == 0:
    os._exit(3)
print("child:", os.waitstatus_to_exitcode(os.wait()[1]))
check("cudaDeviceSynchronize")
