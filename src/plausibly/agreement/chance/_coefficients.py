"""Coefficients beside alpha: AC1, AC2, kappas and intraclass correlations, alone and with intervals in one table."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import fdtrc, fdtri

from plausibly.agreement.pairs import check_two_annotators, count_votes, further_labels, single_labels
from plausibly.base.bootstrap import CI_PROB, check_probability, check_replicates, cluster_counts, interval
from plausibly.base.checks import check_choice, to_numbers
from plausibly.base.errors import AnnotationError, ArgumentError, PlausiblyError, show
from plausibly.base.names import some
from plausibly.data.labels.container import Labels

Weights = Literal["nominal", "ordinal", "linear", "quadratic"]
WEIGHTS = ("nominal", "ordinal", "linear", "quadratic")


def gwet_ac(labels: Any, weights: Weights = "nominal", classes: Iterable[Any] | None = None) -> float:
    r"""Compute Gwet's AC1 or, with weights for labels that nearly agree, AC2.

    With :math:`w` the weights of pairs of the q classes, :math:`\pi` the mean shares of the classes and :math:`p_a` the
    mean weight of two labels of a case,

    .. math::
       p_e = \frac{\sum_{kl} w_{kl}}{q (q - 1)} \sum_k \pi_k (1 - \pi_k), \qquad AC = \frac{p_a - p_e}{1 - p_e}.

    Kappa and alpha fall where one class is frequent, AC does not: there chance gives little agreement by its
    definition. 1 is perfect agreement, even if a single class is in use.

    Parameters
    ----------
    labels
        See :meth:`Labels.of`; an annotator labels a case at most once. Cases with one label count in the shares.
    weights
        ``"nominal"`` for AC1. For AC2 of numbers, or of classes in their order, ``"linear"`` or ``"quadratic"``, by the
        difference over the greatest one; ``"ordinal"``, by the number of pairs of classes from one to the other.
    classes
        All classes in their order, including unused ones, which count in q; by default the labels that occur
        and, if these have an order, all that it has.

    Raises
    ------
    AnnotationError
        If no case has two annotators, an annotator labels a case twice, or a label is none of the classes.
    ArgumentError
        If there are no such weights, or classes that are not numbers are compared by order without having one.

    References
    ----------
    Gwet (2008), Computing inter-rater reliability and its variance in the presence of high agreement, British Journal
    of Mathematical and Statistical Psychology 61; Gwet (2014), Handbook of inter-rater reliability, 4th edition.

    Examples
    --------
    >>> labels = {"p": {"a": 1, "b": 1}, "q": {"a": 1, "b": 1}, "r": {"a": 0, "b": 1}}
    >>> round(gwet_ac(labels), 3)
    0.538
    """
    labels = single_labels(Labels.of(labels), "AC1" if weights == "nominal" else "")
    return CaseShares.of(labels, weights, classes).value()


@dataclass(frozen=True)
class CaseShares:
    """How often each class is given in each case that has labels, and how well these agree (NaN of one label).

    Coefficients are functions of sums over cases, of which the bootstrap draws some.
    """

    counts: Float[np.ndarray, "case class"]
    agree: Float[np.ndarray, " case"]
    weights: Float[np.ndarray, "class class"]

    @classmethod
    def of(cls, labels: Labels, weights: str = "nominal", classes: Iterable[Any] | None = None) -> "CaseShares":
        """Count the labels of each case; see :func:`gwet_ac`."""
        n = np.diff(labels.start)
        check_two_annotators(labels, n)
        names, code = _classes(labels, classes)
        between = agreement_weights(weights, names, ordered=classes is not None or labels.order is not None)
        counts = count_votes(labels.case, code, len(n), len(names))[n > 0].astype(float)
        n = n[n > 0]
        alike = (counts * (counts @ between)).sum(1) - n
        agree = np.divide(alike, n * (n - 1), out=np.full(len(n), np.nan), where=n > 1)
        return cls(counts, agree, between)

    @property
    def _columns(self) -> Float[np.ndarray, "case 3+2*class"]:
        two, n = ~np.isnan(self.agree), self.counts.sum(1)
        ones = np.ones(len(n))
        rest = self.counts / n[:, None], self.counts * two[:, None]
        return np.column_stack([np.where(two, self.agree, 0), two, ones, *rest])

    def _by_chance(self, sums: Float[np.ndarray, "draw column"], *, fleiss: bool) -> Float[np.ndarray, " draw"]:
        """Agreement that Fleiss, or Gwet, takes for chance."""
        q = self.counts.shape[1]
        if fleiss:
            shares = sums[:, 3 + q :] / np.maximum(sums[:, 3 + q :].sum(1, keepdims=True), 1e-300)
            return (shares**2).sum(1)
        shares = sums[:, 3 : 3 + q] / sums[:, 2, None]
        return self.weights.sum() / max(q * (q - 1), 1) * (shares * (1 - shares)).sum(1)

    def value(self, *, fleiss: bool = False) -> float:
        """AC1, AC2 or Fleiss' kappa."""
        sums = self._columns.sum(0)[None]
        return float(_beyond(sums[:, 0] / sums[:, 1], self._by_chance(sums, fleiss=fleiss))[0])

    def bootstrap(self, replicates: int, seed: int, *, fleiss: bool = False) -> Float[np.ndarray, " replicate"]:
        """The same of drawn cases, and of one more that by the toss of a coin agrees perfectly or as by chance."""
        columns = self._columns
        sums = np.concatenate([counts @ columns for _, counts in cluster_counts(len(columns), replicates, seed)])
        by_chance = self._by_chance(sums, fleiss=fleiss)
        random = np.random.default_rng([seed, 1])
        more = random.standard_exponential(replicates)
        alike = np.where(random.random(replicates) < 0.5, 1.0, by_chance)
        return _beyond((sums[:, 0] + more * alike) / (sums[:, 1] + more), by_chance)


