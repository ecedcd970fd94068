"""Bootstrap of ratios of sums: groups are drawn anew, and only their sums are needed."""

from numbers import Integral

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from plausibly._progress import Progress
from plausibly.bootstrap import group_counts
from plausibly.errors import ArgumentError

_SLOW = 100_000_000  # groups drawn that take seconds


def resampled_sums(
    statistics: Float[np.ndarray, "case statistic"] | csr_array,
    group: Int[np.ndarray, " case"],
    replicates: int,
    seed: int,
    progress: bool = False,
) -> Float[np.ndarray, "replicate statistic"]:
    """Sum statistics over groups drawn with replacement, as many as there are.

    Parameters
    ----------
    statistics
        What to sum over cases.
    group
        The group of each case, counted from 0.
    replicates
        How often to draw, at least 1.
    seed
        Of the draws; the first replicates do not depend on how many follow.
    progress
        Whether to show a bar, where there is time to read it.

    Raises
    ------
    ArgumentError
        If there is a single group, or ``replicates`` or ``seed`` is out of range.

    Examples
    --------
    >>> ones = np.ones((4, 1))
    >>> sums = resampled_sums(ones, np.array([0, 0, 1, 2]), 500, 0)
    >>> sorted(set(sums.ravel().tolist())), bool(abs(sums.mean() - 4) < 0.2)
    ([3.0, 4.0, 5.0, 6.0], True)
    """
    if not isinstance(replicates, Integral) or replicates < 1:
        raise ArgumentError(
            f"replicates must be a whole number of at least 1, but {replicates!r} was given: give 1000."
        )
    if not isinstance(seed, Integral) or seed < 0:
        raise ArgumentError(f"seed must be a whole number of at least 0, but {seed!r} was given: choose one.")
    n_groups = int(group.max()) + 1
    if n_groups < 2:
        raise ArgumentError("a bootstrap draws groups anew, but there is only 1: name more groups, or none for cases.")
    belongs = csr_array((np.ones(len(group)), (group, np.arange(len(group)))), shape=(n_groups, len(group)))
    sums = belongs @ statistics
    out = np.empty((replicates, np.shape(statistics)[1]))
    with Progress(progress and replicates * n_groups > _SLOW) as bars:
        advance = bars.task("Bootstrapping", replicates, "replicates")
        for part, counts in group_counts(n_groups, replicates, seed):
            # Dense times sparse would be turned into the reverse of this anyway.
            out[part] = counts @ sums if isinstance(sums, np.ndarray) else (sums.T @ counts.T).T
            advance(len(counts))
    return out


def quantile(values: Float[np.ndarray, "replicate *shape"], q: float) -> Float[np.ndarray, "*shape"]:
    """Quantile along the first axis, by linear interpolation, of numbers that may be infinite.

    Examples
    --------
    >>> quantile(np.array([1.0, 2.0, 3.0, np.inf]), 0.5), quantile(np.array([1.0, np.inf, np.inf]), 0.9)
    (np.float64(2.5), np.float64(inf))
    """
    ordered = np.sort(values, axis=0)
    place = q * (len(ordered) - 1)
    low = int(place)
    lower, upper = ordered[low], ordered[min(low + 1, len(ordered) - 1)]
    weight = place - low
    same = (lower == upper) | (weight == 0)
    with np.errstate(invalid="ignore"):  # infinity less infinity, where the two are the same
        return np.where(same, lower, lower + weight * (upper - lower))[()]
