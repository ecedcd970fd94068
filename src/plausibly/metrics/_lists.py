"""Ranked lists of classes, on which every metric is defined.

A ranked list is an integer array whose last axis holds distinct classes, best first: ``predicted`` (case, place) and
``plausible`` (draw, case, place). Nothing here is as large as (draw, case, class), and equal lists are equal integers,
so that counts are exact.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int

from plausibly.metrics._inputs import BreakTies, as_array, check_break_ties


def ranked_classes(
    scores: Float[Array | np.ndarray, "... class"],
    k: int,
    tie_break: Float[Array | np.ndarray, "... class"] | None = None,
) -> Int[Array | np.ndarray, "... {k}"]:
    """Rank the ``k`` classes with the highest scores, best first.

    NumPy arrays are ranked by NumPy in their own precision (in JAX's single precision two close scores could tie);
    JAX arrays, also inside ``jit``, by JAX.

    Parameters
    ----------
    scores
        Finite scores, plausibilities or logits; classes along the last axis.
    k
        Length of the list, at most the number of classes.
    tie_break
        Numbers of the same shape; of two equal scores, the one with the larger number comes first. By default equal
        scores are in class order.

    Returns
    -------
    Class indices.

    Examples
    --------
    >>> ranked_classes(np.array([[0.1, 0.6, 0.3], [0.4, 0.2, 0.4]]), 2)
    array([[1, 2],
           [0, 2]], dtype=int32)
    """
    if isinstance(scores, jax.Array):
        return _ranked_by_jax(scores, k, tie_break)
    scores = np.array(scores, dtype=np.result_type(scores, np.float32))
    ranked = np.empty((*scores.shape[:-1], k), np.int32)
    for place in range(k):
        if tie_break is None:
            best = scores.argmax(axis=-1)
        else:
            tied = scores == scores.max(axis=-1, keepdims=True)
            best = np.where(tied, tie_break, -np.inf).argmax(axis=-1)
        ranked[..., place] = best
        np.put_along_axis(scores, best[..., None], -np.inf, axis=-1)
    return ranked


@partial(jax.jit, static_argnames="k")
def _ranked_by_jax(scores, k, tie_break):
    scores = jnp.where(scores == 0, 0.0, scores)  # floating, and −0 ties with 0
    if tie_break is None:
        return lax.top_k(scores, k)[1]
    classes = lax.broadcasted_iota(jnp.int32, scores.shape, scores.ndim - 1)
    return lax.sort((-scores, -tie_break, classes), num_keys=2)[2][..., :k]


def ranked(scores: ArrayLike, k: int, break_ties: BreakTies, seed: int, stream: int) -> Array:
    """Rank with ties in class order or at random; different streams of one seed are independent."""
    check_break_ties(break_ties)
    scores, tie_break = as_array(scores), None
    if break_ties == "random":
        tie_break = jax.random.uniform(jax.random.fold_in(jax.random.key(seed), stream), scores.shape)
        tie_break = tie_break if isinstance(scores, jax.Array) else np.asarray(tie_break)
    return jnp.asarray(ranked_classes(scores, k, tie_break))
