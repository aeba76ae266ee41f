"""CuPy: ranges and a mark around the first and later calls of a kernel."""
from needs import needs

needs("cupy")

import cupy  # noqa: E402
import cupyx.profiler  # noqa: E402

values = cupy.ones(1 << 20)
for _ in range(10):
    with cupyx.profiler.time_range("double", color_id=1):
        values = values + values
cupy.cuda.nvtx.Mark("doubled")
print("cupy ranges", float(values[0]))
