"""A CuPy pipeline: an array goes to the GPU, some operations, and the result comes back with .get()."""

import steps

cupy, numpy = steps.need("cupy", "numpy")
signal = numpy.random.default_rng(1).random(1 << 16, dtype=numpy.float32)
weights = cupy.linspace(0, 1, signal.size, dtype=cupy.float32)


def step():
    values = cupy.asarray(signal)
    values = (values - values.mean()) * weights
    values = cupy.sqrt(values * values + 1)
    return cupy.cumsum(values)[::64].get()


steps.run(step)
