"""Intraclass correlations: the share of the variance of ratings that is due to the cases."""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import fdtrc, fdtri

from plausibly.agreement.pairs import single_labels
from plausibly.base.bootstrap import CI_PROB, check_probability
from plausibly.base.errors import AnnotationError
from plausibly.data.labels.container import Labels

#: Names by Shrout and Fleiss, those by McGraw and Wong, and what each is of.
NAMES = {
    "ICC1": ("ICC(1)", "one rating, by anybody"),
    "ICC2": ("ICC(A,1)", "one rating, agreement"),
    "ICC3": ("ICC(C,1)", "one rating, consistency"),
    "ICC1k": ("ICC(k)", "mean of k ratings, by anybody"),
    "ICC2k": ("ICC(A,k)", "mean of k ratings, agreement"),
    "ICC3k": ("ICC(C,k)", "mean of k ratings, consistency"),
}


def intraclass_correlations(labels: Any, ci_prob: float = CI_PROB) -> pd.DataFrame:
    """Compute the intraclass correlations of ratings, with F tests and intervals.

    ICC1 takes raters of each case for others than those of the next. ICC2 and ICC3 are of the same raters in all cases:
    in ICC2 raters who are strict or lenient disagree, in ICC3 only their order and distances count. The averages
    (``k``) are of the mean of as many ratings as a case has.

    Parameters
    ----------
    labels
        See :meth:`Labels.of`; labels are numbers, and an annotator labels a case at most once. Cases that some
        annotator did not rate are left out. If none is left, but all cases have as many ratings, ICC1 and ICC1k
        are given, the others are NaN.
    ci_prob
        Confidence level of the intervals, which take cases, raters and errors for normal.

    Returns
    -------
    pandas.DataFrame
        One row for each of ``ICC1``, ``ICC2``, ``ICC3``, ``ICC1k``, ``ICC2k`` and ``ICC3k``, with the columns ``also``
        (its other name), ``meaning``, ``value``, ``lower``, ``upper``, ``F``, ``df1``, ``df2``, ``pvalue`` (of no
        correlation), ``cases`` and ``ratings`` (of a case). Where ratings do not vary, correlations are NaN, and where
        they agree perfectly, so are intervals.

    Raises
    ------
    AnnotationError
        If labels are not numbers, an annotator rates a case twice, or there are fewer than two cases or ratings.

    References
    ----------
    Shrout and Fleiss (1979), Intraclass correlations: uses in assessing rater reliability, Psychological Bulletin 86;
    McGraw and Wong (1996), Forming inferences about some intraclass correlation coefficients, Psychological Methods 1.

    Examples
    --------
    >>> ratings = {"p": {"a": 1, "b": 2}, "q": {"a": 4, "b": 5}, "r": {"a": 7, "b": 9}}
    >>> intraclass_correlations(ratings)["value"].round(2).to_dict()
    {'ICC1': 0.91, 'ICC2': 0.91, 'ICC3': 0.98, 'ICC1k': 0.95, 'ICC2k': 0.95, 'ICC3k': 0.99}
    """
    check_probability("ci_prob", ci_prob)
    return intraclass_of(single_labels(Labels.of(labels)), ci_prob)


def intraclass_of(labels: Labels, ci_prob: float) -> pd.DataFrame:
    """Tabulate intraclass correlations of labels as they are to be compared."""
    ratings, same = _ratings(labels)
    return _table(ratings, ci_prob, same=same)


def _ratings(labels: Labels) -> tuple[Float[np.ndarray, "case rating"], bool]:
    """Ratings of the cases that all annotators rated, or of all, if nobody rated all; and whether it is the former."""
    values, there = labels.numbers, np.unique(labels.annotator)
    n = np.diff(labels.start)
    whole = n == len(there)
    if whole.sum() >= 2 and len(there) >= 2:
        return values[whole[labels.case]].reshape(-1, len(there)), True
    some = np.unique(n[n > 0])
    if len(some) != 1 or some[0] < 2 or (n > 0).sum() < 2:
        raise AnnotationError(
            "intraclass correlations take two cases that all annotators rated, or cases with equally many ratings, but "
            f"here cases have {some.min()} to {some.max()} of {len(there):,} annotators; give cases and annotators "
            "without gaps"
        )
    return values.reshape(-1, some[0]), False


