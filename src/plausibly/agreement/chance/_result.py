"""The outcome of comparing annotators by a distance."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float

from plausibly.agreement.chance._coefficients import coefficients
from plausibly.agreement.chance._compared_pairs import AnnotatorDistances, ComparedPairs
from plausibly.agreement.chance._measures import KS, Measures
from plausibly.agreement.chance.annotators import TOO_FEW, annotator_table
from plausibly.base.bootstrap import CI_PROB, check_probability, check_replicates, interval_of_known
from plausibly.base.checks import check_seed
from plausibly.base.errors import ArgumentError
from plausibly.base.shown import Shown
from plausibly.data.labels.container import Labels
from plausibly.data.rounds import Rounds

Weighting = Literal["pairs", "units"]


@dataclass(frozen=True, eq=False)
class PairDistances:
    """Distances of many pairs: distinct values in increasing order, and the number (or weight) of pairs with each.

    ``numpy.asarray`` returns the distance of every pair, if weights are numbers of pairs; ``float`` returns their mean.

    Examples
    --------
    >>> distances = PairDistances(np.array([0.0, 0.5]), np.array([3.0, 1.0]))
    >>> distances.mean(), np.asarray(distances).tolist(), len(distances)
    (0.125, [0.0, 0.0, 0.0, 0.5], 4)
    """

    values: Float[np.ndarray, " level"]
    weights: Float[np.ndarray, " level"]

    def mean(self) -> float:
        """Weighted mean."""
        return float(self.values @ self.weights / self.weights.sum())

    def __float__(self) -> float:
        return self.mean()

    def __len__(self) -> int:
        return round(float(self.weights.sum()))

    def __iter__(self) -> Iterator[float]:
        return iter(np.asarray(self).tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        counts = np.rint(self.weights)
        if not np.allclose(counts, self.weights):
            raise ArgumentError(
                "these distances have weights that are not counts (weighting='units'): use .values and .weights."
            )
        return np.repeat(self.values, counts.astype(np.int64)).astype(dtype or np.float64)

    def __repr__(self) -> str:
        return f"PairDistances({len(self):,} pairs, mean {self.mean():.4g})"


@dataclass(frozen=True, eq=False)
class Agreement(Shown, kind="agreement"):
    """Agreement of annotators under one distance.

    Made by :func:`agreement`. Agreement is high if labels of the same case (``observed`` distances) are closer to each
    other than labels of different cases (``expected`` distances, as chance would give).

    Parameters
    ----------
    distance
        Name of the distance.
    alpha
        One minus the ratio of mean observed to mean expected distance: 1 is perfect, 0 is chance. It depends on the
        scale of the distance, so alphas of different distances cannot be compared. :attr:`alpha_name` tells the two
        weightings apart.
    ks
        ``.statistic``, ``.pvalue``, ``.superiority`` and ``.ties`` (:class:`KS`): how well the distance separates pairs
        of labels of the same case from pairs of different cases. Choose the distance by ``.superiority``, in which ties
        count against the distance.
    sigma
        Share of observed distances so small that a smoothed distribution of the expected ones gives them, or smaller
        ones, with a probability below ``p`` (:func:`plausibly.agreement.agreement`). NaN where chance gives the
        smallest distance with at least that probability, since none is then too small to be due to chance;
        ``.warnings`` says so.
    observed, expected
        Distances between labels of the same case, and of different cases (:class:`PairDistances`).
    weighting
        ``"pairs"`` or ``"units"``.
    n_cross
        Number of pairs of labels of different cases.
    sampled
        Whether the expected distances are a sample of these pairs.
    warnings
        Sentences that say which labels were compared, if not all, and what is wrong with the distance
        (:func:`pathologies`).
    n_told
        How many of these sentences, the first ones, are of which labels were compared; those are warned of, too.
    rounds
        How the number of labels of a case depends on the first ones, which alone were compared; None if it does not.
    """

    distance: str
    alpha: float
    ks: KS
    sigma: float
    observed: PairDistances
    expected: PairDistances
    weighting: Weighting
    n_cross: int
    sampled: bool
    warnings: tuple[str, ...]
    _pairs: ComparedPairs = field(repr=False)
    labels: Labels = field(repr=False)  # also those of cases with one
    n_told: int = 0
    rounds: Rounds | None = None
    _every: Callable[[], ComparedPairs] | None = field(default=None, repr=False)

    @property
    def cases(self) -> np.ndarray:
        """Names of the cases."""
        return self._pairs.labels.cases

    @cached_property
    def _of_all(self) -> ComparedPairs:
        """Pairs of all labels, which tell of annotators, also where agreement is of some only."""
        return self._pairs if self._every is None else self._every()

    def superiority_by_case(self) -> tuple[Float[np.ndarray, " case"], Float[np.ndarray, " case"]]:
        """Sums over the pairs of each case of how often pairs of other cases are farther apart, and their weights."""
        pairs = self._pairs
        below = np.cumsum(pairs.expected()) / pairs.expected().sum()
        farther = 1 - below[pairs.level[pairs._place_within]]
        sums = (pairs.weight * farther, pairs.weight)
        above, size = (np.bincount(pairs.within.case, one, len(self.cases)) for one in sums)
        return above, size

    @property
    def alpha_name(self) -> str:
        """What this alpha is called: Krippendorff's with the weighting ``"units"`` only."""
        return "Krippendorff's alpha" if self.weighting == "units" else "alpha (pairs weighted equally)"

    def to_frame(self) -> pd.DataFrame:
        """Return the measures as a table with one row."""
        row = {
            "distance": self.distance,
            "alpha": self.alpha,
            "ks_superiority": self.ks.superiority,
            "ks_ties": self.ks.ties,
            "ks_statistic": self.ks.statistic,
            "ks_pvalue": self.ks.pvalue,
            "sigma": self.sigma,
            "observed": self.observed.mean(),
            "expected": self.expected.mean(),
            "cases": int(np.count_nonzero(np.diff(self._pairs.labels.start))),
            "labels": len(self._pairs.labels),
            "observed_pairs": int(self._pairs.within.count.sum()),
            "expected_pairs": len(self.expected),
            "sampled": self.sampled,
            "weighting": self.weighting,
        }
        return pd.DataFrame([row])

    def by_case(self) -> pd.DataFrame:
        """Tabulate agreement by case.

        The columns are ``case``, ``labels``, ``pairs``, ``distance`` (the mean over the pairs of the case) and
        ``alpha`` (one minus the ratio of this mean to the mean expected distance); NaN if a case has no pair.

        Examples
        --------
        >>> found = pb.agreement.agreement({"p": {"ann": 1, "bob": 1}, "q": {"ann": 2, "bob": 1}})
        >>> found.by_case()["distance"].tolist()
        [0.0, 1.0]
        """
        labels, (pairs, total) = self._pairs.labels, self._pairs.by_case()
        mean = np.divide(total, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
        expected = self.expected.mean()
        alpha = 1 - mean / expected if expected > 0 else np.full(len(pairs), np.nan)
        columns = {"case": labels.cases, "labels": np.diff(labels.start), "pairs": pairs.astype(int)}
        return pd.DataFrame(columns | {"distance": mean, "alpha": alpha})

    def annotators(self, ci_prob: float = CI_PROB, seed: int = 0) -> pd.DataFrame:
        """Tabulate annotators, starting with those who need a closer look.

        An annotator's ``agreement`` is one minus the ratio of the mean distance to the others' labels of the same cases
        to the mean expected distance, as in alpha: 1 is perfect, 0 is the mean for labels of different cases. It is
        adjusted for difficulty: distances are corrected for the distances among the other annotators of the case.
        Intervals use Student's t over cases.

        Parameters
        ----------
        ci_prob
            Probability of the intervals.
        seed
            Random seed. Each label is compared with up to 128 randomly chosen labels of other cases.

        Returns
        -------
        pandas.DataFrame
            ``annotator``, ``labels``, ``pairs`` (with other annotators' labels of the same cases), ``distance`` (their
            mean), ``by_chance`` (mean distance to the others' labels of other cases), ``agreement``, ``lower``,
            ``upper`` and ``flag``, which is empty or one of

            * ``"says the same as NAME"``: in all cases that both labelled, more of them than good annotators would.
            * ``"copies NAME"``: gives the same label as NAME in at least 80 % of five or more cases, more often than
              independent annotators would, given the labels of others; tested at the 5 % level for all pairs together.
              In each such pair, the annotator who labelled fewer cases without the other is flagged; with ``", or is
              copied"`` unless she has hardly any and the other has.
            * ``"no better than chance"``: labels are no closer to the others' labels of the same cases than to those of
              other cases, at the 1 % level, whether adjusted for difficulty or not, and gain less than what is typical,
              at the 5 % level for all annotators together. Chance refers to the annotator's own labels: an annotator
              who always gives the most frequent label has an agreement above 0. Typical is the median gain of those who
              are better, as a share of each one's distance by chance.
            * ``"too few"``: fewer than eight cases with others, or so few that neither chance nor what is typical can
              be excluded. Flagged annotators come first, then those without a
              flag, then those with too few labels; within each group, the lowest agreement comes first.

            Whether annotators are strict or lenient is in ``label``, ``own``, ``others`` and ``leans``: of numbers,
            unless the distance is nominal, ``own`` is the mean that an annotator gave, ``others`` that of the others in
            the same cases; else they are the shares of the ``label`` in which both differ most clearly (with two
            labels, the positive or else the second one). ``leans`` tells whether they differ clearly: by at least 0.7
            standard deviations (of all numbers; of shares, as quantiles of a normal distribution), and with p below
            0.01 in a t-test over cases, corrected for the number of annotators and labels. Annotators who lean do not
            count among the others. With more than ten labels, these columns are empty.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> labels = {i: {name: i % 3 for name in ("ann", "bob", "cy")} for i in range(40)}
        >>> for case in labels.values():
        ...     case["eve"] = int(rng.integers(3))
        >>> table = pb.agreement.agreement(labels).annotators()
        >>> table[["annotator", "flag"]].head(2).values.tolist()
        [['eve', 'no better than chance'], ['ann', 'says the same as bob and cy']]
        """
        check_probability("ci_prob", ci_prob)
        table = annotator_table(self._of_all, ci_prob, check_seed(seed))
        if self.rounds is not None and self.rounds.rule:
            # Who is asked only where others differ agrees with some and not with others, whatever she says.
            labels = self._of_all.labels
            asked_first = np.diff(labels.start)[labels.case] <= self.rounds.first
            alone = np.setdiff1d(labels.annotators, labels.annotators[labels.annotator[asked_first]])
            table.loc[table["annotator"].isin(alone), "flag"] = TOO_FEW
        return table

    def annotator_distances(self) -> AnnotatorDistances:
        """Mean distance between every two annotators on the cases that both labelled.

        ``.mean``, ``.total`` and ``.pairs`` are square arrays over ``.annotators``; the diagonal is for two labels that
        an annotator gave the same case. ``.mean`` is NaN without pairs.
        """
        return self._of_all.annotator_distances

    def interval(
        self, ci_prob: float = CI_PROB, replicates: int = 500, seed: int = 0, *, progress: bool = True
    ) -> pd.DataFrame:
        """Compute bootstrap intervals of the measures, over cases.

        Cases are drawn with replacement, each with all its labels, and all pairs of drawn cases get new weights; a case
        that is drawn twice is not compared with itself. In one case more, labels agree perfectly or as by chance, by
        the toss of a coin. Distances are rounded to 16,384 quantiles. If pairs were sampled, the same pairs get new
        weights, so that intervals do not include the sampling error (:attr:`monte_carlo_error`). Intervals are
        percentiles (Efron 1979). The table has the rows ``alpha``, ``ks_superiority``, ``ks_statistic`` and ``sigma``,
        and the columns ``value``, ``lower``, ``upper`` and ``sd``.

        Parameters
        ----------
        ci_prob
            Confidence level of the intervals, between 0 and 1.
        replicates
            Number of bootstrap replicates, at least 2.
        seed
            Random seed.
        progress
            Whether to show progress.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> labels = {f"case {i}": {name: i % 2 + 0.4 * rng.normal() for name in "abc"} for i in range(20)}
        >>> table = pb.agreement.agreement(labels, "interval").interval(replicates=50, progress=False)
        >>> bool(table.loc["alpha", "lower"] < table.loc["alpha", "value"] < table.loc["alpha", "upper"])
        True
        """
        check_probability("ci_prob", ci_prob)
        check_replicates(replicates, 2)
        drawn = self._pairs.bootstrap(replicates, check_seed(seed), progress)
        lower, upper = interval_of_known(drawn, ci_prob)
        measures = Measures(self.alpha, self.ks, self.sigma)
        columns = {"value": measures.values(), "lower": lower, "upper": upper, "sd": pd.DataFrame(drawn).std().values}
        return pd.DataFrame(columns, index=list(Measures.NAMES))

    def coefficients(self, ci_prob: float = CI_PROB, replicates: int = 500, seed: int = 0) -> pd.DataFrame:
        """Tabulate coefficients of agreement beside alpha, of the same labels.

        Gwet's AC1 and Fleiss' kappa of labels as names; Gwet's AC2 where the distance takes them for ordinal, squares
        differences (``"interval"``) or not (``"absolute"``); and, if labels are more than two numbers, intraclass
        correlations. The table has the columns ``value``, ``lower``, ``upper`` and ``meaning``. What cannot be computed
        from these labels is left out, such as everything if annotators labelled cases twice.

        Parameters
        ----------
        ci_prob
            Confidence level of the intervals: by a bootstrap over cases, as in :meth:`interval`, of intraclass
            correlations by F distributions.
        replicates
            Number of bootstrap replicates, at least 2; 0 for no intervals of kappa, AC1 and AC2.
        seed
            Random seed.

        Examples
        --------
        >>> found = pb.agreement.agreement({"p": {"a": 1, "b": 1}, "q": {"a": 1, "b": 1}, "r": {"a": 0, "b": 1}})
        >>> found.coefficients()["value"].round(3).to_dict()
        {"Gwet's AC1": 0.538, "Fleiss' kappa": -0.2}
        """
        check_probability("ci_prob", ci_prob)
        return coefficients(self.labels, self.distance, ci_prob, replicates, check_seed(seed))

    @cached_property
    def monte_carlo_error(self) -> dict[str, float]:
        """Standard error of each measure from sampling pairs; zero if all pairs were compared.

        It is estimated from the spread between twenty parts of the sample; NaN if the sample is too small.
        """
        return dict(zip(Measures.NAMES, self._pairs.sample_error().tolist(), strict=True))

    def __repr__(self) -> str:
        sigma = "" if np.isnan(self.sigma) else f", sigma {self.sigma:.4f}"
        return (
            f"Agreement({self.distance}: {self.alpha_name} {self.alpha:.4f}, "
            f"superiority {self.ks.superiority:.4f}{sigma}; "
            f"{int(self._pairs.within.count.sum()):,} pairs on one case, "
            f"{len(self.expected):,} {'sampled ' if self.sampled else ''}on different cases)"
        )
