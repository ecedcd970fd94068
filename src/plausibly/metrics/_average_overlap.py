"""Average overlap of two lists."""

from plausibly.metrics._list_metric import list_metric, shared


@list_metric(scale=lambda k: k, averages="overlap")
def average_overlap(predicted, plausible):
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
    return shared(predicted, plausible)
