"""Rows of sums.

What is summed over cases or draws has one row each, for every classifier: counts of ranked lists, the plausibility that
lists cover, and the user's own metrics.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from plausibly.metrics import METRICS, Metric


def count_rows(ks: Sequence[int]) -> list[tuple[str, int]]:
    """List what is counted of ranked lists: metrics and lengths."""
    counted = [metric for metric in METRICS.values() if not metric.of_masses]
    return list(dict.fromkeys((metric.name, j) for metric in counted for k in ks for j in metric.lengths(k)))


def all_rows(ks: Sequence[int], own: Mapping[str, Metric]) -> list[tuple[str, int]]:
    """List everything that is summed: metrics and lengths; metrics of the user's own have the length 0."""
    return [*count_rows(ks), *(("coverage", k) for k in ks), *((name, 0) for name in own)]


def metric_sums(
    sums: Float[np.ndarray, "*classifier row n"], rows: Sequence[tuple[str, int]], metric: str, k: int
) -> Float[np.ndarray, "*classifier n"]:
    """Turn the sums of all rows into those of a metric."""

    def at(length: int) -> Float[np.ndarray, "*classifier n"]:
        return sums[..., rows.index((metric, length)), :]

    return METRICS[metric].value(at, k) if k else at(0)
