# A small diffusion sampler in JAX with guidance that grows from step to step.
#
# source: https://github.com/huggingface/diffusers/pull/1096 (merged: guidance_scale is no longer static, which recompiled when it changed)
# source: https://github.com/jax-ml/jax/issues/4274 (which static argument makes jit recompile?)
# mechanism: the guidance scale and the noise level are static arguments: jit traces and compiles again for each of their values
# FIX=1: they are ordinary arguments
# truth: {"cause": "jax.jit compiles again in each step, because two Python scalars are static and differ", "line_function": "sample", "line": 71, "also_ok": ["compiling again in each step at this line"], "half_ok": ["compiling, without a line", "many module loads at this line"], "lost_share": 0.95, "what": ["compile"], "lines": [71]}
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_autotune_level=0")  # it measures for seconds
import math  # noqa: E402
import time  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

FIX = os.environ.get("FIX") == "1"
TOKENS, WIDTH, BATCH = 1024, 256, 16
LAYERS = 6
STEPS = 400
MAX_SECONDS = 9.0


def init(key):
    keys = jax.random.split(key, 2 * LAYERS)
    return [(jax.random.normal(a, (TOKENS, TOKENS)) * TOKENS**-0.5, jax.random.normal(b, (WIDTH, WIDTH)) * WIDTH**-0.5)
            for a, b in zip(keys[::2], keys[1::2])]


def denoiser(params, x, level, condition):
    """Mixes the tokens, then the channels, in each layer."""
    h = x + level * condition[:, None, None]
    for tokens, channels in params:
        h = h + 0.1 * jnp.einsum("btc,ts->bsc", jax.nn.silu(h), tokens)
        h = h + 0.1 * jax.nn.silu(h @ channels)
    return h - x


def denoise(params, x, condition, key, scale, level):
    """One step: the guided estimate, a third less noise, and some new noise."""
    plain = denoiser(params, x, level, jnp.zeros_like(condition))
    guided = denoiser(params, x, level, condition)
    estimate = plain + scale * (guided - plain)
    noise = jax.random.normal(key, x.shape)
    return x - 0.3 * level * estimate + 0.05 * level * noise, jnp.abs(estimate).mean()


if FIX:
    denoise = jax.jit(denoise)
else:
    denoise = jax.jit(denoise, static_argnames=("scale", "level"))


def schedule(step):
    progress = (step % 50) / 50 + step / 1e4
    return 1.0 + 6.0 * math.sin(0.5 * math.pi * progress), math.cos(0.4 * math.pi * progress)


def sample(params, key):
    condition = jnp.linspace(-1, 1, BATCH)
    x = jax.random.normal(key, (BATCH, TOKENS, WIDTH))
    sizes = []
    start = done = 0
    for step in range(STEPS):
        if step == 2:
            jax.block_until_ready(x)
            start, done = time.perf_counter(), 0
        key, sub = jax.random.split(key)
        scale, level = schedule(step)
        x, size = denoise(params, x, condition, sub, scale=scale, level=level)  # <-- here
        sizes.append(size)
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    jax.block_until_ready(x)
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s, estimate {float(sizes[-1]):.3f}")


def main():
    key = jax.random.PRNGKey(0)
    sample(init(key), key)


if __name__ == "__main__":
    main()
