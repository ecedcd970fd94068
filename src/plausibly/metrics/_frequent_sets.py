"""The most frequent set of classes among the draws of each case."""

import numpy as np
from jaxtyping import Float, Int


def mode_share(lists: Int[np.ndarray, "place case draw"], n_classes: int) -> Float[np.ndarray, " case"]:
    """Share of the draws whose set of classes is the most frequent one.

    The classes of a set, in ascending order, are packed into one whole number; where that has too few digits, what was
    packed so far is first replaced by its rank. The numbers of each case are sorted and the longest run counted.

    Examples
    --------
    >>> mode_share(np.array([[[0, 1, 0, 0]], [[1, 0, 2, 3]]]), 4).tolist()
    [0.5]
    """
    bits = max(1, (n_classes - 1).bit_length())
    members = np.sort(lists, axis=0) if len(lists) > 1 else lists
    key, used = members[0], bits
    for member in members[1:]:
        if used + bits > 62:
            key = np.unique(key, return_inverse=True)[1].reshape(key.shape)
            used = int(key.max()).bit_length()
        if used + bits > 31:
            key = key.astype(np.int64)
        key, used = (key << bits) | member, used + bits
    key = np.sort(key, axis=1)
    n_cases, n_draws = key.shape
    first = np.ones(key.shape, bool)
    np.not_equal(key[:, 1:], key[:, :-1], out=first[:, 1:])
    starts = np.flatnonzero(first)
    lengths = np.diff(starts, append=key.size)
    return np.maximum.reduceat(lengths, np.searchsorted(starts, np.arange(n_cases) * n_draws)) / n_draws
