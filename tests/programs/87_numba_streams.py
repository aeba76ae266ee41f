# Looks for pulses in the data of two radio antennas, on a stream for each, with Numba.
#
# source: https://github.com/mtazzari/galario/issues/60 (work on the default stream keeps others from overlapping)
# source: https://github.com/arrayfire/arrayfire/issues/926 (launching a kernel on stream 0 synchronises all other streams)
# mechanism: the kernel that counts saturated samples is launched into the legacy default stream, between the searches of the two antennas:
#            it waits for the first one, and the second one waits for it. Each search fills a third of the GPU, so that both could run at once
# FIX=1: it uses the stream of its antenna
# truth: {"cause": "a kernel in the legacy default stream, between the work of two other streams, serialises them", "line_function": "check", "line": 59, "also_ok": ["serialised at this line"], "half_ok": ["kernels fill a part of the GPU"], "lost_share": 0.45, "what": ["serialised"], "lines": [59, "check"], "step": "a block of samples of both antennas, of main()", "step_line": 77, "warm_up_steps": 2, "step_ms": [4.1, 2.1], "saves_s": 3.9}
import math
import os
import time

import numpy

numpy.row_stack = numpy.vstack  # numba-cuda on a newer NumPy
from numba import cuda  # noqa: E402

FIX = os.environ.get("FIX") == "1"
SAMPLES, DELAYS, BLOCKS = 1 << 20, 64, 44
STEPS = 20000
MAX_SECONDS = 8.0


@cuda.jit(fastmath=True)
def search(samples, best, delays):
    """The best sum over all delays, for each sample."""
    for i in range(cuda.grid(1), samples.size - 4 * DELAYS, cuda.gridsize(1)):
        highest = numpy.float32(0.0)
        for delay in range(delays):
            total = numpy.float32(0.0)
            for k in range(4):
                total += samples[i + k * (delay % DELAYS)]
            if total > highest:
                highest = total
        best[i] = highest


@cuda.jit
def saturated(samples, counts, limit):
    i = cuda.grid(1)
    if i < samples.size and abs(samples[i]) > limit:
        cuda.atomic.add(counts, i % counts.size, 1)


class Antenna:
    def __init__(self, seed):
        self.stream = cuda.stream()
        rng = numpy.random.default_rng(seed)
        self.samples = cuda.to_device(rng.normal(size=SAMPLES).astype(numpy.float32))
        self.best = cuda.device_array(SAMPLES, dtype=numpy.float32)
        self.counts = cuda.to_device(numpy.zeros(64, dtype=numpy.int32))

    def search(self, delays):
        search[BLOCKS, 256, self.stream](self.samples, self.best, delays)


def check(antenna):
    stream = antenna.stream if FIX else cuda.default_stream()
    saturated[SAMPLES // 256, 256, stream](antenna.samples, antenna.counts, numpy.float32(4.0))  # <-- here


def measure_delays(antenna):
    """As many delays as take 2 ms on this GPU."""
    begin, end = cuda.event(), cuda.event()
    for _ in range(3):
        begin.record(antenna.stream)
        antenna.search(DELAYS)
        end.record(antenna.stream)
        end.synchronize()
    return max(1, math.ceil(DELAYS * 2.0 / begin.elapsed_time(end)))


def main():
    antennas = [Antenna(1), Antenna(2)]
    delays = measure_delays(antennas[0])
    start = done = 0
    for step in range(STEPS):
        if step == 2:
            cuda.synchronize()
            start, done = time.perf_counter(), 0
        for antenna in antennas:
            antenna.search(delays)
            check(antenna)
        done += 1
        if step % 50 == 49:
            cuda.synchronize()
            if time.perf_counter() - start > MAX_SECONDS:
                break
    cuda.synchronize()
    seconds = time.perf_counter() - start
    pulses = [int((antenna.best.copy_to_host()[: SAMPLES // 2] > 9).sum()) for antenna in antennas]
    print(f"done: {done} steps in {seconds:.2f} s, {pulses} pulses, {int(antennas[0].counts.copy_to_host().sum())} saturated")


if __name__ == "__main__":
    main()
