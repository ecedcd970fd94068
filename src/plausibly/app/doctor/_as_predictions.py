"""Files that are taken for predictions once the annotations are known, which say what the classes are."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from plausibly.app.doctor._look import is_numeric, of_one_rater
from plausibly.app.doctor._looked import Looked
from plausibly.base.checks import are_percentages
from plausibly.base.errors import PlausiblyError, PlausiblyWarning
from plausibly.base.names import many
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.io.answers import whole
from plausibly.data.annotations.io.columns import list_of
from plausibly.data.annotations.io.files import TABLES, ending
from plausibly.data.annotations.io.matrix import Matrix
from plausibly.data.annotations.io.predicted import predicted_labels
from plausibly.data.annotations.io.spellings import CASE, find
from plausibly.data.annotations.io.table_files import read_columns


def as_classifier(one: Looked, main: Looked) -> Looked | None:
    """Take the export of a tool as predictions for annotated cases, if they are one rater's or a model's answers."""
    if not one.of_tool or main.of_tool or main.classes is None or one.cases is None:
        return None
    try:
        said = predicted_labels(one.path, {*main.classes.tolist()})
    except PlausiblyError:
        return None
    if said is None or not len(np.intersect1d(said["case"], main.cases)):
        return None
    found = of_one_rater(one.path, said["case"], said["label"], {})
    return replace(found, role="labels of one rater", words=f"{one.words}; here {found.words}", of_tool=True)


def as_scores(one: Looked, main: Looked) -> Looked | None:
    """Take a table with scores of all classes of annotations as predictions, as their reader does."""
    from plausibly.data.predictions import scores_of  # with SciPy, which takes long to import

    other = one.role in ("labels", "gold labels", "outcomes", "risks", "plausibilities") or one.of_tool
    if other or one is main or ending(one.path) not in TABLES or not isinstance(main.content, Annotations):
        return None
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", PlausiblyWarning)
            matrix = scores_of(one.path, main.content.classes, main.content.cases)
    except PlausiblyError:
        return None
    if matrix.labels or matrix.cases is None or not len(np.intersect1d(matrix.cases, main.content.cases)):
        return None
    if (one.role == "predictions" and not told) or (one.role == "annotations" and not are_percentages(matrix.values)):
        return None
    notes = "".join(f"; {str(note.message).removeprefix(f'{one.path}: ')}" for note in told)
    words = (
        f"predictions of {many(len(matrix.values), 'case')}, numbers for {main.content.n_classes:,} classes each{notes}"
    )
    return Looked(one.path, "predictions", words, content=matrix, cases=matrix.cases)


def as_classifiers(one: Looked, main: Looked) -> list[Looked]:
    """Take columns of a table as predictions of a classifier each: classes, or of two classes probabilities.

    Where the columns might be annotators instead, there are annotations already.
    """
    known = one.role in ("annotations", "groups", "predictions", None) and one is not main
    if not known or ending(one.path) not in TABLES or main.classes is None:
        return []
    classes, columns = {*main.classes.tolist()}, read_columns(one.path)
    case = find("case", columns, {"case": CASE})
    if case is None:
        return []
    cases, found = list_of(columns.pop(case)), []
    for name, column in columns.items():
        given = [cell is not None and bool(str(cell).strip()) for cell in list_of(column)]
        cells = [cell for cell, is_given in zip(list_of(column), given, strict=True) if is_given]
        path, named = Path(f"{one.path}:{name}"), {"column": name, "cases": np.array(cases, str)[given]}
        if cells and {str(whole(cell)) for cell in cells} <= classes:
            found.append(replace(of_one_rater(path, named["cases"], cells, {}), role="labels of one rater", **named))
        elif (
            len(classes) == 2
            and name not in classes
            and is_numeric(column)
            and all(0 <= float(cell) <= 1 for cell in cells)
        ):
            matrix = Matrix(np.array(cells, float)[:, None], None, None)
            words = f"predictions of {many(len(cells), 'case')}, one number each"
            found.append(Looked(path, "predictions", words, content=matrix, **named))
    return found if len(found) > 1 else []
