"""Slice sampling along a line, of many variables side by side."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, Key

WANTED = 3.0  #: evaluations that a good width takes
MOST = 50  #: after so many, a lane stays where it is
WIDTHS = 1e-3, 20.0


def slice_move(
    key: Key[Array, ""],
    width: Float[Array, " lane"],
    log_density: Callable[[Float[Array, " lane"]], Float[Array, " lane"]],
    *,
    together: Array | bool = False,
) -> tuple[Float[Array, " lane"], Int[Array, " lane"]]:
    """Moves from zero that leave the log density of a move in every lane unchanged, and how many evaluations each took.

    The first interval, of the given width, is placed at random about zero and shrinks towards it until a point of the
    slice is found; it is not widened, which is right for any width. Lanes that move together make the same move, and
    the density is then the same in all. Neal (2003), Slice sampling, Annals of Statistics 31, sections 4.1 and 4.2.
    """
    at, height, steps = jax.random.split(key, 3)

    def uniform(key: Key[Array, ""]) -> Float[Array, " lane"]:
        u = jax.random.uniform(key, width.shape, minval=1e-7)
        return jnp.where(together, u[0], u)

    level = log_density(jnp.zeros_like(width)) + jnp.log(uniform(height))
    low = -width * uniform(at)

    def unfinished(state):
        return ~state[-1].all()

    def shrink(state):
        low, high, _, count, done = state
        count += ~done
        move = low + (high - low) * uniform(jax.random.fold_in(steps, count.max()))
        move = jnp.where(done, state[2], move)
        inside = log_density(move) > level
        # Rounding may leave nothing but zero itself.
        stuck = count >= MOST
        found = ~done & (inside | stuck)
        move = jnp.where(~done & stuck & ~inside, 0, move)
        outside = ~done & ~found
        low = jnp.where(outside & (move < 0), move, low)
        high = jnp.where(outside & (move >= 0), move, high)
        return low, high, move, count, done | found

    none = jnp.zeros(width.shape, jnp.int32)
    state = (low, low + width, jnp.zeros_like(width), none, none > 0)
    _, _, move, count, _ = lax.while_loop(unfinished, shrink, state)
    return move, count


def better_width(
    width: Float[Array, "*shape"], count: Int[Array, "*shape"], rate: Float[Array, ""]
) -> Float[Array, "*shape"]:
    """Adapt a width to the number of evaluations that it took."""
    return jnp.clip(width * jnp.exp(rate * jnp.clip(WANTED - count, -3, 1)), *WIDTHS)
