"""program.py SITUATION: uses CUDA, prints "ready", and then stays in the situation of that name (situations.py) until it is
killed. `HERE SITUATION` marks the line that gpuverify look has to name. Needs only CPython and a driver."""

import ctypes
import fcntl
import gc
import os
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import zlib

FOR_EVER_NS = 10 ** 12
SPIN = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry spin(.param .u64 nanoseconds)
{
    .reg .u64 %r<4>;
    .reg .pred %p;
    ld.param.u64 %r1, [nanoseconds];
    mov.u64 %r2, %globaltimer;
    add.u64 %r2, %r2, %r1;
again:
    mov.u64 %r3, %globaltimer;
    setp.lt.u64 %p, %r3, %r2;
    @%p bra again;
    ret;
}
"""
libc = ctypes.CDLL(None)


def end_with_parent():
    libc.prctl(1, 9)  # PR_SET_PDEATHSIG


def must(result):
    if result:
        sys.exit(f"a CUDA call returned {result}")


def ready():
    print("ready", flush=True)


class Gpu:

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, context, self.module, self.function = ctypes.c_int(), *(ctypes.c_void_p() for _ in range(3))
        must(self.cuda.cuInit(0))
        must(self.cuda.cuDeviceGet(ctypes.byref(device), int(os.environ.get("RANK", "0")) % self.count()))
        must(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        must(self.cuda.cuCtxSetCurrent(context))
        must(self.cuda.cuModuleLoadData(ctypes.byref(self.module), SPIN))
        must(self.cuda.cuModuleGetFunction(ctypes.byref(self.function), self.module, b"spin"))
        self.stream, self.memory = ctypes.c_void_p(), ctypes.c_uint64()
        must(self.cuda.cuStreamCreate(ctypes.byref(self.stream), 0))
        must(self.cuda.cuMemAlloc_v2(ctypes.byref(self.memory), ctypes.c_size_t(1 << 20)))

    def count(self):
        count = ctypes.c_int()
        must(self.cuda.cuDeviceGetCount(ctypes.byref(count)))
        return count.value

    def spin(self):
        nanoseconds = ctypes.c_uint64(FOR_EVER_NS)
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(nanoseconds))
        must(self.cuda.cuLaunchKernel(self.function, 1, 1, 1, 1, 1, 1, 0, self.stream, arguments, None))


def in_stream(gpu):
    gpu.spin()
    ready()
    gpu.cuda.cuStreamSynchronize(gpu.stream)  # HERE stream


def in_event(gpu):
    event = ctypes.c_void_p()
    must(gpu.cuda.cuEventCreate(ctypes.byref(event), 0))
    gpu.spin()
    must(gpu.cuda.cuEventRecord(event, gpu.stream))
    ready()
    gpu.cuda.cuEventSynchronize(event)  # HERE event


def in_host_function(gpu):
    """The stream waits for a function of the program that does not end."""
    function = ctypes.cast(libc.pause, ctypes.c_void_p)
    must(gpu.cuda.cuLaunchHostFunc(gpu.stream, function, None))
    ready()
    gpu.cuda.cuStreamSynchronize(gpu.stream)  # HERE host_function


def in_copy(gpu):
    to = ctypes.create_string_buffer(1 << 20)
    gpu.spin()
    ready()
    gpu.cuda.cuMemcpyDtoH_v2(to, gpu.memory, ctypes.c_size_t(1 << 20))  # HERE copy


def in_free(gpu):
    gpu.spin()
    ready()
    gpu.cuda.cuMemFree_v2(gpu.memory)  # HERE free


def in_load(gpu):
    module = ctypes.c_void_p()
    gpu.spin()
    ready()
    gpu.cuda.cuModuleLoadData(ctypes.byref(module), SPIN)  # HERE load


def in_python(gpu):
    """The GPU is busy, and the host goes on."""
    gpu.spin()
    ready()
    sum(range(10 ** 15))  # HERE python


def in_native(_):
    data = os.urandom(1 << 24)
    ready()
    while True:
        zlib.compress(data, 9)  # HERE native


def in_sleep(_):
    ready()
    time.sleep(1000)  # HERE sleep


def in_lock(_):
    lock = threading.Lock()
    lock.acquire()
    ready()
    lock.acquire()  # HERE lock


def in_thread(_):
    """What it waits for is what another thread does."""
    def work():
        time.sleep(1000)  # HERE thread
    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    ready()
    worker.join()


def mutexes():
    return [ctypes.create_string_buffer(64) for _ in range(2)]


def in_mutex(_):
    """One of C's, whose owner can be told."""
    mutex = mutexes()[0]
    threading.Thread(target=lambda: (libc.pthread_mutex_lock(mutex), time.sleep(1000)), daemon=True).start()
    time.sleep(0.05)
    ready()
    libc.pthread_mutex_lock(mutex)  # HERE mutex


