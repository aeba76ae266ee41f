"""JAX: a matrix product."""
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax.numpy as jnp  # noqa: E402

ones = jnp.ones((256, 256))
print("jax", float((ones @ ones).sum()))
