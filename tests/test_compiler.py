"""The compiler under us: a release of jaxlib computed wrong numbers silently (jax issue 39103, jaxlib 0.10.2)."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import jax
import jax.numpy as jnp
import numpy as np

# 0.10.2 is off by a factor of up to three here; which operands are broadcast and which axis is summed matters.
keys = jax.random.split(jax.random.key(0), 3)
p = jax.random.uniform(keys[0], (1, 100, 20_000))
r = -jax.random.uniform(keys[1], (3, 100, 1))
t = jax.random.uniform(keys[2], (3, 1, 20_000))

def weighted(p, r, t):
    return jnp.sum(p * jnp.exp(r * t), axis=1)

exact = (np.float64(p) * np.exp(np.float64(r) * np.float64(t))).sum(axis=1)
np.testing.assert_allclose(weighted(p, r, t), exact, rtol=1e-5)
np.testing.assert_allclose(jax.jit(weighted)(p, r, t), exact, rtol=1e-5)
"""


@pytest.mark.slow
def test_a_large_fused_sum_is_the_same_jitted_and_not():
    """With the compiler's usual options, which other tests change."""
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
