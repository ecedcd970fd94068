"""Metrics of the choices of a classifier, by class: sensitivity, predictive values, F1 and likelihood ratios.

Each is a ratio of counts of one class against all others. Averages over classes have names of their own: ``_macro``,
the mean over the classes for which the metric is defined; ``_weighted``, the same weighted by prevalence; and
``_micro``, the metric of the counts of all classes together.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plausibly.metrics.declared import SumMetric, at_value, label_metric
from plausibly.metrics.inputs import check_share

_ROUNDING = 4 * float(jnp.finfo(jnp.float32).eps)  # of sums of weights, as a share of them


class Counts(NamedTuple):
    """Numbers of cases by class.

    Attributes
    ----------
    both
        Those that are of the class and that the classifier names so.
    true
        Those that are of the class.
    named
        Those that the classifier names so.
    answered
        Those that are of the class and for which the classifier names any class.
    """

    both: Float[Array, " class"]
    true: Float[Array, " class"]
    named: Float[Array, " class"]
    answered: Float[Array, " class"]

    @property
    def silent(self) -> Float[Array, " class"]:
        """Those that are of the class and for which the classifier gives no answer."""
        return less(self.true, self.answered)


def counts(choice: Float[Array, " class"], truth: Float[Array, " class"]) -> Counts:
    """Count a case."""
    return Counts(choice * truth, truth, choice, truth * jnp.sum(choice))


class Cells(NamedTuple):
    """Numbers of cases of a class against all others; without answers, positives and negatives are not in the rest."""

    tp: Any
    fp: Any
    fn: Any
    tn: Any
    positives: Any
    negatives: Any


def cells(found: Counts, n: Any, silent: Any) -> Cells:
    """Count answers by whether they are right, given the number of all cases and of those without an answer."""
    tp = found.both
    fp, fn = less(found.named, tp), less(found.answered, tp)
    tn = less(n - silent, tp + fp + fn)
    return Cells(tp, fp, fn, tn, tp + fn + found.silent, fp + tn + less(silent, found.silent))


Formula = Callable[[Cells], Any]


def by_class(
    formula: Formula,
    bounds: tuple[float, float] = (0.0, 1.0),
    better: str = "greater",
    each_class: bool | Literal["named"] = True,
) -> Callable[..., Any]:
    """Declare a function of numbers of right and wrong answers, by class and averaged."""

    def of_each(found: Counts, n: Array) -> Float[Array, " class"]:
        return formula(cells(found, n, jnp.sum(found.silent)))

    def micro(found: Counts, n: Array) -> Float[Array, ""]:
        k = len(found.true)
        return formula(cells(Counts(*(jnp.sum(of) for of in found)), k * n, k * jnp.sum(found.silent)))

    def weighted(found: Counts, n: Array) -> Float[Array, ""]:
        return _mean_of_known(of_each(found, n), found.true)

    def macro(found: Counts, n: Array) -> Float[Array, ""]:
        return _mean_of_known(of_each(found, n), jnp.ones_like(found.true))

    def declare(described: Callable[..., Any]) -> Callable[..., Any]:
        for average in (macro, micro, weighted):
            declared = SumMetric(counts, average, better, bounds=bounds, each_class=average is macro and each_class)
            label_metric(declared, f"{described.__name__}_{average.__name__}")(described)
        return label_metric(SumMetric(counts, of_each, better, bounds=bounds, by_class=True))(described)

    return declare


def less(of_all: Any, some: Any) -> Any:
    """Subtract the number of some cases, without what rounding leaves if they are all."""
    left = of_all - some
    return jnp.where(left > _ROUNDING * of_all, left, 0)


def _mean_of_known(values: Float[Array, " class"], weights: Float[Array, " class"]) -> Float[Array, ""]:
    known = ~jnp.isnan(values)
    return jnp.sum(jnp.where(known, weights * values, 0)) / jnp.sum(jnp.where(known, weights, 0))


@by_class(lambda of: of.tp / of.positives)
def sensitivity(predictions, truth, weights=None):
    """Share of the cases of a class that a classifier names so (recall, true positive rate).

    Parameters
    ----------
    predictions
        Scores of each case and class; the classifier names the class with the highest score, of equal ones the first.
        Where all scores are 0 it gives no answer: then it does not find the class of the case, and names none.
    truth
        Weight of each class in every case (case, class); the weights of a case sum to one. Ones and zeros for labels.
    weights
        Weight of each case. By default 1.

    Returns
    -------
    A number from 0 to 1 for each class; of two classes, that of the second. NaN for a class without a case.

    Raises
    ------
    ArgumentError
        If shapes do not fit, a value is not finite, or the truth of a case does not sum to one.

    References
    ----------
    Altman & Bland (1994), Diagnostic tests 1: sensitivity and specificity, BMJ 308.

    Examples
    --------
    Two of three annotators call the first case positive.

    >>> sensitivity([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]).tolist()
    1.0
    """


@by_class(lambda of: of.tn / of.negatives)
def specificity(predictions, truth, weights=None):
    """Share of the cases that are not of a class to which a classifier gives another one.

    Arguments, errors and the source are those of :func:`sensitivity`.

    Returns
    -------
    A number from 0 to 1 for each class; of two classes, that of the second. NaN if all cases are of the class.

    Examples
    --------
    >>> print(f"{specificity([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]):.3f}")
    0.750
    """


@by_class(lambda of: of.tp / (of.tp + of.fp), each_class="named")
def ppv(predictions, truth, weights=None):
    """Positive predictive value: share of the cases that a classifier gives a class that are of it (precision).

    Arguments and errors are those of :func:`sensitivity`.

    Returns
    -------
    A number from 0 to 1 for each class; of two classes, that of the second. NaN for a class that is never named.

    References
    ----------
    Altman & Bland (1994), Diagnostic tests 2: predictive values, BMJ 309.

    Examples
    --------
    >>> print(f"{ppv([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]):.3f}")
    0.667
    """


@by_class(lambda of: of.tn / (of.tn + of.fn), each_class="named")
def npv(predictions, truth, weights=None):
    """Negative predictive value: share of the cases that a classifier does not give a class that are not of it.

    Arguments, errors and the source are those of :func:`ppv`.

    Returns
    -------
    A number from 0 to 1 for each class; of two classes, that of the second. NaN for a class that is always named.

    Examples
    --------
    >>> npv([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]).tolist()
    1.0
    """


@by_class(lambda of: 2 * of.tp / (of.tp + of.fp + of.positives))
def f1(predictions, truth, weights=None):
    """Harmonic mean of sensitivity and positive predictive value.

    Arguments and errors are those of :func:`sensitivity`.

    Returns
    -------
    A number from 0 to 1 for each class; of two classes, that of the second. NaN for a class that neither occurs nor is
    named.

    References
    ----------
    Van Rijsbergen (1979), Information retrieval, chapter 7.

    Examples
    --------
    >>> print(f"{f1([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]):.3f}")
    0.800
    """


@by_class(lambda of: of.tp / of.positives * of.negatives / of.fp, (0.0, np.inf), each_class="named")
def positive_likelihood_ratio(predictions, truth, weights=None):
    """Sensitivity divided by one minus specificity: by how much a positive answer raises the odds.

    Arguments and errors are those of :func:`sensitivity`.

    Returns
    -------
    A number of at least 0 for each class; of two classes, that of the second. Infinite without false positives, NaN
    where sensitivity or specificity is unknown.

    References
    ----------
    Deeks & Altman (2004), Diagnostic tests 4: likelihood ratios, BMJ 329.

    Examples
    --------
    >>> print(f"{positive_likelihood_ratio([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]):.3f}")
    4.000
    """


@by_class(lambda of: of.fn / of.positives * of.negatives / of.tn, (0.0, np.inf), "smaller", "named")
def negative_likelihood_ratio(predictions, truth, weights=None):
    """One minus sensitivity, divided by specificity: by how much a negative answer lowers the odds.

    Arguments, errors and the source are those of :func:`positive_likelihood_ratio`.

    Returns
    -------
    A number of at least 0 for each class; of two classes, that of the second. Infinite without true negatives, NaN
    where sensitivity or specificity is unknown.

    Examples
    --------
    >>> print(f"{negative_likelihood_ratio([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]):.3f}")
    0.000
    """


@dataclass(frozen=True)
class _AtPrevalence:
    """Predictive value at a prevalence, from sensitivity and specificity."""

    prevalence: float
    positive: bool

    def __call__(self, found: Counts, n: Array) -> Float[Array, " class"]:
        of, share = cells(found, n, jnp.sum(found.silent)), self.prevalence
        if self.positive:
            right, wrong = of.tp / of.positives * share, of.fp / of.negatives * (1 - share)
        else:
            right, wrong = of.tn / of.negatives * (1 - share), of.fn / of.positives * share
        return right / (right + wrong)


@at_value
def ppv_at_prevalence(prevalence: float) -> SumMetric:
    """Declare the positive predictive value at another prevalence, by Bayes' rule from sensitivity and specificity.

    These are taken to be the same there.

    Parameters
    ----------
    prevalence
        Share of the cases that are of the class, between 0 and 1.

    Returns
    -------
    SumMetric
        For the argument ``metrics`` of :func:`plausibly.evaluate`. There, ``"ppv_at_prevalence_0.02"`` names it, too.

    Raises
    ------
    ArgumentError
        If the prevalence is not between 0 and 1.

    References
    ----------
    Altman & Bland (1994), Diagnostic tests 2: predictive values, BMJ 309.

    Examples
    --------
    Sensitivity is 1 and specificity 3/4.

    >>> metric = ppv_at_prevalence(0.02)
    >>> print(f"{metric.on_arrays([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]):.4f}")
    0.0755
    """
    return SumMetric(counts, _AtPrevalence(check_share("prevalence", prevalence), True), bounds=(0, 1), by_class=True)


@at_value
def npv_at_prevalence(prevalence: float) -> SumMetric:
    """Declare the negative predictive value at another prevalence; see :func:`ppv_at_prevalence`.

    Examples
    --------
    >>> metric = npv_at_prevalence(0.02)
    >>> metric.on_arrays([[0.2, 0.8], [0.7, 0.3]], [[1 / 3, 2 / 3], [1, 0]]).tolist()
    1.0
    """
    return SumMetric(counts, _AtPrevalence(check_share("prevalence", prevalence), False), bounds=(0, 1), by_class=True)
