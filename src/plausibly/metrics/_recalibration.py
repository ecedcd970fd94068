"""How predicted probabilities would have to be changed to be calibrated: intercept, slope and temperature."""

import jax.numpy as jnp
import numpy as np
from jax import lax, nn

from plausibly.metrics.declared import OrderMetric, SumMetric, label_metric

_LEAST = float(np.finfo(np.float32).eps)  # probability, as in the logarithmic score
_ROUNDING = 4 * _LEAST  # of sums of weights, as a share of them
_STEPS, _ENOUGH = 60, 1e-5  # of Newton's method, and logits by which the last one may change a prediction
_HIGHEST = 50.0  # temperature, and one divided by the lowest
_LOGS = np.linspace(-np.log(_HIGHEST), np.log(_HIGHEST), 49, dtype=np.float32)  # of inverse temperatures


def _logits_and_weights(tp, fp, scores):
    p = jnp.clip(scores, _LEAST, 1 - _LEAST)
    return jnp.log(p) - jnp.log1p(-p), jnp.diff(tp, prepend=0), jnp.diff(fp, prepend=0)


def _fitted(design, offset, true, false):
    """Coefficients of a logistic regression, by Newton's method with the steps of Sun & Tran-Dinh (2019).

    No step overshoots: where it would change logits by up to d, it is shortened by log(1 + d) / d.
    """
    weights = (true + false) / jnp.sum(true + false)
    shares = true / jnp.sum(true + false)

    def improved(state):
        at, _, number = state
        p = nn.sigmoid(offset + at @ design)
        gradient = design @ (shares - weights * p)
        curvature = (design * weights * p * (1 - p)) @ design.T
        step = _solved(curvature, gradient)
        change = jnp.max(jnp.where(weights > 0, jnp.abs(step @ design), 0))
        step = step * jnp.where(change > 0, jnp.log1p(change) / jnp.where(change > 0, change, 1), 0)
        return at + step, change, number + 1

    start = jnp.zeros(len(design)), jnp.inf, 0
    return lax.while_loop(lambda state: (state[1] > _ENOUGH) & (state[2] < _STEPS), improved, start)[0]


def _solved(matrix, vector):
    """Solve one linear equation, or two."""
    if len(vector) == 1:
        return vector / matrix[0]
    (a, b), (_, d) = matrix
    return jnp.stack([d * vector[0] - b * vector[1], a * vector[1] - b * vector[0]]) / (a * d - b * b)


def _intercept(tp, fp, scores):
    logits, true, false = _logits_and_weights(tp, fp, scores)
    found = _fitted(jnp.ones_like(logits)[None], logits, true, false)[0]
    return jnp.where((tp[-1] > 0) & (fp[-1] > 0), found, jnp.nan)


_OF_LOGITS = {"bounds": (-np.inf, np.inf), "takes": "probabilities"}


@label_metric(OrderMetric(_intercept, 0.0, **_OF_LOGITS))
def calibration_intercept(predictions, truth, weights=None):
    """Calibration in the large: what would have to be added to the logits of predicted probabilities.

    With it, the mean prediction is the share of the cases of a class. Arguments and errors are those of :func:`brier`.
    Probabilities count as at least 1.2e-7 and at most one minus that.

    Returns
    -------
    A number for each class against all others; of two classes, for the second. 0 is best; below it, probabilities are
    too high. NaN if every case is of the class, or no case is.

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression, Biometrika 45. With a slope of 1, as in Van
    Calster et al. (2019), Calibration: the Achilles heel of predictive analytics, BMC Medicine 17.

    Examples
    --------
    >>> print(f"{calibration_intercept([[0.2, 0.8], [0.2, 0.8]], [[0.5, 0.5], [0.5, 0.5]]):.3f}")
    -1.386
    """


