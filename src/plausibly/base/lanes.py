"""Rejection on vector processors: what only some pairs of a row and a draw need is computed for these, side by side."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Int

_LANES = 2**11  # pairs at a time


def collected(
    needed: Bool[Array, "case draw"], few: Callable[..., tuple[Array, ...]], count: int, *dtypes: Any
) -> tuple[Array, ...]:
    """Apply a function to the pairs of a case and a draw that need it, in batches of one size.

    It gets which of a batch are real, their cases and their draws, and returns arrays (count, batch).
    """
    dtypes = dtypes or (jnp.float32,)
    n_draws = needed.shape[1]
    wanted = needed.ravel()
    place = _running_count(wanted) - 1
    total = jnp.sum(wanted)
    room = -(-len(wanted) // _LANES) * _LANES
    order = (
        jnp.full(room, len(wanted))
        .at[jnp.where(wanted, place, room)]
        .set(jnp.arange(len(wanted)), mode="drop", unique_indices=True)
    )

    def batch(number, found):
        pair = lax.dynamic_slice(order, (number * _LANES,), (_LANES,))
        live = pair < len(wanted)
        inside = jnp.minimum(pair, len(wanted) - 1)
        made = few(live, inside // n_draws, inside % n_draws)
        return tuple(one.at[:, pair].set(own, mode="drop") for one, own in zip(found, made, strict=True))

    found = tuple(jnp.zeros((count, len(wanted)), dtype) for dtype in dtypes)
    found = lax.fori_loop(0, -(-total // _LANES), batch, found)
    return tuple(one.reshape(count, *needed.shape) for one in found)


def _running_count(given: Bool[Array, " n"]) -> Int[Array, " n"]:
    """Cumulative sum by two triangular products: less to compile than a scan, and exact below 2**24."""
    width = 1 << ((max(len(given) - 1, 1).bit_length() + 1) // 2)
    table = jnp.pad(given.astype(jnp.float32), (0, -len(given) % width)).reshape(-1, width)
    within = jnp.matmul(table, jnp.triu(jnp.ones((width, width))), precision=lax.Precision.HIGHEST)
    rows = within[:, -1]
    before = jnp.matmul(jnp.tri(len(rows), k=-1), rows, precision=lax.Precision.HIGHEST)
    return (within + before[:, None]).ravel()[: len(given)].astype(jnp.int32)
