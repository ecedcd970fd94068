"""Metrics of the order of cases by a score: areas under curves, and operating points on them."""

from dataclasses import dataclass

import jax.numpy as jnp

from plausibly.metrics._declared import OrderMetric, at_value, label_metric
from plausibly.metrics._inputs import check_share

_ROUNDING = 1e-6  # of shares


def _steps(of):
    return jnp.diff(of, prepend=0)


@label_metric(OrderMetric(lambda tp, fp: jnp.sum(_steps(fp) * (tp - _steps(tp) / 2)) / (tp[-1] * fp[-1])))
def auroc(predictions, truth, weights=None):
    """Area under the ROC curve: probability that a case of a class has a higher score than one that is not of it.

    Parameters
    ----------
    predictions
        Scores of each case and class. Of two classes, cases are ordered by the score of the second (if the scores are
        no probabilities, by how far it is above that of the first); of more, by the probability of each class.
    truth
        Weight of each class in every case (case, class); the weights of a case sum to one. Ones and zeros for labels.
    weights
        Weight of each case. By default 1.

    Returns
    -------
    A number from 0 to 1 for each class against all others; of two classes, one. Ties count half. NaN if every case
    is of the class, or no case is.

    Raises
    ------
    ArgumentError
        If shapes do not fit, a value is not finite, the truth of a case does not sum to one, or predictions for more
        than two classes are no probabilities.

    References
    ----------
    Hanley & McNeil (1982), The meaning and use of the area under a receiver operating characteristic curve, Radiology
    143.

    Examples
    --------
    >>> print(f"{auroc([[0.2, 0.8], [0.7, 0.3], [0.3, 0.7]], [[0, 1], [1, 0], [0.5, 0.5]]):.3f}")
    0.944
    """


def _average_precision(tp, fp):
    named = tp + fp
    return jnp.sum(_steps(tp) * jnp.where(named > 0, tp / jnp.where(named > 0, named, 1), 0)) / tp[-1]


@label_metric(OrderMetric(_average_precision))
def average_precision(predictions, truth, weights=None):
    """Mean of the positive predictive values at the score of every case of a class.

    Arguments and errors are those of :func:`auroc`.

    Returns
    -------
    A number from 0 to 1 for each class against all others; of two classes, one. A classifier that knows nothing has the
    prevalence. NaN if no case is of the class.

    References
    ----------
    Buckley & Voorhees (2000), Evaluating evaluation measure stability, SIGIR. Without interpolation.

    Examples
    --------
    >>> print(f"{average_precision([[0.2, 0.8], [0.7, 0.3], [0.3, 0.7]], [[0, 1], [1, 0], [0.5, 0.5]]):.3f}")
    0.917
    """


@dataclass(frozen=True)
class _SensitivityAt:
    specificity: float

    def __call__(self, tp, fp):
        allowed = fp <= (1 - self.specificity + _ROUNDING) * fp[-1]
        return jnp.where(fp[-1] > 0, jnp.max(jnp.where(allowed, tp, 0)) / tp[-1], jnp.nan)


@dataclass(frozen=True)
class _SpecificityAt:
    sensitivity: float

    def __call__(self, tp, fp):
        reached = tp >= (self.sensitivity - _ROUNDING) * tp[-1]
        return jnp.where(tp[-1] > 0, 1 - jnp.min(jnp.where(reached, fp, fp[-1])) / fp[-1], jnp.nan)


@at_value
def sensitivity_at_specificity(specificity: float) -> OrderMetric:
    """Declare the greatest sensitivity at which the specificity is at least so high.

    Each draw and each replicate has its own threshold.

    Parameters
    ----------
    specificity
        Specificity between 0 and 1.

    Returns
    -------
    OrderMetric
        For the argument ``metrics`` of :func:`plausibly.evaluate`. There, it is named
        ``"sensitivity_at_specificity_0.9"``, too.

    Raises
    ------
    ArgumentError
        If the specificity is not between 0 and 1.

    References
    ----------
    Pepe (2003), The statistical evaluation of medical tests for classification and prediction, section 4.3.

    Examples
    --------
    >>> metric = sensitivity_at_specificity(0.9)
    >>> print(f"{metric.on_arrays([[0.2, 0.8], [0.7, 0.3], [0.3, 0.7]], [[0, 1], [1, 0], [0.5, 0.5]]):.3f}")
    0.667
    """
    return OrderMetric(_SensitivityAt(check_share("specificity", specificity)))


@at_value
def specificity_at_sensitivity(sensitivity: float) -> OrderMetric:
    """Declare the greatest specificity at which the sensitivity is at least so high.

    Parameters
    ----------
    sensitivity
        Sensitivity between 0 and 1.

    Returns
    -------
    OrderMetric
        For the argument ``metrics`` of :func:`plausibly.evaluate`. There, it is named
        ``"specificity_at_sensitivity_0.9"``, too.

    Raises
    ------
    ArgumentError
        If the sensitivity is not between 0 and 1.

    References
    ----------
    As for :func:`sensitivity_at_specificity`.

    Examples
    --------
    >>> metric = specificity_at_sensitivity(0.9)
    >>> print(f"{metric.on_arrays([[0.2, 0.8], [0.7, 0.3], [0.3, 0.7]], [[0, 1], [1, 0], [0.5, 0.5]]):.3f}")
    0.667
    """
    return OrderMetric(_SpecificityAt(check_share("sensitivity", sensitivity)))
