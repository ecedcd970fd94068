"""Metrics of labels by name, from sums of their rows or from all cases at once: values, replicates and total noise."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt32

from plausibly.evaluation._intervals import total_noise
from plausibly.evaluation._label_order import (
    Orders,
    confusion_by_draw,
    confusion_of_weights,
    order_by_draw,
    order_of_weights,
)
from plausibly.evaluation._label_sums import Labels, as_sums, mean_truth
from plausibly.evaluation.curves import mean_known
from plausibly.evaluation.summaries import SUFFIX
from plausibly.metrics import SumMetric
from plausibly.metrics.by_class import counts

_NUMBERS = 2**20  # whose total noise is computed at once
_CONSTANT = 1e-5  # by which values of a metric differ in all replicates if cases do not


class Values(NamedTuple):
    """Values of one metric, by class and along its axes."""

    draws: Float[np.ndarray, "*shape classifier draw+1"]  #: Value in every draw, and last at the point estimate
    replicates: Float[np.ndarray, "*shape classifier replicate"] | None  #: Value with bootstrap weights, None without
    #: Draws whose noise is independent between cases, or changes that it makes; None if there are no draws
    alone: Float[np.ndarray, "*shape classifier draw"] | None
    #: Replicates around the mean of the draws, for intervals; the replicates themselves if there are no draws
    around: Float[np.ndarray, "*shape classifier replicate"] | None = None


def values_of_sums(
    labels: Labels,
    sums: Float[np.ndarray, "classifier row draw+1"],
    weight: Float[np.ndarray, " draw+1"],
    sampling: tuple[Float[np.ndarray, "classifier row replicate"], Float[np.ndarray, " replicate"]] | None,
    signed: tuple[Float[np.ndarray, "classifier row draw"], Float[np.ndarray, " draw"]] | None,
    n_cases: float,
    group: int = 0,
) -> dict[str, Values]:
    """Compute all metrics of sums for one group of cases, from the sums of the rows and of the weights.

    Replicates are functions of sums that are expected over draws. In these, classes that occur in fewer than half of
    the draws do not, where a metric is a mean over classes; and shares of few cases keep the uncertainty that they
    have at 0 and 1, see :func:`_with_half_a_case`. Intervals are moved to the mean over draws.
    """
    places = {name: (metric, *labels.layout.place[name]) for name, metric in labels.sums.items()}

    def of(sums: np.ndarray, weight: np.ndarray) -> dict[str, np.ndarray]:
        # All of them, also where some are wanted, since compiling a second program takes longer.
        found = _values(tuple(places.values()), labels.n_sides, sums, weight)
        return {name: np.moveaxis(np.asarray(one, float), 0, -2) for name, one in zip(places, found, strict=True)}

    draws = of(sums, weight)
    if sampling is None:
        return {name: Values(values, None, None) for name, values in draws.items()}
    columns, n, rare = sampling, sampling[0].shape[-1], np.zeros(len(labels.layout), bool)
    at = ()
    if signed is not None:
        known, rare = weight[:-1] > 0, _rare(labels, sums[..., :-1])
        at = sums[..., :-1][..., known].mean(axis=-1), weight[:-1][known].mean()
        columns = np.concatenate([sampling[0], at[0][..., None]], axis=-1), np.append(sampling[1], at[1])
    shares = {name for name, metric in labels.sums.items() if metric.rows is counts and metric.by_class}
    found = of(columns[0] * np.where(rare[:, None], 0, 1), columns[1])
    if rare.any():
        of_all = of(*columns)
        found |= {name: of_all[name] for name in shares}
    replicates = {name: values[..., :n] for name, values in found.items()}
    around = dict(replicates)
    if shares:
        unit = weight.mean() / n_cases if n_cases else 0.0
        safe = of(*_with_half_a_case(labels, *sampling, unit, group))
        around |= {name: np.where(np.isnan(replicates[name]), np.nan, safe[name]) for name in shares}
    constant = {
        name: np.ptp(replicates[name], axis=-1, keepdims=True) < _CONSTANT
        for name, metric in labels.sums.items()
        if metric.rows is counts and not metric.by_class and n_cases
    }
    if any(one.any() for one in constant.values()):
        safe = of(*_with_half_a_case_right(labels, *sampling, weight.mean() / n_cases, group))
        around |= {name: np.where(one, safe[name], around[name]) for name, one in constant.items()}
    alone: dict[str, Any] = dict.fromkeys(places)
    if signed is not None:
        given = [np.asarray(one, np.float32) for one in (*at, *signed)]
        changes = _changes(tuple(places.values()), labels.n_sides, *given)
        alone = {name: np.moveaxis(np.asarray(one, float), 0, -2) for name, one in zip(places, changes, strict=True)}
        around = {name: one + _to_draws(draws[name], found[name][..., n:]) for name, one in around.items()}
    return {name: Values(draws[name], replicates[name], alone[name], around[name]) for name in places}


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


def _with_half_a_case_right(
    labels: Labels,
    sums: Float[np.ndarray, "classifier row replicate"],
    weight: Float[np.ndarray, " replicate"],
    unit: float,
    group: int,
) -> tuple[Float[np.ndarray, "classifier row replicate"], Float[np.ndarray, " replicate"]]:
    """Add half a case in which the choice is right, and half a case in which it is wrong, of classes as often as here.

    Without it, a classifier that is right in ten of ten cases would be right in all new ones.
    """
    k, n, numbers = labels.layout.n_counts, sums.shape[-1], labels.layout.n_numbers
    right, wrong = unit * np.random.default_rng([k, n, group, 1]).standard_gamma(0.5, (2, n))
    true = sums[:, numbers + k : numbers + 2 * k]
    share = true / np.maximum(true.sum(axis=1, keepdims=True), 1e-9)
    more = np.concatenate([share * right, *[share * (right + wrong)] * 3], axis=1)
    return np.concatenate([sums[:, :numbers], sums[:, numbers:] + more], axis=1), weight + right + wrong


def _with_half_a_case(
    labels: Labels,
    sums: Float[np.ndarray, "classifier row replicate"],
    weight: Float[np.ndarray, " replicate"],
    unit: float,
    group: int,
) -> tuple[Float[np.ndarray, "classifier row replicate"], Float[np.ndarray, " replicate"]]:
    """Add half a case to each cell of the 2 x 2 table of every class, with bootstrap weights: Jeffreys' prior.

    Without it, a classifier that finds five of five cases would have a sensitivity of exactly 1; its replicates are
    now those of Beta(5.5, 0.5).

    References
    ----------
    Brown, Cai & DasGupta (2001), Interval estimation for a binomial proportion, Statistical Science 16.
    """
    k, n = labels.layout.n_counts, sums.shape[-1]
    random = np.random.default_rng([k, n, group])
    more = unit * random.standard_gamma(2.0, n)
    found, missed, wrong, _ = np.moveaxis(random.dirichlet(np.full(4, 0.5), (k, n)), -1, 0) * more
    added = np.concatenate([found, found + missed, found + wrong, found + missed])
    first = sums.shape[1] - len(added)
    return np.concatenate([sums[:, :first], sums[:, first:] + added], axis=1), weight + more


def _values(metrics, n_sides, sums, weight):
    """Values of all metrics, (classifier, *shape, n), padded so that few shapes are compiled."""
    n = sums.shape[-1]
    size = -(-n // 256) * 256 if n > 1 else 1
    padded = np.pad(sums, ((0, 0), (0, 0), (0, size - n))).astype(np.float32)
    found = _compiled_values(metrics, n_sides, padded, np.pad(weight, (0, size - n)).astype(np.float32))
    return [np.asarray(of)[..., :n] for of in found]


@partial(jax.jit, static_argnums=(0, 1))
def _compiled_values(metrics, n_sides, sums, weight):
    over_draws = (jax.vmap(_function(*metric, n_sides), (1, 0), -1) for metric in metrics)
    return [jax.vmap(values, (0, None))(sums, weight) for values in over_draws]


@partial(jax.jit, static_argnums=(0, 1))
def _changes(metrics, n_sides, at, weight, sums, weights):
    """By how much sums with signs would change each metric, by its derivative at the mean over draws."""

    def changes(metric):
        def change(mean: Array, rows: Array, n: Array) -> Array:
            return jax.jvp(_function(*metric, n_sides), (mean, weight), (rows, n))[1]

        over_draws = jax.vmap(change, (None, 1, 0), -1)
        return jax.vmap(over_draws, (0, 0, None))(at, sums, weights)

    return [changes(metric) for metric in metrics]


def _function(metric: SumMetric, first: int, last: int, n_sides: int) -> Callable[[Array, Array], Array]:
    """Value of a metric as a function of the sums of all rows and of weights; of two classes, that of the second."""

    def value(rows: Array, n: Array) -> Array:
        values = metric.value(as_sums(metric, n_sides, rows[first:last]), n)
        return jnp.asarray(values[1] if metric.by_class and len(values) == 2 else values, jnp.float32)

    return value


def values_by_group(
    labels: Labels,
    small: Labels,
    members: Sequence[Float[np.ndarray, " case"]],
    n_replicates: int,
    scores: Float[np.ndarray, "classifier case side"],
    choices: Int[np.ndarray, "classifier case"],
    best: Int[np.ndarray, "case draw+1"] | None,
    truth: Float[np.ndarray, "case side"] | None,
    weights: Float[np.ndarray, "case #draw"],
    words: UInt32[np.ndarray, "case 2"],
) -> Iterator[dict[str, Values]]:
    """Compute metrics of the order of cases, and confusion matrices, of all cases, the first group, and of others.

    The true class in every draw and at the point estimate is `best`; without draws, `truth` has weights of classes.
    """
    for number, member in enumerate(members):
        at = np.flatnonzero(member)
        by_case = (None if of is None else of[at] for of in (best, truth, weights, words))
        yield _values_of_cases(small if number else labels, n_replicates, scores[:, at], choices[:, at], *by_case)


def _values_of_cases(labels, n_replicates, scores, choices, best, truth, weights, words) -> dict[str, Values]:
    """Values of the metrics of some cases; of a metric with very many values there are no replicates."""
    orders = Orders.of(scores) if labels.order else None
    resampled = labels.small(len(scores) * n_replicates)

    def of(labels: Labels, of_order: Any, of_confusion: Any, *inputs: Any) -> dict[str, np.ndarray]:
        found = {} if orders is None else _named(labels, of_order, orders, *inputs)
        return found | {name: of_confusion(choices, *inputs, silent=labels.silent) for name in labels.confusions}

    by_draw = order_by_draw, partial(confusion_by_draw, n_sides=labels.n_sides)
    of_weights = order_of_weights, confusion_of_weights
    alone, replicates, n_draws = {}, {}, max(n_replicates, 1)
    if best is None:
        weighed = truth * weights
        draws = of(labels, *of_weights, weighed)
    else:
        n_draws = best.shape[1] - 1
        at_point = weights.mean(axis=1, keepdims=True)
        of_all = weights if weights.shape[1] == 1 else np.concatenate([weights, at_point], axis=1)
        draws = of(labels, *by_draw, best, of_all)
        weighed = mean_truth(best[:, :-1], weights, labels.n_sides)
        if n_replicates and resampled.of_cases:
            shift = words[:, 1] % n_draws
            alone = of(resampled, *by_draw, *(_shifted(array, shift) for array in (best[:, :-1], weights)))
    if n_replicates and resampled.of_cases:
        replicates = of(resampled, *of_weights, weighed, words, n_replicates, n_draws)
    around = replicates
    if alone:
        centre = of(resampled, *of_weights, weighed)
        around = {name: values + _to_draws(draws[name], centre[name]) for name, values in replicates.items()}
    noise = replicates, alone, around
    return {name: Values(values, *(of_kind.get(name) for of_kind in noise)) for name, values in draws.items()}


def _named(labels: Labels, function: Callable[..., list[np.ndarray]], orders: Orders, *given: Any):
    """Values of the metrics of the order by name: for each class, or their mean over classes."""
    metrics, found = tuple(labels.order.values()), {}
    n_classifiers = len(orders.side) // max(1, len(np.unique(orders.side)))
    of_metrics = function(metrics, orders, *given) if metrics else []
    for (name, metric), values in zip(labels.order.items(), of_metrics, strict=True):
        by_side = np.moveaxis(values.reshape(n_classifiers, -1, *values.shape[1:]), 0, -2)
        if len(by_side) == 1:
            found[name] = by_side[0]
        else:
            found[name] = by_side if metric.by_class else mean_known(np.moveaxis(by_side, 0, -1))
    return found


def _shifted(values: np.ndarray, shift: Int[np.ndarray, " case"]) -> np.ndarray:
    """Draws of each cluster, begun at a draw of its own, so that clusters have no noise in common."""
    n = values.shape[1]
    if n == 1:
        return values
    twice = np.concatenate([values, values], axis=1)
    return np.lib.stride_tricks.sliding_window_view(twice, n, axis=1)[np.arange(len(values)), shift]


def variables(
    labels: Labels, small: Labels, groups: list[dict[str, Values]], *, drawn: bool, single: bool
) -> dict[str, Any]:
    """Name the values of all cases, the first group, and by group those of the others, of which metrics are `small`.

    Without draws of the truth, bootstrap weights are all the noise that there is; that of a single cluster is unknown.
    """
    found: dict[str, Any] = {}
    of_all, *of_groups = groups
    for at, group, suffix in ((labels, [of_all], ""), (small, of_groups, SUFFIX)):
        for name in at.every if group else ():
            found |= _named_values(at, name, [values[name] for values in group], suffix, drawn=drawn, single=single)
    return found


def _named_values(
    labels: Labels, name: str, groups: list[Values], suffix: str, *, drawn: bool, single: bool
) -> dict[str, Any]:
    metric = labels.every[name]
    axes = ["class_name"] * (len(labels.shape(metric)) > len(metric.along)) + [axis for axis, _ in metric.along]

    def variable(last: tuple[str, ...], of: list[np.ndarray]) -> tuple[tuple[str, ...], np.ndarray]:
        values = [np.moveaxis(array, -2, 0) for array in of]
        dims = "group", "classifier", *axes, *last
        return (dims, np.stack(values)) if suffix else (dims[1:], values[0])

    dims, draws = variable(("draw",), [values.draws[..., :-1] if drawn else values.draws for values in groups])
    attrs = {"undefined": int(np.isnan(draws).sum()), "infinite": float(np.isinf(draws).mean())}
    found: dict[str, Any] = {name + suffix: (dims, draws, {"better": metric.better, **attrs})}
    dims, points = variable(("draw",), [values.draws[..., -1:] for values in groups])
    found[f"{name}_point{suffix}"] = dims[:-1], points[..., 0]
    if groups[0].replicates is not None:
        unknown = [np.full_like(values.replicates, np.nan) for values in groups]
        total = unknown if single else [_total(values, metric.bounds) if drawn else values.around for values in groups]
        found[f"{name}_total{suffix}"] = variable(("replicate",), total)
        if not suffix:
            of_sampling = unknown if single else [values.replicates for values in groups]
            found[f"{name}_sampling"] = variable(("replicate",), of_sampling)
    return found


def _total(values: Values, bounds: tuple[float, float]) -> Float[np.ndarray, "*shape classifier replicate"]:
    """Total noise; classifiers for which a metric is undefined do not affect the others.

    Replicates that are infinite remain so.
    """
    assert values.alone is not None
    assert values.around is not None
    draws, sampling, alone = (
        np.where(np.isfinite(of), of, np.nan).reshape(-1, *of.shape[-2:])
        for of in (values.draws[..., :-1], values.around, values.alone)
    )
    out = np.full(sampling.shape, np.nan, sampling.dtype)
    known = ~np.isnan(draws).all(axis=-1) & ~np.isnan(sampling).all(axis=-1)
    n_draws = draws.shape[-1]
    step = max(1, _NUMBERS // max(draws[0].size, sampling[0].size))
    for mask in np.unique(known[known.any(axis=1)], axis=0):
        alike, own = np.flatnonzero((known == mask).all(axis=1)), np.flatnonzero(mask)
        for first in range(0, len(alike), step):
            at = np.ix_(alike[first : first + step], own)
            noise = _filled(alone[at].astype(float)), np.zeros((len(at[0]), n_draws)), np.ones((len(at[0]), n_draws))
            out[at] = total_noise(draws[at].astype(float), sampling[at].astype(float), noise)
    infinite = np.isinf(values.around)
    return np.where(infinite, values.around, out.reshape(infinite.shape).clip(*bounds))


def _filled(values: Float[np.ndarray, "*shape draw"]) -> Float[np.ndarray, "*shape draw"]:
    """Put the mean of the known draws in place of the others, which so add no noise."""
    return np.where(np.isnan(values), np.nan_to_num(mean_known(values))[..., None], values)
