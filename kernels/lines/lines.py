"""Lines whose share of the GPU's time is known; the program prints it at its end, as those in C do (truth.h).

    python3 lines.py CASE [SECONDS [native_thread.so]]     default 2

The cases are those of lines.c with these names. All lines reach the driver through the same native code, and most of them
launch the same kernel: only Python frames tell them apart. With native_thread.so, a thread without Python frames works too.
"""
import collections
import ctypes
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "idle"))
import gpu  # noqa: E402

CASE = sys.argv[1]
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 2
calls, asked_ns = collections.Counter(), collections.Counter()
arguments = {}


def spin(us):
    """The arguments of a launch that the caller makes in the same line, which is counted."""
    line = sys._getframe(1).f_lineno
    calls[line] += 1
    asked_ns[line] += us * 1000
    if us not in arguments:
        arguments[us] = gpu.spin(us * 1000)
    return arguments[us]


def tell():
    for line, count in sorted(calls.items()):
        print(f"line {os.path.basename(__file__)}:{line} captured 0 calls {count} ns {asked_ns[line]} bytes 0", flush=True)


def part_of_run():
    return (time.monotonic() - start) / SECONDS


def two():
    for _ in range(10):
        launch(*spin(100))
        launch(*spin(300))


def equal():
    for _ in range(4):
        launch(*spin(100))
        launch(*spin(100))
        launch(*spin(100))
        launch(*spin(100))
        launch(*spin(100))


def single():
    for _ in range(20):
        launch(*spin(100))


class Layer:
    def __init__(self, us):
        self.us = us

    def forward(self):
        launch(*spin(self.us))
        launch(*spin(8))

    def backward(self):
        launch(*spin(130))


def layers():
    for layer in network:
        layer.forward()
    for layer in network:
        layer.backward()
    for _ in range(48):
        launch(*spin(4))


def ten():
    for _ in range(1):
        launch(*spin(40))
    for _ in range(2):
        launch(*spin(40))
    for _ in range(3):
        launch(*spin(40))
    for _ in range(5):
        launch(*spin(40))
    for _ in range(7):
        launch(*spin(40))
    for _ in range(9):
        launch(*spin(40))
    for _ in range(11):
        launch(*spin(40))
    for _ in range(14):
        launch(*spin(40))
    for _ in range(18):
        launch(*spin(40))
    for _ in range(30):
        launch(*spin(40))


def in_random_order():
    for _ in range(50):
        which = dice.randrange(12)
        if which == 0:
            launch(*spin(5 + dice.randrange(100)))
        elif which == 1:
            launch(*spin(5 + dice.randrange(300)))
        elif which < 4:
            launch(*spin(5 + dice.randrange(100)))
        elif which < 7:
            launch(*spin(5 + dice.randrange(30)))
        else:
            launch(*spin(5 + dice.randrange(20)))


def epoch():
    if part_of_run() * 4 % 1 < 0.8:
        for _ in range(6):
            launch(*spin(50))
            launch(*spin(10))
            launch(*spin(100))
    else:
        for _ in range(6):
            launch(*spin(50))
            launch(*spin(10))


def rare():
    for step in range(400):
        for _ in range(500):
            launch(*spin(5))
        if step == 200:
            launch(*spin(300_000))
        gpu.wait()


CASES = {"two": two, "equal": equal, "single": single, "layers": layers, "ten": ten, "random": in_random_order, "epoch": epoch,
         "rare": rare}
step = CASES[CASE]
network = [Layer(60 + 5 * number) for number in range(12)]
dice = random.Random(1)
gpu.start()
launch = gpu.cuda.cuLaunchKernel
native = None
if len(sys.argv) > 3:
    native = ctypes.CDLL(sys.argv[3])
    native.gv_native_thread_start(gpu.context, gpu.kernel)
start = time.monotonic()
while True:
    step()
    gpu.wait()
    if step is rare or part_of_run() >= 1:
        break
tell()
if native:
    native.gv_native_thread_end()
