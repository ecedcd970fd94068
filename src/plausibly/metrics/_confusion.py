"""Confusion matrix of a classifier's choices."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from plausibly.metrics._declared import SumMetric, label_metric


def pairs(choice: Float[Array, " class"], truth: Float[Array, " class"]) -> Float[Array, "true named"]:
    """Count a case."""
    return jnp.outer(truth, choice)


NO_ANSWER = "(no answer)"  #: name of the column of cases in which a classifier names no class


@label_metric(SumMetric(pairs, bounds=(0.0, 1.0), along=(("true_class", None), ("named_class", None))))
def confusion(predictions, truth, weights=None):
    """Confusion matrix: share of all cases that are of one class (row) and that a classifier calls another (column).

    Arguments and errors are those of :func:`sensitivity`; cases without an answer are in no column. In results, if
    there are any, they have a column of their own, the last, "(no answer)". Times the number of cases, these are
    expected numbers of cases; the most frequent confusions are tabulated by
    :func:`plausibly.evaluation.largest_confusions`. In an evaluation in which numbers of classes, classifiers, draws
    and groups have a product of more than 17 million (of classes, the square), such as one of 419 classes and 1,000
    draws, there are draws of the matrix for all cases, but neither bootstrap replicates nor groups.

    Returns
    -------
    Numbers from 0 to 1 that sum to one (true class, named class). In results, these are the dimensions ``true_class``
    and ``named_class``.

    Examples
    --------
    >>> print(confusion([[0.2, 0.8], [0.7, 0.3]], [[0.25, 0.75], [1, 0]]))
    [[0.5   0.125]
     [0.    0.375]]
    """