def agreement_weights(weights: str, names: Any, *, ordered: bool) -> Float[np.ndarray, "class class"]:
    """Weights of pairs of classes, 1 of the same, in one of the ways of :func:`gwet_ac`."""
    q = len(names)
    check_choice("weights", weights, WEIGHTS)
    if weights == "nominal" or q == 1:
        return np.eye(q)
    numbers = to_numbers(names)
    if np.isnan(numbers).any() and not ordered:
        raise ArgumentError(
            f"{weights} weights are of numbers, or of classes in their order, but one is {show(names[0])}: "
            "give classes=[…], the lowest first."
        )
    places = np.arange(q, dtype=float)
    if weights != "ordinal" and not np.isnan(numbers).any():
        places = numbers
    apart = np.abs(places[:, None] - places)
    if weights == "ordinal":
        apart = apart * (apart + 1) / 2
    apart /= apart.max()
    return 1 - (apart**2 if weights == "quadratic" else apart)


def _classes(labels: Labels, classes: Iterable[Any] | None) -> tuple[Any, np.ndarray]:
    """All classes, in their order, and the index of every label among them."""
    names, code = labels.coded
    order = list(labels.order or names.tolist()) if classes is None else list(classes)
    place = {name: at for at, name in enumerate(order)}
    for label in np.flatnonzero([name not in place for name in names.tolist()])[:1]:
        raise AnnotationError(
            f"{labels.where(int(np.flatnonzero(code == label)[0]))}: the label {show(names.tolist()[label])} is none "
            f"of the classes; add it there"
        )
    return order, np.array([place[name] for name in names.tolist()])[code]


def _beyond(observed: Float[np.ndarray, " draw"], expected: Float[np.ndarray, " draw"]) -> Float[np.ndarray, " draw"]:
    """Agreement beyond chance; 1 where labels agree perfectly, whatever chance gives."""
    room = 1 - expected
    return np.divide(observed - expected, room, out=np.ones(len(room)), where=(room > 0) & (observed < 1))


