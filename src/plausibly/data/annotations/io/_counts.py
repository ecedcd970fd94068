"""Label counts: how many annotators chose each class of each case, in ``.csv``, ``.parquet`` and ``.npy`` files."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa

from plausibly.base.errors import AnnotationError, PlausiblyWarning, show
from plausibly.base.names import numbered, some, to_names
from plausibly.data.annotations._rows import Rows, check_size, places
from plausibly.data.annotations.io.columns import is_nothing, is_number, list_of
from plausibly.data.annotations.io.long_table import MARKS, refuse_names, write_table
from plausibly.data.annotations.io.matrix import Matrix, matrix_of, read_matrix
from plausibly.data.annotations.io.spellings import CASE, TOTALS, find
from plausibly.data.annotations.io.table_files import read_batches
from plausibly.data.annotations.io.wide import SURVEY

if TYPE_CHECKING:
    from plausibly.data.annotations._container import Annotations
    from plausibly.data.annotations.io.source import Source

_NO_LABEL = (
    "{case!r} names the cases and {who!r} the annotators, but no column is called label; say which of {rest} is it "
    "with label= (--label), or, of grades, with score= (--score); of a column for each class, name one at a time"
)
_LOOKED_AT = 100  # cells of a column
_OF_CASES = ("age", "year", "sex", "weight", "height")  #: what columns of cases are called
_ROWS = 8  # with one sum, of which grades hardly ever are
_GRADES = 10  #: greatest number that may be a label


def parse_counts(matrix: Matrix, classes: np.ndarray | None, cases: np.ndarray | None) -> Rows:
    """Read every count as so many anonymous annotators of one class; see :meth:`plausibly.Annotations.from_counts`."""
    n_cases, n_columns = matrix.values.shape
    if classes is None:
        classes = to_names(matrix.columns or range(n_columns), "class")
    for note in matrix.notes:
        warnings.warn(note, PlausiblyWarning, stacklevel=4)
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
    """Read a file of counts; a column of totals is left out, unless it is one of the classes.

    Raises AnnotationError if the columns may as well be annotators, since the numbers are few and their sums differ.
    """
    case = find("case", source.names)
    if source.names:
        _refuse_texts(source, case)
        _refuse_long(source)
    if source.path is None or source.roles or case not in (None, *CASE):
        cells = {"case" if name == case else name: column for name, column in source.cells.items()}
        matrix = matrix_of(pa.table(cells), AnnotationError, source.classes)
    else:
        matrix = read_matrix(source.path, AnnotationError, source.classes)
    if source.classes is None and matrix.columns is not None:
        total = _total(matrix)
        if source.layout is None:
            _refuse_further(matrix, total)
        if total is not None:
            name = matrix.columns[total]
            columns = [one for one in matrix.columns if one != name]
            sums = matrix.values[:, total]
            if source.layout is None and np.delete(matrix.values, total, axis=1).max() <= 1 and np.ptp(sums):
                raise AnnotationError(
                    f"the numbers may be labels 0 and 1 by annotators called {some(columns, 9)}, with their sum "
                    f'{name!r}, or counts: say layout="wide" or layout="counts" (--layout wide, --layout counts)'
                )
            where = f"{source.path or 'these counts'}: the column {name!r}"
            words = f"{where} is the sum of the others in every row, and left out as a total"
            warnings.warn(words, PlausiblyWarning, stacklevel=4)
            matrix = replace(matrix, values=np.delete(matrix.values, total, axis=1), columns=columns)
        elif source.layout is None and len(matrix.columns) == 1:
            raise AnnotationError(
                f"the only column beside the cases, {matrix.columns[0]!r}, may hold the labels of a single annotator, "
                'with whom nobody can be compared, or counts: say layout="wide" or layout="counts" (--layout wide, '
                "--layout counts)"
            )
        elif source.layout is None and _may_be_labels(matrix):
            n_cases, n = matrix.values.shape
            if len(empty := np.flatnonzero(~matrix.values.any(axis=1))):
                first = str(empty[0] + 1) if matrix.cases is None else str(matrix.cases[empty[0]])
                raise AnnotationError(
                    f"the numbers are labels of {n_cases:,} cases by annotators called {some(matrix.columns, 9)}: say "
                    'layout="wide" (--layout wide), or name the classes, as in classes=["0", "1"] (--classes 0,1); or '
                    "they are what one person found in each case, with whom nobody can be compared. As counts they "
                    f"would leave case {first!r} without any"
                )
            votes = f"{matrix.values.sum():,.0f} labels, of classes called {some(matrix.columns, 9)}"
            raise AnnotationError(
                f"the numbers may be counts ({votes}) or labels ({n_cases * n:,}, by annotators called so): say "
                'layout="counts" or layout="wide" (--layout counts, --layout wide), or name the classes (--classes)'
            )
    return parse_counts(matrix, source.classes, None)


def _refuse_long(source: "Source") -> None:
    """Refuse a table with several rows of a case, and a column that names annotators, whose labels are not known."""
    names = list(map(str, source.names))
    case, who = find("case", names, {"case": CASE}) or find("case", names), find("annotator", names)
    if source.layout is not None or source.classes is not None or None in (case, who):
        return
    cases = source.texts[case].tolist()
    rest = some([one for one in names if one not in (case, who)], 9)
    if rest and len({*cases}) < len(cases):
        raise AnnotationError(_NO_LABEL.format(case=case, who=who, rest=rest))


def _refuse_texts(source: "Source", case: str | None) -> None:
    """Refuse a table with a column that holds no number at all: no layout fits it."""
    first = next(read_batches(source.path), {}) if source.path is not None else source.cells
    for name, column in first.items():
        texts = [str(one) for one in list_of(column[:_LOOKED_AT]) if not is_nothing(one)]
        if texts and name != case and not any(map(is_number, texts)):
            names = list(map(str, source.names))
            case, who = case or find("case", names, {"case": CASE}), find("annotator", names)
            rest = some([one for one in names if one not in (case, who)], 9)
            if marked := [one for one in names if ":::" in one]:
                raise AnnotationError(
                    f"the columns {some(marked, 4)} are potato's, with a mark for each answer that was chosen: write "
                    "one column label with the name of that answer"
                )
            if case is not None and who is not None:
                raise AnnotationError(_NO_LABEL.format(case=case, who=who, rest=rest))
            if {one.strip().lower() for one in names} & SURVEY:
                raise AnnotationError(
                    'this looks like a survey, with a row for each person: say layout="raters-in-rows" (--layout '
                    "raters-in-rows) if each further column is a case"
                )
            raise AnnotationError(
                f"no layout fits the columns {some(list(source.names), 9)}: {name!r} holds texts such as "
                f"{show(texts[0])}; say which columns are the case, the annotator and the label (--case, --annotator, "
                "--label), or --layout wide if each column is an annotator's, raters-in-rows if each row is; if "
                "columns are findings that one reader tells of each case, there is nobody to compare with"
            )


def _refuse_further(matrix: Matrix, total: int | None) -> None:
    """Refuse a column that is no class by its name, or by the sums of the others, and the only column there is."""
    names, values = matrix.columns or [], matrix.values
    sums = values.sum(axis=1)
    for place, name in enumerate(names):
        plain = name.strip().lower()
        others = (
            len(values) > 1 and len(names) > 2 and np.unique(sums - values[:, place]).size == 1 < np.unique(sums).size
        )
        if plain in ("freq", "frequency") or (plain in TOTALS and total is None):
            raise AnnotationError(
                f"the column {name!r} may say how often each row is there: say count={name!r} (--count {name}), or "
                'layout="counts" (--layout counts) if it is a class'
            )
        if plain in _OF_CASES or (others and plain not in TOTALS):
            raise AnnotationError(
                f'the column {name!r} seems to be no class; remove it, or say layout="counts" (--layout counts)'
            )
    if len(names) == 1 and not values.all():
        raise AnnotationError(
            f"{names[0]!r} is the only column of numbers: if it holds labels, say label={names[0]!r} (--label), and "
            'name the annotator; if it counts them, layout="counts" (--layout counts)'
        )


def _total(matrix: Matrix) -> int | None:
    """Place of a column called so that is the sum of all others in every row."""
    named = [name.strip().lower() in TOTALS for name in matrix.columns or ()]
    found = np.flatnonzero((2 * matrix.values == matrix.values.sum(axis=1, keepdims=True)).all(axis=0) & named)
    return int(found[0]) if len(found) == 1 and len(named) > 2 else None


def _may_be_labels(matrix: Matrix) -> bool:
    """Whether numbers may be labels: whole, few different ones, and not of one sum in so many rows that they count."""
    values = matrix.values
    if values.shape[1] < 2 or (values < 0).any() or not np.isfinite(values).all():
        return False
    different = np.unique(values, axis=0)
    counted = len(values) >= _ROWS and len(different) > 2 and len(np.unique(different.sum(axis=1))) == 1
    return bool((values == np.floor(values)).all() and values.max() <= _GRADES and not counted)


def write_counts(annotations: "Annotations", path: Path) -> None:
    """Write annotations of one class each, by anonymous annotators, with a total if they may be taken for labels."""
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
    if _may_be_labels(Matrix(counts, None, None)):
        table.insert(1, next(name for name in TOTALS if name not in annotations.classes), counts.sum(axis=1))
    write_table([table], path)
