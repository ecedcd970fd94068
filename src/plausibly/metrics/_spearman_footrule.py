"""Spearman's footrule between two lists."""

import jax.numpy as jnp

from plausibly.metrics._kendall_tau import FAGIN
from plausibly.metrics._list_metric import list_metric, places


@list_metric(
    scale=lambda k: k * (k + 1),
    better="smaller",
    words="Spearman's footrule",
    source=FAGIN,
)
def spearman_footrule(predicted, plausible):
    """Spearman's footrule between the lists of the ``k`` highest scores and the ``k`` highest plausibilities.

    This is the sum of the distances between the places of each class in the two lists; a class missing from a list is
    at place k + 1. The sum is divided by that of lists without a common class, k (k + 1).

    Arguments, treatment of ties and errors are those of :func:`top_k_accuracy`.

    Returns
    -------
    Numbers between 0 and 1; smaller is better.

    References
    ----------
    Fagin, Kumar & Sivakumar (2003), Comparing top k lists, section 3.2, with location parameter k + 1.

    Examples
    --------
    >>> spearman_footrule([[0.7, 0.2, 0.1]], [[[0.6, 0.3, 0.1]], [[0.3, 0.6, 0.1]]], 2).tolist()
    [[0.0], [0.3333333432674408]]
    """
    k, there, here = len(predicted), places(predicted, plausible), places(plausible, predicted)
    apart = sum(jnp.abs(there[i] - i) for i in range(k))
    return apart + sum(jnp.where(here[j] == k, k - j, 0) for j in range(k))
