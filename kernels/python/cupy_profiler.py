"""CuPy with its own profiler: it marks the time for another tool, and times with events."""
from needs import needs

needs("cupy")

import cupy  # noqa: E402
import cupyx.profiler  # noqa: E402

values = cupy.ones(1000)
with cupyx.profiler.profile():
    for _ in range(50):
        values += 1
timed = cupyx.profiler.benchmark(lambda: cupy.add(values, 1), n_repeat=20)
print("cupy profiler", float(values[0]), timed.gpu_times.shape)
