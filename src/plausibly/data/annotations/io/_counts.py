"""Label counts: how many annotators chose each class of each case, in ``.csv``, ``.parquet`` and ``.npy`` files."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from plausibly.base.errors import AnnotationError
from plausibly.base.names import numbered, to_names
from plausibly.data.annotations._rows import Rows, check_size, places
from plausibly.data.annotations.io.long_table import MARKS, refuse_names, write_table
from plausibly.data.annotations.io.matrix import Matrix, read_matrix
from plausibly.data.annotations.io.spellings import CASE

if TYPE_CHECKING:
    from plausibly.data.annotations._container import Annotations
    from plausibly.data.annotations.io.source import Source


def parse_counts(matrix: Matrix, classes: np.ndarray | None, cases: np.ndarray | None) -> Rows:
    """Read every count as so many anonymous annotators of one class; see :meth:`plausibly.Annotations.from_counts`."""
    n_cases, n_columns = matrix.values.shape
    if classes is None:
        classes = to_names(matrix.columns or range(n_columns), "class")
    values = matrix.by_class(classes, AnnotationError)
    if cases is None:
        cases = to_names(range(n_cases) if matrix.cases is None else matrix.cases, "case")
    if len(cases) != n_cases:
        raise AnnotationError(f"there are {n_cases} rows of counts for {len(cases)} case names; give a name per row")
    with np.errstate(invalid="ignore"):  # of a NaN that signals
        fraction = values != np.floor(values)
    rules = (
        (~np.isfinite(values), "is not finite", "give a whole number"),
        (values < 0, "is negative", "give how many annotators chose the class, 0 or more"),
        (fraction, "is a fraction", "give how many annotators chose the class, not their share"),
    )
    for broken, what, fix in rules:
        if broken.any():
            i, k = np.argwhere(broken)[0]
            raise AnnotationError(
                f"case {str(cases[i])!r}, class {str(classes[k])!r}: the count {values[i, k]:g} {what}; {fix}"
            )
    for i in np.flatnonzero((values == 0).all(axis=1)):
        raise AnnotationError(f"case {str(cases[i])!r}: all counts are 0, so it has no annotators; remove the row")
    check_size(values.sum(dtype=np.float64), n_cases)
    case, class_index = np.nonzero(values)
    repeats = values[case, class_index].astype(np.int64)
    case, class_index = np.repeat(case, repeats), np.repeat(class_index, repeats)
    position = places(case)
    return Rows(
        cases=cases,
        classes=classes,
        annotators=numbered(position.max() + 1),
        anonymous=True,
        case=case,
        annotator=position,
        class_index=class_index,
        rank=np.zeros(len(case), dtype=np.int8),
    )


def read_counts(source: "Source") -> Rows:
    """Read a file of counts."""
    return parse_counts(read_matrix(source.path, AnnotationError, source.classes), source.classes, None)


def write_counts(annotations: "Annotations", path: Path) -> None:
    """Write annotations of one class each, by anonymous annotators."""
    refuse_names(annotations, "counts")
    sizes = np.diff(annotations.annotation_start)
    for r in np.flatnonzero(sizes > 1):
        case = str(annotations.cases[annotations.annotation_case[r]])
        raise AnnotationError(
            f"case {case!r}: an annotator names {sizes[r]} classes, and counts are of one class each; write a table or "
            "rankings"
        )
    counts = np.zeros((annotations.n_cases, annotations.n_classes), np.int64)
    np.add.at(counts, (annotations.entry_case, annotations.entry_class), 1)
    if path.suffix.lower() == ".npy":
        for what, names in (("cases", annotations.cases), ("classes", annotations.classes)):
            if names.tolist() != [str(i) for i in range(len(names))]:
                raise AnnotationError(
                    f"an .npy file holds no names of {what}, and these have some; write .csv or .parquet"
                )
        with path.open("wb") as file:
            np.save(file, counts, allow_pickle=False)
        return
    for name in (*CASE, *sorted(MARKS)):
        if name in annotations.classes:
            raise AnnotationError(f"a class is named {name!r}, which in a header means something else; write rankings")
    table = pd.DataFrame(counts, columns=annotations.classes.astype(object))
    table.insert(0, "case", annotations.cases.astype(object))
    write_table([table], path)
