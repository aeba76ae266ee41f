"""JAX: a matrix product, an element-wise function and a sum."""
import os

from needs import needs

needs("jax")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax.numpy as jnp  # noqa: E402

ones = jnp.ones((256, 256))
print("jax", float((ones @ ones).sum()), float(jnp.tanh(ones * 0).sum()))
