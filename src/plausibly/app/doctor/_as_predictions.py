"""Files that are taken for predictions once the annotations are known, which say what the classes are."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from plausibly.app.doctor._look import of_one_rater
from plausibly.app.doctor._looked import Looked, named_as_judges
from plausibly.base.checks import are_percentages
from plausibly.base.errors import PlausiblyError, PlausiblyWarning
from plausibly.base.names import many
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.io.class_columns import POSITIVE
from plausibly.data.annotations.io.files import TABLES, ending
from plausibly.data.annotations.io.matrix import Matrix
from plausibly.data.annotations.io.predicted import predicted_labels, unpack
from plausibly.data.annotations.io.spellings import CASE, PREDICTED, find
from plausibly.data.annotations.io.table_files import header_of


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

    Where the columns might be annotators instead, there are annotations already, but not by models alone.
    """
    known = one.role in ("annotations", "groups", "predictions", None) and one is not main
    if not known or ending(one.path) not in TABLES or main.classes is None:
        return []
    try:
        classes, names, found = {*main.classes.tolist()}, header_of(one.path), []
    except PlausiblyError:  # which is said of the file already
        return []
    case = find("case", names, {"case": CASE})
    by_models = main.labels is not None and named_as_judges(main.labels.annotators)
    if by_models and not named_as_judges(name for name in names if name != case):
        return []
    for name in names if case is not None else ():
        if name == case:
            continue
        try:
            said = unpack(f"{one.path}:{name}", classes, PREDICTED[0], POSITIVE[0])
        except PlausiblyError:  # of the whole file, such as a column that is there twice
            return []
        path, values = Path(f"{one.path}:{name}"), said.iloc[:, -1].tolist()
        own: dict[str, Any] = {"column": name, "cases": said["case"].to_numpy(str)}
        if PREDICTED[0] in said:
            if values and {*values} <= classes:
                found.append(replace(of_one_rater(path, own["cases"], values, {}), role="labels of one rater", **own))
        elif len(classes) == 2 and name not in classes and all(0 <= value <= 1 for value in values):
            matrix = Matrix(np.array(values, float)[:, None], None, None)
            words = f"predictions of {many(len(values), 'case')}, one number each"
            found.append(Looked(path, "predictions", words, content=matrix, **own))
    numbers = [one.content.values[:, 0] for one in found if isinstance(one.content, Matrix)]
    of_classes = len(numbers) == len(found) == len(classes) and np.allclose(sum(numbers), 1, atol=0.01)
    return found if len(found) > 1 and not of_classes else []
