"""Ratings of all cases as intervals of a latent scale, and the groups of these cases."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from plausibly.annotations import Scores
from plausibly.inference import Categories

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

    @classmethod
    def of(
        cls,
        scores: Scores,
        cutpoints: str,
        groups: Mapping[str, Codes],
        log_scores: Float[np.ndarray, "classifier case class"] | None = None,
    ) -> "RatedCases":
        """Find the cutpoints of scores, see :class:`plausibly.inference.Categories`.

        ``log_scores`` are those of classifiers, of the values of the scale or of two classes at a threshold.
        """
        found = Categories.of(scores, cutpoints)
        value = np.searchsorted(found.values, scores.score)
        centre, scale = found.typical[value].mean(), found.typical[value].std()
        cuts, typical = (found.cuts - centre) / scale, (found.typical - centre) / scale
        rated = scores.annotation_case, scores.annotation_annotator, value, scores.n_cases, scores.annotators
        return cls(*rated, found.values, cuts, typical, groups, _expected(log_scores, typical))

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

    def parts(self) -> Int[np.ndarray, " rater"]:
        """Number the parts into which raters fall that share neither a case nor a group."""
        n = self.n_cases
        pairs = [(self.case, n + self.rater)]
        first = n + len(self.raters)
        for names, code in self.groups.values():
            pairs.append((np.arange(n), first + code))
            first += len(names)
        ends = np.concatenate([np.stack(pair) for pair in pairs], axis=1)
        graph = coo_array((np.ones(ends.shape[1]), tuple(ends)), shape=(first, first))
        return np.unique(connected_components(graph, directed=False)[1][n : n + len(self.raters)], return_inverse=True)[
            1
        ]


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
