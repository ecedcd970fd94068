"""Rows of sums.

What is summed over cases or draws has one row each, for every classifier: counts of ranked lists, the plausibilities of
their classes, and the user's own metrics.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from jaxtyping import Float

from plausibly.evaluation._ranges import CASES
from plausibly.metrics import METRICS, Metric


def list_rows(lists: Iterable[tuple[str, int]]) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """List what is summed of ranked lists, metrics and lengths: in whole numbers, and in floats.

    The latter are sums of masses, and counts of which 32 bits do not hold the sum over as many cases as are read at a
    time.
    """
    known = list(METRICS)
    ordered = sorted(lists, key=lambda one: known.index(one[0]))
    rows = dict.fromkeys(_row(metric, j) for metric, k in ordered for j in METRICS[metric].lengths(k))
    whole = {(name, length): METRICS[name].is_whole(length, CASES) for name, length in rows}
    return [row for row in rows if whole[row]], [row for row in rows if not whole[row]]


def _row(metric: str, length: int) -> tuple[str, int]:
    """Find the row that counts a metric: metrics that always count the same share one, since groups have many."""
    own = METRICS[METRICS[metric].averages or metric]
    if own.of_masses or length > 1:
        return own.name, length
    # Lists of one class are equal or not.
    same = (one for one in METRICS.values() if not one.of_masses)
    return next(one.name for one in same if (one.better, one.scale(1)) == (own.better, own.scale(1))), 1


def all_rows(lists: Iterable[tuple[str, int]], own: Mapping[str, Metric]) -> list[tuple[str, int]]:
    """List everything that is summed: metrics and lengths; metrics of the user's own have the length 0."""
    counts, amounts = list_rows(lists)
    return [*counts, *amounts, *((name, 0) for name in own)]


def metric_sums(
    sums: Float[np.ndarray, "*classifier row n"], rows: Sequence[tuple[str, int]], metric: str, k: int
) -> Float[np.ndarray, "*classifier n"]:
    """Turn the sums of all rows into those of a metric."""

    def at(length: int) -> Float[np.ndarray, "*classifier n"]:
        return sums[..., rows.index(_row(metric, length) if k else (metric, 0)), :]

    return METRICS[metric].value(at, k) if k else at(0)
