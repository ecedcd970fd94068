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


class Truths(NamedTuple):
    """A truth in replicates: the class that is true of each case in every draw, or weights of its classes."""

    truth: Int[np.ndarray, "case draw"] | Float[np.ndarray, "case side"]
    #: Weights of the cases in every draw; or of their clusters the random keys of bootstrap weights; None for ones
    weights: Float[np.ndarray, " case #draw"] | UInt32[np.ndarray, "case 2"] | None = None
    n: int = 1  #: number of replicates
    n_draws: int = 1  #: to which bootstrap weights belong in turn
    unseen: UnseenCase | None = None

    @property
    def drawn(self) -> bool:
        """Whether one class is true in every draw."""
        return self.truth.dtype.kind == "i"

    def weights_of(self, cases: slice, replicates: slice = slice(None)) -> Float[np.ndarray, " case #replicate"]:
        """Weights of some cases in some replicates."""
        number = np.arange(self.n)[replicates]
        if self.weights is None:
            return np.ones((len(self.truth[cases]), len(number)), np.float32)
        own = self.weights[cases]
        if self.drawn:
            return own if own.shape[1] == 1 else own[:, replicates]
        return np.asarray(bootstrap_weights(own, number, self.n_draws))

    def of_side(
        self, cases: slice, weights: Float[np.ndarray, " case #replicate"], side: int
    ) -> tuple[Int[np.ndarray, " chosen"], Float[np.ndarray, "chosen replicate"]]:
        """Those of some cases, with these weights, of which a class is true, and its weight in every replicate."""
        if self.drawn:
            there = self.truth[cases] == side
            at = np.flatnonzero(there.any(axis=1))
            return at, there[at] * weights[at].astype(np.float32)
        own = self.truth[cases, side]
        at = np.flatnonzero(own)
        return at, own[at, None].astype(np.float32) * weights[at]


def confusions(
    choices: Int[np.ndarray, "classifier case"], truths: Truths, n_sides: int, *, silent: bool = False
) -> Float[np.ndarray, "true named classifier replicate"]:
    """Compute shares of cases by their class and by the named one.

    If `silent`, there is a last column for cases without an answer, whose choice is -1. An unseen case that a
    classifier is wrong about may have been given any other class.
    """
    n_named, number, total = n_sides + silent, np.arange(truths.n), np.zeros(truths.n)
    found = np.zeros((n_sides, n_named, len(choices), truths.n), np.float32)
    step = max(1, _WEIGHTS // truths.n)
    for first in range(0, choices.shape[1], step):
        some = slice(first, first + step)
        weights = truths.weights_of(some)
        for side in range(n_sides):
            at, true = truths.of_side(some, weights, side)
            total += true.sum(axis=0, dtype=float)
            for of, chosen in enumerate(choices[:, some][:, at] % n_named if len(at) else ()):
                named = csr_array((np.ones(len(at), np.float32), (chosen, np.arange(len(at)))), (n_named, len(at)))
                found[side, :, of] += named @ true
    if truths.unseen is not None:
        weight, side, _, right = truths.unseen.altogether()
        wrong = (side + 1 + number % max(n_named - 1, 1)) % n_named
        for at, own in enumerate(right):
            found[side, np.where(own, side, wrong), at, number] += weight
        total += weight
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


def order_values(
    metrics: tuple[OrderMetric, ...], orders: Orders, truths: Truths, *, of_mean: bool = False
) -> list[Float[np.ndarray, "score *along replicate"]]:
    """Compute metrics of the order of cases in every replicate.

    With bootstrap weights, there may be an unseen case of each class, and another of the others, for the mean over
    classes (`of_mean`) or for each.
    """
    truth, more = _filled(orders, truths.truth if truths.drawn else truths.truth.astype(np.float32)), None
    if truths.unseen is not None:
        classifier = np.arange(len(orders.side)) // len(np.unique(orders.side))
        seen = orders.order[_filled(orders, truths.unseen.seen)[orders.order]].reshape(len(orders.order), -1)
        case, weight = truths.unseen.looks(classifier, orders.side, seen, of_mean=of_mean)
        more = case.astype(np.int32), weight.astype(np.float32)

    def made(some: slice) -> Sequence[Array]:
        own = truth[:, some] if truths.drawn else truth
        weights = _filled(orders, truths.weights_of(slice(None), some)).astype(np.float32)
        return _values(metrics, orders, own, weights, None if more is None else tuple(of[..., some] for of in more))

    return _joined(orders, truths.n, made)


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
