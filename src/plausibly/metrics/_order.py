"""Metrics of the order of cases by a score: areas under curves, operating points on them, and the curves."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from plausibly.metrics.declared import OrderMetric, at_value, label_metric
from plausibly.metrics.inputs import check_share

_ROUNDING = 1e-6  # of shares
_SHARES = tuple(at / 100 for at in range(101))
_THRESHOLDS = _SHARES[1:-1]
_ODDS = np.array([at / (1 - at) for at in _THRESHOLDS], np.float32)


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


def _average_precision_of_others(tp, fp, own):
    """Half of a case counts where its own score is: of few cases, as a whole it would raise the mean in new ones."""
    tp, named = tp - own / 2, tp - own / 2 + fp
    return jnp.sum(own * jnp.where(named > 0, tp / jnp.where(named > 0, named, 1), 0)) / jnp.sum(own)


@label_metric(OrderMetric(_average_precision, resampled=_average_precision_of_others))
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


def _sensitivities(tp, fp):
    false, true = (jnp.concatenate([jnp.zeros(1), of / of[-1]]) for of in (fp, tp))
    at = 1 - jnp.array(_SHARES) + _ROUNDING
    return jnp.where((tp[-1] > 0) & (fp[-1] > 0), jnp.interp(at, false, true), jnp.nan)


@label_metric(OrderMetric(_sensitivities, along=("at_specificity", _SHARES)))
def roc_curve(predictions, truth, weights=None):
    """ROC curve: sensitivity at specificities from 0 to 1, in steps of 0.01.

    Arguments and errors are those of :func:`auroc`, which is the area under this curve. Between the thresholds of the
    data it is linear, as if cases were drawn from those that tie; the greatest sensitivity of a threshold itself is
    that of :func:`sensitivity_at_specificity`.

    Returns
    -------
    Numbers from 0 to 1, by specificity, for each class against all others; of two classes, for one. NaN if every case
    is of the class, or no case is. In results, specificities are the coordinate ``at_specificity``.

    References
    ----------
    Fawcett (2006), An introduction to ROC analysis, Pattern Recognition Letters 27.

    Examples
    --------
    >>> curve = roc_curve([[0.2, 0.8], [0.7, 0.3], [0.3, 0.7]], [[0, 1], [1, 0], [0.5, 0.5]])
    >>> print(*(f"{one:.3f}" for one in curve[::50]))  # at 0, 0.5 and 1
    1.000 1.000 0.667
    """


def _precisions(tp, fp):
    named = tp + fp
    first = jnp.searchsorted(named, 0, side="right")
    at = jnp.maximum(jnp.searchsorted(tp, (jnp.array(_SHARES) - _ROUNDING) * tp[-1]), first)
    return jnp.where(tp[-1] > 0, (tp / jnp.where(named > 0, named, 1))[at], jnp.nan)


@label_metric(OrderMetric(_precisions, along=("recall", _SHARES)))
def precision_recall_curve(predictions, truth, weights=None):
    """Precision (positive predictive value) at recalls (sensitivities) from 0 to 1, in steps of 0.01.

    Arguments and errors are those of :func:`auroc`. The precision at a recall is that of the highest threshold with at
    least this recall, so the area under the curve is the :func:`average_precision`; at 0 it is that of the highest
    score.

    Returns
    -------
    Numbers from 0 to 1, by recall, for each class against all others; of two classes, for one. NaN if no case is of the
    class. In results, recalls are the coordinate ``recall``.

    References
    ----------
    Davis & Goadrich (2006), The relationship between precision-recall and ROC curves, ICML.

    Examples
    --------
    >>> curve = precision_recall_curve([[0.2, 0.8], [0.7, 0.3], [0.3, 0.7]], [[0, 1], [1, 0], [0.5, 0.5]])
    >>> print(*(f"{one:.3f}" for one in curve[::50]))  # at 0, 0.5 and 1
    1.000 1.000 0.750
    """


def _benefits(tp, fp, scores):
    treated = jnp.sum(scores >= jnp.array(_THRESHOLDS, jnp.float32)[:, None], axis=1)
    true, false = (jnp.where(treated > 0, of[treated - 1], 0) for of in (tp, fp))
    return (true - false * _ODDS) / (tp[-1] + fp[-1])


_OF_TREATMENT = {"bounds": (-float(_ODDS[-1]), 1.0), "takes": "probabilities", "along": ("threshold", _THRESHOLDS)}


@label_metric(OrderMetric(_benefits, **_OF_TREATMENT))
def decision_curve(predictions, truth, weights=None):
    """Decision curve: net benefit at thresholds from 0.01 to 0.99, in steps of 0.01.

    Arguments and errors are those of :func:`brier`; :func:`net_benefit` says what it is. Beside it belong those of
    treating every case, :func:`net_benefit_of_all`, and no case, 0.

    Returns
    -------
    Numbers of at most the prevalence, by threshold, for each class against all others; of two classes, for one. In
    results, thresholds are the coordinate ``threshold``.

    References
    ----------
    Vickers & Elkin (2006), Decision curve analysis, Medical Decision Making 26.

    Examples
    --------
    >>> curve = decision_curve([[0.6, 0.4], [0.3, 0.7]], [[0.5, 0.5], [1, 0]])
    >>> print(*(f"{one:.4f}" for one in curve[::49]))  # at 0.01, 0.5 and 0.99
    0.2424 -0.5000 0.0000
    """


def _benefits_of_all(tp, fp, scores):
    return (tp[-1] - fp[-1] * _ODDS) / (tp[-1] + fp[-1])


@label_metric(OrderMetric(_benefits_of_all, **_OF_TREATMENT))
def net_benefit_of_all(predictions, truth, weights=None):
    """Net benefit of treating every case, at the thresholds of :func:`decision_curve`, which has arguments and source.

    Returns
    -------
    Numbers of at most the prevalence, by threshold, the same for all classifiers.

    Examples
    --------
    >>> curve = net_benefit_of_all([[0.6, 0.4], [0.3, 0.7]], [[0.5, 0.5], [1, 0]])
    >>> print(*(f"{one:.4f}" for one in curve[:50:49]))  # at 0.01 and 0.5
    0.2424 -0.5000
    """
