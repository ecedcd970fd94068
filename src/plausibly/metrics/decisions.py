"""Decisions and their consequences: confusion matrix, expected cost and net benefit."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from plausibly.base.errors import ArgumentError
from plausibly.metrics.declared import SumMetric, at_value, label_metric
from plausibly.metrics.inputs import check_share

NO_ANSWER = "(no answer)"  #: name of the column of cases in which a classifier names no class


def pairs(choice: Float[Array, " class"], truth: Float[Array, " class"]) -> Float[Array, "true named"]:
    """Count a case."""
    return jnp.outer(truth, choice)


@label_metric(SumMetric(pairs, bounds=(0.0, 1.0), along=(("true_class", None), ("named_class", None))))
def confusion(predictions, truth, weights=None):
    """Confusion matrix: share of all cases that are of one class (row) and that a classifier calls another (column).

    Arguments and errors are those of :func:`sensitivity`; cases without an answer are in no column. In results, if
    there are any, they have a column of their own, the last, "(no answer)". Times the number of cases, these are
    expected numbers of cases; the most frequent confusions are tabulated by
    :func:`plausibly.evaluation.largest_confusions`. In an evaluation in which numbers of classes, classifiers, draws
    and groups have a product of more than 17 million (of classes, the square), such as one of 419 classes and 1,000
    draws, there are draws of the matrix for all cases, but neither bootstrap replicates nor groups.

    Returns
    -------
    Numbers from 0 to 1 that sum to one (true class, named class). In results, these are the dimensions ``true_class``
    and ``named_class``.

    Examples
    --------
    >>> print(confusion([[0.2, 0.8], [0.7, 0.3]], [[0.25, 0.75], [1, 0]]))
    [[0.5   0.125]
     [0.    0.375]]
    """


def expected_cost(costs: Float[ArrayLike, "true named"]) -> SumMetric:
    """Declare the mean cost of a classifier's choices.

    Parameters
    ----------
    costs
        Cost of naming each class (column) for a case of each class (row).

    Returns
    -------
    SumMetric
        For the argument ``metrics`` of :func:`plausibly.evaluate`.

    Raises
    ------
    ArgumentError
        If the costs are not a square of finite numbers.

    References
    ----------
    Elkan (2001), The foundations of cost-sensitive learning, IJCAI.

    Examples
    --------
    To miss the second class is five times as bad as a false alarm.

    >>> cost = expected_cost([[0, 1], [5, 0]])
    >>> cost.on_arrays([[0.6, 0.4], [0.3, 0.7]], [[0.5, 0.5], [1, 0]]).tolist()
    1.75
    """
    matrix = np.asarray(costs, np.float32)
    if matrix.ndim != 2 or len(set(matrix.shape)) != 1 or not np.isfinite(matrix).all():
        raise ArgumentError(
            f"costs must be a square of finite numbers, a row and a column for each class, but the shape is "
            f"{matrix.shape}: give the cost of naming each class (column) for a case of each class (row)."
        )
    bounds = float(matrix.min()), float(matrix.max())
    return SumMetric(Cost(tuple(map(tuple, matrix.tolist()))), better="smaller", bounds=bounds, needs_answer=True)


@dataclass(frozen=True)
class Cost:
    """Cost of a case; equal matrices are equal functions, which are compiled once."""

    rows: tuple[tuple[float, ...], ...]

    def __call__(self, choice, truth):
        """Gain or loss of each choice under each class that is true."""
        return truth @ jnp.array(self.rows) @ choice


@dataclass(frozen=True)
class _Benefit:
    """Net benefit of a case."""

    threshold: float

    def __call__(self, p, truth):
        harm = (1 - truth) * self.threshold / (1 - self.threshold)
        return jnp.where(p >= self.threshold, truth - harm, 0)


@at_value
def net_benefit(threshold: float) -> SumMetric:
    """Declare the net benefit of treating the cases whose probability of a class is at least a threshold.

    True positives count 1, and false positives the odds of the threshold: whoever treats from there on holds as many of
    them to be as bad as one case treated is good.

    Parameters
    ----------
    threshold
        Probability between 0 and 1.

    Returns
    -------
    SumMetric
        For the argument ``metrics`` of :func:`plausibly.evaluate`. There, ``"net_benefit_0.2"`` names it, too. It has a
        value for each class against all others; of two classes, for the second.

    Raises
    ------
    ArgumentError
        If the threshold is not between 0 and 1.

    References
    ----------
    Vickers & Elkin (2006), Decision curve analysis, Medical Decision Making 26.

    Examples
    --------
    >>> print(f"{net_benefit(0.2).on_arrays([[0.6, 0.4], [0.3, 0.7]], [[0.5, 0.5], [1, 0]]):.4f}")
    0.0625
    """
    threshold = check_share("threshold", threshold)
    bounds = -threshold / (1 - threshold), 1.0
    return SumMetric(_Benefit(threshold), takes="probabilities", bounds=bounds, by_class=True)
