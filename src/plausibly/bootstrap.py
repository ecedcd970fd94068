"""Resampling of cases, or of groups of them."""

from collections.abc import Hashable, Iterator, Sequence

import numpy as np
from jaxtyping import Float

from plausibly.errors import ArgumentError

_NUMBERS = 2**22  # Counts in memory at once.


def resampled_means(
    values: Float[np.ndarray, "row case"],
    weight: Float[np.ndarray, " case"],
    groups: Sequence[Hashable] | None,
    resamples: int,
    seed: int,
) -> Float[np.ndarray, "row resample"]:
    """Weighted means over cases that are drawn with replacement, the same cases for all rows.

    Parameters
    ----------
    values, weight
        Of each case.
    groups
        Cases of one value are drawn together; by default each case on its own.
    resamples
        How many means.
    seed
        Of the draws.

    Raises
    ------
    ArgumentError
        If there is not one group for each case.

    Examples
    --------
    >>> means = resampled_means(np.array([[0.0, 1.0, 0.0, 1.0]]), np.ones(4), "aabb", 5, seed=0)
    >>> means.tolist()
    [[0.5, 0.5, 0.5, 0.5, 0.5]]
    """
    n_cases = values.shape[1]
    group = np.arange(n_cases)
    if groups is not None:
        if len(groups) != n_cases:
            raise ArgumentError(
                f"groups must have one value for each of the {n_cases} cases, but {len(groups)} were given: give as "
                "many as there are cases."
            )
        numbers: dict[Hashable, int] = {}
        group = np.array([numbers.setdefault(value, len(numbers)) for value in groups])
    n = int(group.max()) + 1
    sums = np.stack([np.bincount(group, weight * row, minlength=n) for row in values]) if len(values) else values
    mass = np.bincount(group, weight, minlength=n)
    out = np.empty((len(values), resamples))
    for part, counts in group_counts(n, resamples, seed):
        with np.errstate(invalid="ignore"):  # A sample in which no case has weight has no mean.
            out[:, part] = (sums @ counts.T) / (counts @ mass) if len(values) else 0
    return out


def group_counts(
    n_groups: int, resamples: int, seed: int
) -> Iterator[tuple[slice, Float[np.ndarray, "resample group"]]]:
    """How often each group is drawn in each resample, of as many groups as there are, some resamples at a time.

    The first resamples do not depend on how many follow.

    Examples
    --------
    >>> [(part, counts.sum(1).tolist()) for part, counts in group_counts(3, 2, seed=0)]
    [(slice(0, 2, None), [3.0, 3.0])]
    """
    random = np.random.default_rng(seed)
    step = max(1, _NUMBERS // n_groups)
    for first in range(0, resamples, step):
        n = min(step, resamples - first)
        drawn = random.integers(n_groups, size=(n, n_groups)) + n_groups * np.arange(n)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=n_groups * n).reshape(n, n_groups)
        yield slice(first, first + n), counts.astype(float)
