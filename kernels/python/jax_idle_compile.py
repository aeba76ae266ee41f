"""JAX: compiles a function in each round. Twin: calls one that is compiled, and computes."""
import os

from idle import TWIN, compute, rounds
from needs import needs

needs("jax")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_autotune_level=0")  # it takes ten seconds
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402

jax.devices()  # loads the plugin for the GPU, which takes long in the twin too


def made(number):
    return jax.jit(lambda x: jnp.tanh(x * number) @ x + number)


# Before the GPU's first work, as the first one takes a second in the twin too.
values = numpy.ones((256, 256), numpy.float32)
function = made(0).lower(values).compile()
values = jax.device_put(values)


def step():
    function(values).block_until_ready()


for number, _ in enumerate(rounds(step, 6.0), 1):
    if TWIN:
        compute(50)  # twin: python
    else:
        made(number)(values).block_until_ready()  # idle: compile
print("jax compile")
