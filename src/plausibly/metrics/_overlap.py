"""Overlap of two ranked lists, and distances between them."""

import jax.numpy as jnp

from plausibly.metrics.list_metric import list_metric, places, shared


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


_FAGIN = "Fagin, Kumar & Sivakumar (2003), Comparing top k lists, SIAM Journal on Discrete Mathematics 17."


@list_metric(
    scale=lambda k: k * (3 * k - 1),
    better="smaller",
    words="Kendall's tau",
    source=_FAGIN,
)
def kendall_tau(predicted, plausible):
    """Kendall's distance between the lists of the ``k`` highest scores and the ``k`` highest plausibilities.

    This counts the pairs of classes that the two lists rank in opposite order; a class missing from a list ranks below
    all classes in it. A pair counts 1/2 if one list has both classes and the other has neither. The count is divided by
    that of lists without a common class, k (3k − 1) / 2. 0 is best, and lists of the same classes are less than 1/3
    apart.

    Arguments, treatment of ties and errors are those of :func:`top_k_accuracy`.

    Returns
    -------
    Numbers between 0 and 1; smaller is better.

    References
    ----------
    Fagin, Kumar & Sivakumar (2003), Comparing top k lists, section 3.1, with p = 1/2.

    Examples
    --------
    >>> kendall_tau([[0.7, 0.2, 0.1]], [[[0.6, 0.3, 0.1]], [[0.3, 0.6, 0.1]], [[0.1, 0.3, 0.6]]], 2).tolist()
    [[0.0], [0.20000000298023224], [0.6000000238418579]]
    """
    k, there, here = len(predicted), places(predicted, plausible), places(plausible, predicted)
    alone = sum((place == k).astype(jnp.int32) for place in there)  # classes of one list that the other lacks
    # A pair of one list: the other has it the other way round, or has only its second class.
    turned = sum((there[i] > there[j]).astype(jnp.int32) for j in range(k) for i in range(j))
    missed = sum(((here[i] == k) & (here[j] < k)).astype(jnp.int32) for j in range(k) for i in range(j))
    # A pair of which each list has one class counts 1; one that a list has and the other lacks counts 1/2.
    return 2 * (turned + missed + alone**2) + alone * (alone - 1)


@list_metric(
    scale=lambda k: k * (k + 1),
    better="smaller",
    words="Spearman's footrule",
    source=_FAGIN,
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
