"""Metrics of labels by name, from sums of their rows or from all cases at once: values and replicates."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from plausibly.base.programs import kept
from plausibly.data.groups import typical_weight
from plausibly.evaluation._label_order import Orders, Truths, confusions, order_values
from plausibly.evaluation._label_sums import Cases, Labels, as_sums, mean_truth
from plausibly.evaluation._unseen_case import UnseenCase
from plausibly.evaluation._values import Values
from plausibly.evaluation.curves import mean_known
from plausibly.evaluation.measure import Totals
from plausibly.metrics import SumMetric
from plausibly.metrics.by_class import counts

_CASES = 50_000  # whose scores are in memory at once


class Unseen(NamedTuple):
    """What an unseen case adds to sums and weights: one altogether, or one of each class and one of the others."""

    rows: Float[np.ndarray, "classifier row replicate"]
    weight: Float[np.ndarray, " replicate"]
    rows_of_classes: Float[np.ndarray, "classifier row replicate"]
    rows_of_mean: Float[np.ndarray, "classifier row replicate"]  #: of classes, for a mean over them
    weight_of_classes: Float[np.ndarray, "side replicate"]
    weight_of_mean: Float[np.ndarray, "side replicate"]
    rows_of_answers: (
        Float[np.ndarray, "classifier row replicate"] | None
    )  #: if it may have no answer, which the coin says

    @classmethod
    def of(
        cls,
        labels: Labels,
        case: UnseenCase | None,
        predictions: Sequence[Float[np.ndarray, "case class"]],
        choices: Int[np.ndarray, "classifier case"],
        member: Float[np.ndarray, " case"],
    ) -> "Unseen | None":
        """Look up how classifiers score it, and count it as a case among the members of a group."""
        if case is None or not labels.sums:
            return None
        (weight, side, other, right), n_sides = case.altogether(), labels.n_sides
        inside, seen, n = np.flatnonzero(member), case.seen, np.arange(len(side))
        scores = np.zeros((len(predictions), len(side), n_sides), np.float32)
        for at, values in enumerate(predictions if labels.layout.functions else ()):
            look = np.where(right[at], _surest(labels, values, inside[seen])[side], inside[other])
            scores[at] = labels.scores(np.array(values[look]))
        farthest = np.where(2 * side < n_sides - 1, n_sides - 1, 0)
        truth = np.zeros((len(side), n_sides))
        truth[n, side] = weight
        rows = Cases(labels, scores, np.where(right, side, farthest)).rows(truth)
        answers = Cases(labels, scores, np.where(right, side, -1)).rows(truth) if labels.silent else None
        more, coin = case.of_classes()

        def of_classes(more: np.ndarray, right: Bool[np.ndarray, "classifier side 2 replicate"]) -> np.ndarray:
            found, wrong = more[:, 0] * right[:, :, 0], more[:, 1] * ~right[:, :, 1]
            true = np.broadcast_to(more[:, 0], found.shape)
            counted = np.concatenate([found, true, found + wrong, true], axis=1)
            return np.concatenate([rows[:, : labels.layout.n_numbers], counted], axis=1)

        of_each = of_mean = of_classes(more, coin) if labels.layout.n_counts else rows
        each = mean = more.sum(axis=1)
        if n_sides > 2 and any(metric.each_class and not metric.by_class for metric in labels.sums.values()):
            more, decided, of_class, like = case.of_mean()
            named = choices[:, inside[like[:, 0]]]
            missed = (named != of_class) & (named >= 0)  # and taken for the next class
            right = np.stack([named == of_class, ~np.roll(missed, 1, axis=1)], axis=2)
            of_mean, mean = of_classes(more, np.where(decided[:, None], coin, right)), more.sum(axis=1)
        return cls(rows, weight, of_each, of_mean, each, mean, answers)


def _surest(
    labels: Labels, predictions: Float[np.ndarray, "case class"], cases: Int[np.ndarray, " chosen"]
) -> Int[np.ndarray, " side"]:
    """For each class, find the case with the greatest score, a block at a time, since predictions may be in a file."""
    best, where = np.full(labels.n_sides, -np.inf), np.zeros(labels.n_sides, np.int64)
    for first in range(0, len(cases), _CASES):
        some = cases[first : first + _CASES]
        scores = labels.scores(np.array(predictions[some]))
        better = scores.max(axis=0) > best
        best, where = np.where(better, scores.max(axis=0), best), np.where(better, some[scores.argmax(axis=0)], where)
    return where


def label_values(
    labels: Labels,
    small: Labels,
    totals: Totals,
    predictions: Sequence[Float[np.ndarray, "case class"]],
    choices: Int[np.ndarray, "classifier case"],
    truth: Float[np.ndarray, "case side"] | None,
    weights: Float[np.ndarray, " case #draw"],
    members: Sequence[Float[np.ndarray, " case"]],
    words: UInt32[np.ndarray, "case 2"],
    unseen: Sequence[UnseenCase | None],
) -> list[dict[str, Values]]:
    """Compute metrics of labels of all cases, the first group, and of others, in which only the `small` ones are known.

    The true classes in every draw are in `totals`; without draws, `truth` has weights of classes.
    """
    values: list[dict[str, Values]] = [{} for _ in members]
    at_point = weights.mean(axis=1, keepdims=True) * (1 if truth is None else truth.sum(axis=1, keepdims=True))
    every = np.concatenate([weights, at_point], axis=1) if truth is None else at_point
    for number, member in enumerate(members if labels.sums else ()):
        more = Unseen.of(labels, unseen[number], predictions, choices, member)
        values[number] = values_of_sums(labels, totals, number, more, typical_weight(every * member[:, None]))
    if labels.of_cases:
        scores = np.stack([labels.scores(np.array(given)) for given in predictions])
        best = totals.by_case["best"].T if truth is None else None
        for number, member in enumerate(members):
            at, of_group = np.flatnonzero(member), small if number else labels
            by_case = (None if of is None else of[at] for of in (best, truth, weights, words))
            more = totals.sampling.shape[-1], unseen[number]
            values[number] |= _values_of_cases(of_group, *more, scores[:, at], choices[:, at], *by_case)
    return values


def values_of_sums(
    labels: Labels, totals: Totals, group: int, unseen: Unseen | None, unit: Float[np.ndarray, " #draw+1"]
) -> dict[str, Values]:
    """Compute all metrics of sums for one group of cases, from the last rows of sums and the weights.

    Metrics less noise are told how much noise there is by the weight of a case, `unit`: in replicates twice as much as
    in draws, since cases that are drawn again have their own noise and that of being drawn.

    Replicates are functions of sums that are expected over draws, and of an unseen case. In these, classes that occur
    in fewer than half of the draws do not, where a metric is a mean over classes. Intervals are moved to the mean over
    draws.
    """
    first, shape = totals.sums.shape[3] - len(labels.layout), totals.sampling.shape
    (sums, *signed), (weight, *of_signed) = totals.sums[:, group, :, first:], totals.weight[:, group]
    places = {name: (metric, *labels.layout.place[name]) for name, metric in labels.sums.items()}

    less_noise = {name: metric.bounds[0] for name, metric in labels.sums.items() if metric.without_noise}

    def of(sums: np.ndarray, weight: np.ndarray) -> dict[str, np.ndarray]:
        # All of them, also where some are wanted, since compiling a second program takes longer.
        found = _values(tuple(places.values()), labels.n_sides, sums, weight)
        return {name: np.moveaxis(np.asarray(one, float), 0, -2) for name, one in zip(places, found, strict=True)}

    def less(sums: np.ndarray, weight: np.ndarray, unit: np.ndarray) -> dict[str, np.ndarray]:
        found = of(sums / unit, weight / unit) if less_noise else {}
        return {name: np.maximum(found[name], least) for name, least in less_noise.items()}

    units = np.broadcast_to(unit[:-1], sums.shape[-1] - 1), unit[-1:]
    draws = of(sums, weight) | less(sums, weight, np.concatenate(units))
    if not shape[-1]:
        return {name: Values(*labels.says(name), values) for name, values in draws.items()}
    sampling = totals.sampling[group][:, first:], totals.sampling_weight[group]
    at, n, rare = (sums[..., -1], weight[-1]), shape[-1], np.zeros(len(labels.layout), bool)
    if signed:
        known, rare = weight[:-1] > 0, _rare(labels, sums[..., :-1])
        at = sums[..., :-1][..., known].mean(axis=-1), weight[:-1][known].mean()
    columns = np.concatenate([sampling[0], at[0][..., None]], axis=-1), np.append(sampling[1], at[1])
    there = np.where(rare, 0, 1)[:, None]
    each = {
        name: metric
        # Of two classes, agreement beyond chance is about as uncertain as the rarer one.
        for name, metric in labels.sums.items()
        if metric.rows is counts and (metric.each_class or (labels.n_sides == 2 and metric.bounds[0] < 0))
    }
    added = columns if unseen is None else _added(columns, unseen.rows, unseen.weight)
    of_replicates = np.append(np.full(n, 2 * unit[-1]), unit[-1])
    found = of(added[0] * there, added[1]) | less(added[0] * there, added[1], of_replicates)
    kinds = {name: (metric.by_class, metric.each_class == "named") for name, metric in each.items()}
    for by_class, named in {*kinds.values()}:
        rows, of_all = columns
        if unseen is not None:
            more = unseen.rows_of_classes, unseen.weight_of_classes
            if not by_class:
                known = _of_known_classes(labels, at[0] * there[:, 0], named=named)
                more = unseen.rows_of_mean * known, unseen.weight_of_mean
            rows, of_all = _added(columns, *more)
        of_each = of(rows if by_class else rows * there, of_all)
        found |= {name: of_each[name] for name, kind in kinds.items() if kind == (by_class, named)}
    if unseen is not None and unseen.rows_of_answers is not None and "answer_rate" in found:
        found["answer_rate"] = of(*_added(columns, unseen.rows_of_answers, unseen.weight))["answer_rate"]
    centre = {name: values[..., n:] for name, values in found.items()}
    # An unseen case does not define what no case does.
    replicates = {name: np.where(np.isnan(centre[name]), np.nan, of[..., :n]) for name, of in found.items()}
    alone: dict[str, Any] = dict.fromkeys(places)
    around = replicates
    if signed:
        given = [np.asarray(one, np.float32) for one in (*at, signed[0][..., :-1], of_signed[0][:-1])]
        changes = _changes(tuple(places.values()), labels.n_sides, *given)
        alone = {name: np.moveaxis(np.asarray(one, float), 0, -2) for name, one in zip(places, changes, strict=True)}
        around = {name: one + _to_draws(draws[name], centre[name]) for name, one in replicates.items()}
    noise = replicates, alone, around
    return {name: Values(*labels.says(name), draws[name], *(of[name] for of in noise)) for name in places}


def _added(
    columns: tuple[np.ndarray, np.ndarray], rows: Float[np.ndarray, "classifier row replicate"], weight: np.ndarray
) -> tuple[Float[np.ndarray, "classifier row replicate+1"], Float[np.ndarray, "*side replicate+1"]]:
    """Add what an unseen case adds in every replicate, and nothing to the last column."""
    padded = np.pad(rows, ((0, 0), (0, 0), (0, 1))), np.pad(weight, [*[(0, 0)] * (weight.ndim - 1), (0, 1)])
    return columns[0] + padded[0], columns[1] + padded[1]


def _of_known_classes(
    labels: Labels, at: Float[np.ndarray, "classifier row"], *, named: bool
) -> Bool[np.ndarray, "classifier row 1"]:
    """Rows of counts of the classes that a mean over classes has: those that occur and, if so, that are `named`."""
    _, true, of_named, _ = at[:, labels.layout.n_numbers :].reshape(len(at), 4, -1).swapaxes(0, 1) > 0
    known = np.tile(true & of_named if named else true, 4)
    return np.pad(known, ((0, 0), (labels.layout.n_numbers, 0)), constant_values=True)[..., None]


def _to_draws(
    draws: Float[np.ndarray, "*shape draw+1"], centre: Float[np.ndarray, "*shape 1"]
) -> Float[np.ndarray, "*shape 1"]:
    """By how much the mean over draws is above the value at what is expected over draws; 0 where one is unknown."""
    known = np.isfinite(draws[..., :-1])
    total = np.where(known, draws[..., :-1], 0).sum(axis=-1, keepdims=True)
    above = total / np.maximum(known.sum(axis=-1, keepdims=True), 1) - centre
    return np.where(np.isfinite(above) & known.any(axis=-1, keepdims=True), above, 0)


def _rare(labels: Labels, sums: Float[np.ndarray, "classifier row draw"]) -> Bool[np.ndarray, " row"]:
    """Rows of counts of true cases, also of those found, of classes that occur in fewer than half of the draws."""
    layout, out = labels.layout, np.zeros(len(labels.layout), bool)
    both, true, _, answered = layout.n_numbers + np.arange(4 * layout.n_counts).reshape(4, -1)
    out[true] = out[both] = out[answered] = (sums[:1, true] > 0).mean(axis=-1).max(axis=0, initial=0) < 0.5
    return out


def _values(metrics, n_sides, sums, weight):
    """Values of all metrics, (classifier, *shape, n), padded so that few shapes are compiled."""
    n = sums.shape[-1]
    size = -(-n // 256) * 256 if n > 1 else 1
    padded = np.pad(sums, ((0, 0), (0, 0), (0, size - n))).astype(np.float32)
    by_class = np.pad(np.broadcast_to(weight, (n_sides, n)), ((0, 0), (0, size - n))).astype(np.float32)
    found = _compiled_values(metrics, n_sides, padded, by_class)
    return [np.asarray(of)[..., :n] for of in found]


@partial(kept, static=2)
@partial(jax.jit, static_argnums=(0, 1))
def _compiled_values(metrics, n_sides, sums, weight):
    over_draws = (jax.vmap(_function(*metric, n_sides), (1, 1), -1) for metric in metrics)
    return [jax.vmap(values, (0, None))(sums, weight) for values in over_draws]


@partial(kept, static=2)
@partial(jax.jit, static_argnums=(0, 1))
def _changes(metrics, n_sides, at, weight, sums, weights):
    """By how much sums with signs would change each metric, by its derivative at the mean over draws."""

    def changes(metric):
        def change(mean: Array, rows: Array, n: Array) -> Array:
            of_classes = tuple(jnp.broadcast_to(one, n_sides) for one in (weight, n))
            return jax.jvp(_function(*metric, n_sides), (mean, of_classes[0]), (rows, of_classes[1]))[1]

        over_draws = jax.vmap(change, (None, 1, 0), -1)
        return jax.vmap(over_draws, (0, 0, None))(at, sums, weights)

    return [changes(metric) for metric in metrics]


def _function(metric: SumMetric, first: int, last: int, n_sides: int) -> Callable[[Array, Array], Array]:
    """Value of a metric as a function of the sums of all rows and of weights; of two classes, that of the second.

    The weight is that of all cases, once for each class: classes that have an unseen case each differ in it.
    """
    each = metric.rows is counts and metric.each_class

    def value(rows: Array, n: Array) -> Array:
        values = metric.value(as_sums(metric, n_sides, rows[first:last]), n if each else n[0])
        return jnp.asarray(values[1] if metric.by_class and len(values) == 2 else values, jnp.float32)

    return value


def _values_of_cases(labels, n_replicates, unseen, scores, choices, best, truth, weights, words) -> dict[str, Values]:
    """Values of metrics of the order of some cases, and confusion matrices; of very many values, without replicates."""
    orders = Orders.of(scores) if labels.order else None
    resampled = labels.small(len(scores) * n_replicates)

    def of(labels: Labels, *truth: Any) -> dict[str, np.ndarray]:
        truths = Truths(*truth)
        found = {} if orders is None else _of_order(labels, orders, truths)
        named = {"n_sides": labels.n_sides, "silent": labels.silent}
        return found | {name: confusions(choices, truths, **named) for name in labels.confusions}

    alone, replicates, n_draws = {}, {}, max(n_replicates, 1)
    if best is None:
        weighed = truth * weights
        draws = of(labels, weighed)
    else:
        n_draws = best.shape[1] - 1
        at_point = weights.mean(axis=1, keepdims=True)
        of_all = weights if weights.shape[1] == 1 else np.concatenate([weights, at_point], axis=1)
        draws = of(labels, best, of_all, n_draws + 1)
        weighed = mean_truth(best[:, :-1], weights, labels.n_sides)
        if n_replicates and resampled.of_cases:
            shift = words[:, 1] % n_draws
            alone = of(resampled, *(_shifted(array, shift) for array in (best[:, :-1], weights)), n_draws)
    if n_replicates and resampled.of_cases:
        replicates = of(resampled, weighed, words, n_replicates, n_draws, unseen)
    around = replicates
    if alone:
        centre = of(resampled, weighed)
        around = {name: values + _to_draws(draws[name], centre[name]) for name, values in replicates.items()}
    noise = replicates, alone, around
    return {name: Values(*labels.says(name), values, *(of.get(name) for of in noise)) for name, values in draws.items()}


def _of_order(labels: Labels, orders: Orders, truths: Truths) -> dict[str, np.ndarray]:
    """Values of the metrics of the order by name: for each class, or their mean over classes."""
    found, means = {}, {name: labels.n_sides > 2 and not metric.by_class for name, metric in labels.order.items()}
    n_classifiers = len(orders.side) // max(1, len(np.unique(orders.side)))
    for of_mean in {*means.values()}:
        wanted = {name: metric for name, metric in labels.order.items() if means[name] == of_mean}
        of_metrics = order_values(tuple(wanted.values()), orders, truths, of_mean=of_mean)
        for name, values in zip(wanted, of_metrics, strict=True):
            by_side = np.moveaxis(values.reshape(n_classifiers, -1, *values.shape[1:]), 0, -2)
            if len(by_side) == 1:
                found[name] = by_side[0]
            else:
                found[name] = mean_known(np.moveaxis(by_side, 0, -1)) if of_mean else by_side
    return {name: found[name] for name in labels.order}


def _shifted(values: np.ndarray, shift: Int[np.ndarray, " case"]) -> np.ndarray:
    """Draws of each cluster, begun at a draw of its own, so that clusters have no noise in common."""
    n = values.shape[1]
    if n == 1:
        return values
    twice = np.concatenate([values, values], axis=1)
    return np.lib.stride_tricks.sliding_window_view(twice, n, axis=1)[np.arange(len(values)), shift]
