"""Metrics of labels by name, from sums of their rows or from the order of cases: values, replicates and total noise."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt32

from plausibly.evaluation._label_order import Orders, order_by_draw, order_of_weights, order_slopes
from plausibly.evaluation._label_sums import Labels, as_sums, mean_truth
from plausibly.evaluation._total import total_noise
from plausibly.metrics import OrderMetric, SumMetric


class Values(NamedTuple):
    """Values of one metric.

    Attributes
    ----------
    draws
        Value in every draw, and last at the point estimate.
    replicates
        Value with bootstrap weights, None without.
    alone
        Noise of the draws that is independent between cases; None if there are no draws.
    """

    draws: Float[np.ndarray, "*side classifier draw+1"]
    replicates: Float[np.ndarray, "*side classifier replicate"] | None
    alone: Float[np.ndarray, "*side classifier draw"] | None

    def without_replicates(self) -> "Values":
        """Values of which sampling noise is unknown, as it is with a single cluster."""
        unknown = None if self.replicates is None else np.full_like(self.replicates, np.nan)
        return self._replace(replicates=unknown)


def values_of_sums(
    labels: Labels,
    sums: Float[np.ndarray, "classifier row draw+1"],
    weight: Float[np.ndarray, " draw+1"],
    sampling: tuple[Float[np.ndarray, "classifier row replicate"], Float[np.ndarray, " replicate"]] | None,
    signed: tuple[Float[np.ndarray, "classifier row draw"], Float[np.ndarray, " draw"]] | None,
) -> dict[str, Values]:
    """Compute all metrics of sums for one group of cases, from the sums of the rows and of the weights."""
    metrics = tuple((metric, *labels.layout.place[name]) for name, metric in labels.sums.items())
    one = partial(_values, metrics, labels.n_sides)
    draws = one(sums, weight)
    replicates = [None] * len(metrics) if sampling is None else one(*sampling)
    alone: list[Any] = [None] * len(metrics)
    if signed is not None and sampling is not None:
        known = weight[:-1] > 0
        at = sums[..., :-1][..., known].mean(axis=-1), weight[:-1][known].mean()
        alone = _changes(metrics, labels.n_sides, *(np.asarray(of, np.float32) for of in (*at, *signed)))
    return {
        name: Values(_by_side(draws[n]), *(None if of[n] is None else _by_side(of[n]) for of in (replicates, alone)))
        for n, name in enumerate(labels.sums)
    }


def _by_side(values: Any) -> Float[np.ndarray, "*side classifier n"]:
    """Sides first, then classifiers."""
    found = np.asarray(values, float)
    return found if found.ndim == 2 else np.moveaxis(found, 1, 0)


def _values(metrics, n_sides, sums, weight):
    """Values of all metrics, (classifier, *side, n), padded so that few shapes are compiled."""
    n = sums.shape[-1]
    size = -(-n // 256) * 256 if n > 1 else 1
    padded = np.pad(sums, ((0, 0), (0, 0), (0, size - n))).astype(np.float32)
    found = _compiled_values(metrics, n_sides, padded, np.pad(weight, (0, size - n)).astype(np.float32))
    return [np.asarray(of)[..., :n] for of in found]


@partial(jax.jit, static_argnums=(0, 1))
def _compiled_values(metrics, n_sides, sums, weight):
    def of_one(metric, first, last):
        def value(rows: Array, n: Array) -> Array:
            return _own_side(metric, metric.value(as_sums(metric, n_sides, rows[first:last]), n))

        over_draws = jax.vmap(value, (1, 0), -1)
        return jax.vmap(over_draws, (0, None))(sums, weight)

    return [of_one(*given) for given in metrics]


@partial(jax.jit, static_argnums=(0, 1))
def _changes(metrics, n_sides, at, weight, sums, weights):
    """By how much sums with signs would change each metric, by its derivative at the mean over draws."""

    def of_one(metric, first, last):
        def value(rows: Array, n: Array) -> Array:
            found = metric.value(as_sums(metric, n_sides, rows[first:last]), n)
            return jnp.asarray(_own_side(metric, found), jnp.float32)

        def change(mean: Array, rows: Array, n: Array) -> Array:
            return jax.jvp(value, (mean, weight), (rows, n))[1]

        over_draws = jax.vmap(change, (None, 1, 0), -1)
        return jax.vmap(over_draws, (0, 0, None))(at, sums, weights)

    return [of_one(*given) for given in metrics]


def _own_side(metric: SumMetric, value: Array) -> Array:
    """Value of the second of two classes."""
    return value[1] if metric.by_class and len(value) == 2 else value


def values_of_order(
    labels: Labels,
    scores: Float[np.ndarray, "classifier case side"],
    best: Int[np.ndarray, "case draw+1"] | None,
    truth: Float[np.ndarray, "case side"] | None,
    weights: Float[np.ndarray, "case #draw"],
    words: UInt32[np.ndarray, "case 2"],
    n_replicates: int,
) -> dict[str, Values]:
    """Compute all metrics of the order of some cases.

    Parameters
    ----------
    labels
        What is wanted.
    scores
        Predictions of each classifier, by side.
    best
        True class in every draw and at the point estimate, or None.
    truth
        Without draws, the weights of classes.
    weights
        Weights of the cases.
    words
        Random keys of their clusters.
    n_replicates
        Number of bootstrap replicates.
    """
    metrics, orders = tuple(labels.order.values()), Orders.of(scores)
    alone, n_draws = None, max(n_replicates, 1)
    if best is None:
        assert truth is not None
        weighed = truth * weights
        draws = order_of_weights(metrics, orders, weighed)
    else:
        n_draws = best.shape[1] - 1
        at_point = weights.mean(axis=1, keepdims=True)
        of_all = weights if weights.shape[1] == 1 else np.concatenate([weights, at_point], axis=1)
        draws = order_by_draw(metrics, orders, best, of_all)
        weighed = mean_truth(best[:, :-1], weights, labels.n_sides)
        if n_replicates:
            alone = _order_alone(metrics, orders, best[:, :-1], weights, words, weighed)
    replicates = order_of_weights(metrics, orders, weighed, words, n_replicates, n_draws) if n_replicates else None
    return {
        name: Values(
            *(None if of is None else _of_classes(metric, of[n], len(scores)) for of in (draws, replicates, alone))
        )
        for n, (name, metric) in enumerate(labels.order.items())
    }


def _order_alone(metrics, orders, best, weights, words, weighed) -> Float[np.ndarray, "metric score draw"]:
    of_class, of_all = order_slopes(metrics, orders, weighed)
    sign = (1.0 - 2 * (words[:, 1] & 1))[:, None]
    found = np.broadcast_to((of_all * sign[:, 0]) @ weights, (*of_all.shape[:2], best.shape[1])).copy()
    for side in np.unique(orders.side):
        own = orders.side == side
        found[:, own] += (of_class[:, own] * sign[:, 0]) @ ((best == side) * weights).astype(np.float32)
    return found


def _of_classes(metric: OrderMetric, values: np.ndarray, n_classifiers: int) -> Float[np.ndarray, "*side classifier n"]:
    by_side = values.reshape(n_classifiers, -1, values.shape[-1]).swapaxes(0, 1)
    if len(by_side) == 1:
        return by_side[0]
    if metric.by_class:
        return by_side
    known = ~np.isnan(by_side)
    with np.errstate(invalid="ignore"):
        return np.where(known, by_side, 0).sum(axis=0) / known.sum(axis=0)


def variables(
    labels: Labels, groups: list[dict[str, Values]], suffix: str, *, grouped: bool, drawn: bool
) -> dict[str, Any]:
    """Name the values of one group, or of several.

    Parameters
    ----------
    labels
        What is wanted.
    groups
        Values of each group.
    suffix
        Suffix of the names.
    grouped
        Whether results have a dimension for groups.
    drawn
        Whether the truth has draws; else bootstrap weights are all the noise that there is.
    """
    found: dict[str, Any] = {}
    metrics: Mapping[str, SumMetric | OrderMetric] = {**labels.sums, **labels.order}
    for name, metric in metrics.items():
        several = groups[0][name].draws.ndim == 3

        def named(last: tuple[str, ...], of: list[np.ndarray], several=several) -> tuple[tuple[str, ...], np.ndarray]:
            values = np.stack([one.swapaxes(0, 1) if several else one for one in of])
            dims = ("group", "classifier", *(("class_name",) if several else ()), *last)
            return (dims, values) if grouped else (dims[1:], values[0])

        own = [group[name] for group in groups]
        draws = [one.draws[..., :-1] if drawn else one.draws for one in own]
        dims, values = named(("draw",), draws)
        undefined = int(np.isnan(values).sum())
        found[name + suffix] = dims, values, {"better": metric.better, "undefined": undefined}
        dims, values = named(("draw",), [one.draws[..., -1:] for one in own])
        found[f"{name}_point{suffix}"] = dims[:-1], values[..., 0]
        if own[0].replicates is not None:
            total = [one.replicates if not drawn else _total(one, metric.bounds) for one in own]
            found[f"{name}_total{suffix}"] = named(("replicate",), total)
            if not grouped:
                found[f"{name}_sampling"] = named(("replicate",), [one.replicates for one in own])
    return found


def _total(values: Values, bounds: tuple[float, float]) -> Float[np.ndarray, "*side classifier replicate"]:
    """Total noise; classifiers for which a metric is undefined do not affect the others."""
    draws, sampling, alone = (
        np.where(np.isfinite(of), of, np.nan) for of in (values.draws[..., :-1], values.replicates, values.alone)
    )
    lead = draws.shape[:-2]
    out = np.full(sampling.shape, np.nan)
    for at in np.ndindex(*lead):
        own = np.flatnonzero(~np.isnan(draws[at]).all(axis=-1) & ~np.isnan(sampling[at]).all(axis=-1))
        if not len(own):
            continue
        n_draws = draws.shape[-1]
        noise = np.nan_to_num(alone[at][own]), np.zeros(n_draws), np.ones(n_draws)
        out[at][own] = total_noise(draws[at][own], sampling[at][own], noise)
    return out.clip(*bounds)
