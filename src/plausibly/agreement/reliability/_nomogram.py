"""From the reliability of labels to the accuracy of what they decide, and back (Cabitza, Campagner et al. 2020)."""

from collections.abc import Iterable

import numpy as np
from scipy.optimize import brentq

from plausibly.base.checks import check_share, check_whole
from plausibly.base.errors import ArgumentError


def majority_accuracy(accuracies: Iterable[float]) -> float:
    """Compute the probability that the majority of independent annotators is right, for two possible labels.

    Condorcet (1785), Essai sur l'application de l'analyse à la probabilité des décisions rendues à la pluralité des
    voix.

    Parameters
    ----------
    accuracies
        Accuracy of every annotator, from 0 to 1. Ties are broken at random.

    Examples
    --------
    >>> round(majority_accuracy([0.8, 0.8, 0.8]), 3), majority_accuracy([0.9, 0.6])
    (0.896, 0.75)
    """
    shares = np.array([check_share("an accuracy", accuracy) for accuracy in accuracies])
    if not len(shares):
        raise ArgumentError("a majority needs an annotator: give at least one accuracy.")
    right = np.ones(1)  # probability of each number of right ones
    for share in shares:
        right = np.convolve(right, [1 - share, share])
    middle, odd = divmod(len(shares), 2)
    return float(min(right[middle + 1 :].sum() + (0 if odd else right[middle] / 2), 1.0))


def actual_accuracy(measured: float, ground_truth: float) -> float:
    """Compute a model's accuracy against the truth from its accuracy against imperfect labels.

    If a label is wrong, the model is assumed to be wrong, too: 98 % against labels that are right in 85 % of cases
    becomes 83 % (Cabitza et al. 2020).

    Parameters
    ----------
    measured
        Accuracy against the labels, from 0 to 1.
    ground_truth
        Accuracy of the labels, from 0 to 1.

    Examples
    --------
    >>> round(actual_accuracy(0.98, 0.85), 3)
    0.833
    """
    return check_share("measured", measured) * check_share("ground_truth", ground_truth)


def ground_truth_accuracy(reliability: float, annotators: int = 1) -> float:
    r"""Compute the accuracy of majority-vote labels from the weighted reliability of single annotators.

    A panel of equally competent and confident annotators of accuracy :math:`a` and two labels has :math:`\varrho =
    a^2`; so every annotator is assumed to have the accuracy :math:`a = \sqrt\varrho`.

    Parameters
    ----------
    reliability
        ϱ, from 0 to 1.
    annotators
        Number of annotators whose majority vote gives each label, at least 1.

    Examples
    --------
    >>> round(ground_truth_accuracy(0.64), 3), round(ground_truth_accuracy(0.64, annotators=3), 3)
    (0.8, 0.896)
    """
    return majority_accuracy(
        [check_share("reliability", reliability) ** 0.5] * check_whole("annotators", annotators, 1)
    )


def required_reliability(actual: float, measured: float = 1.0, annotators: int = 1) -> float:
    """Compute the weighted reliability that labels need for a model with a measured accuracy to reach an actual one.

    This is the inverse of :func:`ground_truth_accuracy` and :func:`actual_accuracy`.

    Parameters
    ----------
    actual
        Actual accuracy that is required, from 0 to 1.
    measured
        Accuracy of the model against the labels, at least ``actual``.
    annotators
        Number of annotators whose majority vote gives each label.

    Raises
    ------
    ArgumentError
        If ``actual`` is above ``measured``, which no labels can achieve, or an argument is out of range.

    Examples
    --------
    >>> round(required_reliability(0.9, measured=0.95), 3), round(required_reliability(0.9, 0.95, annotators=5), 3)
    (0.898, 0.651)
    """
    needed, measured = check_share("actual", actual), check_share("measured", measured)
    count = check_whole("annotators", annotators, 1)
    if needed > measured:
        raise ArgumentError(
            f"no labels make the actual accuracy, {actual!r}, greater than the measured one, {measured!r}: "
            "ask for less, or for a better model."
        )
    if needed == measured:
        return 1.0 if needed else 0.0
    target = needed / measured
    accuracy = brentq(lambda a: majority_accuracy([a] * count) - target, 0.0, 1.0, xtol=1e-14)
    return float(accuracy) ** 2
