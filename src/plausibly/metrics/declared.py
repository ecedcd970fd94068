r"""Declarations of metrics of labels: functions of sums over cases, and of the order of cases by a score.

The truth is a weight for every case and class, :math:`W_{ik}`: 1 for the class of a case and 0 for all others, or the
shares of a case's annotations that name each class. A metric is a function of predictions, :math:`W` and weights of
cases :math:`w_i`, and equals the usual metric of N × K rows, one for each case and class, with the weights
:math:`w_i W_{ik}`. It is one of two kinds:

* *sums*: :math:`f(\sum_i w_i v_i)`, with numbers :math:`v_i` that follow from the prediction and the truth of a case;
* *order*: a function of the true and false positives at every threshold of a score.

A metric is a number, or numbers along named axes, such as the sensitivity at each of many specificities. It is not a
number where its denominator is 0, such as sensitivity where no case is positive.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import entr
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int

from plausibly.base.checks import fix_of_sums
from plausibly.base.errors import ArgumentError
from plausibly.metrics.inputs import answered, as_array, check_better, check_predictions

Better = Literal["greater", "smaller"] | float
Axes = tuple[tuple[str, tuple[float, ...] | None], ...]
FOR_PAIRS, FOR_ENTROPY = 2, 20  #: labels of a case that tell how often two agree, and how great their entropy is
_ROUNDING = 1e-4  # by which probabilities may fail to sum to one
_LEFT = 1e-6  # share of a distance that is not noise, below which there is none


def mean(sums: Any, n: Array) -> Any:
    """Mean over cases."""
    return sums / n


class LabelSpread(NamedTuple):
    """What the labels of a case tell of the distribution that they are drawn from; NaN where they do not."""

    agree: Any  #: Probability that two labels are the same: sum of squares of the distribution, without bias
    entropy: Any  #: Entropy of the distribution, in nats


@dataclass(frozen=True)
class OfLabels:
    """Rows of a metric, given what labels tell of their distribution: those of known cases, and whether they are."""

    rows: Callable[[Any, Any, LabelSpread], Any]
    least: int  #: number of labels (or panels) of a case that tell it

    def __call__(self, prediction: Array, truth: Array, spread: LabelSpread | None = None) -> Any:
        """Rows of a case; without a spread, of a truth that is known."""
        spread = LabelSpread(jnp.sum(truth**2), jnp.sum(entr(truth))) if spread is None else spread
        found = self.rows(prediction, truth, spread)
        known = ~jnp.isnan(sum(jax.tree.leaves(found)))
        return jax.tree.map(lambda row: jnp.where(known, row, 0), found), known


def mean_of_known(sums: Any, n: Array) -> Any:
    """Mean over the cases whose labels tell enough; NaN if there are none."""
    total, known = sums
    return jnp.where(known > 0, total / jnp.where(known > 0, known, 1), jnp.nan)


def without_noise(distance: Array, square: Array, noise: Array) -> Array:
    r"""Distance less what chance adds to it, given a sum of its squares and the part of it that is due to chance.

    In :math:`(d^3 - e^3)^{1/3}`, the distance that chance alone would make is :math:`e = d \sqrt{noise / square}`. The
    mean of :math:`|x|` with normal noise around :math:`\mu` becomes :math:`|\mu|` within 3 %, that around 0 becomes
    0, and what is far above noise is left as it is. The result is negative if there is less than chance would make.
    """
    share = jnp.where(square > 0, noise / jnp.where(square > 0, square, 1), 0)
    left = 1 - jnp.maximum(share, 0) ** 1.5
    some = jnp.abs(left) > _LEFT
    return distance * jnp.where(some, jnp.cbrt(jnp.where(some, left, 1)), 0)


@dataclass(frozen=True)
class SumMetric:
    """Metric that is a function of sums over cases.

    Attributes
    ----------
    rows
        Function of a case's prediction (class,) and of its truth (class,), which sums to one, to numbers: an array, or
        a tuple of arrays, that is summed over cases. Written in JAX.
    value
        Function of these sums and of the number of cases to a number, or with ``by_class`` to (class,), followed by
        the axes of ``along``. By default the mean over cases.
    better
        Whether a ``"greater"`` or a ``"smaller"`` value is better; or a number, if values near it are.
    takes
        What ``rows`` takes as the prediction: the ``"choice"``, 1 for the class that the classifier names and 0 for all
        others (for all, if it gives no answer), ``"probabilities"``, or ``"scores"`` on any scale.
    bounds
        Least and greatest value.
    by_class
        Whether there is a value for each class; of two classes, that of the positive one is reported.
    needs_answer
        Whether classifiers must name a class in every case, as for a distance between classes.
    of_distribution
        Whether the truth is a distribution over classes, such as the draws of the plausibilities, not a label.
    along
        Name of the axis and values along it, such as ``("threshold", (0.1, 0.2))``, if there is a number for each; or
        several such pairs. Values that are None stand for the classes.
    each_class
        Whether every class counts alike, however rare, as in a mean over classes: then intervals know that few cases of
        a class say little of it. By default where there is a value for each. ``"named"`` if a mean over classes leaves
        out those that a classifier never names.
    without_noise
        Whether ``value`` is a distance less what chance adds to it, given sums that count a typical case as one. It may
        be negative, and is then reported as the least value.
    of_labels
        Metric to compute instead where the truth is shares of a few labels of each case. Its ``rows`` are
        ``OfLabels``.

    Raises
    ------
    ArgumentError
        If a function cannot be called, or ``better``, ``takes`` or ``along`` has another value.

    Examples
    --------
    >>> squared = SumMetric(lambda p, truth: jnp.sum((p - truth) ** 2), better="smaller", takes="probabilities")
    >>> print(f"{squared.on_arrays([[0.8, 0.2], [0.5, 0.5]], [[1, 0], [0.5, 0.5]]):.2f}")
    0.04
    """

    rows: Callable[[Array, Array], Any]
    value: Callable[[Any, Array], Any] = mean
    better: Better = "greater"
    takes: Literal["choice", "probabilities", "scores"] = "choice"
    bounds: tuple[float, float] = (-np.inf, np.inf)
    by_class: bool = False
    needs_answer: bool = False
    of_distribution: bool = False
    along: Any = ()
    each_class: bool | Literal["named"] = False
    without_noise: bool = False
    of_labels: "SumMetric | None" = None

    def __post_init__(self):
        object.__setattr__(self, "each_class", self.each_class or self.by_class)
        _check_declared(self, "rows", "value", takes=("choice", "probabilities", "scores"))

    def on_arrays(
        self,
        predictions: Float[ArrayLike, "case class"],
        truth: Float[ArrayLike, "case class"],
        weights: Float[ArrayLike, " case"] | None = None,
    ) -> Float[Array, "*class"]:
        """Compute the metric of plain arrays; see :func:`sensitivity` for the arguments."""
        predictions, truth, weights = _checked(predictions, truth, weights)
        if self.takes == "probabilities":
            check_probabilities(predictions)
        if self.takes == "choice":
            if self.needs_answer:
                check_answers(predictions)
            named = np.eye(predictions.shape[1], dtype=np.float32)[predictions.argmax(axis=1)]
            predictions = named * answered(predictions)[:, None]
        return _value_of_sums(self, np.asarray(predictions, np.float32), truth, weights)


@dataclass(frozen=True)
class OrderMetric:
    """Metric that depends on the order of cases by the score of a class.

    Attributes
    ----------
    value
        Function of true positives and of false positives (threshold,) to a number, or to an array with the axes of
        ``along``: how many cases of the class, and how many others, have at least the score of each case, in
        descending order of the scores. Cases that tie have the same counts. The last ones are the numbers of all
        cases. Written in JAX.
    better
        Whether a ``"greater"`` or a ``"smaller"`` value is better; or a number, if values near it are.
    bounds
        Least and greatest value.
    by_class
        Whether there is a value for each of more than two classes against all others, or their mean.
    takes
        ``"order"``; or ``"probabilities"``, with which these, in descending order, are a third argument of ``value``.
        Places after the last case have minus infinity.
    along
        Name of the axis and values along it, such as ``("threshold", (0.1, 0.2))``, if there is a number for each; or
        several such pairs. Values that are None stand for the classes.
    resampled
        Function in place of ``value`` in bootstrap replicates, with the weight of each case of the class as a third
        argument, if a case of few counts for too much in a metric that it decides itself.

    Raises
    ------
    ArgumentError
        If ``value`` cannot be called, or ``better``, ``takes`` or ``along`` has another value.

    Examples
    --------
    The share of the cases of a class that have a greater score than all others.

    >>> clear = OrderMetric(lambda tp, fp: jnp.max(jnp.where(fp == 0, tp, 0)) / tp[-1])
    >>> clear.on_arrays([[0.1, 0.9], [0.2, 0.8], [0.4, 0.6]], [[0, 1], [1, 0], [0, 1]]).tolist()
    0.5
    """

    value: Callable[..., Any]
    better: Better = "greater"
    bounds: tuple[float, float] = (0.0, 1.0)
    by_class: bool = True
    takes: Literal["order", "probabilities"] = "order"
    along: Any = ()
    resampled: Callable[..., Any] | None = None

    def __post_init__(self):
        _check_declared(self, "value", takes=("order", "probabilities"))

    def at(self, true: Any, false: Any, scores: Any, own: Any = None) -> Any:
        """Value for true and false positives at descending scores; in replicates, with each case's own weight."""
        if self.resampled is not None and own is not None:
            return self.resampled(true, false, own)
        return self.value(true, false, scores) if self.takes == "probabilities" else self.value(true, false)

    def on_arrays(
        self,
        predictions: Float[ArrayLike, "case class"],
        truth: Float[ArrayLike, "case class"],
        weights: Float[ArrayLike, " case"] | None = None,
    ) -> Float[Array, "*class"]:
        """Compute the metric of plain arrays; see :func:`auroc` for the arguments."""
        predictions, truth, weights = _checked(predictions, truth, weights)
        check_answers(predictions)
        if self.takes == "probabilities":
            check_probabilities(predictions)
        found = [
            _value_of_order(self, *descending(scores), np.asarray(scores, np.float32), truth[:, at], weights)
            for at, scores in scores_to_order(predictions).items()
        ]
        return found[0] if len(found) == 1 else jnp.stack(found)


