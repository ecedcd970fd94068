"""Sums over cases that metrics of labels are functions of: in every draw, with bootstrap weights, and with signs.

In a draw the truth is one class of each case, so sums over cases are products of two matrices for each class: numbers
that a case contributes if the class is true, and whether it is. With bootstrap weights the truth is the mean over
draws. Counts by class (:class:`plausibly.metrics.Counts`) have rows of their own, since most classes are true of few
cases.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from plausibly.base.programs import kept
from plausibly.metrics import OrderMetric, SumMetric
from plausibly.metrics.by_class import Counts, counts
from plausibly.metrics.decisions import pairs
from plausibly.metrics.declared import Better, LabelSpread, OfLabels, check_answers, check_probabilities
from plausibly.metrics.inputs import answered

_NUMBERS = 2**22  # of a table in memory at once
_FEW = 8  # classes
_MOST = 2**24  # numbers of a metric with several values


@dataclass(frozen=True)
class Labels:
    """Metrics of labels that are wanted, and what classes and choices they are about."""

    #: Metrics by name
    sums: Mapping[str, SumMetric]
    order: Mapping[str, OrderMetric]
    n_classes: int  #: Number of classes of the annotations
    positive: int | None = None  #: The class that all others are taken together against; None for every class by itself
    #: Probability from which on each classifier names the positive class; None if they name the most probable class
    thresholds: tuple[float, ...] | None = None
    #: Confusion matrices by name: sums whose rows are too many to be kept by case
    confusions: Mapping[str, SumMetric] = field(default_factory=dict)
    #: Whether a classifier gives no answer in some case, which confusion matrices have a column for
    silent: bool = False
    proper: Collection[str] = ()  #: Names of metrics of plausibilities that need probabilities

    def __bool__(self) -> bool:
        return bool(self.every)

    @property
    def every(self) -> dict[str, SumMetric | OrderMetric]:
        """All metrics by name."""
        return {**self.sums, **self.of_cases}

    @property
    def of_cases(self) -> dict[str, SumMetric | OrderMetric]:
        """Metrics that are computed of all cases at once."""
        return {**self.order, **self.confusions}

    def shape(self, metric: SumMetric | OrderMetric) -> tuple[int, ...]:
        """Numbers of values of a metric: by class, and along its axes."""
        by_class = (self.n_sides,) if metric.by_class and self.n_sides > 2 else ()
        along = [self.n_sides if of is None else len(of) for _, of in metric.along]
        if isinstance(metric, SumMetric) and metric.rows is pairs:
            along[1] += self.silent
        return *by_class, *along

    def small(self, n: int) -> "Labels":
        """Leave out metrics with so many values that `n` times as many numbers would fill the memory."""
        order, confusions = (
            {name: one for name, one in of.items() if not one.along or n * prod(self.shape(one)) <= _MOST}
            for of in (self.order, self.confusions)
        )
        return replace(self, order=order, confusions=confusions)

    def says(self, name: str) -> tuple[Better, tuple[float, float], tuple[str, ...]]:
        """What is better, least and greatest value, and names of the axes of a metric."""
        metric = self.every[name]
        by_class = ("class_name",) * (len(self.shape(metric)) > len(metric.along))
        return metric.better, metric.bounds, (*by_class, *(axis for axis, _ in metric.along))

    @property
    def single(self) -> list[str]:
        """Names of the metrics with one value for a classifier, instead of one for every class."""
        metrics = {name: metric for name, metric in self.every.items() if not metric.along}
        return [name for name, metric in metrics.items() if self.n_sides == 2 or not metric.by_class]

    @property
    def n_sides(self) -> int:
        """Number of classes that metrics see: two, if one is against all others."""
        return self.n_classes if self.positive is None else 2

    def sides(self, classes: Int[np.ndarray, "*shape"]) -> Int[np.ndarray, "*shape"]:
        """Return the sides of classes: the classes themselves, or whether they are the positive one."""
        return classes if self.positive is None else (classes == self.positive).astype(np.int8)

    def sides_of(self, weights: Float[np.ndarray, "case class"]) -> Float[np.ndarray, "case side"]:
        """Weights of classes as those of sides."""
        if self.positive is None:
            return weights
        own = weights[:, self.positive]
        return np.stack([weights.sum(axis=1) - own, own], axis=1)

    def scores(self, predictions: Float[np.ndarray, "case class"]) -> Float[np.ndarray, "case side"]:
        """Return the scores of sides."""
        if self.positive is None:
            return predictions
        own = predictions[:, self.positive]
        others = 1 - own if self.n_classes != 2 else predictions[:, 1 - self.positive]
        return np.stack([others, own], axis=1)

    def choices(
        self, first: Sequence[Int[np.ndarray, " case"]], predictions: Sequence[Float[np.ndarray, "case class"]]
    ) -> Int[np.ndarray, "classifier case"]:
        """What classifiers name, given their first choices; -1 without an answer."""
        if self.thresholds is None or self.positive is None:
            return np.where(np.stack(first) < 0, -1, self.sides(np.stack(first)))
        # In single precision, as metrics compute, so that 1 - 0.8 reaches a threshold of 0.2 in all of them.
        scores = [np.asarray(values[:, self.positive], np.float32) for values in predictions]
        named = [of >= np.float32(at) for of, at in zip(scores, self.thresholds, strict=True)]
        return np.where(np.stack(first) < 0, -1, np.stack(named).astype(np.int8))

    def check(self, name: str, predictions: Float[np.ndarray, "case class"], cases: np.ndarray) -> None:
        """Refuse predictions that are no probabilities, or no answers, where these are needed."""
        several, there = self.n_classes != 2, answered(predictions)
        if not there.all():
            choices = [metric for metric, of in self.sums.items() if of.takes == "choice" and not of.needs_answer]
            needing = [metric for metric in self.every if metric not in (*choices, *self.confusions)] + [*self.proper]
            for metric in needing[:1]:
                check_answers(predictions, f" of {name!r}", cases, f" for {metric!r}")
        if (
            self.proper
            or any(metric.takes == "probabilities" for metric in self.every.values())
            or (several and (self.order or self.positive is not None))
            or self.thresholds is not None
        ):
            check_probabilities(predictions[there], f" of {name!r}", cases[there])

    @cached_property
    def layout(self) -> "Layout":
        """Where the sums of each metric are."""
        return Layout.of(self.sums, self.n_sides)


@dataclass(frozen=True)
class Layout:
    """Rows of the sums of all metrics: numbers of cases, then counts by class."""

    #: Functions of a case's prediction and truth, and what they take as the prediction; each only once
    functions: tuple[tuple[Callable[..., Any], str], ...]
    place: Mapping[str, tuple[int, int]]  #: First and last row of the sums of every metric
    n_numbers: int  #: Number of rows before the counts
    n_counts: int  #: Number of classes counted, 0 if no metric needs them

    @classmethod
    def of(cls, metrics: Mapping[str, SumMetric], n_sides: int) -> "Layout":
        """Lay out the rows of metrics."""
        sizes: dict[tuple[Callable[..., Any], str], int] = {}
        for metric in sorted(metrics.values(), key=lambda metric: metric.rows is counts):
            size = sum(of.size for of in jax.tree.leaves(_shapes(metric, n_sides)))
            sizes.setdefault((metric.rows, metric.takes), size)
        ends = np.cumsum([0, *sizes.values()]).tolist()
        places = dict(zip(sizes, pairwise(ends), strict=True))
        functions = tuple((rows, takes) for rows, takes in sizes if rows is not counts)
        place = {name: places[metric.rows, metric.takes] for name, metric in metrics.items()}
        return cls(functions, place, ends[len(functions)], n_sides * (len(functions) < len(sizes)))

    def __len__(self) -> int:
        return self.n_numbers + len(Counts._fields) * self.n_counts


def as_sums(metric: SumMetric, n_sides: int, rows: Float[Array, " row"]) -> Any:
    """Sums in the form that a metric knows."""
    leaves, tree = jax.tree.flatten(_shapes(metric, n_sides))
    parts = jnp.split(rows, np.cumsum([leaf.size for leaf in leaves])[:-1])
    return jax.tree.unflatten(tree, [of.reshape(leaf.shape) for of, leaf in zip(parts, leaves, strict=True)])


@lru_cache
def _shapes(metric: SumMetric, n_sides: int) -> Any:
    one = jax.ShapeDtypeStruct((n_sides,), jnp.float32)
    return jax.eval_shape(metric.rows, one, one)


class Cases:
    """Rows of some cases, whatever the truth."""

    def __init__(
        self,
        labels: Labels,
        scores: Float[np.ndarray, "classifier case side"],
        choices: Int[np.ndarray, "classifier case"],
    ):
        self._layout, self._n_sides = labels.layout, labels.n_sides
        self._choices = choices
        self._named = np.eye(labels.n_sides, dtype=np.float32)[choices] * (choices >= 0)[..., None]
        self._taken = scores.astype(np.float32), self._named

    def _if_true(self, at: Int[np.ndarray, " chosen"], side: int) -> Float[np.ndarray, "classifier row chosen"]:
        """Numbers of chosen cases if a class is true."""
        truth = np.zeros((len(at), self._n_sides), np.float32)
        truth[:, side] = 1
        return self._numbers(at, truth)

    def rows(
        self, truth: Float[np.ndarray, "case side"], spread: LabelSpread | None = None
    ) -> Float[np.ndarray, "classifier row case"]:
        """All rows of all cases, for a truth that has weights of classes, which are weights of the case altogether.

        Of metrics of few labels, `spread` has what labels tell of each case; without it, the truth is known.
        """
        total = truth.sum(axis=1)
        shares = truth / np.where(total > 0, total, 1)[:, None]
        numbers = self._numbers(np.arange(len(truth)), shares.astype(np.float32), spread) * total
        return np.concatenate([numbers, *self._counts(truth)], axis=1).astype(np.float32)

    def expected_rows(self, truth: Float[np.ndarray, "case side"]) -> Float[np.ndarray, "classifier row case"]:
        """Sum of all rows over draws in which one class is true, given the weight of the draws of each class."""
        numbers = np.zeros((len(self._named), self._layout.n_numbers, len(truth)))
        for side in np.flatnonzero(truth.any(axis=0)) if self._layout.n_numbers else ():
            at = np.flatnonzero(truth[:, side])
            numbers[..., at] += self._if_true(at, side) * truth[at, side]
        return np.concatenate([numbers, *self._counts(truth)], axis=1).astype(np.float32)

    def sums_by_draw(
        self,
        best: Int[np.ndarray, "case draw"],
        weights: Float[np.ndarray, " case #draw"],
        signs: Sequence[Float[np.ndarray, " case"]],
    ) -> Float[np.ndarray, "sign classifier row draw"]:
        """Sum all rows over cases in every draw, several times, with other signs or over other groups of cases."""
        n_classifiers, n_numbers, n_counts = len(self._named), self._layout.n_numbers, self._layout.n_counts
        found = np.zeros((len(signs), n_classifiers, len(self._layout), best.shape[1]))
        both, true, named, answered = (n_numbers + n_counts * at for at in range(len(Counts._fields)))
        silent = (self._choices < 0).any()
        step = max(1, _NUMBERS // best.shape[1])
        for first in range(0, len(best), step):
            some = slice(first, first + step)
            for side in range(self._n_sides):
                there = best[some] == side
                local = np.flatnonzero(there.any(axis=1))
                if not len(local):
                    continue
                at = local + first
                is_true = there[local] * np.asarray(weights[at], np.float32)
                rows = [self._if_true(at, side).reshape(n_classifiers * n_numbers, len(at))]
                if n_counts:
                    rows += [self._named[:, at, side], (self._choices[:, at] >= 0).astype(np.float32)][: 1 + silent]
                    rows += [np.ones((1, len(at)), np.float32)]
                stacked = np.concatenate(rows)
                for number, sign in enumerate(signs):
                    own = slice(None) if sign.all() else np.flatnonzero(sign[at])
                    sums = (stacked[:, own] * sign[at][own].astype(np.float32)) @ is_true[own]
                    of_numbers = sums[: n_classifiers * n_numbers]
                    found[number, :, :n_numbers] += of_numbers.reshape(n_classifiers, n_numbers, best.shape[1])
                    if n_counts:
                        of_counts = sums[len(of_numbers) : -1].reshape(-1, n_classifiers, best.shape[1])
                        found[number, :, both + side] += of_counts[0]
                        found[number, :, true + side] += sums[-1]
                        found[number, :, answered + side] += of_counts[1] if silent else sums[-1]
        if n_counts:
            for number, sign in enumerate(signs):
                of_named = np.einsum("jck,c->jkc", self._named, sign.astype(np.float32))
                found[number, :, named:answered] = of_named @ np.asarray(weights, np.float32)
        return found

    def _counts(self, truth: Float[np.ndarray, "case side"]) -> Sequence[Float[np.ndarray, "classifier side case"]]:
        if not self._layout.n_counts:
            return ()
        named = self._named.swapaxes(1, 2)
        answered = (self._choices >= 0)[:, None] * truth.T
        return named * truth.T, np.broadcast_to(truth.T, named.shape), named * truth.sum(axis=1), answered

    def _numbers(self, at, truth, spread=None) -> Float[np.ndarray, "classifier row chosen"]:
        out = np.empty((len(self._named), self._layout.n_numbers, len(at)), np.float32)
        if out.size == 0:
            return out
        scores, named = (of[:, at] for of in self._taken)
        size = max(64, 1 << (len(at) - 1).bit_length())  # few shapes are compiled
        wide = ((0, 0), (0, size - len(at)), (0, 0))
        if spread is not None:
            spread = LabelSpread(*(np.pad(of, wide[1]).astype(np.float32) for of in spread))
        padded = np.pad(scores, wide), np.pad(named, wide), np.pad(truth, wide[1:])
        made = _numbers(self._layout.functions, *padded, spread)
        out[:] = np.asarray(made)[:, :, : len(at)]
        return out


@partial(kept, static=1)
@partial(jax.jit, static_argnums=0)
def _numbers(functions, scores, named, truth, spread) -> Float[Array, "classifier row case"]:
    def of_case(scores, named, truth, spread):
        found = []
        for rows, takes in functions:
            more = (spread,) if isinstance(rows, OfLabels) else ()
            found.append(rows(named if takes == "choice" else scores, truth, *more))
        return ravel_pytree(jax.tree.map(lambda one: jnp.asarray(one, jnp.float32), found))[0]

    over_cases = jax.vmap(of_case, out_axes=1)
    return jax.vmap(over_cases, in_axes=(0, 0, None, None))(scores, named, truth, spread)


def mean_truth(
    best: Int[np.ndarray, "case draw"], weights: Float[np.ndarray, " case #draw"], n_sides: int
) -> Float[np.ndarray, "case side"]:
    """Mean over draws of the weight of each class."""
    if n_sides <= _FEW and weights.shape[1] == 1:  # ten times as fast as by counting numbers
        found = [np.count_nonzero(best == side, axis=1) for side in range(n_sides)]
        return np.stack(found, axis=1) * weights / best.shape[1]
    out = np.zeros((len(best), n_sides))
    step = max(1, _NUMBERS // best.shape[1])
    for first in range(0, len(best), step):
        some = slice(first, first + step)
        n_some = len(best[some])
        key = np.arange(n_some)[:, None] * n_sides + best[some]
        of_key = np.broadcast_to(weights[some], key.shape).ravel() if weights.shape[1] > 1 else None
        found = np.bincount(key.ravel(), of_key, n_some * n_sides).reshape(n_some, n_sides) / best.shape[1]
        out[some] = found if of_key is not None else found * weights[some]
    return out
