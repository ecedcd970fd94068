"""Scores of how well a class conforms to what a classifier says of a case; greater is more plausible.

With probabilities ``p`` in falling order, and a class in place ``r`` (from 1):

* LAC: ``p`` itself (Sadinle, Lei & Wasserman 2019);
* APS: minus the sum of the probabilities down to and including the class (Romano, Sesia & Candès 2020);
* RAPS: the same less ``penalty · max(0, r − free_ranks)`` (Angelopoulos, Bates, Malik & Jordan 2021);
* top-k: ``−r``, by which all sets of a group have the same size.

Equal probabilities are ordered by class. Randomised, the class itself counts by a uniform share ``u`` of a case.

Cases fall into groups by what a classifier says, or by a column that is known of new cases, too, each with a threshold
of its own (Mondrian conformal prediction; Vovk, Gammerman & Shafer 2005).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int, Shaped

from plausibly.base.checks import check_whole
from plausibly.base.errors import ArgumentError, PredictionError, show
from plausibly.base.names import some
from plausibly.data.annotations import Annotations
from plausibly.data.groups import check_clusters

NAMES = ("lac", "aps", "raps", "top-k")
PENALTY, FREE_RANKS = 0.01, 5  #: of RAPS, unless others are given
_SUM = 0.01  # by which probabilities of a case may miss one

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class Score:
    """A score and its parameters."""

    name: str  #: one of :data:`NAMES`, or "function"
    function: Function | None = None  #: of a user: from (case, class) to (case, class)
    penalty: float = PENALTY  #: of RAPS
    free_ranks: int = FREE_RANKS  #: of RAPS
    randomised: bool = False  #: whether a uniform share of the class itself counts

    def of(
        self, values: Float[np.ndarray, "case class"], shares: Float[np.ndarray, " case"] | None = None
    ) -> Float[np.ndarray, "case class"]:
        """Score of every class of some cases; randomised scores need a uniform random number for each case.

        Refuses predictions that are no probabilities where these are needed, and what a user's function returns if it
        is something else than finite numbers of the same shape.
        """
        values = np.asarray(values, np.float64)
        if self.function is not None:
            return _checked(self.function(values), values.shape)
        if self.name == "lac":
            return values
        if self.name in ("aps", "raps"):
            check_probabilities(values, f"score={self.name!r}")
        order = np.argsort(-values, axis=1, kind="stable")
        ranks = np.empty(values.shape)
        np.put_along_axis(ranks, order, np.arange(1.0, values.shape[1] + 1)[None], axis=1)
        less = 0.0 if shares is None or not self.randomised else 1 - shares[:, None]
        if self.name == "top-k":
            return less - ranks
        upto = np.cumsum(np.take_along_axis(values, order, 1), axis=1)
        down = np.empty(values.shape)
        np.put_along_axis(down, order, upto / upto[:, -1:], axis=1)  # the last one is exactly 1 in every case
        scores = less * values - down
        if self.name == "raps":
            scores -= self.penalty * np.maximum(0, ranks - self.free_ranks)
        return scores


def parse_score(score: Any, *, penalty: float | None, free_ranks: int | None, randomised: bool = False) -> Score:
    """Score by its name or a user's function, with its parameters, all of them checked."""
    own = callable(score)
    told = "a function" if own else repr(score)
    if not own and score not in NAMES:
        raise ArgumentError(
            f"score must be one of {', '.join(NAMES)}, or a function, but {show(score)} was given: choose one."
        )
    for what, given in {"penalty": penalty, "free_ranks": free_ranks}.items():
        if given is not None and (own or score != "raps"):
            raise ArgumentError(
                f'{what} is a parameter of score="raps" alone, but {what}={given!r} was given with '
                f"{told}: leave it out."
            )
    if randomised and (own or score == "lac"):
        raise ArgumentError(f"{told} has no randomised form: leave randomise_scores out, or choose aps, raps or top-k.")
    if own:
        return Score("function", score)
    if penalty is not None and not (np.isscalar(penalty) and np.isfinite(penalty) and penalty >= 0):
        raise ArgumentError(f"penalty must be a number of at least 0, but {penalty!r} was given: write 0.01.")
    ranks = FREE_RANKS if free_ranks is None else check_whole("free_ranks", free_ranks, 0, "write 5")
    return Score(score, None, PENALTY if penalty is None else float(penalty), ranks, bool(randomised))