LabelMetric = SumMetric | OrderMetric
LABEL_METRICS: dict[str, LabelMetric] = {}  #: metrics of labels by name
AT_VALUE: dict[str, Callable[[float], LabelMetric]] = {}  #: declarations of metrics at a value, which ends their name


def at_value(declare: Callable[[float], Any]) -> Callable[[float], Any]:
    """Register the declaration of a metric at a value, such as a threshold, under the name of the function."""
    AT_VALUE[declare.__name__] = declare
    return declare


def label_metric(declared: LabelMetric, name: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a metric under the name of a function, whose docstring becomes that of the metric on plain arrays."""

    def declare(described: Callable[..., Any]) -> Callable[..., Any]:
        LABEL_METRICS[name or described.__name__] = declared

        def on_arrays(
            predictions: Float[ArrayLike, "case class"],
            truth: Float[ArrayLike, "case class"],
            weights: Float[ArrayLike, " case"] | None = None,
        ) -> Float[Array, "*class"]:
            return declared.on_arrays(predictions, truth, weights)

        for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(on_arrays, attribute, getattr(described, attribute))
        return on_arrays

    return declare


@partial(jax.jit, static_argnums=0)
def _value_of_sums(metric: SumMetric, predictions: Array, truth: Array, weights: Array) -> Array:
    rows = jax.vmap(metric.rows)(predictions, truth)
    sums = jax.tree.map(lambda row: jnp.tensordot(weights, row.astype(jnp.float32), 1, precision="highest"), rows)
    n = jnp.sum(weights)
    if metric.without_noise:
        typical = jnp.sum(weights**2) / n
        sums, n = jax.tree.map(lambda of: of / typical, sums), n / typical
    found = metric.value(sums, n)
    found = jnp.maximum(found, metric.bounds[0]) if metric.without_noise else found
    return found[1] if metric.by_class and len(found) == 2 else found


@partial(jax.jit, static_argnums=0)
def _value_of_order(
    metric: OrderMetric, order: Array, end: Array, scores: Array, truth: Array, weights: Array
) -> Array:
    return metric.at(*positives(truth[order] * weights[order], weights[order], end), scores[order])


def scores_to_order(predictions: Float[np.ndarray, "case class"]) -> dict[int, Float[np.ndarray, " case"]]:
    """Scores by which cases are ordered, for each class; of two classes, for the second.

    Of two classes, scores that are no probabilities count by how far that of the second is above that of the first.
    """
    if predictions.shape[1] != 2:
        check_probabilities(predictions)
        return dict(enumerate(predictions.T))
    return {1: predictions[:, 1] if improper(predictions) is None else predictions[:, 1] - predictions[:, 0]}


def descending(scores: Float[np.ndarray, " case"]) -> tuple[Int[np.ndarray, " case"], Int[np.ndarray, " case"]]:
    """Order cases by descending score, and find the last place of those that tie with each."""
    order = np.argsort(-scores, kind="stable")
    ordered = -scores[order]
    return order, np.searchsorted(ordered, ordered, side="right") - 1


def positives(
    weights_of_class: Float[Array, " case *draw"], weights: Float[Array, " case #*draw"], end: Int[Array, " case"]
) -> tuple[Float[Array, " case *draw"], Float[Array, " case *draw"]]:
    """True and false positives at the score of each case; cases are in the order of :func:`descending`."""
    both = jnp.broadcast_to(jnp.cumsum(weights, axis=0)[end], weights_of_class.shape)
    true = jnp.cumsum(weights_of_class, axis=0)[end]
    return true, jnp.maximum(both - true, 0)


def improper(predictions: Float[np.ndarray, "case class"]) -> int | None:
    """Find a case whose predictions are no distribution over classes."""
    off = np.abs(predictions.sum(axis=1, dtype=float) - 1) > _ROUNDING
    wrong = np.flatnonzero(off | (predictions < 0).any(axis=1))
    return int(wrong[0]) if len(wrong) else None


def check_answers(
    predictions: Float[np.ndarray, "case class"], of: str = "", cases: Any = None, needed: str = ""
) -> None:
    """Refuse a case without an answer; errors name the classifier and the case."""
    for row in np.flatnonzero(~answered(predictions))[:1]:
        case = row if cases is None else repr(str(cases[row]))
        raise ArgumentError(
            f"predictions must have an answer in every case{needed}, but all scores{of} of case {case} are 0, which is "
            "none: give scores, leave the classifier out, or name metrics of choices alone, such as sensitivity and "
            "selective_accuracy."
        )


def check_probabilities(predictions: Float[np.ndarray, "case class"], of: str = "", cases: Any = None) -> None:
    """Refuse predictions that are no distributions over classes; errors name the classifier and the case."""
    row = improper(predictions)
    if row is not None:
        check_answers(predictions[row : row + 1], of, [row] if cases is None else cases[row : row + 1])
        values, case = predictions[row], row if cases is None else repr(str(cases[row]))
        total = values.sum(dtype=float)
        raise ArgumentError(
            f"predictions must be probabilities that sum to one, but those{of} of case {case} are from "
            f"{values.min():.4g} to {values.max():.4g} and sum to {total:.6g}: {fix_of_sums(predictions)}"
        )


def _check_declared(metric: Any, *functions: str, takes: Sequence[str]) -> None:
    for name in functions:
        if not callable(function := getattr(metric, name)):
            raise ArgumentError(f"{name} must be a function of arrays, but {function!r} was given: write one in JAX.")
    check_better(metric.better)
    if metric.takes not in takes:
        known = " or ".join(f'"{one}"' for one in takes)
        raise ArgumentError(f"takes must be {known}, but {metric.takes!r} was given: choose one.")
    object.__setattr__(metric, "along", _axes(metric.along))


def _axes(along: Any) -> Axes:
    """Names of axes, each with the values along it, in a form that can be compared."""
    try:
        pairs = (along,) if along and isinstance(along[0], str) else along
        return tuple((str(name), None if of is None else tuple(float(one) for one in of)) for name, of in pairs)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"along must be the name of an axis and the values along it, but {along!r} was given: write for example "
            '("threshold", (0.1, 0.2)).'
        ) from None


def _checked(predictions: Any, truth: Any, weights: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    truth = np.asarray(as_array(truth))
    if truth.ndim != 2:
        raise ArgumentError(
            f"truth must be weights (case, class), but the shape is {truth.shape}: turn labels into rows of zeros and "
            "ones, such as by numpy.eye(n_classes)[labels]."
        )
    predictions = np.asarray(check_predictions(predictions, truth.shape))
    for row in np.flatnonzero(~(np.abs(truth.sum(axis=1, dtype=float) - 1) < _ROUNDING))[:1]:
        raise ArgumentError(
            f"truth must sum to one in every case, but that of case {row} sums to {truth[row].sum()}: divide by the "
            "sum, and pass it as weights if cases count differently."
        )
    weights = np.ones(len(truth)) if weights is None else np.asarray(as_array(weights))
    if weights.shape != truth.shape[:1]:
        raise ArgumentError(
            f"weights must have the shape (case,), {truth.shape[:1]}, but the shape is {weights.shape}: give one "
            "weight per case."
        )
    return predictions, truth.astype(np.float32), weights.astype(np.float32)  # by JAX, each would be a program
