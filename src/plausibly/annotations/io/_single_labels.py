"""Single labels: each annotator names one class of a case, or abstains."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from plausibly.annotations._names import to_names
from plausibly.annotations.io._rankings import is_list
from plausibly.errors import AnnotationError, show


def labels_as_rankings(
    labels: Any, cases: Iterable[str] | None, annotators: Iterable[str] | None, missing: object
) -> dict:
    """Rewrite labels as rankings in object form, each a block; see :meth:`plausibly.Annotations.from_labels`."""
    if not is_list(labels):
        raise AnnotationError(f"labels are a list of cases, got {show(labels)}; write [[label, …], …]")
    if isinstance(labels, np.ndarray) and labels.dtype.kind == "f" and missing != missing:
        # An array with NaN in it cannot be one of integers; what is not whole is refused below.
        labels = np.frompyfunc(lambda label: int(label) if label.is_integer() else label, 1, 1)(labels)
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
            raise AnnotationError(f"case {case!r}: the labels of a case are a list, got {show(row)}; write [label, …]")
        if persons is not None and len(row) != len(persons):
            raise AnnotationError(
                f"case {case!r}: there are {len(row)} labels for {len(persons)} annotators; "
                "give one each, and missing= for those without"
            )
        blocks = {}
        for number, label in enumerate(row):
            if _same(label, missing):
                continue
            if not isinstance(label, str | Integral):
                raise AnnotationError(
                    f"case {case!r}, annotator {number + 1}: a label is a class index or a name, got {show(label)}; "
                    "say with missing= what stands for no label"
                )
            blocks[number if persons is None else persons[number]] = [[label]]
        content[case] = list(blocks.values()) if persons is None else blocks
    return {"cases": content}


def _same(label: Any, missing: Any) -> bool:
    """Whether a label is the one that stands for no label; NaN equals NaN here."""
    return label is missing or label == missing or (label != label and missing != missing)