def cohen_kappa(labels: Any, first: str | None = None, second: str | None = None) -> float:
    """Compute the agreement of two annotators beyond chance, where each has her own label frequencies.

    It is 1 for perfect agreement, even if only one label is in use and the formula would give 0/0. Cohen (1960), A
    coefficient of agreement for nominal scales, Educational and Psychological Measurement 20.

    Parameters
    ----------
    labels
        See :meth:`Labels.of`; an annotator labels a case at most once. Only cases that both labelled count.
    first, second
        Names of the annotators; optional if there are only two.

    Examples
    --------
    >>> round(cohen_kappa({"p": {"a": 1, "b": 1}, "q": {"a": 0, "b": 1}, "r": {"a": 0, "b": 0}}), 3)
    0.4
    """
    labels = Labels.of(labels)
    known = labels.annotators.tolist()
    if first is None and second is None and len(known) == 2:
        first, second = known
    for name in (first, second):
        if name is None or str(name) not in known:
            raise ArgumentError(f"name two of the annotators, {some(known)}, but {show(name)} was given.")
    if str(first) == str(second):
        raise ArgumentError(f"two different annotators are needed, but {show(first)} was given twice.")
    labels = single_labels(labels, "kappa")
    names, code = labels.coded
    said = np.full((len(known), len(labels.cases)), -1)
    said[labels.annotator, labels.case] = code
    both = said[[known.index(str(first)), known.index(str(second))]]
    both = both[:, (both >= 0).all(axis=0)]
    if not both.size:
        raise AnnotationError(f"annotators {str(first)!r} and {str(second)!r} have no case in common; give such cases")
    shares = [np.bincount(row, minlength=len(names)) / both.shape[1] for row in both]
    observed, expected = float((both[0] == both[1]).mean()), float(shares[0] @ shares[1])
    return 1.0 if observed == 1 else (observed - expected) / (1 - expected)


def fleiss_kappa(labels: Any) -> float:
    """Compute the agreement of several annotators beyond chance, where all share the same label frequencies.

    It is 1 for perfect agreement, even if only one label is in use and the formula would give 0/0. Fleiss (1971),
    Measuring nominal scale agreement among many raters, Psychological Bulletin 76.

    Parameters
    ----------
    labels
        See :meth:`Labels.of`; an annotator labels a case at most once. Cases with fewer than two labels are left out.
        Fleiss assumes the same number of labels in each case; otherwise, agreement is averaged over cases with equal
        weights.

    Examples
    --------
    >>> round(fleiss_kappa({"p": {"a": 1, "b": 1, "c": 1}, "q": {"a": 0, "b": 0, "c": 1}}), 3)
    0.25
    """
    return CaseShares.of(single_labels(Labels.of(labels), "kappa")).value(fleiss=True)


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


#: Weights of AC2 that go with a distance.
_WEIGHTS = {"nominal": "nominal", "ordinal": "ordinal", "interval": "quadratic", "absolute": "linear"}


def coefficients(labels: Labels, distance: str, ci_prob: float, replicates: int, seed: int) -> pd.DataFrame:
    """Tabulate AC1 or AC2, kappa and intraclass correlations; see :meth:`plausibly.agreement.Agreement.coefficients`.

    Labels are as they are to be compared: of no more of each case than :func:`plausibly.agreement.pairs.fair_pairs`
    leaves.
    """
    if replicates:
        check_replicates(replicates, 2)
    table = pd.DataFrame(columns=["value", "lower", "upper", "meaning"])
    if further_labels(labels).any():
        return table
    weights = _WEIGHTS.get(distance)
    try:
        shares = CaseShares.of(labels, weights) if weights else None
    except PlausiblyError:  # lists, or words without an order
        shares = None
    if shares is not None:
        named = weights == "nominal"
        meaning = "classes as names" if named else f"{weights} weights"
        for fleiss in (False, True) if named else (False,):
            ends = interval(shares.bootstrap(replicates, seed, fleiss=fleiss), ci_prob) if replicates else ()
            name = "Fleiss' kappa" if fleiss else f"Gwet's AC{1 if named else 2}"
            table.loc[name] = [shares.value(fleiss=fleiss), *(ends or (float("nan"),) * 2), meaning]
    if labels.is_numeric and labels.values.dtype.kind != "b" and len(set(labels.values.tolist())) > 2:
        try:
            found = intraclass_of(labels, ci_prob)
        except PlausiblyError:  # cases with gaps
            return table
        found = found.loc[found["value"].notna(), ["value", "lower", "upper", "meaning"]]
        table = pd.concat([table, found]) if len(table) else found
    return table.astype({"value": float, "lower": float, "upper": float})
