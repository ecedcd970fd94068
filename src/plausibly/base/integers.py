"""Distinct integers, where ``np.unique`` would look each up in a table (from NumPy 2.3 on), which takes far longer."""

import numpy as np
from jaxtyping import Int


def distinct(values: Int[np.ndarray, " n"]) -> tuple[Int[np.ndarray, " distinct"], Int[np.ndarray, " n"]]:
    """Find the distinct integers, ascending, and the position of each value among them.

    As ``np.unique`` with ``return_inverse``, in a tenth of the time where values ascend but for short stretches, as
    those of entries by case do.

    Examples
    --------
    >>> keys, position = distinct(np.array([3, 1, 3]))
    >>> keys.tolist(), position.tolist()
    ([1, 3], [1, 0, 1])
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    new = np.ones(len(values), bool)
    new[1:] = ordered[1:] != ordered[:-1]
    position = np.empty(len(values), np.intp)
    position[order] = np.cumsum(new) - 1
    return ordered[new], position
