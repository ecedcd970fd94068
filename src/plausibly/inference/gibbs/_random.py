"""Random numbers of many lanes at once: counters through Threefry, uniform and gamma variables without loops.

Every number is a function of its lane's key, a clock and an index, so the numbers of a lane do not depend on other
lanes.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt32

from plausibly.base.random_streams import random_bits

Words = UInt32[Array, "2 lane"]


def lane_words(keys: Key[Array, " lane"]) -> Words:
    """Turn keys of any implementation into the two words per lane that :func:`uniforms` wants."""
    return jax.vmap(lambda key: jax.random.bits(key, (2,), jnp.uint32), out_axes=-1)(keys)


def uniforms(
    words: Words, clock: Int[Array, ""], first: int | Int[Array, ""], count: int
) -> tuple[Float[Array, "count lane"], int]:
    """Uniform variables, never 0 nor 1, with the number of indices from ``first`` on that they use up."""
    used = (count + 1) // 2
    index = jnp.asarray(first, jnp.uint32) + jnp.arange(used, dtype=jnp.uint32)[:, None]
    return jnp.concatenate(pairs(words, clock, index))[:count], used


def pairs(
    words: Words, clock: Int[Array, ""], index: Int[Array, "*#number"]
) -> tuple[Float[Array, "*number lane"], Float[Array, "*number lane"]]:
    """Two uniform variables of every index, never 0 nor 1."""
    return midpoints(random_bits(words.T, jnp.asarray(index, jnp.uint32), clock))


def midpoints(bits: tuple[UInt32[Array, "*shape"], ...]) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """Two uniform variables, midpoints of 2^23 intervals, of two words of random bits."""
    first, second = (((word >> 9).astype(jnp.float32) + 0.5) * 2.0**-23 for word in bits)
    return first, second


def proposed_gammas(
    words: Words, clock: Int[Array, ""], shape: Float[Array, "number lane"]
) -> tuple[Float[Array, "number lane"], Float[Array, "number lane"], Bool[Array, "number lane"]]:
    """Propose a gamma variable of every shape, as :func:`factored_gammas` does, by the indices from 0 on.

    A row at a time in a loop: XLA would compute all of it again for each of its uses.
    """

    def row(of: tuple[Array, Array]) -> tuple[Array, Array, Array]:
        return factored_gammas(of[0], *pairs(words, clock, of[1]))

    return jax.lax.map(row, (shape, jnp.arange(len(shape), dtype=jnp.uint32)))


def gammas(
    shape: Float[Array, "*batch"], u: Float[Array, "*batch"], v: Float[Array, "*batch"]
) -> tuple[Float[Array, "*batch"], Bool[Array, "*batch"]]:
    r"""Propose gamma variables from two uniform variables each; where the second result is false, there is none.

    One round of Marsaglia & Tsang's rejection (2000), which succeeds with a probability of 0.95 at shape 1 and more
    beyond, whatever the state of a chain. A Gibbs sampler that keeps the old value after a failure is a mixture of an
    exact update and of none, which leaves its target unchanged; a loop that waits for the last lane would cost several
    times as much. Of shapes below one, a variable of the next shape is multiplied by :math:`w^{1/a}`, with :math:`w`
    the share of the acceptance probability that ``v`` came to: again uniform, and independent.
    """
    value, log_power, found = factored_gammas(shape, u, v)
    return value * jnp.exp(log_power), found


def factored_gammas(
    shape: Float[Array, "*batch"], u: Float[Array, "*batch"], v: Float[Array, "*batch"]
) -> tuple[Float[Array, "*batch"], Float[Array, "*batch"], Bool[Array, "*batch"]]:
    """As :func:`gammas`, in two factors, the second as its logarithm: of shapes far below one, it underflows."""
    boosted = shape < 1
    d = jnp.where(boosted, shape + 1, shape) - 1 / 3
    x = jnp.sqrt(2.0) * jax.lax.erf_inv(2 * u - 1)
    root = 1 + x / jnp.sqrt(9 * d)
    cube = jnp.where(root > 0, root, 1) ** 3
    limit = x**2 / 2 + d * (1 - cube + jnp.log(cube))
    below = jnp.log(v) - limit
    return d * cube, jnp.where(boosted, below / jnp.where(boosted, shape, 1), 0), (root > 0) & (below < 0)
