"""Classes that the lists of a classifier and of a draw share, and the plausibility that a list covers."""

import jax.numpy as jnp

from plausibly.metrics.list_metric import list_metric, shared


@list_metric(name="accuracy")
def top_k_accuracy(predicted, plausible):
    """Whether the most plausible class is among the ``k`` that the classifier scores highest.

    The mean over cases and draws is the uncertainty-adjusted top-k accuracy; with one draw it is the usual top-k
    accuracy.

    Parameters
    ----------
    predictions
        Finite scores, on any monotone scale.
    plausibilities
        Draws of the class distributions; finite, not negative.
    k
        Length of the classifier's list, at most the number of classes. Where all scores are 0, which is no answer, none
        of its classes is a right one.
    break_ties
        How to break ties between scores or between plausibilities: by class order (``"order"``) or at random
        (``"random"``).
    seed
        Random seed for random ties.

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
    return jnp.any(predicted == plausible[:1], axis=0).astype(jnp.int32)


@list_metric()
def set_accuracy(predicted, plausible):
    """Whether the ``k`` highest scores and the ``k`` highest plausibilities are the same set of classes.

    Arguments, treatment of ties, errors and source are those of :func:`top_k_accuracy`.

    Returns
    -------
    Ones and zeros.

    Examples
    --------
    >>> set_accuracy([[0.7, 0.2, 0.1]], [[[0.3, 0.6, 0.1]], [[0.6, 0.1, 0.3]]], 2).tolist()
    [[1.0], [0.0]]
    """
    return (shared(predicted, plausible) == len(predicted)).astype(jnp.int32)


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
