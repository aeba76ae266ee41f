"""A JAX training loop: a network of 4 layers with jit, and the loss read after each step."""

import os

import steps

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
jax, numpy = steps.need("jax", "numpy")
keys = jax.random.split(jax.random.PRNGKey(1), 4)
weights = [jax.random.normal(key, (256, 256)) / 16 for key in keys]
batch = numpy.random.default_rng(1).random((64, 256), dtype=numpy.float32)


def loss_of(weights, inputs):
    values = inputs
    for each in weights:
        values = jax.numpy.tanh(values @ each)
    return (values**2).mean()


@jax.jit
def train(weights, inputs):
    loss, slopes = jax.value_and_grad(loss_of)(weights, inputs)
    return [each - 0.01 * slope for each, slope in zip(weights, slopes)], loss


def step():
    global weights
    weights, loss = train(weights, batch)
    return float(loss)


steps.run(step)