def _table(ratings: Float[np.ndarray, "case rating"], ci_prob: float, *, same: bool) -> pd.DataFrame:
    n, k = ratings.shape
    of_case, of_rater = (ratings.mean(axis=axis) - ratings.mean() for axis in (1, 0))
    total = ((ratings - ratings.mean()) ** 2).sum()
    # What is left of a difference of sums is not an error.
    least = 1e-12 * total
    between, raters = k * (of_case**2).sum(), n * (of_rater**2).sum()
    errors = max(((ratings - of_case[:, None] - of_rater - ratings.mean()) ** 2).sum(), 0.0)
    between, raters, errors = (0.0 if one <= least else float(one) for one in (between, raters, errors))
    ms_case, ms_rater = between / (n - 1), raters / (k - 1)
    ms_within, ms_error = (raters + errors) / (n * (k - 1)), errors / ((n - 1) * (k - 1))
    one = _ratio(ms_case - ms_within, ms_case + (k - 1) * ms_within)
    two = _ratio(ms_case - ms_error, ms_case + (k - 1) * ms_error + k * (ms_rater - ms_error) / n)
    three = _ratio(ms_case - ms_error, ms_case + (k - 1) * ms_error)
    means = (
        _ratio(ms_case - ms_within, ms_case),
        _ratio(ms_case - ms_error, ms_case + (ms_rater - ms_error) / n),
        _ratio(ms_case - ms_error, ms_case),
    )
    tail, df = (1 - ci_prob) / 2, (n - 1, n * (k - 1), (n - 1) * (k - 1))
    f_one, f_three = _ratio(ms_case, ms_within), _ratio(ms_case, ms_error)
    ends = {}
    for name, f, df2 in (("ICC1", f_one, df[1]), ("ICC3", f_three, df[2])):
        low, high = f / fdtri(df[0], df2, 1 - tail), f * fdtri(df2, df[0], 1 - tail)
        ends[name] = (low - 1) / (low + k - 1), (high - 1) / (high + k - 1)
        ends[f"{name}k"] = 1 - 1 / low if low else np.nan, 1 - 1 / high if high else np.nan
    ends["ICC2"] = _ends_of_agreement(two, ms_case, ms_rater, ms_error, n, k, tail)
    ends["ICC2k"] = tuple(end * k / (1 + end * (k - 1)) for end in ends["ICC2"])
    rows = []
    for name, value in zip(NAMES, (one, two, three, *means), strict=True):
        f, df2 = (f_one, df[1]) if "1" in name else (f_three, df[2])
        row = [value, *ends[name], f, df[0], df2, fdtrc(df[0], df2, f)]
        rows.append([*NAMES[name], *(row if same or "1" in name else [np.nan] * len(row)), n, k])
    columns = ["also", "meaning", "value", "lower", "upper", "F", "df1", "df2", "pvalue", "cases", "ratings"]
    return pd.DataFrame(rows, index=list(NAMES), columns=columns)


def _ends_of_agreement(
    icc: float, ms_case: float, ms_rater: float, ms_error: float, n: int, k: int, tail: float
) -> tuple[float, float]:
    """Ends of the interval of ICC2, with Satterthwaite's degrees of freedom (Shrout and Fleiss 1979)."""
    f = _ratio(ms_rater, ms_error)
    if np.isnan(icc) or np.isnan(f):
        return np.nan, np.nan
    more = n * (1 + (k - 1) * icc) - k * icc
    free = (k - 1) * (n - 1) * (k * icc * f + more) ** 2 / ((n - 1) * (k * icc * f) ** 2 + more**2)
    high, low = fdtri(n - 1, free, 1 - tail), fdtri(free, n - 1, 1 - tail)
    rest = k * ms_rater + (k * n - k - n) * ms_error
    return n * (ms_case - high * ms_error) / (high * rest + n * ms_case), n * (low * ms_case - ms_error) / (
        rest + n * low * ms_case
    )


def _ratio(above: float, below: float) -> float:
    """Ratio of two sums; NaN of nothing."""
    return above / below if below else np.nan
