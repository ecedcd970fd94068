"""Pairs of rows of one case, in blocks that fit into memory."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int

BLOCK = 1 << 20  # pairs at a time


def pairs_within(
    start: Int[np.ndarray, " boundary"], block: int = BLOCK
) -> Iterator[tuple[Int[np.ndarray, " pair"], Int[np.ndarray, " pair"]]]:
    """Give all unordered pairs of rows of one case, each once, about `block` at a time.

    The rows of case ``i`` are those from ``start[i]`` to ``start[i + 1]``.

    Examples
    --------
    >>> [(left.tolist(), right.tolist()) for left, right in pairs_within(np.array([0, 1, 4, 6]))]
    [([4], [5]), ([1, 1, 2], [2, 3, 3])]
    """
    sizes = np.diff(start)
    for size in np.unique(sizes[sizes > 1]).tolist():
        firsts = start[:-1][sizes == size]
        n_pairs = size * (size - 1) // 2
        if n_pairs > block:
            for first in firsts.tolist():
                yield from _of_large_case(first, size, block)
            continue
        low, high = np.triu_indices(size, 1)
        for part in range(0, len(firsts), max(block // n_pairs, 1)):
            base = firsts[part : part + max(block // n_pairs, 1), None]
            yield (base + low).ravel(), (base + high).ravel()


def pairs_across(
    cases: Int[np.ndarray, " row"], start: Int[np.ndarray, " boundary"], block: int = BLOCK
) -> Iterator[tuple[Int[np.ndarray, " pair"], Int[np.ndarray, " pair"]]]:
    """Pair every row of one table, whose cases are given, with all rows of the same case in a second one.

    In the second table the rows of each case begin at `start`, as in :func:`pairs_within`.

    Examples
    --------
    >>> [(left.tolist(), right.tolist()) for left, right in pairs_across(np.array([1, 0]), np.array([0, 1, 3]))]
    [([0, 0, 1], [1, 2, 0])]
    """
    counts = np.diff(start)[cases]
    ends = np.cumsum(counts)
    first = 0
    while first < len(cases):
        done = ends[first - 1] if first else 0
        last = max(int(np.searchsorted(ends, done + block, "right")), first + 1)
        own = counts[first:last]
        left = np.repeat(np.arange(first, last), own)
        within = np.arange(len(left)) - np.repeat(np.cumsum(own) - own, own)
        yield left, start[:-1][cases[left]] + within
        first = last


def _of_large_case(first: int, size: int, block: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    low = 0
    while low < size - 1:
        high = min(low + max(block // size, 1), size - 1)
        left = np.repeat(np.arange(low, high), size - 1 - np.arange(low, high))
        right = np.concatenate([np.arange(row + 1, size) for row in range(low, high)])
        yield first + left, first + right
        low = high
