"""FIRST COUNT: for each of so many seeds, greenlets that start at several depths, in Python and in C, switch to each
other there and in callbacks of CUDA, are killed, and are left unfinished. They call CUDA everywhere."""

import contextlib
import ctypes
import random
import sys
import threading

import greenlet

GREENLETS = 8
cuda = ctypes.CDLL("libcuda.so.1")
sizes = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int)
context = ctypes.c_void_p()
kernel = ctypes.c_void_p()
PTX = b".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry tick()\n{\nret;\n}\n"


def need(result, expected=0):
    if result != expected:
        sys.exit(f"{result}, not {expected}")


def begin():
    module = ctypes.c_void_p()
    need(cuda.cuInit(0))
    need(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    need(cuda.cuCtxSetCurrent(context))
    need(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
    need(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"tick"))


class Rounds:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.calls = 0
        self.hub = greenlet.getcurrent()
        self.greenlets = []

    def call(self):
        self.calls += 1
        if self.random.random() < 0.7:
            need(cuda.cuCtxSynchronize())
        else:
            need(cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(1 << 50)), 2)

    def wander(self):
        """Elsewhere, at random: to the hub, into another greenlet, or into a new one, which starts at this depth."""
        choice = self.random.random()
        alive = [one for one in self.greenlets if not one.dead and one is not greenlet.getcurrent()]
        if choice < 0.3:
            self.hub.switch()
        elif choice < 0.6 and alive:
            self.random.choice(alive).switch()
        elif choice < 0.7 and len(alive) > 1:
            self.random.choice(alive).throw()
        elif len(alive) < GREENLETS:
            new = greenlet.greenlet(self.run, parent=self.hub)
            self.greenlets.append(new)
            new.switch()

    def deeper(self, levels):
        if levels == 0:
            self.call()
            self.wander()
            self.call()
        elif levels % 4 == 3:
            sorted([1], key=lambda _: self.deeper(levels - 1) or 0)
        elif levels % 7 == 5:
            self.callback(levels)
        else:
            self.deeper(levels - 1)
        return None

    def callback(self, levels):
        """CUDA calls back on this stack; the greenlet may be switched away from there."""
        def inside(_):
            with contextlib.suppress(greenlet.GreenletExit):
                self.deeper(levels - 1)
            return 0
        grid, block = ctypes.c_int(), ctypes.c_int()
        cuda.cuOccupancyMaxPotentialBlockSize(
            ctypes.byref(grid), ctypes.byref(block), kernel, sizes(inside), ctypes.c_size_t(0), 32)

    def run(self):
        for _ in range(3):
            self.deeper(self.random.randrange(20))

    def rounds(self):
        need(cuda.cuCtxSetCurrent(context))
        for _ in range(30):
            self.call()
            self.wander()
        return self.calls


def in_thread(seed, results):
    results.append(Rounds(seed).rounds())


def main(first, count):
    sys.setrecursionlimit(10000)
    begin()
    for seed in range(first, first + count):
        results = []
        one = Rounds(seed)
        calls = one.rounds()
        thread = threading.Thread(target=in_thread, args=(seed, results))
        thread.start()
        thread.join()
        print(seed, calls, results, one.random.randrange(1000000), flush=True)


main(int(sys.argv[1]), int(sys.argv[2]))