def _slope(tp, fp, scores):
    logits, true, false = _logits_and_weights(tp, fp, scores)
    there = [of > _ROUNDING * (tp[-1] + fp[-1]) for of in (true, false)]
    (low_t, high_t), (low_f, high_f) = (
        (jnp.min(jnp.where(of, logits, jnp.inf)), jnp.max(jnp.where(of, logits, -jnp.inf))) for of in there
    )
    some = true + false > 0
    centre = jnp.sum((true + false) * logits) / jnp.sum(true + false)
    found = _fitted(jnp.stack([jnp.ones_like(logits), jnp.where(some, logits - centre, 0)]), 0.0, true, false)[1]
    found = jnp.where(low_t >= high_f, jnp.inf, jnp.where(high_t <= low_f, -jnp.inf, found))
    alike = jnp.minimum(low_t, low_f) == jnp.maximum(high_t, high_f)
    return jnp.where((tp[-1] > 0) & (fp[-1] > 0) & ~alike, found, jnp.nan)


@label_metric(OrderMetric(_slope, 1.0, **_OF_LOGITS))
def calibration_slope(predictions, truth, weights=None):
    """Calibration slope: what the logits of predicted probabilities would have to be multiplied with.

    It is the coefficient of a logistic regression of the class on the logit, with an intercept. Arguments and errors
    are those of :func:`brier`; limits of probabilities and the source are those of :func:`calibration_intercept`.

    Returns
    -------
    A number for each class against all others; of two classes, for the second. 1 is best; below it, probabilities are
    too extreme. Infinite if a threshold of the score parts the cases of the class from all others; NaN if every case is
    of the class, no case is, or all have the same probability.

    Examples
    --------
    >>> predictions, truth = [[0.2, 0.8], [0.8, 0.2]], [[0.4, 0.6], [0.6, 0.4]]
    >>> print(f"{calibration_slope(predictions, truth):.3f}")
    0.292
    """


def _slopes_of_loss(p, truth):
    """First and second derivative of the logarithmic score by the inverse temperature, at each of the grid."""
    logs = jnp.log(jnp.clip(p, _LEAST, 1))
    q = nn.softmax(jnp.exp(_LOGS)[:, None] * logs, axis=1)
    mean = q @ logs
    return mean - truth @ logs, jnp.sum(q * (logs - mean[:, None]) ** 2, axis=1)


def _temperature(sums, n):
    """One divided by where the first derivative is 0, by Hermite interpolation of its inverse, which is monotone."""
    slope, curvature = sums
    upper = jnp.clip(jnp.sum(slope < 0), 1, len(_LOGS) - 1)
    logs, rate = jnp.array(_LOGS), curvature * jnp.exp(_LOGS)
    (u0, u1), (g0, g1), (r0, r1) = ((of[upper - 1], of[upper]) for of in (logs, slope, rate))
    rise = jnp.where(g1 > g0, g1 - g0, 1)
    most = 3 * (u1 - u0) / rise  # beyond which the curve would not be monotone
    m0, m1 = (jnp.minimum(most, 1 / jnp.maximum(of, 1e-30)) for of in (r0, r1))
    t = jnp.clip(-g0 / rise, 0, 1)
    log = u0 * (1 + 2 * t) * (1 - t) ** 2 + u1 * t**2 * (3 - 2 * t) + rise * t * (1 - t) * (m0 * (1 - t) - m1 * t)
    found = jnp.where(slope[-1] < 0, 0.0, jnp.where(slope[0] > 0, jnp.inf, jnp.exp(-log)))
    return jnp.where((n > 0) & (jnp.max(curvature) > 0), found, jnp.nan)


@label_metric(SumMetric(_slopes_of_loss, _temperature, 1.0, takes="probabilities", bounds=(0.0, np.inf)))
def calibration_temperature(predictions, truth, weights=None):
    """Temperature that would calibrate: by which all logits would have to be divided for the least logarithmic score.

    Arguments and errors are those of :func:`brier`; the logits are logarithms of probabilities, which count as at least
    1.2e-7. It is found from derivatives at 49 temperatures between 1/50 and 50, and exact to about 1e-4 of its value.

    Returns
    -------
    A number of at least 0. 1 is best; above it, probabilities are too extreme. 0 below 1/50, as where all predictions
    are right, and infinite above 50, as where predictions are worse than none. NaN if all classes are always equally
    probable.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks, ICML, section 4.2.

    Examples
    --------
    >>> predictions, truth = [[0.2, 0.8], [0.8, 0.2]], [[0.4, 0.6], [0.6, 0.4]]
    >>> print(f"{calibration_temperature(predictions, truth):.3f}")
    3.419
    """
