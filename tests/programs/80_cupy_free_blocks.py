# Simulates a quantum gas (the Gross-Pitaevskii equation) with CuPy, by splitting each time step.
#
# source: https://github.com/ppsp-team/HyPyP/issues/309 (free_all_blocks() in every call defeats the memory pool, and cudaFree synchronises)
# source: https://github.com/fbpic/fbpic/pull/435 (free_all_blocks() has a significant overhead in smaller simulations)
# mechanism: the pool's free blocks are given back after each step, which waits for the GPU; the next step allocates them again one by one
# FIX=1: the pool keeps them
# truth: {"cause": "free_all_blocks() after each step: memory is given back and allocated again", "line_function": "tidy_up", "line": 47, "also_ok": ["freeing or allocating again at this line", "waits in free_all_blocks()"], "half_ok": ["allocating in advance, without free_all_blocks()"], "lost_share": 0.6, "what": ["freeing", "allocating", "waits", "free"], "lines": [47, "tidy_up"], "step": "a time step of main()", "step_line": 55, "warm_up_steps": 4, "step_ms": [4.5, 1.8], "saves_s": 4.8}
import os
import time

import cupy

FIX = os.environ.get("FIX") == "1"
ROWS, COLUMNS = 2048, 4096
STEPS = 20000
MAX_SECONDS = 8.0
DT = 1e-3


def make_trap():
    y = cupy.linspace(-8, 8, ROWS, dtype=cupy.float32)[:, None]
    x = cupy.linspace(-16, 16, COLUMNS, dtype=cupy.float32)[None, :]
    return 0.5 * (x * x / 4 + y * y)


def make_kinetic():
    ky = 2 * cupy.pi * cupy.fft.fftfreq(ROWS, 16 / ROWS).astype(cupy.float32)[:, None]
    kx = 2 * cupy.pi * cupy.fft.fftfreq(COLUMNS, 32 / COLUMNS).astype(cupy.float32)[None, :]
    return cupy.exp(-0.5j * DT * (kx * kx + ky * ky)).astype(cupy.complex64)


def potential_step(psi, trap, strength):
    density = psi.real**2 + psi.imag**2
    energy = trap + strength * density
    return psi * cupy.exp(-0.5j * DT * energy).astype(cupy.complex64)


def advance(psi, trap, kinetic, strength):
    psi = potential_step(psi, trap, strength)
    psi = cupy.fft.ifft2(kinetic * cupy.fft.fft2(psi))
    return potential_step(psi, trap, strength)


def tidy_up():
    """Leaves memory to others."""
    if not FIX:
        cupy.get_default_memory_pool().free_all_blocks()  # <-- here


def main():
    trap, kinetic = make_trap(), make_kinetic()
    psi = cupy.exp(-trap / 4).astype(cupy.complex64)
    widths = []
    start = done = 0
    for step in range(STEPS):
        if step == 4:
            cupy.cuda.Device().synchronize()
            start, done = time.perf_counter(), 0
        psi = advance(psi, trap, kinetic, 40.0 + 1e-3 * step)
        tidy_up()
        if step % 100 == 0:
            widths.append(float((abs(psi) > 0.05).mean()))
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    cupy.cuda.Device().synchronize()
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s, {widths[-1]:.4f} of the area")


if __name__ == "__main__":
    main()