def in_deadlock(_):
    first, second = mutexes()
    libc.pthread_mutex_lock(first)

    def other():
        libc.pthread_mutex_lock(second)
        libc.pthread_mutex_lock(first)
    threading.Thread(target=other, daemon=True).start()
    time.sleep(0.05)
    ready()
    libc.pthread_mutex_lock(second)  # HERE deadlock


def in_gil(_):
    def keep():
        ctypes.PyDLL(None).sleep(1000)  # HERE gil
    sys.setswitchinterval(1)
    ready()
    threading.Thread(target=keep, daemon=True).start()
    time.sleep(0.01)


def in_gc(_):
    kept = [[number] for number in range(1000000)]
    gc.disable()
    ready()
    while kept:
        gc.collect()  # HERE gc


def in_file(_):
    """Another open file has the lock of this one."""
    with tempfile.NamedTemporaryFile() as held, open(held.name, "rb") as wanted:
        fcntl.flock(held, fcntl.LOCK_EX)
        ready()
        fcntl.flock(wanted, fcntl.LOCK_EX)  # HERE file


def in_network(_):
    ours, theirs = socket.socketpair()
    ready()
    ours.recv(1)  # HERE network
    theirs.close()


def in_child(_):
    child = subprocess.Popen(["sleep", "1000"], preexec_fn=end_with_parent)
    ready()
    child.wait()  # HERE child


def in_data(_):
    from torch.utils.data import items  # pylint: disable=import-outside-toplevel
    ready()
    for _item in items():  # HERE data
        pass


def in_import(_):
    ready()
    import slow_to_import  # noqa: F401, E501 pylint: disable=import-outside-toplevel,unused-import  # HERE import


def in_compile(_):
    """A compiler, as far as its name goes."""
    with tempfile.TemporaryDirectory() as folder:
        program = shutil.copy(shutil.which("sleep"), os.path.join(folder, "ptxas"))
        child = subprocess.Popen([program, "1000"], preexec_fn=end_with_parent)
        ready()
        child.wait()  # HERE compile


def in_no_cpu(_):
    """Others want its only CPU, too."""
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    for _other in range(4):
        if os.fork() == 0:
            end_with_parent()
            while True:
                pass
    ready()
    sum(range(10 ** 15))  # HERE no_cpu


def in_finished(_):
    """Its work is done, and it waits for more, as a server does."""
    ours, theirs = socket.socketpair()
    waits = selectors.DefaultSelector()
    waits.register(ours, selectors.EVENT_READ)
    ready()
    waits.select()  # HERE finished
    theirs.close()


def in_traceback(_):
    ready()
    while True:
        traceback.format_stack()  # HERE traceback


def in_nccl(gpu):
    """Two ranks, of which one does not come to the collective."""
    nccl = ctypes.CDLL("libnccl.so.2")
    unique = (ctypes.c_char * 128)()
    if "RANK" not in os.environ:
        must(nccl.ncclGetUniqueId(unique))
        # NCCL refuses two ranks on one GPU of one host. With different host ids, they meet over TCP.
        ranks = [subprocess.Popen([sys.executable, __file__, "nccl"], stdout=subprocess.PIPE,
                                  env={**os.environ, "RANK": str(rank), "UNIQUE_ID": bytes(unique).hex(),
                                       **({"NCCL_HOSTID": str(rank)} if gpu.count() == 1 else {})}) for rank in range(2)]
        for rank in ranks:
            if b"ready\n" not in iter(rank.stdout.readline, b""):  # NCCL may say its version before
                sys.exit(f"a rank has ended with {rank.wait()}")
        ready()
        ranks[0].wait()
    rank = int(os.environ["RANK"])
    id_type = type("Id", (ctypes.Structure,), {"_fields_": [("bytes", ctypes.c_char * 128)]})
    comm = ctypes.c_void_p()
    must(nccl.ncclCommInitRank(ctypes.byref(comm), 2, id_type.from_buffer_copy(bytes.fromhex(os.environ["UNIQUE_ID"])), rank))
    for turn in range(2):  # the first one connects the ranks
        if turn == 1:
            ready()
        if turn == 1 and rank == 1:
            time.sleep(1000)  # HERE nccl
        must(nccl.ncclAllReduce(gpu.memory, gpu.memory, ctypes.c_size_t(1), 7, 0, comm, gpu.stream))
        must(gpu.cuda.cuStreamSynchronize(gpu.stream))


def main():
    end_with_parent()
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))
    name = sys.argv[1]
    gpu = Gpu()
    globals()[f"in_{name}"](gpu)


main()