def check_probabilities(values: Float[np.ndarray, "case class"], what: str) -> None:
    """Refuse rows that are not probabilities; `what` needs them."""
    bad = (values < 0).any(axis=1) | (np.abs(values.sum(axis=1) - 1) > _SUM)
    for row in np.flatnonzero(bad)[:1]:
        found = f"the lowest is {values[row].min():.3g}, their sum {values[row].sum():.3g}"
        raise PredictionError(
            f"{what} needs probabilities, but row {row + 1} has none ({found}); give numbers of at least 0 that sum to "
            '1 in each row, mark logits as such (logits=True, --logits), or use score="lac" or "top-k"'
        )


def _checked(returned: Any, shape: tuple[int, ...]) -> Float[np.ndarray, "case class"]:
    try:
        scores = np.asarray(returned, np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"a score function must return numbers (case, class), but returned {show(returned)}: return an array."
        ) from error
    if scores.shape != shape or not np.isfinite(scores).all():
        what = f"the shape {scores.shape}" if scores.shape != shape else "numbers that are not finite"
        raise ArgumentError(
            f"a score function must return finite numbers of the shape (case, class), here {shape}, but returned "
            f"{what}: return a score for each class of each case."
        )
    return scores


ALL = "all"
RISK_NAMES = ("low", "medium", "high")
EDGES = (0.5, 0.8, 0.95)  #: between the bins of a classifier's certainty
CERTAINTY_NAMES = ("below 0.5", "0.5 to 0.8", "0.8 to 0.95", "from 0.95")

Names = Shaped[np.ndarray, " case"]


@dataclass(frozen=True, eq=False)
class Grouping:
    """Rule that assigns cases to groups."""

    names: tuple[str, ...]  #: of all groups, in order; of a user's function, those of the calibration cases
    #: from a classifier's predictions (case, class) to the group of each case; None if groups are given as a column
    function: Callable[[np.ndarray], Names] | None = None

    def of(self, values: Float[np.ndarray, "case class"], column: Names | None = None) -> Int[np.ndarray, " case"]:
        """Position of the group of each case, by a classifier's predictions or by the column; refuses other groups."""
        groups = column if self.function is None else self.function(values)
        assert groups is not None
        position = pd.Index(list(self.names), dtype=object).get_indexer(pd.Index(np.asarray(groups, object)))
        for row in np.flatnonzero(position < 0)[:1]:
            raise ArgumentError(
                f"row {row + 1} belongs to the group {str(groups[row])!r}, of which there was no case to calibrate on "
                f"(groups are {some(self.names)}): put it into one of these."
            )
        return position


def parse_groups(
    by: Any,
    annotations: Annotations,
    risks: Int[np.ndarray, " class"] | None,
    predictions: Sequence[Float[np.ndarray, "case class"]],
) -> tuple[Grouping, Names | None]:
    """Rule by which cases fall into groups, checked, and the column of groups if they are given as one."""
    if by is None:
        return Grouping((ALL,), _all), None
    if isinstance(by, str):
        if by not in ("risk", "certainty"):
            raise ArgumentError(
                f'by must be "risk", "certainty", a column or a function, but {by!r} was given: choose one.'
            )
        if by == "certainty":
            return Grouping(CERTAINTY_NAMES, _by_certainty), None
        if risks is None:
            raise ArgumentError('by="risk" needs the risk of each class, but none were given: add risks=….')
        levels = tuple(RISK_NAMES[level] for level in sorted(set(risks.tolist())))
        return Grouping(levels, partial(_by_risk, risks)), None
    if callable(by):
        function = partial(_by_function, by)
        names = {name for values in predictions for name in function(values).tolist()}
        return Grouping(tuple(sorted(names)), function), None
    column = check_clusters(by, annotations.cases, "group")
    return Grouping(tuple(sorted(set(column.tolist())))), column


def _all(values: Float[np.ndarray, "case class"]) -> Names:
    return np.full(len(values), ALL, object)


def _by_risk(risks: Int[np.ndarray, " class"], values: Float[np.ndarray, "case class"]) -> Names:
    return np.array(RISK_NAMES, object)[risks[np.argmax(values, axis=1)]]


def _by_certainty(values: Float[np.ndarray, "case class"]) -> Names:
    values = np.asarray(values, float)
    check_probabilities(values, 'by="certainty"')
    return np.array(CERTAINTY_NAMES, object)[np.searchsorted(EDGES, values.max(axis=1), side="right")]


def _by_function(function: Callable[[Any], Any], values: Float[np.ndarray, "case class"]) -> Names:
    return check_clusters(function(np.asarray(values)), np.arange(len(values)).astype(str), "group")
