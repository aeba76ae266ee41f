"""JAX: compiles, loads and runs a function for the first time while matrix products are queued."""
import os
import time

from needs import needs

needs("jax")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_autotune_level=0")  # it takes ten seconds
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402


@jax.jit
def products(value, left):
    for _ in range(16):
        value = jnp.matmul(value, left, precision=jax.lax.Precision.HIGHEST)
    return value


@jax.jit
def add_one(values):
    return values + 1


left = jnp.zeros((4096, 4096))
small = jnp.zeros(64)
products(left, left).block_until_ready()
small.block_until_ready()


def step():
    queued = left
    for _ in range(4):  # one second; JAX queues 32 before it waits
        queued = products(queued, left)
    start = time.monotonic()
    added = add_one(small)  # the stall
    # Behind the products too, because JAX may load code on a thread of its own.
    added.block_until_ready()
    print(f"timed first add_one {(time.monotonic() - start) * 1e3:.3f}")
    return queued


step().block_until_ready()
