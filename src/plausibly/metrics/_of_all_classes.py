"""Metrics of a classifier's choices over all classes: balanced accuracy, Matthews correlation and Cohen's kappa."""

import jax.numpy as jnp

from plausibly.metrics.by_class import Counts, counts, less
from plausibly.metrics.declared import SumMetric, label_metric


@label_metric(SumMetric(counts, lambda found, n: jnp.sum(found.both) / n, bounds=(0.0, 1.0)))
def accuracy(predictions, truth, weights=None):
    """Share of the cases whose class a classifier names.

    Arguments and errors are those of :func:`sensitivity`. Against the most plausible class of every draw, this is
    ``top1_accuracy``; against the labels of experts, their agreement with the classifier.

    Returns
    -------
    A number from 0 to 1.

    Examples
    --------
    >>> print(f"{accuracy([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]):.3f}")
    0.833
    """


@label_metric(SumMetric(counts, lambda found, n: less(n, jnp.sum(found.silent)) / n, bounds=(0.0, 1.0)))
def answer_rate(predictions, truth, weights=None):
    """Share of the cases in which a classifier gives an answer (coverage of selective classification).

    Arguments and errors are those of :func:`sensitivity`.

    Returns
    -------
    A number from 0 to 1.

    References
    ----------
    El-Yaniv & Wiener (2010), On the foundations of noise-free selective classification, JMLR 11, section 2.

    Examples
    --------
    >>> answer_rate([[0.2, 0.8], [0.0, 0.0]], [[0, 1], [1, 0]]).tolist()
    0.5
    """


@label_metric(SumMetric(counts, lambda found, n: jnp.sum(found.both) / jnp.sum(found.answered), bounds=(0.0, 1.0)))
def selective_accuracy(predictions, truth, weights=None):
    """Share of the cases in which a classifier gives an answer that are of the class that it names.

    Arguments and errors are those of :func:`sensitivity`, and the source is that of :func:`answer_rate`.

    Returns
    -------
    A number from 0 to 1; NaN if it answers in no case.

    Examples
    --------
    >>> selective_accuracy([[0.2, 0.8], [0.0, 0.0]], [[0, 1], [1, 0]]).tolist()
    1.0
    """


def _balanced_accuracy(found: Counts, n):
    there = found.true > 0
    shares = jnp.where(there, found.both / jnp.where(there, found.true, 1), 0)
    return jnp.sum(shares) / jnp.sum(there)


@label_metric(SumMetric(counts, _balanced_accuracy, bounds=(0.0, 1.0), each_class=True))
def balanced_accuracy(predictions, truth, weights=None):
    """Mean of the sensitivities of the classes that occur.

    Arguments and errors are those of :func:`sensitivity`.

    Returns
    -------
    A number from 0 to 1; a classifier that always names the same class has one divided by the number of classes.

    References
    ----------
    Brodersen, Ong, Stephan & Buhmann (2010), The balanced accuracy and its posterior distribution, ICPR.

    Examples
    --------
    >>> balanced_accuracy([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]).tolist()
    0.875
    """


def _mcc(found: Counts, n):
    of_both = jnp.sum(found.both) * n - jnp.sum(found.true * found.named)
    named = jnp.sum(found.named**2) + jnp.sum(found.silent) ** 2  # as if no answer were one more class
    spread = less(n * n, jnp.sum(found.true**2)) * less(n * n, named)
    return jnp.where(spread > 0, of_both / jnp.sqrt(jnp.where(spread > 0, spread, 1)), jnp.nan)


@label_metric(SumMetric(counts, lambda found, n: _mcc(Counts(*(of / n for of in found)), 1.0), bounds=(-1.0, 1.0)))
def mcc(predictions, truth, weights=None):
    """Matthews correlation coefficient of the classifier's choices and the truth.

    Arguments and errors are those of :func:`sensitivity`.

    Returns
    -------
    A number from -1 to 1; 0 for choices that do not depend on the truth. NaN if all cases are of one class, or the
    classifier always names the same.

    References
    ----------
    Matthews (1975), Biochimica et Biophysica Acta 405. Gorodkin (2004), Comparing two K-category assignments by a
    K-category correlation coefficient, Computational Biology and Chemistry 28.

    Examples
    --------
    >>> print(f"{mcc([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]):.3f}")
    0.707
    """


def _kappa(found: Counts, n):
    chance = jnp.sum(found.true / n * found.named / n)
    beyond = less(1.0, chance)
    return jnp.where(beyond > 0, (jnp.sum(found.both) / n - chance) / jnp.where(beyond > 0, beyond, 1), jnp.nan)


@label_metric(SumMetric(counts, _kappa, bounds=(-1.0, 1.0)))
def kappa(predictions, truth, weights=None):
    """Cohen's kappa of the classifier's choices and the truth: agreement beyond chance.

    Arguments and errors are those of :func:`sensitivity`.

    Returns
    -------
    A number of at most 1; 0 for agreement by chance. NaN if all choices and all cases are of one class.

    References
    ----------
    Cohen (1960), A coefficient of agreement for nominal scales, Educational and Psychological Measurement 20.

    Examples
    --------
    >>> print(f"{kappa([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]):.3f}")
    0.667
    """
