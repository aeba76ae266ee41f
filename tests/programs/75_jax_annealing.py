# Simulated annealing of a magnet (a Potts model) in JAX: some sweeps over the lattice at each temperature.
#
# source: https://github.com/jax-ml/jax/issues/14183 (a new Partial or lambda compiles again)
# source: https://github.com/jax-ml/jax/issues/9288 (jit of a new function in a loop)
# mechanism: the temperature is bound by functools.partial, and jit is called on the result: a new function for each temperature, traced and compiled again
# FIX=1: jit once, and the temperature is an argument
# truth: {"cause": "jax.jit is called on a new partial for each temperature, so that it traces and compiles again", "line_function": "anneal", "line": 64, "also_ok": ["compiling again in each step in anneal"], "half_ok": ["compiling, without a line", "many module loads in anneal"], "lost_share": 0.95, "what": ["compile"], "lines": [64, 65, "anneal"], "step": "a temperature of anneal()", "step_line": 56, "warm_up_steps": 2, "step_ms": [500, 10], "saves_s": 8.0}
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_autotune_level=0")  # it measures for seconds
import functools  # noqa: E402
import time  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

FIX = os.environ.get("FIX") == "1"
SIZE, STATES = 2048, 5
SWEEPS = 10
STEPS = 600
MAX_SECONDS = 8.5


def neighbours(spins, state):
    """How many neighbours have this state."""
    return sum((jnp.roll(spins, shift, axis) == state).astype(jnp.float32) for shift in (-1, 1) for axis in (0, 1))


def sweep(spins, key, beta):
    """Half of the lattice, then the other half."""
    row, column = jnp.indices((SIZE, SIZE))
    for colour in range(2):
        key, propose, accept = jax.random.split(key, 3)
        proposed = jax.random.randint(propose, spins.shape, 0, STATES, dtype=jnp.int8)
        gain = neighbours(spins, proposed) - neighbours(spins, spins)
        accepted = jax.random.uniform(accept, spins.shape) < jnp.exp(beta * gain)
        spins = jnp.where(accepted & ((row + column) % 2 == colour), proposed, spins)
    return spins


def sweeps(spins, key, beta):
    def one(i, spins):
        return sweep(spins, jax.random.fold_in(key, i), beta)

    spins = jax.lax.fori_loop(0, SWEEPS, one, spins)
    return spins, -neighbours(spins, spins).mean() / 2


jitted = jax.jit(sweeps)


def anneal(spins, key):
    energies = []
    start = done = 0
    for step in range(STEPS):
        if step == 2:
            jax.block_until_ready(spins)
            start, done = time.perf_counter(), 0
        beta = 0.2 + 1.3 * step / STEPS
        if FIX:
            run = functools.partial(jitted, beta=beta)
        else:
            run = jax.jit(functools.partial(sweeps, beta=beta))  # <-- here
        spins, energy = run(spins, jax.random.fold_in(key, step))
        energies.append(energy)
        if step % 20 == 0:
            print(f"step {step}: beta {beta:.3f}, energy {float(energy):.4f}")
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    jax.block_until_ready(spins)
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s, energy {float(energies[-1]):.4f}")


def main():
    key = jax.random.PRNGKey(0)
    first, key = jax.random.split(key)
    anneal(jax.random.randint(first, (SIZE, SIZE), 0, STATES, dtype=jnp.int8), key)


if __name__ == "__main__":
    main()
