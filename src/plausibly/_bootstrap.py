"""Resampling of cases, or of groups of them."""

from collections.abc import Hashable, Sequence

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
    random = np.random.default_rng(seed)
    out = np.empty((len(values), resamples))
    step = max(1, _NUMBERS // n)
    for first in range(0, resamples, step):
        part = min(step, resamples - first)
        drawn = random.integers(n, size=(part, n)) + n * np.arange(part)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=n * part).reshape(part, n).astype(float)
        with np.errstate(invalid="ignore"):  # A sample in which no case has weight has no mean.
            out[:, first : first + part] = (sums @ counts.T) / (counts @ mass) if len(values) else 0
    return out
