"""Scores, whose values are checked as if they were classes."""

import numpy as np

from plausibly.annotations import Annotations, Scores
from plausibly.audit._finding import Finding

#: not of scores
OF_CLASSES = (
    "similar class names",
    "misspelt class names",
    "classes never named",
    "several classes without a rank",
    "comparisons",
    "empty annotations",
    "extreme ties",
)
_OFTEN = 0.05  # share of scores with one value, from which on they are categories


def as_labels(scores: Scores) -> Annotations:
    """Take every value for a class of its own."""
    values, code = np.unique(scores.score, return_inverse=True)
    return scores._labels(code, [f"{value:.17g}" for value in values])


def frequent_scores(scores: Scores) -> Finding:
    """Find values that many scores have."""
    values, counts = np.unique(scores.score, return_counts=True)
    often = np.flatnonzero(counts > _OFTEN * counts.sum())
    often = often[np.argsort(-counts[often], kind="stable")]
    shown = [f"{values[i]:g}: {counts[i] / counts.sum():.0%}".replace("%", " %") for i in often]
    return Finding("frequent scores", len(often), len(values), shown)
