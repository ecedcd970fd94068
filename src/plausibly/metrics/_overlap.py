"""Uncertainty-adjusted metrics of a classifier on plain arrays: accuracy, set accuracy, overlap, average overlap."""

import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from plausibly.metrics._counts import count
from plausibly.metrics._inputs import BreakTies
from plausibly.metrics._rankings import list_metric, place_lists


def top_k_accuracy(
    predictions: Float[ArrayLike, "case class"],
    plausibilities: Float[ArrayLike, "draw case class"],
    k: int,
    *,
    break_ties: BreakTies = "order",
    seed: int = 0,
) -> Float[Array, "draw case"]:
    """Whether the most plausible class is among the ``k`` that the classifier scores highest.

    The mean over cases and draws is the uncertainty-adjusted top-k accuracy; with one draw it is the plain one.

    Parameters
    ----------
    predictions
        Finite scores, in any monotone scale.
    plausibilities
        Draws of the class distributions; finite, not negative.
    k
        Length of the classifier's list, at most the number of classes.
    break_ties
        Equal scores, and equal plausibilities, in class order (``"order"``) or in random order (``"random"``).
    seed
        Random seed of the random order.

    Returns
    -------
    Ones and zeros.

    Raises
    ------
    ArgumentError
        If shapes do not fit, a value is not finite, a plausibility is negative or ``k`` is out of range.

    References
    ----------
    Stutz et al. (2025), section 2.5, arXiv 2307.02191.

    Examples
    --------
    >>> predictions = [[0.7, 0.2, 0.1]]
    >>> draws = [[[0.6, 0.3, 0.1]], [[0.3, 0.6, 0.1]]]
    >>> top_k_accuracy(predictions, draws, 1).tolist(), top_k_accuracy(predictions, draws, 2).tolist()
    ([[1.0], [0.0]], [[1.0], [1.0]])
    """
    return list_metric("accuracy", predictions, plausibilities, k, break_ties, seed)


def set_accuracy(
    predictions: Float[ArrayLike, "case class"],
    plausibilities: Float[ArrayLike, "draw case class"],
    k: int,
    *,
    break_ties: BreakTies = "order",
    seed: int = 0,
) -> Float[Array, "draw case"]:
    """Whether the ``k`` highest scores and the ``k`` highest plausibilities are the same set of classes.

    Arguments, treatment of ties and errors are those of :func:`top_k_accuracy`.

    Returns
    -------
    Ones and zeros.

    References
    ----------
    Stutz et al. (2025), section 2.5, arXiv 2307.02191.

    Examples
    --------
    >>> set_accuracy([[0.7, 0.2, 0.1]], [[[0.3, 0.6, 0.1]], [[0.6, 0.1, 0.3]]], 2).tolist()
    [[1.0], [0.0]]
    """
    return list_metric("set_accuracy", predictions, plausibilities, k, break_ties, seed)


def overlap(
    predictions: Float[ArrayLike, "case class"],
    plausibilities: Float[ArrayLike, "draw case class"],
    k: int,
    *,
    break_ties: BreakTies = "order",
    seed: int = 0,
) -> Float[Array, "draw case"]:
    """Share of the ``k`` highest-scored classes that are among the ``k`` most plausible ones.

    Arguments, treatment of ties and errors are those of :func:`top_k_accuracy`.

    Returns
    -------
    Multiples of 1/k between 0 and 1.

    References
    ----------
    Stutz et al. (2025), section 2.5, arXiv 2307.02191.

    Examples
    --------
    >>> overlap([[0.7, 0.2, 0.1]], [[[0.3, 0.6, 0.1]], [[0.6, 0.1, 0.3]]], 2).tolist()
    [[1.0], [0.5]]
    """
    return list_metric("overlap", predictions, plausibilities, k, break_ties, seed)


def average_overlap(
    predictions: Float[ArrayLike, "case class"],
    plausibilities: Float[ArrayLike, "draw case class"],
    k: int,
    *,
    break_ties: BreakTies = "order",
    seed: int = 0,
) -> Float[Array, "draw case"]:
    """Mean of the overlaps at 1 … ``k``, which rewards having the best classes at the top of the list.

    Arguments, treatment of ties and errors are those of :func:`top_k_accuracy`.

    Returns
    -------
    Numbers between 0 and 1.

    References
    ----------
    Stutz et al. (2025), section 2.5, arXiv 2307.02191; Wu and Crestani (2003) for the measure.

    Examples
    --------
    >>> average_overlap([[0.7, 0.2, 0.1]], [[[0.3, 0.6, 0.1]], [[0.6, 0.1, 0.3]]], 2).tolist()
    [[0.5], [0.75]]
    """
    predicted, plausible = place_lists(predictions, plausibilities, k, break_ties, seed)
    return sum(count("overlap", predicted, plausible, j) / jnp.float32(j) for j in range(1, k + 1)) / jnp.float32(k)
