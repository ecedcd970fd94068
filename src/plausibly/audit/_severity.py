"""Raters who rate higher or lower than the others of the same cases."""

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtri

from plausibly.annotations import Scores
from plausibly.audit._finding import SHOWN, Finding

_BY_CHANCE = 0.05  # how many raters may be expected by chance to be among those that are found
_MOST = 1000  # raters, whose effects are estimated together


def of_severities(scores: Scores) -> Finding:
    """Estimate effects of raters by least squares, with an effect of each case; name those too large for chance."""
    name, n = "raters of another level", len(scores.annotators)
    case, rater = scores.annotation_case, scores.annotation_annotator
    several = scores.per_case[case] > 1
    if scores.anonymous or not 2 <= n <= _MOST or not several.any():
        return Finding(name, 0, 0, [])
    case, rater, score = case[several], rater[several], scores.score[several]
    n_case, n_rater = np.bincount(case, minlength=scores.n_cases), np.bincount(rater, minlength=n)
    rest = score - (np.bincount(case, score, scores.n_cases) / np.maximum(n_case, 1))[case]
    pairs = csr_array((1 / np.sqrt(n_case[case]), (case, rater)), shape=(scores.n_cases, n))
    inverse = np.linalg.pinv(np.diag(n_rater.astype(float)) - (pairs.T @ pairs).toarray(), hermitian=True)
    effect = inverse @ np.bincount(rater, rest, n)
    own = effect[rater]
    error = rest - own + (np.bincount(case, own, scores.n_cases) / np.maximum(n_case, 1))[case]
    free = len(score) - np.count_nonzero(n_case) - n + 1
    if free < 1:
        return Finding(name, 0, 0, [])
    sd = np.sqrt((error**2).sum() / free * inverse.diagonal().clip(1e-12))
    found = np.flatnonzero(np.abs(effect) > -ndtri(_BY_CHANCE / (2 * n)) * sd)
    found = found[np.argsort(-np.abs(effect[found]), kind="stable")]
    way = np.where(effect > 0, "higher", "lower")
    shown = [f"{scores.annotators[at]}: {abs(effect[at]):.2g} points {way[at]}" for at in found[:SHOWN]]
    return Finding(name, len(found), np.count_nonzero(n_rater), shown)
