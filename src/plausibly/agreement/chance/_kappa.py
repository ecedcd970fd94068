"""Kappas: agreement beyond chance without confidences or competence, to compare with weighted reliability."""

from typing import Any

import numpy as np

from plausibly.agreement.chance._gwet import CaseShares
from plausibly.agreement.pairs import single_labels
from plausibly.base.errors import AnnotationError, ArgumentError, show
from plausibly.base.names import some
from plausibly.data.labels.container import Labels


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
