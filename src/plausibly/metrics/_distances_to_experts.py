"""Distances between predicted probabilities and the distribution of experts' labels."""

import jax.numpy as jnp
from jax.scipy.special import entr

from plausibly.metrics._declared import SumMetric, label_metric


def _declared(rows, bounds=(0.0, 1.0)):
    return SumMetric(rows, better="smaller", takes="probabilities", bounds=bounds, of_distribution=True)


@label_metric(_declared(lambda p, truth: jnp.sum(jnp.abs(p - truth)) / 2))
def dist_ce(predictions, truth, weights=None):
    """Human distribution calibration error: mean total variation distance to the distribution of experts' labels.

    Arguments and errors are those of :func:`brier`. Shares of a few annotations are too far from any prediction: even
    two halves of twenty annotations differ. Draws of the plausibilities account for that.

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


@label_metric(_declared(lambda p, truth: jnp.abs(jnp.sum(entr(p)) - jnp.sum(entr(truth))), (0.0, jnp.inf)))
def entropy_ce(predictions, truth, weights=None):
    """Human entropy calibration error: mean absolute difference between the entropies of prediction and experts.

    Arguments, errors and the source are those of :func:`dist_ce`; its authors report differences with their signs.

    Returns
    -------
    A number of at least 0 (best), in nats.

    Examples
    --------
    >>> print(f"{entropy_ce([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]):.3f}")
    0.373
    """
