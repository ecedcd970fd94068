"""Annotation certainty on plain arrays."""

from jax.typing import ArrayLike
from jaxtyping import Array, Float

from plausibly.metrics._inputs import Ties, check_plausibilities, check_size
from plausibly.metrics._lists import ranked, set_certainty


def annotation_certainty(
    plausibilities: Float[ArrayLike, "draw case class"], size: int = 1, *, ties: Ties = "order", seed: int = 0
) -> Float[Array, " case"]:
    """Share of the draws that agree on the set of the ``size`` most plausible classes.

    Of all sets of that size seen among the draws the most frequent one counts. The certainty of a data set is the mean
    over its cases; that of a point estimate is 1.

    Parameters
    ----------
    plausibilities
        Draws of the class distributions; finite, not negative.
    size
        Size of the set, at most the number of classes.
    ties
        Equal plausibilities in class order (``"order"``) or in random order (``"random"``).
    seed
        Of the random order.

    Returns
    -------
    Numbers between 1/draws and 1.

    Raises
    ------
    ArgumentError
        If the shape is not (draw, case, class), a value is not finite or negative, or ``size`` is out of range.

    References
    ----------
    Stutz et al. (2025), section 2.4, arXiv 2307.02191.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.array([[[0.6, 0.3, 0.1]], [[0.3, 0.6, 0.1]], [[0.5, 0.4, 0.1]], [[0.5, 0.4, 0.1]]])
    >>> annotation_certainty(draws).tolist(), annotation_certainty(draws, size=2).tolist()
    ([0.75], [1.0])
    """
    plausibilities = check_plausibilities(plausibilities)
    n_classes = plausibilities.shape[2]
    size = check_size("size", size, n_classes)
    return set_certainty(ranked(plausibilities, size, ties, seed, 1), n_classes)
