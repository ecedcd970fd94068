"""Groups of cases, each with a threshold of its own (Mondrian conformal prediction; Vovk, Gammerman & Shafer 2005).

A new case belongs to a group before anything is known of its truth. So groups are a function of what the classifier
says, or a column that is known of new cases, too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int, Shaped

from plausibly.base.errors import ArgumentError
from plausibly.base.names import some
from plausibly.data.annotations import Annotations
from plausibly.data.groups import check_clusters
from plausibly.decisions.conformal._scores import check_probabilities

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
