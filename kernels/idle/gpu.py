"""A GPU for programs that have only CPython: the driver through ctypes, and one kernel.

    for _ in gpu.rounds():   # starts CUDA; the GPU gets work between the rounds
        ...                  # idle: REASON

TWIN: the word `twin` is on the command line. The program then does nearly the same, but not for the reason that it shows
without this word. A comment `# idle: REASON` marks the line that a trace must name, `# twin: REASON` the twin's.
"""

import atexit
import ctypes
import os
import sys
import time

PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry spin(.param .u64 spin_ns)
{
    .reg .pred %p<2>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [spin_ns];
    mov.u64 %rd2, %globaltimer;
    add.u64 %rd3, %rd2, %rd1;
AGAIN:
    mov.u64 %rd4, %globaltimer;
    setp.lt.u64 %p1, %rd4, %rd3;
    @%p1 bra AGAIN;
    ret;
}
"""

TWIN = "twin" in sys.argv[1:]
cuda = ctypes.CDLL("libcuda.so.1")
context, kernel, _module, _stream = (ctypes.c_void_p() for _ in range(4))


def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    if result:
        sys.exit(f"{name} returned {result}")


def waited_ns():
    """How long the main thread has been ready without a CPU: a busy machine is no fault of the trace's."""
    with open(f"/proc/self/task/{os.getpid()}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[1])


def start(number=0):
    """Starts CUDA and loads the kernel. The first work() is the first work of the GPU."""
    device = ctypes.c_int()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), number)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    bind()
    call("cuStreamCreate", ctypes.byref(_stream), 1)
    call("cuModuleLoadData", ctypes.byref(_module), PTX)
    call("cuModuleGetFunction", ctypes.byref(kernel), _module, b"spin")
    before_ns = waited_ns()
    atexit.register(lambda: print(f"descheduled {(waited_ns() - before_ns) / 1e6:.3f} ms", flush=True))


def bind():
    """Each thread that gives work needs this first."""
    call("cuCtxSetCurrent", context)


def spin(ns):
    """The arguments of cuLaunchKernel for a kernel that runs for that long."""
    parameters = (ctypes.POINTER(ctypes.c_uint64) * 1)(ctypes.pointer(ctypes.c_uint64(ns)))
    return kernel, 1, 1, 1, 1, 1, 1, 0, _stream, parameters, None


def launch(ms):
    call("cuLaunchKernel", *spin(int(ms * 1e6)))


def wait():
    call("cuStreamSynchronize", _stream)


def work(ms=2):
    launch(ms)
    wait()


def rounds(seconds=0.6, ms=2):
    """Gives the GPU so much work before the first round and after each."""
    if not context:
        start()
    work(ms)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield
        work(ms)


def pin(megabytes):
    """Allocates pinned memory and frees it, which takes a driver long."""
    memory = ctypes.c_void_p()
    call("cuMemHostAlloc", ctypes.byref(memory), ctypes.c_size_t(megabytes << 20), 0)
    call("cuMemFreeHost", memory)


def compute(ms):
    """Runs Python for that long, of the thread's CPU time."""
    end = time.thread_time() + ms / 1e3
    value = 0
    while time.thread_time() < end:
        for i in range(200):
            value += i
    return value
