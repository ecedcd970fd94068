"""Distances between a classifier's ranking and that of each draw, on lists of the best classes."""

from jax.typing import ArrayLike
from jaxtyping import Array, Float

from plausibly.metrics._inputs import BreakTies
from plausibly.metrics._rankings import list_metric


def kendall_tau(
    predictions: Float[ArrayLike, "case class"],
    plausibilities: Float[ArrayLike, "draw case class"],
    k: int,
    *,
    break_ties: BreakTies = "order",
    seed: int = 0,
) -> Float[Array, "draw case"]:
    """Kendall's distance between the lists of the ``k`` highest scores and the ``k`` highest plausibilities.

    Pairs of classes that the lists have in opposite order are counted, a class that a list lacks standing behind all
    that it has; a pair of which one list has both classes and the other neither counts 1/2. Divided by the distance of
    lists without a common class, k (3k − 1) / 2: 0 is best, and lists of the same classes are less than 1/3 apart.

    Arguments, treatment of ties and errors are those of :func:`top_k_accuracy`.

    Returns
    -------
    Numbers between 0 and 1, less is better.

    References
    ----------
    Fagin, Kumar & Sivakumar (2003), Comparing top k lists, section 3.1, with p = 1/2.

    Examples
    --------
    >>> kendall_tau([[0.7, 0.2, 0.1]], [[[0.6, 0.3, 0.1]], [[0.3, 0.6, 0.1]], [[0.1, 0.3, 0.6]]], 2).tolist()
    [[0.0], [0.20000000298023224], [0.6000000238418579]]
    """
    return list_metric("kendall_tau", predictions, plausibilities, k, break_ties, seed)


def spearman_footrule(
    predictions: Float[ArrayLike, "case class"],
    plausibilities: Float[ArrayLike, "draw case class"],
    k: int,
    *,
    break_ties: BreakTies = "order",
    seed: int = 0,
) -> Float[Array, "draw case"]:
    """Spearman's footrule between the lists of the ``k`` highest scores and the ``k`` highest plausibilities.

    How far each class of either list is from its place in the other, absent ones standing at place k + 1. Divided by
    the distance of lists without a common class, k (k + 1).

    Arguments, treatment of ties and errors are those of :func:`top_k_accuracy`.

    Returns
    -------
    Numbers between 0 and 1, less is better.

    References
    ----------
    Fagin, Kumar & Sivakumar (2003), Comparing top k lists, section 3.2, with location parameter k + 1.

    Examples
    --------
    >>> spearman_footrule([[0.7, 0.2, 0.1]], [[[0.6, 0.3, 0.1]], [[0.3, 0.6, 0.1]]], 2).tolist()
    [[0.0], [0.3333333432674408]]
    """
    return list_metric("spearman_footrule", predictions, plausibilities, k, break_ties, seed)
