"""Ratings of all cases as intervals of a latent scale, and the groups of these cases."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import coo_array, hstack
from scipy.sparse.csgraph import connected_components

from plausibly.data.annotations import Scores
from plausibly.data.groups import OTHERS, codes_of_annotators
from plausibly.inference import Categories

_ROUNDING = 0.01  # of numbers, at least
_NONE = 1e-9  # share of a rater's ratings that say nothing

Codes = tuple[np.ndarray, Int[np.ndarray, " case"]]  # names of groups, and which of them each case is in


@dataclass(frozen=True)
class RatedCases:
    """Ratings of all cases by named raters, the input of programs for all cases.

    The latent scale is that on which all ratings together have mean 0 and standard deviation 1.
    """

    case: Int[np.ndarray, " rating"]  #: case of each rating, non-decreasing
    rater: Int[np.ndarray, " rating"]  #: who gave it
    value: Int[np.ndarray, " rating"]  #: which of the values of the scale it is
    n_cases: int
    raters: np.ndarray  #: names
    values: Float[np.ndarray, " value"]  #: values of the scale, ascending
    cuts: Float[np.ndarray, " value+1"]  #: cutpoints between them, from minus to plus infinity
    typical: Float[np.ndarray, " value"]  #: a number of each interval
    groups: Mapping[str, Codes] = field(default_factory=dict)  #: by name
    #: what classifiers expect of each case, with mean 0 and standard deviation 1, (case, classifier)
    expected: Float[np.ndarray, "case classifier"] | None = None
    #: mean and standard deviation of ratings that are numbers on the latent scale; None if they are intervals of it
    unit: tuple[float, float] | None = None
    #: names of groups of raters who may err together, and the one of each rater, or -1
    rater_groups: Codes | None = None

    @classmethod
    def of(
        cls,
        scores: Scores,
        cutpoints: str | None,
        groups: Mapping[str, Codes],
        log_scores: Float[np.ndarray, "classifier case class"] | None = None,
        rater_groups: Mapping[str, str] | None = None,
    ) -> "RatedCases":
        """Find the cutpoints of scores, see :class:`plausibly.inference.Categories`; without, scores are numbers.

        ``log_scores`` are those of classifiers, of the values of the scale or of two classes at a threshold;
        ``rater_groups`` are as :func:`plausibly.data.groups.read_annotator_groups` returns them.
        """
        found = Categories.of(scores, cutpoints or "midpoints")
        value = np.searchsorted(found.values, scores.score)
        centre, scale = float(found.typical[value].mean()), float(found.typical[value].std())
        cuts, typical = (found.cuts - centre) / scale, (found.typical - centre) / scale
        rated = scores.annotation_case, scores.annotation_annotator, value, scores.n_cases, scores.annotators
        unit = None if cutpoints else (centre, scale)
        expected, of_raters = _expected(log_scores, typical), _rater_groups(rater_groups, scores.annotators)
        return cls(*rated, found.values, cuts, typical, groups, expected, unit, of_raters)

    @property
    def number(self) -> Float[np.ndarray, " rating"]:
        """Each rating as a number on the latent scale, or a typical one of its interval."""
        return self.typical[self.value]

    @cached_property
    def rounding(self) -> float:
        """Error that numbers have for being rounded: a tenth of the least step, at least .01; 0 of intervals."""
        return max(float(np.diff(self.typical).min()) / 10, _ROUNDING) if self.unit else 0.0

    @property
    def lower(self) -> Float[np.ndarray, " rating"]:
        """Lower ends of the intervals of ratings."""
        return self.cuts[self.value]

    @property
    def upper(self) -> Float[np.ndarray, " rating"]:
        """Upper ends of the intervals of ratings."""
        return self.cuts[self.value + 1]

    @property
    def x(self) -> Float[np.ndarray, "case classifier"]:
        """What classifiers expect, of none if there are none."""
        return np.zeros((self.n_cases, 0)) if self.expected is None else self.expected

    @cached_property
    def cells(self) -> tuple[Int[np.ndarray, " rating"], Int[np.ndarray, " cell"], Int[np.ndarray, " cell"]]:
        """Cell of each rating by a group of raters who may err together, or -1; case and group of each cell."""
        group = np.full(len(self.case), -1) if self.rater_groups is None else self.rater_groups[1][self.rater]
        n = 1 + group.max(initial=0)
        some, cell = group >= 0, np.full(len(self.case), -1)
        found, cell[some] = np.unique(self.case[some].astype(np.int64) * n + group[some], return_inverse=True)
        return cell, found // n, found % n

    @cached_property
    def parts(self) -> Int[np.ndarray, " rater"]:
        """Number the parts of raters between whom severities cannot be told by least squares.

        Raters of one part share cases, or groups of cases, also by way of others. With several groups this is not
        enough: where every document has one rater, say, her severity and what documents add are one.
        """
        several = len(self.groups) > 1
        return _estimable(self) if several else _connected(self)


def _rater_groups(groups: Mapping[str, str] | None, raters: np.ndarray) -> Codes | None:
    """Names of the groups of raters, and the one of each rater, -1 for none.

    Examples
    --------
    >>> names, code = _rater_groups({"ann": "(others)", "gpt": "models"}, np.array(["ann", "gpt"]))
    >>> names.tolist(), code.tolist()
    (['models'], [-1, 0])
    """
    if groups is None:
        return None
    names, code = codes_of_annotators(groups, raters)
    own = names != OTHERS
    return names[own], np.where(own, np.cumsum(own) - 1, -1)[code]


def _connected(rated: RatedCases) -> Int[np.ndarray, " rater"]:
    n = rated.n_cases
    pairs = [(rated.case, n + rated.rater)]
    first = n + len(rated.raters)
    for names, code in rated.groups.values():
        pairs.append((np.arange(n), first + code))
        first += len(names)
    ends = np.concatenate([np.stack(pair) for pair in pairs], axis=1)
    graph = coo_array((np.ones(ends.shape[1]), tuple(ends)), shape=(first, first))
    part = connected_components(graph, directed=False)[1][n : n + len(rated.raters)]
    return np.unique(part, return_inverse=True)[1]


def _estimable(rated: RatedCases) -> Int[np.ndarray, " rater"]:
    """Parts of raters by the null space of their information, within cases and between them, given effects of groups.

    The largest group is eliminated first, whose matrix is diagonal.
    """
    n, n_raters, case = rated.n_cases, len(rated.raters), np.arange(rated.n_cases)
    count, per_case = np.bincount(rated.rater, minlength=n_raters), np.bincount(rated.case, minlength=n)
    share = 1 / per_case[rated.case]
    means = coo_array((share, (rated.case, rated.rater)), shape=(n, n_raters)).tocsr()
    pairs = coo_array((np.sqrt(share), (rated.case, rated.rater)), shape=(n, n_raters)).tocsr()
    within = np.diag(count.astype(float)) - (pairs.T @ pairs).toarray()
    *others, (names, code) = sorted(rated.groups.values(), key=lambda group: len(group[0]))
    ones = [coo_array((np.ones(n), (case, own)), shape=(n, len(of))).tocsr() for of, own in others]
    rest = hstack([means, *ones]).tocsr()
    largest = coo_array((1 / np.sqrt(np.bincount(code)[code]), (case, code)), shape=(n, len(names))).tocsr()
    sums = largest.T @ rest
    between = (rest.T @ rest - sums.T @ sums).toarray()
    cross = between[:n_raters, n_raters:]
    of_groups = np.linalg.pinv(between[n_raters:, n_raters:], rcond=_NONE, hermitian=True)
    information = within + between[:n_raters, :n_raters] - cross @ of_groups @ cross.T
    root = np.sqrt(count)
    values, vectors = np.linalg.eigh(information / np.outer(root, root))
    null = vectors[:, values < _NONE] / root[:, None]
    return np.unique(np.round(null / np.abs(null).max(), 5), axis=0, return_inverse=True)[1].ravel()


def _expected(
    log_scores: Float[np.ndarray, "classifier case class"] | None, typical: Float[np.ndarray, " value"]
) -> Float[np.ndarray, "case classifier"] | None:
    """Expected latent number of each case by each classifier, or the log odds of two classes, in standard units."""
    if log_scores is None:
        return None
    logs = np.asarray(log_scores, float)
    shares = np.exp(logs - logs.max(-1, keepdims=True))
    found = shares @ typical / shares.sum(-1) if logs.shape[-1] == len(typical) else logs[..., 1] - logs[..., 0]
    centred = found - found.mean(1, keepdims=True)
    sd = centred.std(1, keepdims=True)
    return np.divide(centred, sd, out=np.zeros_like(centred), where=sd > 1e-9).T
