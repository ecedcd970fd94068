"""Scores of predicted probabilities, their parts that no classifier can avoid, and distances to experts' labels."""

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import entr

from plausibly.metrics.declared import (
    FOR_ENTROPY,
    FOR_PAIRS,
    OfLabels,
    SumMetric,
    label_metric,
    mean_of_known,
    without_noise,
)

_LEAST = float(np.finfo(np.float32).eps)  # probability, as in scikit-learn


def _half_of_two(squares):
    """Sum of squares; of two classes, that of one."""
    return jnp.sum(squares) / (2 if len(squares) == 2 else 1)


def _log(p):
    return jnp.log(jnp.clip(p, _LEAST, 1 - _LEAST))


def _declared(rows, most=np.inf, of_distribution=False, of_labels=None, least=0.0, **options):
    given = {"better": "smaller", "takes": "probabilities", "of_distribution": of_distribution}
    if of_labels is not None:
        options = {"value": mean_of_known} | options
        given["of_labels"] = SumMetric(OfLabels(*of_labels), bounds=(least, most), **options, **given)
    return SumMetric(rows, bounds=(0.0, most), **given)


def _unavoidable(p, truth, spread):
    return (1 - spread.agree) / (2 if len(truth) == 2 else 1)


def _distance(p, truth):
    return jnp.sum(jnp.abs(p - truth)) / 2


def _distances(p, truth, spread):
    """Distance to the shares of labels, its square, and how far the shares are from their distribution by chance."""
    return _distance(p, truth), jnp.sum((p - truth) ** 2), jnp.sum(truth**2) - spread.agree


def _distance_of_labels(sums, n):
    (distance, square, noise), known = sums
    return jnp.maximum(without_noise(mean_of_known((distance, known), n), square, noise), 0)


def _brier(p, truth):
    return _half_of_two(p**2 + truth - 2 * p * truth)


def _log_score(p, truth):
    return -jnp.sum(truth * _log(p))


@label_metric(_declared(_brier, 2.0))
def brier(predictions, truth, weights=None):
    """Brier score: mean squared difference between predicted probabilities and the truth.

    Arguments and errors are those of :func:`sensitivity`; predictions must be probabilities that sum to one. If the
    truth is shares of annotations, this is the mean over annotations, :func:`brier_expected`.

    Returns
    -------
    A number from 0 (best) to 1 for two classes, for which it is the mean of the squared error of one of them; to 2 for
    more, for which squares are added up over classes.

    References
    ----------
    Brier (1950), Verification of forecasts expressed in terms of probability, Monthly Weather Review 78.

    Examples
    --------
    >>> print(f"{brier([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]):.3f}")
    0.165
    """


@label_metric(_declared(_brier, 2.0, of_distribution=True))
def brier_expected(predictions, truth, weights=None):
    """Brier score that is expected against a label of an expert: ``brier_unavoidable`` plus ``brier_excess``.

    Arguments and errors are those of :func:`brier`. The truth is the distribution of experts' labels: in every draw the
    plausibilities, whereas :func:`brier` is against one class. Without draws, they are equal, and the parts are of the
    cases with two labels or more.

    Returns
    -------
    A number from 0 (best) to 1 for two classes, to 2 for more.

    References
    ----------
    Gneiting & Raftery (2007), Strictly proper scoring rules, prediction, and estimation, JASA 102, section 2.

    Examples
    --------
    >>> print(f"{brier_expected([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]):.3f}")
    0.165
    """


@label_metric(_declared(lambda p, truth: _half_of_two(truth * (1 - truth)), 1.0, True, (_unavoidable, FOR_PAIRS)))
def brier_unavoidable(predictions, truth, weights=None):
    """Part of the Brier score that is due to the disagreement of experts: it is that of a classifier that knows all.

    Arguments and errors are those of :func:`brier`. The truth is the distribution of experts' labels. Shares of n
    annotations make it (n - 1)/n of what it is, so :func:`plausibly.evaluate` against labels takes instead the share of
    pairs of annotations of a case that differ (of two classes, half of it), of the cases that have two or more.

    Returns
    -------
    A number from 0 to 1.

    References
    ----------
    Murphy (1973), A new vector partition of the probability score, Journal of Applied Meteorology 12.

    Examples
    --------
    >>> print(f"{brier_unavoidable([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]):.3f}")
    0.111
    """


@label_metric(
    _declared(
        lambda p, truth: _half_of_two((p - truth) ** 2),
        *(2.0, True),
        of_labels=(lambda p, truth, spread: _brier(p, truth) - _unavoidable(p, truth, spread), FOR_PAIRS),
        least=-1.0,
    )
)
def brier_excess(predictions, truth, weights=None):
    """Part of the Brier score that a classifier could avoid: squared distance to the distribution of experts' labels.

    Arguments, errors and the source are those of :func:`brier_unavoidable`. Against labels, it is the Brier score less
    ``brier_unavoidable``, which is right on average and may be negative.

    Returns
    -------
    A number from 0 (best) to 1 for two classes, to 2 for more.

    Examples
    --------
    >>> print(f"{brier_excess([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]):.3f}")
    0.054
    """


