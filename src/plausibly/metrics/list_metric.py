"""Ranked lists of classes, and their metrics, declared for plain arrays, :func:`plausibly.evaluate` and figures.

A ranked list is an integer array whose last axis holds distinct classes, best first: ``predicted`` (case, place) and
``plausible`` (draw, case, place). Nothing here is as large as (draw, case, class), and equal lists are equal integers,
so that counts are exact.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int

from plausibly.base.errors import ArgumentError
from plausibly.metrics.inputs import (
    BreakTies,
    answered,
    as_array,
    check_break_ties,
    check_plausibilities,
    check_predictions,
    check_size,
)

Count = Callable[[Int[Array, "place *#batch"], Int[Array, "place *#batch"]], Int[Array, "*batch"]]


@dataclass(frozen=True)
class ListMetric:
    """Metric that compares a classifier's list of k classes with a draw's list, as a ratio of whole numbers.

    Attributes
    ----------
    name
        Name in results, after ``top{k}_``.
    count
        Function of both lists, best class first, to a whole number of 32 bits, or to a float. Lists have the *place* on
        their first axis, and the rest of their shapes broadcast: (place, 1, case) with (place, draw, case).
    scale
        Function of k that returns the divisor of the count: its greatest value or, for distances, its value for lists
        without a common class.
    better
        Whether a ``"greater"`` or a ``"smaller"`` value is better; equal lists have the value 1 or 0, respectively.
    averages
        Name of another metric with the same ``count``, if this metric is the mean of its values at the lengths 1 … k.
    of_masses
        Whether ``count`` adds up plausibilities of the predicted classes, which it receives instead of the draw's list.
    words
        Name in figures; by default ``name`` with spaces.
    source
        Publication to cite in reports, besides that of uncertainty-adjusted metrics.
    """

    name: str
    count: Count
    scale: Callable[[int], int] = lambda k: 1
    better: Literal["greater", "smaller"] = "greater"
    averages: str = ""
    of_masses: bool = False
    words: str = ""
    source: str | None = None

    def check(self, k: int) -> None:
        """Refuse whole counts of lists of ``k`` classes that 32 bits do not hold."""
        if not self.of_masses and (most := self.scale(k)) > _MOST and _counts_in_integers(self.count, k):
            raise ArgumentError(
                f"the metric {self.name!r} counts up to {most:,} at k = {k}, more than the {_MOST:,} of a whole number "
                "of 32 bits: let its count return a float, or count in larger units."
            )

    def lengths(self, k: int) -> range:
        """Lengths of the lists to count at, for the metric at length ``k``."""
        return range(1 if self.averages else k, k + 1)

    def value(self, counts: Callable[[int], Any], k: int) -> Any:
        """Turn the counts at these lengths, or sums of counts, into values of the metric."""
        return sum(counts(j) / self.scale(j) for j in self.lengths(k)) / len(self.lengths(k))


_MOST = 2**31 - 1


def _counts_in_integers(count: Count, k: int) -> bool:
    given = jax.ShapeDtypeStruct((k,), jnp.int32)
    return jnp.issubdtype(jax.eval_shape(count, given, given).dtype, jnp.integer)


@partial(jax.jit, static_argnums=(0, 1))
def _counts(metric: ListMetric, k: int, predicted: Array, told: Array, other: Array) -> Float[Array, "draw case"]:
    """Counts of lists of ``k`` classes, the draws' lists or plausibilities being the last argument."""
    predicted = jnp.where(told[:, None], predicted, -1)[None, :, :k]
    if metric.of_masses:
        masses = jnp.take_along_axis(other, jnp.maximum(predicted, 0), axis=-1)
        other = jnp.where(predicted < 0, 0, masses)
    of_draws = jnp.moveaxis(other[..., :k], -1, 0)
    return metric.count(jnp.moveaxis(predicted, -1, 0), of_draws).astype(jnp.float32)


METRICS: dict[str, ListMetric] = {}  #: metrics of ranked lists by name, in the order of results


