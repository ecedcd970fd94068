"""Single labels: each annotator names one class of a case, or abstains."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from plausibly.annotations._names import _show, to_names
from plausibly.annotations.io._rankings import is_list
from plausibly.errors import AnnotationError


def labels_as_rankings(
    labels: Any, cases: Iterable[str] | None, annotators: Iterable[str] | None, missing: object
) -> dict:
    """Rewrite labels as rankings in object form, each a block; see :meth:`plausibly.Annotations.from_labels`."""
    if not is_list(labels):
        raise AnnotationError(f"labels are a list of cases, got {_show(labels)}; write [[label, …], …]")
    if (
        isinstance(labels, np.ndarray)
        and labels.dtype.kind == "f"
        and isinstance(missing, float)
        and missing != missing
    ):
        labels = _with_indices(labels)  # an array with NaN in it cannot be one of integers
    rows = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    case_names = to_names(range(len(rows)) if cases is None else cases, "case").tolist()
    if len(case_names) != len(rows):
        raise AnnotationError(
            f"there are {len(rows)} rows of labels for {len(case_names)} case names; give one per row"
        )
    persons = None if annotators is None else to_names(annotators, "annotator").tolist()
    content = {}
    for case, row in zip(case_names, rows, strict=True):
        if not is_list(row):
            raise AnnotationError(f"case {case!r}: the labels of a case are a list, got {_show(row)}; write [label, …]")
        if persons is not None and len(row) != len(persons):
            raise AnnotationError(
                f"case {case!r}: there are {len(row)} labels for {len(persons)} annotators; "
                "give one each, and missing= for those without"
            )
        for number, label in enumerate(row, 1):
            if not isinstance(label, str | Integral) and not _same(label, missing):
                raise AnnotationError(
                    f"case {case!r}, annotator {number}: a label is a class index or a name, got {_show(label)}; "
                    "say with missing= what stands for no label"
                )
        given = {i: [[label]] for i, label in enumerate(row) if not _same(label, missing)}
        content[case] = list(given.values()) if persons is None else {persons[i]: block for i, block in given.items()}
    return {"cases": content}


def _with_indices(labels: np.ndarray) -> np.ndarray:
    """Turn the whole numbers of an array of floats into integers, and leave everything else to be refused."""
    whole = np.isfinite(labels) & (labels == np.floor(labels))
    found = labels.astype(object)
    found[whole] = [int(label) for label in labels[whole]]
    return found


def _same(label: Any, missing: Any) -> bool:
    """Whether a label is the one that stands for no label; NaN equals NaN here."""
    return label is missing or label == missing or (label != label and missing != missing)
