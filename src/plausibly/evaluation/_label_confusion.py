"""Confusion matrices: in every draw, and with bootstrap weights, which are sparse where classes are many."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int, UInt32

from plausibly.evaluation._label_order import bootstrap_weights

_NUMBERS = 2**22  # weights in memory at once

#: Cases among some for which a class may be true, and the weight of each of them in every draw if it is.
OfSide = Callable[[slice, int], tuple[Int[np.ndarray, " chosen"], Float[np.ndarray, "chosen draw"]]]


def confusion_by_draw(
    choices: Int[np.ndarray, "classifier case"],
    best: Int[np.ndarray, "case draw"],
    weights: Float[np.ndarray, "case #draw"],
    n_sides: int,
    silent: bool = False,
) -> Float[np.ndarray, "true named classifier draw"]:
    """Compute shares of cases in every draw, in which one class is true of each case.

    If `silent`, there is a last column for cases without an answer, whose choice is -1.

    Examples
    --------
    >>> confusion_by_draw(np.array([[0, 1, 1]]), np.array([[0], [0], [1]]), np.ones((3, 1)), 2)[..., 0, 0].round(3)
    array([[0.333, 0.333],
           [0.   , 0.333]], dtype=float32)
    """

    def of_side(some: slice, side: int):
        there = best[some] == side
        local = np.flatnonzero(there.any(axis=1))
        return local, there[local] * weights[some][local]

    step = max(1, _NUMBERS // best.shape[1])
    blocks = [slice(first, first + step) for first in range(0, len(best), step)]
    found = np.zeros((n_sides, n_sides + silent, len(choices), best.shape[1]), np.float32)
    for some in blocks:
        _add(found, choices[:, some], some, of_side)
    return _divided(found, np.broadcast_to(weights, best.shape).sum(axis=0))


def confusion_of_weights(
    choices: Int[np.ndarray, "classifier case"],
    truth: Float[np.ndarray, "case side"],
    words: UInt32[np.ndarray, "case 2"] | None = None,
    n_replicates: int = 1,
    n_draws: int = 1,
    *,
    silent: bool = False,
) -> Float[np.ndarray, "true named classifier replicate"]:
    """Compute shares for a truth with weights of classes: as it is, or with bootstrap weights by random keys."""
    n_sides, number = truth.shape[1], np.arange(n_replicates)
    found = np.zeros((n_sides, n_sides + silent, len(choices), n_replicates), np.float32)
    total = np.zeros(n_replicates)
    step = max(1, _NUMBERS // n_replicates)
    for first in range(0, len(truth), step):
        some = slice(first, first + step)
        own = truth[some]
        weights = np.ones((len(own), 1)) if words is None else bootstrap_weights(words[some], number, n_draws)
        drawn = np.asarray(weights)

        def of_side(_, side: int, own=own, drawn=drawn):
            local = np.flatnonzero(own[:, side])
            return local, own[local, side][:, None] * drawn[local]

        _add(found, choices[:, some], some, of_side)
        total += own.sum(axis=1) @ drawn
    return _divided(found, total)


def _add(found: np.ndarray, choices: Int[np.ndarray, "classifier case"], some: slice, of_side: OfSide) -> None:
    """Add weights of some cases to the pairs of their class and of what classifiers name."""
    for side in range(len(found)):
        local, weights = of_side(some, side)
        if not len(local):
            continue
        for at, chosen in enumerate(choices[:, local]):
            order = np.argsort(chosen, kind="stable")
            named, first = np.unique(chosen[order], return_index=True)
            found[side, named, at] += np.add.reduceat(weights[order], first, axis=0)


def _divided(found: np.ndarray, total: Float[np.ndarray, " n"]) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # draws in which nothing has weight
        found /= total.astype(np.float32)
    return found
