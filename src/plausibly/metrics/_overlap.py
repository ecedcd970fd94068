"""Overlap of two lists."""

from plausibly.metrics._list_metric import list_metric, shared


@list_metric(scale=lambda k: k)
def overlap(predicted, plausible):
    """Share of the ``k`` highest-scored classes that are among the ``k`` most plausible ones.

    Arguments, treatment of ties, errors and source are those of :func:`top_k_accuracy`.

    Returns
    -------
    Multiples of 1/k between 0 and 1.

    Examples
    --------
    >>> overlap([[0.7, 0.2, 0.1]], [[[0.3, 0.6, 0.1]], [[0.6, 0.1, 0.3]]], 2).tolist()
    [[1.0], [0.5]]
    """
    return shared(predicted, plausible)
