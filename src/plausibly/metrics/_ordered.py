"""Metrics of ordered classes, such as grades: classes count by their order, and neighbours are one apart."""

import jax.numpy as jnp
import numpy as np

from plausibly.metrics.declared import SumMetric, label_metric


def _apart(choice, truth):
    """Expected distance between the places of the choice and the truth."""
    place = jnp.arange(len(truth))
    return jnp.sum(truth * jnp.abs(place - jnp.argmax(choice)))


@label_metric(SumMetric(_apart, better="smaller", bounds=(0.0, np.inf), needs_answer=True))
def mean_absolute_error(predictions, truth, weights=None):
    """Mean number of grades by which a classifier is wrong.

    Arguments and errors are those of :func:`sensitivity`; classes are in their order.

    Returns
    -------
    A number from 0 (best) to the number of classes minus one.

    Examples
    --------
    >>> mean_absolute_error([[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]], [[0.5, 0.5, 0], [1, 0, 0]]).tolist()
    0.75
    """


def _within_one(choice, truth):
    near = choice + jnp.pad(choice[1:], (0, 1)) + jnp.pad(choice[:-1], (1, 0))
    return jnp.sum(truth * near)


@label_metric(SumMetric(_within_one, bounds=(0.0, 1.0)))
def within_one(predictions, truth, weights=None):
    """Share of the cases in which a classifier is wrong by at most one grade.

    Arguments and errors are those of :func:`sensitivity`; classes are in their order.

    Returns
    -------
    A number from 0 to 1.

    Examples
    --------
    >>> within_one([[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]], [[0.5, 0.5, 0], [1, 0, 0]]).tolist()
    0.75
    """


def _squares(choice, truth):
    place = jnp.arange(len(truth))
    return jnp.sum(truth * (place - jnp.argmax(choice)) ** 2), truth, choice


def _quadratic_kappa(sums, n):
    apart, true, named = sums
    place = jnp.arange(len(true))
    chance = jnp.sum((place[:, None] - place) ** 2 * true[:, None] * named) / n
    return jnp.where(chance > 0, 1 - apart / jnp.where(chance > 0, chance, 1), jnp.nan)


@label_metric(SumMetric(_squares, _quadratic_kappa, bounds=(-1.0, 1.0), needs_answer=True))
def quadratic_kappa(predictions, truth, weights=None):
    """Cohen's kappa with quadratic weights: agreement beyond chance, where being wrong by more grades counts more.

    Arguments and errors are those of :func:`sensitivity`; classes are in their order.

    Returns
    -------
    A number of at most 1; 0 for agreement by chance. NaN if all choices and all cases are of one class.

    References
    ----------
    Cohen (1968), Weighted kappa, Psychological Bulletin 70.

    Examples
    --------
    >>> print(f"{quadratic_kappa([[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]], [[0.5, 0.5, 0], [1, 0, 0]]):.3f}")
    0.286
    """


def _ranked(p, truth):
    steps, upto = len(p) - 1, jnp.cumsum(p)[:-1]
    beyond = jnp.cumsum(truth)[:-1]  # how probable it is that the truth is at most each grade
    return jnp.sum((1 - beyond) * upto**2 + beyond * (1 - upto) ** 2) / max(steps, 1)


@label_metric(SumMetric(_ranked, better="smaller", takes="probabilities", bounds=(0.0, 1.0)))
def ranked_probability_score(predictions, truth, weights=None):
    """Ranked probability score: mean squared difference between cumulative probabilities and the truth.

    Arguments and errors are those of :func:`brier`; classes are in their order.

    Returns
    -------
    A number from 0 (best) to 1: the mean over the classes but the last. Of two classes it is the Brier score.

    References
    ----------
    Epstein (1969), A scoring system for probability forecasts of ranked categories, Journal of Applied Meteorology 8.

    Examples
    --------
    >>> print(f"{ranked_probability_score([[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]], [[0.5, 0.5, 0], [1, 0, 0]]):.3f}")
    0.267
    """
