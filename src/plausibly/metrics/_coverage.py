"""How much plausibility a classifier's list covers."""

from plausibly.metrics._list_metric import list_metric


@list_metric(of_masses=True)
def coverage(predicted, masses):
    """Sum of the plausibilities of the ``k`` classes that the classifier scores highest.

    It depends on the plausibilities themselves, not only on their order. Arguments and errors are those of
    :func:`top_k_accuracy`; only ties between scores matter.

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
    return sum(masses)
