"""Calibration error of predicted probabilities."""

import jax.numpy as jnp
from jax import nn

from plausibly.metrics._declared import SumMetric, label_metric

BINS = 10  #: of equal width


def _in_bins(p, truth):
    """Put a case into the bin of its probability: that of the positive class, or the greatest of several."""
    at = 1 if len(p) == 2 else jnp.argmax(p)
    inside = nn.one_hot(jnp.clip(jnp.ceil(p[at] * BINS).astype(int) - 1, 0, BINS - 1), BINS)
    return inside * (truth[at] - p[at])


@label_metric(
    SumMetric(
        _in_bins,
        lambda gaps, n: jnp.sum(jnp.abs(gaps)) / n,
        better="smaller",
        takes="probabilities",
        bounds=(0.0, 1.0),
    )
)
def calibration_error(predictions, truth, weights=None):
    """Expected calibration error: mean distance between predicted probabilities and observed frequencies, in ten bins.

    Arguments and errors are those of :func:`brier`. Of two classes, the probability of the second counts; of more, the
    greatest probability of each case. Bins have equal widths, and each contains its upper limit. With few cases in a
    bin, this is too large: the frequencies of a perfect classifier differ from its probabilities by chance.

    Returns
    -------
    A number from 0 (best) to 1.

    References
    ----------
    Naeini, Cooper & Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian binning, AAAI.

    Examples
    --------
    >>> print(f"{calibration_error([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]):.3f}")
    0.217
    """
