"""JAX: what XLA says by itself, and annotations of JAX, which are no NVTX."""
import os

from needs import needs

needs("jax")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402


@jax.jit
def doubled(values):
    return jnp.tanh(values) * 2


values = jnp.ones(1 << 20)
for step in range(10):
    with jax.profiler.StepTraceAnnotation("train", step_num=step), jax.profiler.TraceAnnotation("annotated"):
        values = doubled(values)
print("jax ranges", bool(values[0] > 0))
