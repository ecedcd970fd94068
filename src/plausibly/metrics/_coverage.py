"""How much plausibility a classifier's list covers."""

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from plausibly.metrics._inputs import BreakTies, check_plausibilities, check_predictions, check_size
from plausibly.metrics._list_metric import METRICS, ListMetric
from plausibly.metrics._lists import ranked

METRICS["coverage"] = ListMetric("coverage", count=None)


def coverage(
    predictions: Float[ArrayLike, "case class"],
    plausibilities: Float[ArrayLike, "draw case class"],
    k: int,
    *,
    break_ties: BreakTies = "order",
    seed: int = 0,
) -> Float[Array, "draw case"]:
    """Sum of the plausibilities of the ``k`` classes that the classifier scores highest.

    It depends on all of the plausibilities, not on their order alone. Arguments and errors are those of
    :func:`top_k_accuracy`; ties concern equal scores only.

    Returns
    -------
    Numbers between 0 and the sum of a draw's plausibilities.

    References
    ----------
    Stutz et al. (2025), section 2.5, arXiv 2307.02191 (aggregated coverage).

    Examples
    --------
    >>> coverage([[0.7, 0.2, 0.1]], [[[0.5, 0.25, 0.25]], [[0.0, 1.0, 0.0]]], 2).tolist()
    [[0.75], [1.0]]
    """
    plausibilities = check_plausibilities(plausibilities)
    predictions = check_predictions(predictions, plausibilities.shape[1:])
    k = check_size("k", k, plausibilities.shape[2])
    predicted = ranked(predictions, k, break_ties, seed, 0)
    covered = jnp.take_along_axis(jnp.asarray(plausibilities), predicted[None], axis=-1)
    return jnp.sum(covered, axis=-1).astype(jnp.float32)
