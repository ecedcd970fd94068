"""Confusion matrices: in every draw, and with bootstrap weights, which are sparse where classes are many."""

import numpy as np
from jaxtyping import Float, Int, UInt32
from scipy.sparse import csr_array

from plausibly.evaluation._resampled import bootstrap_weights

_NUMBERS = 2**22  # weights in memory at once


def confusion_by_draw(
    choices: Int[np.ndarray, "classifier case"],
    best: Int[np.ndarray, "case draw"],
    weights: Float[np.ndarray, "case #draw"],
    n_sides: int,
    silent: bool = False,
) -> Float[np.ndarray, "true named classifier draw"]:
    """Compute shares of cases in every draw, in which one class is true of each case.

    If `silent`, there is a last column for cases without an answer, whose choice is -1.
    """
    n_named, draw = n_sides + silent, np.arange(best.shape[1])
    found = np.zeros((n_sides, n_named, len(choices), len(draw)), np.float32)
    step = max(1, _NUMBERS // len(draw))
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
) -> Float[np.ndarray, "true named classifier replicate"]:
    """Compute shares for a truth with weights of classes: as it is, or with bootstrap weights by random keys."""
    n_sides, number, total = truth.shape[1], np.arange(n_replicates), np.zeros(n_replicates)
    n_named = n_sides + silent
    found = np.zeros((n_sides, n_named, len(choices), n_replicates), np.float32)
    step = max(1, _NUMBERS // n_replicates)
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
    return _divided(found, total)


def _divided(found: np.ndarray, total: Float[np.ndarray, " n"]) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # draws in which nothing has weight
        found /= total.astype(np.float32)
    return found
