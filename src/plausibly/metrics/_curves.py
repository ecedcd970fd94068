"""Curves over the thresholds of a score: ROC, precision and recall, and net benefit."""

import jax.numpy as jnp
import numpy as np

from plausibly.metrics._declared import OrderMetric, label_metric

_SHARES = tuple(at / 100 for at in range(101))
_THRESHOLDS = _SHARES[1:-1]
_ODDS = np.array([at / (1 - at) for at in _THRESHOLDS], np.float32)
_ROUNDING = 1e-6  # of shares


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
