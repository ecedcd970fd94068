"""Groups of cases, each with a threshold of its own (Mondrian conformal prediction; Vovk, Gammerman & Shafer 2005).

A new case belongs to a group before anything is known of its truth. So groups are a function of what the classifier
says, or a column that is known of new cases, too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from plausibly.annotations import Annotations, read_risks
from plausibly.annotations._names import some
from plausibly.conformal._scores import check_probabilities, softmax
from plausibly.errors import ArgumentError
from plausibly.groups import check_clusters

ALL = "all"
RISK_NAMES = ("low", "medium", "high")
EDGES = (0.5, 0.8, 0.95)  #: between the bins of a classifier's certainty
CERTAINTY_NAMES = ("below 0.5", "0.5 to 0.8", "0.8 to 0.95", "from 0.95")
_BY_CLASSIFIER = ("risk", "certainty")


@dataclass(frozen=True, eq=False)
class Grouping:
    """Rule that assigns cases to groups.

    Attributes
    ----------
    kind
        None, ``"risk"``, ``"certainty"``, ``"function"`` or ``"column"``.
    names
        Names of all groups, in order; of a function, those of the calibration cases.
    risks
        Risk level of each class.
    function
        From the scores of a classifier (case, class) to a group of each case.
    logits
        Whether predictions are logits.
    """

    kind: str | None
    names: tuple[str, ...]
    risks: Int[np.ndarray, " class"] | None = None
    function: Callable[[Any], Any] | None = None
    logits: bool = False

    def of(
        self, values: Float[np.ndarray, "case class"], column: np.ndarray | None = None, *, name: str = ""
    ) -> Int[np.ndarray, " case"]:
        """Position of the group of each case.

        Parameters
        ----------
        values
            What the classifier says of the cases.
        column
            Groups of the cases, where they are given as a column.
        name
            Name of the classifier, for errors.

        Raises
        ------
        ArgumentError
            If a group has no calibration case.
        """
        if self.kind is None:
            return np.zeros(len(values), np.int64)
        if self.kind == "risk":
            assert self.risks is not None
            present = sorted(set(self.risks.tolist()))
            return np.searchsorted(present, self.risks[np.argmax(values, axis=1)])
        if self.kind == "certainty":
            values = softmax(np.asarray(values, float)) if self.logits else np.asarray(values, float)
            check_probabilities(values, 'by="certainty"')
            return np.searchsorted(EDGES, values.max(axis=1), side="right")
        found = column if self.function is None else self._called(values)
        assert found is not None
        position = pd.Index(list(self.names), dtype=object).get_indexer(pd.Index(np.asarray(found, object)))
        for row in np.flatnonzero(position < 0)[:1]:
            raise ArgumentError(
                f"row {row + 1} belongs to the group {str(found[row])!r}, of which there was no case to calibrate on "
                f"(groups are {some(self.names)}): put it into one of these."
            )
        return position

    def _called(self, values: Float[np.ndarray, "case class"]) -> np.ndarray:
        assert self.function is not None
        return check_clusters(self.function(np.asarray(values)), np.arange(len(values)).astype(str), "group")


def parse_groups(
    by: Any,
    annotations: Annotations,
    risks: Int[np.ndarray, " class"] | None,
    predictions: Sequence[Float[np.ndarray, "case class"]],
    *,
    logits: bool,
) -> tuple[Grouping, np.ndarray | None]:
    """Check groups; return how cases fall into them, and the column if they were given as one.

    Raises
    ------
    ArgumentError
        If risks are missing, a name is unknown, or a column does not have one group for each case.
    """
    if by is None:
        return Grouping(None, (ALL,)), None
    if isinstance(by, str):
        if by not in _BY_CLASSIFIER:
            raise ArgumentError(
                f'by must be "risk", "certainty", a column or a function, but {by!r} was given: choose one.'
            )
        if by == "certainty":
            return Grouping(by, CERTAINTY_NAMES, logits=logits), None
        if risks is None:
            raise ArgumentError('by="risk" needs the risk of each class, but none were given: add risks=….')
        return Grouping(by, tuple(RISK_NAMES[level] for level in sorted(set(risks.tolist()))), risks), None
    if callable(by):
        found = [
            check_clusters(by(np.asarray(values)), np.arange(len(values)).astype(str), "group")
            for values in predictions
        ]
        names = sorted({name for column in found for name in column.tolist()})
        return Grouping("function", tuple(names), function=by), None
    column = check_clusters(by, annotations.cases, "group")
    return Grouping("column", tuple(sorted(set(column.tolist())))), column


def parse_risks(risks: Any, annotations: Annotations) -> Int[np.ndarray, " class"] | None:
    """Read the risk of each class, if there is one."""
    return None if risks is None else np.asarray(read_risks(risks, annotations.classes)).astype(np.int64)