@label_metric(_declared(_log_score))
def log_score(predictions, truth, weights=None):
    """Logarithmic score: mean of minus the logarithm of the probability of the truth (log loss, cross-entropy).

    Arguments and errors are those of :func:`brier`. Probabilities count as at least 1.2e-7, the precision of a float32.
    If the truth is shares of annotations, this is the mean over annotations, :func:`log_score_expected`.

    Returns
    -------
    A number of at least 0 (best), in nats.

    References
    ----------
    Good (1952), Rational decisions, Journal of the Royal Statistical Society B 14.

    Examples
    --------
    >>> print(f"{log_score([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]):.3f}")
    0.521
    """


@label_metric(_declared(_log_score, of_distribution=True))
def log_score_expected(predictions, truth, weights=None):
    """Logarithmic score that is expected: ``log_score_unavoidable`` plus ``log_score_excess``.

    Arguments and errors are those of :func:`log_score`. The truth, and the source, are those of :func:`brier_expected`.

    Returns
    -------
    A number of at least 0 (best), in nats.

    Examples
    --------
    >>> print(f"{log_score_expected([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]):.3f}")
    0.521
    """


@label_metric(
    _declared(
        lambda p, truth: jnp.sum(entr(truth)),
        *(np.inf, True),
        of_labels=(lambda p, truth, spread: spread.entropy, FOR_ENTROPY),
    )
)
def log_score_unavoidable(predictions, truth, weights=None):
    """Part of the logarithmic score that is due to the disagreement of experts: the entropy of their labels.

    Arguments and errors are those of :func:`brier`. The truth is the distribution of experts' labels. Few annotations
    do not tell its entropy: :func:`plausibly.evaluate` against labels takes cases with 20 or more, by
    :func:`plausibly.evaluation.label_spread`, and is NaN if there are none.

    Returns
    -------
    A number of at least 0, in nats.

    References
    ----------
    Gneiting & Raftery (2007), Strictly proper scoring rules, prediction, and estimation, JASA 102, section 2.

    Examples
    --------
    >>> print(f"{log_score_unavoidable([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]):.3f}")
    0.318
    """


@label_metric(
    _declared(
        lambda p, truth: _log_score(p, truth) - jnp.sum(entr(truth)),
        *(np.inf, True),
        of_labels=(lambda p, truth, spread: _log_score(p, truth) - spread.entropy, FOR_ENTROPY),
        least=-np.inf,
    )
)
def log_score_excess(predictions, truth, weights=None):
    """Part of the logarithmic score that a classifier could avoid: Kullback and Leibler's divergence from the experts.

    Arguments, errors and the source are those of :func:`log_score_unavoidable`.

    Returns
    -------
    A number of at least 0 (best), in nats.

    Examples
    --------
    >>> print(f"{log_score_excess([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]):.3f}")
    0.203
    """


@label_metric(_declared(_distance, 1.0, True, (_distances, FOR_PAIRS), value=_distance_of_labels))
def dist_ce(predictions, truth, weights=None):
    """Human distribution calibration error: mean total variation distance to the distribution of experts' labels.

    Arguments and errors are those of :func:`brier`. Shares of a few annotations are too far from any prediction: even
    two halves of twenty annotations differ. Draws of the plausibilities account for that, and
    :func:`plausibly.evaluate` against labels takes off what chance adds, by pairs of annotations of a case: 0 is then
    what a classifier has whose Brier score could not be better.

    Returns
    -------
    A number from 0 (best) to 1.

    References
    ----------
    Baan, Aziz, Plank & Fernández (2022), Stop measuring calibration when humans disagree, EMNLP, section 4.

    Examples
    --------
    >>> print(f"{dist_ce([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]):.3f}")
    0.217
    """


@label_metric(
    _declared(
        lambda p, truth: jnp.abs(jnp.sum(entr(p)) - jnp.sum(entr(truth))),
        *(np.inf, True),
        of_labels=(lambda p, truth, spread: jnp.abs(jnp.sum(entr(p)) - spread.entropy), FOR_ENTROPY),
    )
)
def entropy_ce(predictions, truth, weights=None):
    """Human entropy calibration error: mean absolute difference between the entropies of prediction and experts.

    Arguments, errors and the source are those of :func:`dist_ce`; its authors report differences with their signs.
    Against labels, it is of cases with 20 or more, as :func:`log_score_unavoidable` is.

    Returns
    -------
    A number of at least 0 (best), in nats.

    Examples
    --------
    >>> print(f"{entropy_ce([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]):.3f}")
    0.373
    """
