"""JAX with its own profiler, which uses CUPTI: three sessions, and the operations of each."""
import glob
import os
import tempfile
import time

from needs import needs

needs("jax")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402


def operations(folder):
    found = 0
    for path in glob.glob(os.path.join(folder, "**", "*.xplane.pb"), recursive=True):
        for plane in jax.profiler.ProfileData.from_file(path).planes:
            if "GPU" in plane.name:
                found += sum(len(list(line.events)) for line in plane.lines if "Stream" in line.name)
    return found


one_more = jax.jit(lambda values: values + 1)


def add(values, launches):
    for _ in range(launches):
        values = one_more(values)
    return values.block_until_ready()


values = add(jnp.zeros(1000), 50)
for session in range(3):
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            values = add(values, 150)
        print(f"session {session}: {operations(folder)} operations", flush=True)
    time.sleep(0.8)
    values = add(values, 200)
print("jax profiler", float(values[0]))
