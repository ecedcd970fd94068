"""Averages over cases, and their replicates under a Bayesian bootstrap over clusters of cases."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Int, UInt32
from scipy.sparse import csr_array

from plausibly.random_streams import Stream, exponentials, key_words

_NUMBERS = 2**24  # weights in memory at once


class Average(NamedTuple):
    """A number, or several, of each case, to be averaged."""

    dims: tuple[str, ...]  #: Names of the axes before that of the cases
    #: Numbers, finite also for cases without weight; a row of NaN has the average NaN
    values: Float[np.ndarray, "*shape case"]
    weight: Float[np.ndarray, " case"]  #: Weight of each case


def averages(
    given: Mapping[str, Average], cluster: np.ndarray, seed: int, replicates: int, n_draws: int = 0
) -> dict[str, Any]:
    """Average over cases, and add the replicates of each average under its name with ``_total``, if there are any.

    The weights of clusters are those of :func:`plausibly.evaluate` with `n_draws` draws, by default as many as
    replicates: standard exponential variables that depend on the seed, the cluster's name, the draw and the round. An
    average is NaN without a case, and so are its replicates with a single cluster.
    """
    names, code = np.unique(cluster, return_inverse=True)
    belongs = csr_array((np.ones(len(code)), (code, np.arange(len(code)))), shape=(len(names), len(code)))
    sums = [belongs @ (one.values * one.weight).reshape(-1, len(code)).T for one in given.values()]
    weights = [(belongs @ one.weight)[:, None] for one in given.values()]
    columns = np.concatenate([*sums, *weights], axis=1).astype(np.float32)
    replicated = np.empty((replicates, columns.shape[1]))
    if replicates:
        words, step = key_words(seed, names, Stream.BOOTSTRAP), max(1, _NUMBERS // len(names))
        for first in range(0, replicates, step):
            number = np.arange(first, min(first + step, replicates))
            replicated[number] = np.asarray(bootstrap_weights(words, number, n_draws or replicates)).T @ columns
    found: dict[str, Any] = {}
    ends = np.cumsum([0, *(of_one.shape[1] for of_one in sums)])
    with np.errstate(invalid="ignore"):  # nothing has weight
        for at, (name, one) in enumerate(given.items()):
            shape = one.values.shape[:-1]
            mean = (sums[at].sum(axis=0) / weights[at].sum()).reshape(shape)
            found[name] = one.dims, mean, {"n_cases": int(np.count_nonzero(one.weight))}
            if replicates:
                of_one = replicated[:, ends[at] : ends[at + 1]] / replicated[:, ends[-1] + at, None]
                of_one[:] = of_one if np.count_nonzero(weights[at]) > 1 else np.nan
                found[f"{name}_total"] = (*one.dims, "replicate"), of_one.T.reshape(*shape, replicates)
    return found


def bootstrap_weights(
    words: UInt32[np.ndarray, "case 2"], number: Int[np.ndarray, " replicate"], n_draws: int
) -> Float[Array, "case replicate"]:
    """Weights of the cases in replicates, of which each belongs to the draw of its number modulo that of draws."""
    return _exponentials(words, (number % n_draws).astype(np.uint32), (number // n_draws).astype(np.int32))


@jax.jit
def _exponentials(words, draw, number):
    return exponentials(words[:, None], draw[None], number[None])
