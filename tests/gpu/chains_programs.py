"""A few hundred CUDA calls of Python, for chains.py: chains_programs.py ctypes|torch|jax|cupy|numba."""

import ctypes
import os
import sys
import threading
from functools import reduce

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "kernels", "python"))

from needs import needs  # noqa: E402


def by_ctypes():
    """Python below C below Python."""
    cuda, libc = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL(None)
    device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()

    def must(result):
        if result != 0:
            raise RuntimeError(f"a CUDA call returned {result}")

    def call(number):
        must(cuda.cuMemsetD8_v2(memory, 1, 4))
        return number

    def descend(depth):
        return descend(depth - 1) + 1 if depth else call(0)

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    def compare(one, other):
        return call(one[0]) - other[0]

    def all_of_them():
        must(cuda.cuCtxSetCurrent(context))
        numbers = (ctypes.c_int * 16)(*(i * 5 % 16 for i in range(16)))
        libc.qsort(numbers, len(numbers), ctypes.sizeof(ctypes.c_int), compare)
        sorted(range(16), key=lambda number: call(-number))
        list(map(call, (number for number in range(16))))
        for depth in (1, 10, 100):
            descend(depth)

    for result in (cuda.cuInit(0), cuda.cuDeviceGet(ctypes.byref(device), 0),
                   cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), cuda.cuCtxSetCurrent(context),
                   cuda.cuMemAlloc_v2(ctypes.byref(memory), 64)):
        must(result)
    all_of_them()
    thread = threading.Thread(target=all_of_them)
    thread.start()
    thread.join()


def by_torch():
    import torch
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(),
                                torch.nn.Linear(8 * 30 * 30, 10)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    inputs, targets = torch.randn(4, 3, 32, 32), torch.randint(10, (4,))
    for _ in range(20):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda())
        loss.backward()
        optimizer.step()
        loss.item()


def by_jax():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import jax.numpy as jnp

    @jax.jit
    def step(weights, inputs):
        loss, slope = jax.value_and_grad(lambda w: jnp.mean(reduce(lambda x, y: jnp.tanh(x @ y), w, inputs) ** 2))(weights)
        return [w - 0.1 * s for w, s in zip(weights, slope)], loss

    weights, inputs = [jnp.eye(64) + 0.1] * 4, jnp.ones((16, 64))
    for _ in range(50):
        weights, loss = step(weights, inputs)
        float(loss)


def by_cupy():
    import cupy
    values = cupy.linspace(0, 1, 1000, dtype=cupy.float32)
    for _ in range(10):
        values = cupy.sqrt(values * values + 1) - values.mean()
        sorted(range(20), key=lambda i: float(values[i]))  # Python below C below Python
        cupy.cumsum(values).get()


def by_numba():
    import numpy
    if not hasattr(numpy, "row_stack"):  # numba-cuda 0.30 on NumPy 2.4
        numpy.row_stack = numpy.vstack
    from numba import cuda

    @cuda.jit
    def add_one(values):
        index = cuda.grid(1)
        if index < values.size:
            values[index] += 1

    array = numpy.zeros(1000, numpy.float32)
    for _ in range(20):
        add_one[4, 256](array)


needs(sys.argv[1])
{"ctypes": by_ctypes, "torch": by_torch, "jax": by_jax, "cupy": by_cupy, "numba": by_numba}[sys.argv[1]]()
