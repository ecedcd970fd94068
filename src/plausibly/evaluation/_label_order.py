"""Metrics of the order of cases, and confusion matrices, against draws of labels."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, UInt32
from scipy.sparse import csr_array

from plausibly.base.pools import threads
from plausibly.base.programs import kept
from plausibly.evaluation._intervals import bootstrap_weights, rounded_up
from plausibly.evaluation._unseen_case import UnseenCase
from plausibly.metrics import OrderMetric
from plausibly.metrics.declared import descending, positives, scores_to_order

_WEIGHTS = 2**22  # weights in memory at once


def confusion_by_draw(
    choices: Int[np.ndarray, "classifier case"],
    best: Int[np.ndarray, "case draw"],
    weights: Float[np.ndarray, " case #draw"],
    n_sides: int,
    silent: bool = False,
) -> Float[np.ndarray, "true named classifier draw"]:
    """Compute shares of cases in every draw, in which one class is true of each case.

    If `silent`, there is a last column for cases without an answer, whose choice is -1.
    """
    n_named, draw = n_sides + silent, np.arange(best.shape[1])
    found = np.zeros((n_sides, n_named, len(choices), len(draw)), np.float32)
    step = max(1, _WEIGHTS // len(draw))
    for first in range(0, len(best), step):
        true = best[first : first + step].astype(np.int64)
        of_cases = np.broadcast_to(weights[first : first + step], true.shape).astype(np.float32).ravel()
        for at, chosen in enumerate(choices[:, first : first + step] % n_named):
            place = ((true * n_named + chosen[:, None]) * len(choices) + at) * len(draw) + draw
            np.add.at(found.reshape(-1), place.ravel(), of_cases)
    return _divided(found, np.broadcast_to(weights, best.shape).sum(axis=0))


def confusion_of_weights(
    choices: Int[np.ndarray, "classifier case"],
    truth: Float[np.ndarray, "case side"],
    words: UInt32[np.ndarray, "case 2"] | None = None,
    n_replicates: int = 1,
    n_draws: int = 1,
    *,
    silent: bool = False,
    unseen: UnseenCase | None = None,
) -> Float[np.ndarray, "true named classifier replicate"]:
    """Compute shares for a truth with weights of classes: as it is, or with bootstrap weights by random keys.

    An unseen case that a classifier is wrong about may have been given any other class.
    """
    n_sides, number, total = truth.shape[1], np.arange(n_replicates), np.zeros(n_replicates)
    n_named = n_sides + silent
    found = np.zeros((n_sides, n_named, len(choices), n_replicates), np.float32)
    step = max(1, _WEIGHTS // n_replicates)
    for first in range(0, len(truth), step):
        some = slice(first, first + step)
        weights = np.ones((len(truth[some]), 1)) if words is None else bootstrap_weights(words[some], number, n_draws)
        drawn = np.asarray(weights)
        case, side = np.nonzero(truth[some])
        for at, chosen in enumerate(choices[:, some] % n_named):
            pairs, row = np.unique(side * n_named + chosen[case], return_inverse=True)
            in_pairs = csr_array((truth[some][case, side], (row, case)), shape=(len(pairs), len(drawn)))
            found[pairs // n_named, pairs % n_named, at] += in_pairs @ drawn
        total += truth[some].sum(axis=1) @ drawn
    if unseen is not None:
        weight, side, _, right = unseen.altogether()
        wrong = (side + 1 + number % max(n_named - 1, 1)) % n_named
        for at, own in enumerate(right):
            found[side, np.where(own, side, wrong), at, number] += weight
        total += weight
    return _divided(found, total)


def _divided(found: np.ndarray, total: Float[np.ndarray, " n"]) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # draws in which nothing has weight
        found /= total.astype(np.float32)
    return found


_NUMBERS = 2**21  # weights in memory at once


class Orders(NamedTuple):
    """Orders of cases by score, one for each classifier and class; cases that fill the last places have no weight."""

    order: Int[np.ndarray, "score place"]  #: Cases by descending score
    end: Int[np.ndarray, "score place"]  #: Last place of those that tie with each
    side: Int[np.ndarray, " score"]  #: Class that is positive
    score: Float[np.ndarray, "score place"]  #: Descending scores; minus infinity in the last places

    @classmethod
    def of(cls, scores: Float[np.ndarray, "classifier case side"]) -> "Orders":
        """Sort the cases; scores of one classifier follow each other."""
        found = [
            (*descending(values), side, values) for of_one in scores for side, values in scores_to_order(of_one).items()
        ]
        order, end, side, values = (np.array(of) for of in zip(*found, strict=True))
        n_cases = scores.shape[1]
        size = rounded_up(n_cases)
        ordered = np.full((len(order), size), -np.inf, np.float32)
        ordered[:, :n_cases] = np.take_along_axis(values, order, axis=1)
        fill = np.broadcast_to(np.arange(n_cases, size), (len(order), size - n_cases))
        order = np.concatenate([order, fill], axis=1).astype(np.int32)
        end = np.concatenate([end, np.full_like(fill, size - 1)], axis=1).astype(np.int32)
        return cls(order, end, side.astype(np.int32), ordered)


def order_by_draw(
    metrics: tuple[OrderMetric, ...],
    orders: Orders,
    best: Int[np.ndarray, "case draw"],
    weights: Float[np.ndarray, " case #draw"],
    *,
    of_mean: bool = False,
) -> list[Float[np.ndarray, "score *along draw"]]:
    """Compute metrics in every draw, in which one class is true of each case."""

    def made(some):
        own = weights if weights.shape[1] == 1 else weights[:, some]
        return _values(metrics, orders, _filled(orders, best[:, some]), _filled(orders, own).astype(np.float32))

    return _joined(orders, best.shape[1], made)


def order_of_weights(
    metrics: tuple[OrderMetric, ...],
    orders: Orders,
    truth: Float[np.ndarray, "case side"],
    words: UInt32[np.ndarray, "case 2"] | None = None,
    n_replicates: int = 1,
    n_draws: int = 1,
    unseen: UnseenCase | None = None,
    *,
    of_mean: bool = False,
) -> list[Float[np.ndarray, "score *along replicate"]]:
    """Compute metrics for a truth with weights of classes: as it is, or with bootstrap weights by random keys.

    With bootstrap weights, there is an unseen case of each class, and another of the others, for the mean over classes
    (`of_mean`) or for each.
    """
    n_of_each = len(np.unique(orders.side))
    truth, more = _filled(orders, truth.astype(np.float32)), None
    if unseen is not None:
        classifier = np.arange(len(orders.side)) // n_of_each
        seen = orders.order[_filled(orders, unseen.seen)[orders.order]].reshape(len(orders.order), -1)
        more = unseen.looks(classifier, orders.side, seen, of_mean=of_mean)

    def made(some):
        number = np.arange(n_replicates)[some]
        if words is None:
            weights = np.ones((len(truth), len(number)), np.float32)
        else:
            weights = bootstrap_weights(_filled(orders, words), number, n_draws)
        of_some = None if more is None else (more[0][..., some].astype(np.int32), more[1][..., some].astype(np.float32))
        return _values(metrics, orders, truth, weights, of_some)

    return _joined(orders, n_replicates, made)


def _joined(orders: Orders, n: int, made: Callable[[slice], Sequence[Array]]) -> list[np.ndarray]:
    """Put blocks of draws side by side: numbers in double precision, and curves in single precision."""
    found: list[np.ndarray] = []
    step = max(1, _NUMBERS // orders.order.shape[1])
    step = -(-n // -(-n // step))
    blocks = [slice(first, min(first + step, n)) for first in range(0, n, step)]
    with threads() as pool:  # a program for one block runs on one core
        for some, block in zip(
            blocks, pool.map(lambda some: [np.asarray(one) for one in made(some)], blocks), strict=True
        ):
            for at, one in enumerate(block):
                if len(found) == at:
                    found.append(np.empty((*one.shape[:-1], n), float if one.ndim == 2 else np.float32))
                found[at][..., some] = one
    return found


def _filled(orders: Orders, values: np.ndarray) -> np.ndarray:
    return np.pad(values, [(0, orders.order.shape[1] - len(values)), *[(0, 0)] * (values.ndim - 1)])


def _in_parallel(metrics, resampled, order, end, scores, of_class, weights):
    given = *positives(of_class[order], weights[order], end), scores, *((of_class[order],) if resampled else ())
    return tuple(jax.vmap(metric.at, (1, 1, None, 1)[: len(given)], -1)(*given) for metric in metrics)


def _in_sequence(metrics, resampled, order, end, scores, of_class, weights):
    """Add up case by case, all draws together, and then compute the metrics draw by draw, in a core's cache.

    Sums in single precision keep what rounding takes from them (Kahan 1965), or a million fractions were off by 1e-3.
    """

    def add(state, case):
        sums, lost = state
        more = tuple(of - less for of, less in zip((of_class[case], weights[case] - of_class[case]), lost, strict=True))
        now = tuple(of + one for of, one in zip(sums, more, strict=True))
        lost = tuple((after - of) - one for after, of, one in zip(now, sums, more, strict=True))
        return (now, lost), now

    none = jnp.zeros_like(of_class[0])
    counts = lax.scan(add, ((none, none), (none, none)), order)[1]

    def of_draw(counts):
        true, false = (of[end] for of in counts)
        own = jnp.diff(counts[0], prepend=0) if resampled else None
        return tuple(metric.at(true, false, scores, own) for metric in metrics)

    found = lax.map(of_draw, tuple(of.T for of in counts))
    return tuple(jnp.moveaxis(of, 0, -1) for of in found)


@partial(kept, static=1)
@partial(jax.jit, static_argnums=0)
def _values(metrics, orders, truth, weights, unseen=None):
    """Values for the true class of each case in every draw, or for weights of its classes.

    Unseen cases, one of the class and one of the others, add weight to cases that look like them.
    """
    drawn = jnp.issubdtype(truth.dtype, jnp.integer)
    every = weights if drawn else weights * jnp.sum(truth, axis=1, keepdims=True)
    given = metrics, unseen is not None
    ways = {"cpu": partial(_in_sequence, *given), "default": partial(_in_parallel, *given)}

    def of_score(given):
        (order, end, side, scores), more = given
        of_class = jnp.where(truth == side, weights, 0) if drawn else weights * truth[:, side][:, None]
        of_all = every
        if more is not None:
            case, weight = more
            replicate = jnp.arange(case.shape[1])
            of_class = of_class.at[case[0], replicate].add(weight[0])
            of_all = of_all.at[case, replicate].add(weight)
        return lax.platform_dependent(order, end, scores, of_class, of_all, **ways)

    return lax.map(of_score, (orders, unseen))
