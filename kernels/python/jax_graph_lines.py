"""JAX: two functions that XLA makes graphs of (command buffers). Prints the line of each, and its share of the GPU's time."""
import os

from needs import needs

needs("jax")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_graph_min_graph_size=1"
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

STEPS = 100


@jax.jit
def once(values):
    return jnp.tanh(values @ values)


@jax.jit
def three_times(values):
    for _ in range(3):
        values = jnp.tanh(values @ values)
    return values


ones = jnp.ones((2048, 2048))
for _ in range(STEPS):
    result = once(ones)
    others = three_times(ones)
    jax.block_until_ready((result, others))
text = open(__file__, encoding="utf-8").read().splitlines()
for call, share in (("    result = once(ones)", 0.25), ("    others = three_times(ones)", 0.75)):
    print(f"asks line {text.index(call) + 1} share {share}")
