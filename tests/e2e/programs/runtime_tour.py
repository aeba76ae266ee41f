"""kernels/runtime_tour.c in Python, through ctypes.

runtime_tour.py PROGRAM: the same calls in the same order as PROGRAM, with its image of code.
"""

import ctypes
import re
import sys

BYTES = 1 << 20
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
NON_BLOCKING = 1
STACK_SIZE = 0
CAPTURE_GLOBAL = 0

runtime = ctypes.CDLL("libcudart.so.13")


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


ONE = Dim3(1, 1, 1)


def check(name, *arguments):
    result = getattr(runtime, name)(*arguments)
    if result != 0:
        sys.exit(f"{name} returned {result}")


def made(name, *arguments):
    """The handle or pointer that a call makes in its first parameter."""
    handle = ctypes.c_void_p()
    check(name, ctypes.byref(handle), *arguments)
    return handle


def size(number):
    return ctypes.c_size_t(number)


def launch(kernel, stream, *values):
    """A launch whose arguments are these ctypes values."""
    pointers = (ctypes.c_void_p * max(1, len(values)))(*[ctypes.addressof(value)
                                                         for value in values])
    check("cudaLaunchKernel", kernel, ONE, ONE, pointers if values else None, size(0), stream)


def tour_copies(stream, fill):
    made("cudaMemGetInfo", ctypes.byref(size(0)))
    device = made("cudaMalloc", size(BYTES))
    pinned = made("cudaMallocHost", size(BYTES))
    ctypes.memset(pinned, 0, BYTES)
    pageable = (ctypes.c_uint * 4)(1, 2, 3, 4)
    check("cudaMemcpy", device, pageable, size(16), HOST_TO_DEVICE)
    check("cudaMemcpy", pageable, device, size(16), DEVICE_TO_HOST)
    print("copied back:", *pageable)
    check("cudaMemset", device, 7, size(64))
    check("cudaMemsetAsync", ctypes.c_void_p(device.value + 64), 9, size(64), stream)
    launch(fill, stream, device, ctypes.c_uint(42))
    check("cudaMemcpyAsync", pinned, device, size(BYTES), DEVICE_TO_HOST, stream)
    check("cudaStreamSynchronize", stream)
    pooled = made("cudaMallocAsync", size(BYTES), stream)
    check("cudaFreeAsync", pooled, stream)
    check("cudaFreeHost", pinned)
    check("cudaFree", device)


def tour_events(stream, spin):
    start = made("cudaEventCreateWithFlags", 0)
    end = made("cudaEventCreateWithFlags", 0)
    milliseconds = ctypes.c_float()
    check("cudaEventRecord", start, stream)
    launch(spin, stream, ctypes.c_uint64(2000000))
    check("cudaEventRecord", end, stream)
    check("cudaStreamWaitEvent", stream, end, 0)
    check("cudaEventSynchronize", end)
    check("cudaEventElapsedTime", ctypes.byref(milliseconds), start, end)
    print("a kernel of 2 ms took", "2 ms or more" if milliseconds.value >= 1.9 else "less")
    check("cudaEventDestroy", start)
    check("cudaEventDestroy", end)
    check("cudaStreamQuery", stream)


def tour_graph(stream, empty):
    check("cudaStreamBeginCapture", stream, CAPTURE_GLOBAL)
    for _ in range(4):
        launch(empty, stream)
    graph = ctypes.c_void_p()
    check("cudaStreamEndCapture", stream, ctypes.byref(graph))
    executable = made("cudaGraphInstantiateWithFlags", graph, ctypes.c_ulonglong(0))
    check("cudaGraphLaunch", executable, stream)
    check("cudaStreamSynchronize", stream)
    check("cudaGraphExecDestroy", executable)
    check("cudaGraphDestroy", graph)


def tour_library(stream, image):
    library = made("cudaLibraryLoadData", image, None, None, 0, None, None, 0)
    empty, spin, fill = [made("cudaLibraryGetKernel", library, name)
                         for name in (b"empty", b"spin", b"fill")]
    launch(empty, None)
    check("cudaDeviceSynchronize")
    tour_copies(stream, fill)
    tour_events(stream, spin)
    tour_graph(stream, empty)
    check("cudaLibraryUnload", library)


def image_of(program):
    """The C program's PTX, byte for byte, because hashes are compared."""
    with open(program, "rb") as file:
        texts = re.findall(rb"\.version [^\0]*\0", file.read())
    return next(text for text in texts if b"tour_table" in text)


def main():
    image = ctypes.create_string_buffer(image_of(sys.argv[1]))
    devices, stack_bytes = ctypes.c_int(), ctypes.c_size_t()
    check("cudaGetDeviceCount", ctypes.byref(devices))
    check("cudaSetDevice", 0)
    check("cudaDeviceGetLimit", ctypes.byref(stack_bytes), STACK_SIZE)
    stream = made("cudaStreamCreateWithFlags", NON_BLOCKING)
    tour_library(stream, image)
    check("cudaStreamDestroy", stream)
    print("done")


main()
