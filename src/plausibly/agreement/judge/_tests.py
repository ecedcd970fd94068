"""The tests of the alternative annotator test, from counts of cases, and what is counted."""

from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import ndtr, stdtr
from scipy.stats import binom, false_discovery_control, rankdata

from plausibly.agreement.discrepancy._result import Discrepancy

FEW = 30  #: cases below which the t-test gives way to Wilcoxon's
_EXACT = 13


def p_values(
    counts: Float[np.ndarray, "*table 3"] | Int[np.ndarray, "*table 3"], epsilon: float, few: int = FEW
) -> Float[np.ndarray, "*table"]:
    r"""p-values of :math:`H_0: \rho^f \le \rho^h - \varepsilon`, one for each table of counts.

    Every case has a difference :math:`W^h - W^f`, which is −1 (the model is closer), 0 (as close) or 1 (the annotator
    is closer); `counts` are the numbers of cases with each. A one-sided test asks whether the mean difference is below
    ε: Student's t-test, or Wilcoxon's signed-rank test of fewer than `few` cases. NaN below two cases. Where all
    differences are equal, the t-test's p-value is 0 if they are below ε, and else 1.
    """
    counts = np.asarray(counts, float)
    n = counts.sum(-1)
    of_ranks, enough = (n >= 2) & (n < few), (n >= 2) & (n >= few)
    out = np.full(n.shape, np.nan)
    out[enough] = _student(counts[enough], epsilon)
    out[of_ranks] = [_wilcoxon(*row, epsilon) for row in counts[of_ranks].astype(int).tolist()]
    return out


def reject(p: Float[np.ndarray, "*table annotator"], fdr: float) -> Bool[np.ndarray, "*table annotator"]:
    """Reject hypotheses at a false discovery rate, whatever their dependence (Benjamini & Yekutieli 2001).

    Hypotheses without a p-value (NaN) are not rejected, and do not count.
    """
    return np.nan_to_num(adjusted(p), nan=1.0) <= fdr


def adjusted(p: Float[np.ndarray, "*table annotator"]) -> Float[np.ndarray, "*table annotator"]:
    """p-values adjusted by Benjamini & Yekutieli: a hypothesis is rejected at the rates above its own."""
    there = ~np.isnan(p)
    if there.all():
        return false_discovery_control(p, method="by", axis=-1) if p.size else p
    if p.ndim == 1:
        out = np.full(p.shape, np.nan)
        if there.any():
            out[there] = false_discovery_control(p[there], method="by")
        return out
    return np.array([adjusted(row) for row in p]).reshape(p.shape)


def _student(counts: Float[np.ndarray, "table 3"], epsilon: float) -> Float[np.ndarray, " table"]:
    n = counts.sum(-1)
    total, squares = counts[:, 2] - counts[:, 0], counts[:, 2] + counts[:, 0]
    mean = total / n
    variance = (squares - total**2 / n) / (n - 1)
    same = np.any(counts == n[:, None], axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = stdtr(n - 1, (mean - epsilon) / np.sqrt(variance / n))
    return np.where(same, np.where(mean < epsilon, 0.0, 1.0), p)


@lru_cache(maxsize=10_000)
def _wilcoxon(closer: int, same: int, farther: int, epsilon: float) -> float:
    """As scipy: exact up to 13 cases, else by the normal approximation, ties corrected for and zeros left out."""
    differences = np.repeat([-1.0, 0.0, 1.0], [closer, same, farther]) - epsilon
    exact = len(differences) <= _EXACT
    differences = differences[differences != 0]
    n = len(differences)
    if not n:
        return 1.0  # every difference is the one allowed
    ranks = rankdata(np.abs(differences))
    statistic = ranks[differences > 0].sum()
    different, ties = np.unique(ranks, return_counts=True)
    if not exact:
        variance = (n * (n + 1) * (2 * n + 1) - (ties**3 - ties).sum() / 2) / 24
        return float(ndtr((statistic - n * (n + 1) / 4) / np.sqrt(variance)))
    # Of cases with equal ranks, only how many are positive counts.
    found, probability = np.zeros(1), np.ones(1)
    for rank, size in zip(different, ties.tolist(), strict=True):
        positive = np.arange(size + 1)
        found = (found[:, None] + rank * positive).ravel()
        probability = (probability[:, None] * binom.pmf(positive, size, 0.5)).ravel()
    return float(min(probability[found <= statistic].sum(), 1.0))


def differences_of(compared: Discrepancy, to_set: Float[np.ndarray, " set"]) -> Int[np.ndarray, " comparison"]:
    """Who is closer to the other annotators of a case, an answer (−1) or the annotator (1), in every comparison."""
    sets, counts = compared.label_sets, compared_sets(compared)
    case, own, to_set = sets.case[counts], compared.to_others[counts], to_set[counts]
    model = np.bincount(case, to_set, len(sets.start) - 1)[case] - to_set  # sum of distances to the others
    # What sums of distances such as 1/3 leave of equal ones is no difference.
    same = np.isclose(model, own, rtol=1e-9, atol=1e-12 * max(float(own.max(initial=0.0)), 1e-300))
    return np.where(same, 0, np.where(model < own, -1, 1))


def compared_sets(compared: Discrepancy) -> Bool[np.ndarray, " set"]:
    """Whether each set of labels is of a case with other annotators."""
    return compared.included[compared.label_sets.case]