def list_metric(**declared: Any) -> Callable[[Count], Callable[..., Float[Array, "draw case"]]]:
    """Declare a metric by its count, whose docstring becomes that of the metric on plain arrays.

    The other attributes of :class:`ListMetric` are `declared`; ``name`` is that of the function unless given.
    """

    def declare(count: Count) -> Callable[..., Float[Array, "draw case"]]:
        metric = ListMetric(**{"name": count.__name__, "count": count} | declared)
        METRICS[metric.name] = metric

        def on_arrays(
            predictions: Float[ArrayLike, "case class"],
            plausibilities: Float[ArrayLike, "draw case class"],
            k: int,
            *,
            break_ties: BreakTies = "order",
            seed: int = 0,
        ) -> Float[Array, "draw case"]:
            plausibilities = check_plausibilities(plausibilities)
            predictions = check_predictions(predictions, plausibilities.shape[1:])
            k = check_size("k", k, plausibilities.shape[2])
            for j in metric.lengths(k):
                metric.check(j)
            predicted, told = ranked(predictions, k, break_ties, seed, 0), answered(predictions)
            other = plausibilities if metric.of_masses else ranked(plausibilities, k, break_ties, seed, 1)
            return metric.value(lambda j: _counts(metric, j, predicted, told, other), k)

        for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
            setattr(on_arrays, attribute, getattr(count, attribute))
        return on_arrays

    return declare


def shared(predicted: Int[Array, "place *#batch"], plausible: Int[Array, "place *#batch"]) -> Int[Array, "*batch"]:
    """Number of classes that two lists share."""
    return sum((one == other).astype(jnp.int32) for one in predicted for other in plausible)


def places(of: Int[Array, "place *#batch"], within: Int[Array, "place *#batch"]) -> list[Int[Array, "*batch"]]:
    """Place that each class of a list has in another, from 0, or the other's length where it has none."""
    k = len(within)
    return [sum(jnp.where(one == other, j - k, 0) for j, other in enumerate(within)) + k for one in of]


def ranked_classes(
    scores: Float[Array | np.ndarray, "... class"],
    k: int,
    tie_break: Float[Array | np.ndarray, "... class"] | None = None,
) -> Int[Array | np.ndarray, "... {k}"]:
    """Rank the ``k`` classes with the highest scores, best first.

    NumPy arrays are ranked by NumPy in their own precision (in JAX's single precision two close scores could tie);
    JAX arrays, also inside ``jit``, by JAX.

    Parameters
    ----------
    scores
        Finite scores, plausibilities or logits; classes along the last axis.
    k
        Length of the list, at most the number of classes.
    tie_break
        Numbers of the same shape; of two equal scores, the one with the larger number comes first. By default equal
        scores are in class order.

    Returns
    -------
    Class indices.

    Examples
    --------
    >>> ranked_classes(np.array([[0.1, 0.6, 0.3], [0.4, 0.2, 0.4]]), 2)
    array([[1, 2],
           [0, 2]], dtype=int32)
    """
    if isinstance(scores, jax.Array):
        return _ranked_by_jax(scores, k, tie_break)
    scores = np.array(scores, dtype=np.result_type(scores, np.float32))
    ranked = np.empty((*scores.shape[:-1], k), np.int32)
    for place in range(k):
        if tie_break is None:
            best = scores.argmax(axis=-1)
        else:
            tied = scores == scores.max(axis=-1, keepdims=True)
            best = np.where(tied, tie_break, -np.inf).argmax(axis=-1)
        ranked[..., place] = best
        np.put_along_axis(scores, best[..., None], -np.inf, axis=-1)
    return ranked


@partial(jax.jit, static_argnames="k")
def _ranked_by_jax(scores, k, tie_break):
    scores = jnp.where(scores == 0, 0.0, scores)  # floating, and −0 ties with 0
    if tie_break is None:
        return lax.top_k(scores, k)[1]
    classes = lax.broadcasted_iota(jnp.int32, scores.shape, scores.ndim - 1)
    return lax.sort((-scores, -tie_break, classes), num_keys=2)[2][..., :k]


def ranked(scores: ArrayLike, k: int, break_ties: BreakTies, seed: int, stream: int) -> Array:
    """Rank with ties in class order or at random; different streams of one seed are independent."""
    check_break_ties(break_ties)
    scores, tie_break = as_array(scores), None
    if break_ties == "random":
        tie_break = jax.random.uniform(jax.random.fold_in(jax.random.key(seed), stream), scores.shape)
        tie_break = tie_break if isinstance(scores, jax.Array) else np.asarray(tie_break)
    return jax.device_put(ranked_classes(scores, k, tie_break))  # jnp.asarray would compile
