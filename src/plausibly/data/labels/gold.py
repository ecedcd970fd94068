"""Gold labels: what is known to be true of some cases, joined with labels or annotations by the names of the cases."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Int

from plausibly.base.errors import PredictionError
from plausibly.base.names import repeated, some
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.io.answers import whole
from plausibly.data.annotations.io.files import naming
from plausibly.data.annotations.io.predicted import is_path
from plausibly.data.annotations.matching import called, check_spelled
from plausibly.data.labels.container import Labels
from plausibly.data.labels.predictions import read_rows


@dataclass(frozen=True)
class Gold:
    """Gold labels of some cases, and how many joined; as text it is a sentence that says so.

    Parameters
    ----------
    case
        Index of each case that has a gold label, increasing.
    values
        Its label.
    n_cases
        Number of cases that gold labels were joined with.
    n_unknown
        Number of gold labels that belong to none of them, which are left out.
    """

    case: Int[np.ndarray, " gold"]
    values: np.ndarray
    n_cases: int
    n_unknown: int

    def __str__(self) -> str:
        have = f"{len(self.case):,} of {self.n_cases:,} cases {'has' if len(self.case) == 1 else 'have'} a gold label"
        if not self.n_unknown:
            return have
        return f"{have}; {self.n_unknown:,} gold label{' belongs' if self.n_unknown == 1 else 's belong'} to no case"


def read_gold(source: Any, of: Labels | Annotations, *, alike: bool = True) -> Gold:
    """Read gold labels, one for each of some cases.

    Parameters
    ----------
    source
        A table with the columns ``case`` and ``label`` (a data frame, a path, a mapping of the two columns, a list of
        records or of pairs), or a mapping ``{case: label}``.
    of
        Labels or annotations of the cases. Gold labels of other cases are left out and counted.
    alike
        Whether gold labels must be of the type of the labels: not, for example, where these are ratings of what is so.

    Raises
    ------
    PlausiblyError
        If the source cannot be read, a case has two gold labels, one is missing, none belongs to any of the cases, or
        gold labels and labels are of different types.

    Examples
    --------
    >>> print(read_gold({"p": "a", "r": "b"}, Labels.of({"p": {"ann": "a"}, "q": {"ann": "b"}})))
    1 of 2 cases has a gold label; 1 gold label belongs to no case
    """
    with naming(source if is_path(source) else "gold labels"):
        case, values, unknown = read_rows(source, of, alone=True, alike=alike)
        if again := repeated(case.tolist()):
            raise PredictionError(f"case {str(of.cases[again[0]])!r} has {again[1]} gold labels; keep one")
        if told := called(unknown, np.delete(of.cases, case), "cases"):
            raise PredictionError(f"there is no case {some(unknown)}: {told}")
        if not len(case):
            raise PredictionError(
                f"none of {len(unknown):,} gold labels belongs to a case: they are of {some(unknown)}, and cases are "
                f"called {some(of.cases)}; write names alike in all files"
            )
        _check_classes(values, of, alike=alike)
    return Gold(case, values, len(of.cases), len(unknown))


def _check_classes(values: np.ndarray, of: Labels | Annotations, *, alike: bool) -> None:
    """Refuse gold labels that are called otherwise than the classes."""
    from plausibly.data.labels.types import type_of  # which imports distances

    names = [str(whole(one)) for one in values.tolist()]
    if isinstance(of, Annotations):
        known: list[str] | None = of.classes.tolist() if alike else []
    else:
        categories = type_of(of) == "categories" and not of.is_numeric
        known = [str(whole(one)) for one in of.values.tolist()] if categories else [] if of.is_numeric else None
    if known is not None:
        fix = ", or say which gold label is positive (--gold-positive)" if isinstance(of, Annotations) else ""
        check_spelled(names, known, "gold labels", fix)


def of_two_classes(gold: Gold, positive: str, classes: Sequence[str] | np.ndarray) -> Gold:
    """Call gold labels of two kinds by the names of two classes, of which `positive` is the second.

    Raises
    ------
    PredictionError
        If there are not two classes, or more than two gold labels, or none is `positive`.
    """
    names = [str(whole(one)) for one in gold.values.tolist()]
    found = sorted({*names})
    if len(classes) != 2 or len(found) > 2 or positive not in found:
        raise PredictionError(
            f"a positive gold label needs two classes, of which there are {len(classes)}, and two gold labels, one of "
            f"them {positive!r}, but they are {some(found, 9)}; choose one of them"
        )
    return replace(gold, values=np.array([str(classes[int(name == positive)]) for name in names], object))


def as_annotations(gold: Gold, annotations: Annotations) -> Annotations:
    """Make annotations by one annotator, ``gold``, of the annotated cases that have a gold label."""
    names = [str(whole(one)) for one in gold.values.tolist()]
    said = {str(annotations.cases[case]): {"gold": [[name]]} for case, name in zip(gold.case, names, strict=True)}
    return Annotations.from_rankings({"cases": said}, annotations.classes)
