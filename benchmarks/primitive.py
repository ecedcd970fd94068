"""The probability of tied blocks and its gradient, against enumerating the orders, and one method against the other."""

import math
from itertools import permutations

from benchmarks._process import apart, timed
from benchmarks._table import Row

BLOCKS = 5000
SIZES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 20, 40, 100)
RECURRED = 12  # 2^16 subsets of 5,000 blocks take gigabytes
ENUMERATED = 6  # 7! orders of 5,000 blocks take gigabytes


def measure(quick: bool = False) -> list[Row]:
    sizes = [size for size in SIZES if not quick or size <= 4]
    return [row for size in sizes for row in apart(_size, size)[0]]


def _size(size: int) -> list[Row]:
    import jax
    import jax.numpy as jnp
    import numpy as np

    from plausibly.distributions.primitives import block_log_prob
    from plausibly.distributions.primitives._block import LARGEST_RECURSION

    orders = np.array(list(permutations(range(size)))) if size <= ENUMERATED else None

    def enumerated(log_weights, log_rest):
        """One block: the sum over all orders of the probability of drawing its classes in that order."""
        drawn = log_weights[orders]
        left = jnp.logaddexp(jax.lax.cumlogsumexp(drawn, axis=1, reverse=True), log_rest)
        return jax.nn.logsumexp((drawn - left).sum(axis=1))

    def value_and_gradient(log_prob):
        return jax.jit(jax.value_and_grad(lambda *arrays: log_prob(*arrays).sum(), argnums=(0, 1)))

    rng = np.random.default_rng(size)
    arrays = tuple(jnp.asarray(2 * rng.standard_normal(shape), jnp.float32) for shape in ((BLOCKS, size), (BLOCKS,)))
    ours = value_and_gradient(block_log_prob)
    found = timed(ours, *arrays)
    name = f"block of {size}, {BLOCKS:,} with gradient"
    rows = []

    def row(theirs, remark):
        other = timed(theirs, *arrays)
        for a, b in zip(jax.tree.leaves(ours(*arrays)), jax.tree.leaves(theirs(*arrays)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-3)
        rows.append(Row(name, found.warm * 1e6, "µs", other.warm * 1e6, found.compilation, other.compilation, remark))

    if orders is not None:
        row(value_and_gradient(jax.vmap(enumerated)), f"{math.factorial(size):,} orders")
    chosen = size <= LARGEST_RECURSION["float32"]
    if chosen or size <= RECURRED:
        row(jax.jit(_other(not chosen)), "quadrature" if chosen else "recursion")
    if not rows:
        rows.append(Row(name, found.warm * 1e6, "µs", compilation=found.compilation, remark="others left out"))
    return rows


def _other(recursion: bool):
    """Value and gradient of all blocks by the method named, in the shapes of the primitive."""
    import jax.numpy as jnp

    from plausibly.distributions.primitives import _race, _recursion

    def value_and_gradient(log_weights, log_rest):
        r = (log_weights - log_rest[:, None]).T
        if recursion:
            passes = _recursion.forward(r)
            value, slope = passes.log_prob, _recursion.gradient(passes)
        else:
            value, slope = _race.log_prob_and_gradient(r)
        return value.sum(), (slope.T, -jnp.sum(slope, 0))

    return value_and_gradient
