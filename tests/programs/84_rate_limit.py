# Scores molecules in JAX; the client that was written for a remote service is used with a model in the same process.
#
# source: https://github.com/LAION-AI/Open-Assistant/issues/3510 (a rate limit for inference)
# source: https://github.com/kili-technology/kili-python-sdk/pull/1672 (the time.sleep() of an inference loop)
# mechanism: the client sleeps before each batch so that no more than 60 are sent in a second, which the local model does not need
# FIX=1: no limit
# truth: {"cause": "the client's rate limiter sleeps before each batch", "line_function": "acquire", "line": 35, "also_ok": ["sleeping in submit or acquire"], "half_ok": ["waits at the scores of the batch before, without the sleep"], "lost_share": 0.85, "what": ["sleep"], "lines": [35, "acquire", 65], "step": "a batch of main()", "step_line": 81, "warm_up_steps": 4, "step_ms": [16.7, 2.2], "saves_s": 6.9}
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_autotune_level=0")  # it measures for seconds
import time  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

FIX = os.environ.get("FIX") == "1"
ATOMS, FEATURES, WIDTH, DEPTH, BATCH = 48, 16, 512, 8, 512
BATCHES_PER_SECOND = 60
STEPS = 4000
MAX_SECONDS = 8.0


class RateLimiter:
    """At most so many calls in a second."""

    def __init__(self, per_second):
        self.interval = 1 / per_second
        self.next = 0.0

    def acquire(self):
        ahead = self.next - time.monotonic()
        if ahead > 0 and not FIX:
            time.sleep(ahead)  # <-- here
        self.next = max(self.next, time.monotonic()) + self.interval


def init(key):
    sizes = [FEATURES] + [WIDTH] * DEPTH
    keys = jax.random.split(key, len(sizes))
    layers = [jax.random.normal(k, (2 * a, b)) * (2 * a) ** -0.5 for k, a, b in zip(keys, sizes, sizes[1:])]
    return layers, jax.random.normal(keys[-1], (WIDTH,)) * WIDTH**-0.5


@jax.jit
def score(params, atoms, bonds):
    """Messages along the bonds, layer by layer."""
    layers, last = params
    h = atoms
    bonds = bonds / (1 + bonds.sum(-1, keepdims=True))
    for number, layer in enumerate(layers):
        mixed = jnp.concatenate([h, jnp.einsum("bij,bjf->bif", bonds, h)], -1)
        update = jax.nn.silu(mixed @ layer)
        h = update if number == 0 else h + update
    return (h.mean(1) @ last).astype(jnp.float32)


class Client:
    def __init__(self, params):
        self.params = params
        self.limiter = RateLimiter(BATCHES_PER_SECOND)

    def submit(self, atoms, bonds):
        self.limiter.acquire()
        return score(self.params, atoms, bonds)


def read_molecules(rng, batch):
    atoms = rng.normal(size=(batch, ATOMS, FEATURES)).astype(np.float32)
    bonds = (rng.random((batch, ATOMS, ATOMS)) < 0.06).astype(np.float32)
    return jnp.asarray(atoms), jnp.asarray(np.maximum(bonds, bonds.transpose(0, 2, 1)))


def main():
    rng = np.random.default_rng(0)
    client = Client(init(jax.random.PRNGKey(0)))
    batches = [read_molecules(rng, BATCH) for _ in range(8)]
    best, waiting = -np.inf, None
    start = done = 0
    for step in range(STEPS):
        if step == 4:
            jax.block_until_ready(waiting)
            start, done = time.perf_counter(), 0
        scores = client.submit(*batches[step % 8])
        if waiting is not None:
            best = max(best, float(np.asarray(waiting).max()))  # of the batch before
        waiting = scores
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    jax.block_until_ready(waiting)
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s, best {best:.3f}")


if __name__ == "__main__":
    main()
