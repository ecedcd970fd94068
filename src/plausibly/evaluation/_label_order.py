"""Metrics of the order of cases: sorted once for every classifier and class, then summed up in every draw."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, UInt32

from plausibly.metrics import OrderMetric
from plausibly.metrics._declared import descending, positives, scores_to_order
from plausibly.random_streams import exponentials

_NUMBERS = 2**21  # weights in memory at once


class Orders(NamedTuple):
    """Orders of cases by score, one for each classifier and class; cases that fill the last places have no weight.

    Attributes
    ----------
    order
        Cases by descending score.
    end
        Last place of those that tie with each.
    side
        Class that is positive.
    """

    order: Int[np.ndarray, "score place"]
    end: Int[np.ndarray, "score place"]
    side: Int[np.ndarray, " score"]

    @classmethod
    def of(cls, scores: Float[np.ndarray, "classifier case side"]) -> "Orders":
        """Sort the cases; scores of one classifier follow each other."""
        found = [(*descending(values), side) for of_one in scores for side, values in scores_to_order(of_one).items()]
        order, end, side = (np.array(of) for of in zip(*found, strict=True))
        n_cases = scores.shape[1]
        size = _size(n_cases)
        fill = np.broadcast_to(np.arange(n_cases, size), (len(order), size - n_cases))
        order = np.concatenate([order, fill], axis=1).astype(np.int32)
        end = np.concatenate([end, np.full_like(fill, size - 1)], axis=1).astype(np.int32)
        return cls(order, end, side.astype(np.int32))


def _size(n: int) -> int:
    """Number of places for so many cases: an eighth more at most, so that few programs are compiled."""
    step = max(8, 1 << max((n - 1).bit_length() - 3, 0))
    return -(-n // step) * step


def order_by_draw(
    metrics: tuple[OrderMetric, ...],
    orders: Orders,
    best: Int[np.ndarray, "case draw"],
    weights: Float[np.ndarray, "case #draw"],
) -> Float[np.ndarray, "metric score draw"]:
    """Compute metrics in every draw, in which one class is true of each case."""
    found = np.empty((len(metrics), len(orders.side), best.shape[1]))
    for some in _blocks(orders, best.shape[1]):
        own = weights if weights.shape[1] == 1 else weights[:, some]
        made = _drawn(metrics, orders, _filled(orders, best[:, some]), _filled(orders, own).astype(np.float32))
        found[..., some] = made
    return found


def order_of_weights(
    metrics: tuple[OrderMetric, ...],
    orders: Orders,
    truth: Float[np.ndarray, "case side"],
    words: UInt32[np.ndarray, "case 2"] | None = None,
    n_replicates: int = 1,
    n_draws: int = 1,
) -> Float[np.ndarray, "metric score replicate"]:
    """Compute metrics for a truth with weights of classes: as it is, or with bootstrap weights by random keys."""
    found = np.empty((len(metrics), len(orders.side), n_replicates))
    truth = _filled(orders, truth.astype(np.float32))
    for some in _blocks(orders, n_replicates):
        number = np.arange(n_replicates)[some]
        if words is None:
            weights = np.ones((len(truth), len(number)), np.float32)
        else:
            draw = (number % n_draws).astype(np.uint32)
            weights = _exponentials(_filled(orders, words), draw, (number // n_draws).astype(np.int32))
        found[..., some] = _weighed(metrics, orders, truth, weights)
    return found


def order_slopes(
    metrics: tuple[OrderMetric, ...], orders: Orders, truth: Float[np.ndarray, "case side"]
) -> tuple[Float[np.ndarray, "metric score case"], Float[np.ndarray, "metric score case"]]:
    """Compute by how much a case that is positive, and a case as such, change each metric."""
    found = _slopes(metrics, orders, _filled(orders, truth.astype(np.float32)))
    of_class, of_all = (np.nan_to_num(np.asarray(one)[..., : len(truth)]) for one in found)
    return of_class, of_all


def _blocks(orders: Orders, n: int) -> Iterator[slice]:
    step = max(1, _NUMBERS // orders.order.shape[1])
    step = -(-n // -(-n // step))
    return (slice(first, min(first + step, n)) for first in range(0, n, step))


def _filled(orders: Orders, values: np.ndarray) -> np.ndarray:
    return np.pad(values, [(0, orders.order.shape[1] - len(values)), *[(0, 0)] * (values.ndim - 1)])


@jax.jit
def _exponentials(words, draw, number):
    return exponentials(words[:, None], draw[None], number[None])


def _of_one(metrics, order, end, of_class, weights) -> Float[Array, "metric draw"]:
    ways = {"cpu": partial(_in_sequence, metrics), "default": partial(_in_parallel, metrics)}
    return lax.platform_dependent(order, end, of_class, weights, **ways)


def _in_parallel(metrics, order, end, of_class, weights):
    true, false = positives(of_class[order], weights[order], end)
    return jnp.stack([jax.vmap(metric.value, (1, 1))(true, false) for metric in metrics])


def _in_sequence(metrics, order, end, of_class, weights):
    """Add up case by case, all draws together, and then compute the metrics draw by draw, in a core's cache."""

    def add(counts, case):
        true, false = counts
        counts = true + of_class[case], false + (weights[case] - of_class[case])
        return counts, counts

    none = jnp.zeros_like(of_class[0])
    counts = lax.scan(add, (none, none), order)[1]

    def of_draw(counts):
        true, false = (of[end] for of in counts)
        return jnp.stack([metric.value(true, false) for metric in metrics])

    return lax.map(of_draw, tuple(of.T for of in counts)).T


@partial(jax.jit, static_argnums=0)
def _drawn(metrics, orders, best, weights):
    def of_score(given):
        order, end, side = given
        return _of_one(metrics, order, end, jnp.where(best == side, weights, 0), weights)

    return lax.map(of_score, orders).swapaxes(0, 1)


@partial(jax.jit, static_argnums=0)
def _weighed(metrics, orders, truth, weights):
    every = weights * jnp.sum(truth, axis=1, keepdims=True)

    def of_score(given):
        order, end, side = given
        return _of_one(metrics, order, end, weights * truth[:, side][:, None], every)

    return lax.map(of_score, orders).swapaxes(0, 1)


@partial(jax.jit, static_argnums=0)
def _slopes(metrics, orders, truth):
    every = jnp.sum(truth, axis=1)

    def of_score(given):
        order, end, side = given
        found = []
        for metric in metrics:

            def value(of_class, weights, metric=metric):
                return metric.value(*positives(of_class[order], weights[order], end))

            found.append(jax.grad(value, (0, 1))(truth[:, side], every))
        return jax.tree.map(lambda *of: jnp.stack(of), *found)

    return jax.tree.map(lambda of: of.swapaxes(0, 1), lax.map(of_score, orders))
