"""Calibration of predicted probabilities, in bins."""

import jax.numpy as jnp
from jax import nn

from plausibly.metrics.declared import SumMetric, label_metric, without_noise

BINS = 10  #: of equal width


def _in_bins(p, truth):
    """Put a case into the bin of its probability: that of the positive class, or the greatest of several."""
    at = 1 if len(p) == 2 else jnp.argmax(p)
    inside = _bins(p[at])
    return inside * truth[at], inside * p[at], inside


def _bins(p):
    return nn.one_hot(jnp.clip(jnp.ceil(p * BINS).astype(int) - 1, 0, BINS - 1), BINS)


def _error_in_bins(p, truth):
    at = 1 if len(p) == 2 else jnp.argmax(p)
    return _errors(_bins(p[at]), truth[at] - p[at])


def _errors(inside, error):
    """Error of a case in its bin, the square that it would have by chance if there were none, and the number of cases.

    By chance, errors of different cases cancel on average, so the square of their sum is that of their squares.
    """
    return inside * error, inside * error**2, inside


def _error(sums, n):
    error, by_chance, cases = sums
    cases = jnp.where(cases > 0, cases, 1)
    k = error.shape[0] if error.ndim == 2 else 1
    return without_noise(jnp.sum(jnp.abs(error)) / (k * n), jnp.sum(error**2 / cases), jnp.sum(by_chance / cases))


def _declared(rows, value):
    of_probabilities = {"better": "smaller", "takes": "probabilities", "bounds": (0.0, 1.0)}
    return SumMetric(rows, value, without_noise=True, **of_probabilities)


@label_metric(_declared(_error_in_bins, _error))
def calibration_error(predictions, truth, weights=None):
    """Expected calibration error: mean distance between predicted probabilities and observed frequencies, in ten bins.

    Arguments and errors are those of :func:`brier`. Of two classes, the probability of the second counts; of more, the
    greatest probability of each case. Bins have equal widths, and each contains its upper limit.

    The frequencies of a perfect classifier differ from its probabilities by chance. What that adds is taken off: with
    the mean distance :math:`d`, its square :math:`s` and the part :math:`e` of that which errors of single cases make
    if they only differ by chance, this is :math:`d (1 - (e / s)^{3/2})^{1/3}`, and 0 if there is less than that.

    Returns
    -------
    A number from 0 (best) to 1.

    References
    ----------
    Naeini, Cooper & Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian binning, AAAI. Kumar,
    Liang & Ma (2019), Verified uncertainty calibration, NeurIPS, section 5, and Bröcker (2012), Estimating reliability
    and resolution of probability forecasts through decomposition of the empirical score, Climate Dynamics 39, for the
    expected square.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> p = random.random(1000)
    >>> for true in (p, p**2):
    ...     label = random.random(1000) < true
    ...     print(f"{calibration_error(np.c_[1 - p, p], np.eye(2)[label.astype(int)]):.3f}")
    0.000
    0.165
    """


def _error_in_bins_by_class(p, truth):
    return _errors(_bins(p), (truth - p)[:, None])


def _classwise_error(sums, n):
    return _error(tuple(of[1] for of in sums) if len(sums[0]) == 2 else sums, n)


def _in_bins_by_class(p, truth):
    """Put a case into a bin for each class."""
    inside = _bins(p)
    return inside * truth[:, None], inside * p[:, None], inside


@label_metric(_declared(_error_in_bins_by_class, _classwise_error))
def classwise_calibration_error(predictions, truth, weights=None):
    """Mean over classes of the calibration error of the probability of each class against all others, in ten bins.

    Arguments, bins and errors are those of :func:`calibration_error`, which it is for two classes. What chance adds is
    taken off the mean.

    Returns
    -------
    A number from 0 (best) to 1.

    References
    ----------
    Kull et al. (2019), Beyond temperature scaling: obtaining well-calibrated multiclass probabilities with Dirichlet
    calibration, NeurIPS, section 2.

    Examples
    --------
    >>> labels = [[0, 0, 1], [0, 1, 0], [1, 0, 0]] * 40
    >>> print(f"{classwise_calibration_error([[0.1, 0.2, 0.7]] * 120, labels):.3f}")
    0.244
    """


def _mean_in_bins(of, rows=_in_bins):
    def value(sums, n):
        weight = sums[2]
        return jnp.where(weight > 0, sums[of] / jnp.where(weight > 0, weight, 1), jnp.nan)

    centres = tuple((at + 0.5) / BINS for at in range(BINS))
    by_class = rows is not _in_bins
    return SumMetric(
        rows, value, takes="probabilities", bounds=(0.0, 1.0), by_class=by_class, along=("probability", centres)
    )


@label_metric(_mean_in_bins(0))
def calibration_curve(predictions, truth, weights=None):
    """Calibration curve (reliability diagram): observed frequency in each of ten bins of predicted probabilities.

    Arguments, bins and errors are those of :func:`calibration_error`: of two classes, the frequency of the second; of
    more, how often the most probable class is the true one. It is drawn above :func:`mean_predicted`.

    Returns
    -------
    Numbers from 0 to 1, by bin; NaN in a bin without a case. In results, the centres of bins are the coordinate
    ``probability``.

    References
    ----------
    Niculescu-Mizil & Caruana (2005), Predicting good probabilities with supervised learning, ICML.

    Examples
    --------
    >>> curve = calibration_curve([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]])
    >>> print(*(f"{one:.3f}" for one in curve[2::5]))  # above 0.2 to 0.3, and above 0.7 to 0.8
    0.000 0.667
    """


@label_metric(_mean_in_bins(1))
def mean_predicted(predictions, truth, weights=None):
    """Mean of the predicted probabilities in each of the bins of :func:`calibration_curve`, whose arguments it has.

    Returns
    -------
    Numbers from 0 to 1, by bin; NaN in a bin without a case.

    Examples
    --------
    >>> curve = mean_predicted([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]])
    >>> print(*(f"{one:.3f}" for one in curve[2::5]))
    0.300 0.800
    """


@label_metric(_mean_in_bins(0, _in_bins_by_class))
def calibration_curve_by_class(predictions, truth, weights=None):
    """Calibration curve of each class against all others: its frequency in ten bins of its predicted probability.

    Arguments, bins, errors and the source are those of :func:`calibration_curve`, which it is for two classes. It is
    drawn above :func:`mean_predicted_by_class`.

    Returns
    -------
    Numbers from 0 to 1, by class and bin; NaN in a bin without a case.

    Examples
    --------
    >>> curve = calibration_curve_by_class([[0.1, 0.2, 0.7], [0.3, 0.6, 0.1]], [[0, 0, 1], [1, 0, 0]])
    >>> curve.shape, curve[0, :3].tolist()
    ((3, 10), [0.0, nan, 1.0])
    """


@label_metric(_mean_in_bins(1, _in_bins_by_class))
def mean_predicted_by_class(predictions, truth, weights=None):
    """Mean of the predicted probabilities in each bin of :func:`calibration_curve_by_class`, whose arguments it has.

    Returns
    -------
    Numbers from 0 to 1, by class and bin; NaN in a bin without a case.

    Examples
    --------
    >>> means = mean_predicted_by_class([[0.1, 0.2, 0.7], [0.3, 0.6, 0.1]], [[0, 0, 1], [1, 0, 0]])
    >>> print(*(f"{one:.1f}" for one in means[0, :3]))
    0.1 nan 0.3
    """
