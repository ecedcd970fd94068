"""What models say of the cases that annotators labelled."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int

from plausibly.base.errors import AnnotationError, PlausiblyWarning, PredictionError, show
from plausibly.base.names import many, some
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.io.class_columns import POSITIVE
from plausibly.data.annotations.io.columns import frame_columns, is_frame, missing, to_codes
from plausibly.data.annotations.io.files import TABLES, ending, naming
from plausibly.data.annotations.io.predicted import is_path, unpack
from plausibly.data.annotations.io.source import texts_of
from plausibly.data.annotations.io.spellings import PREDICTED, find
from plausibly.data.annotations.io.table_files import header_of, read_columns
from plausibly.data.annotations.matching import check_spelled, places, refuse_absent, shared_cases
from plausibly.data.labels.container import Labels, one_each
from plausibly.data.labels.table import Table, are_missing, read_table

_LEAVE_OUT = ", or leave such cases out (plausibly judge has --unpredicted leave-out)"
_OFTEN = 3  # how often each different label is given where labels are classes
MODEL = "model"  #: name of a model that was given none


@dataclass(frozen=True)
class Predictions:
    """Labels that a model gives to cases, in the order of the cases; numbers if the annotators' labels are."""

    case: Int[np.ndarray, " prediction"]
    values: np.ndarray


def read_models(
    predictions: Any,
    labels: Labels,
    needed: np.ndarray,
    column: str = "label",
    extra: str = "refuse",
    repeats: str | None = "readings",
) -> dict[str, Predictions]:
    """Read the predictions of one model or of several, by name.

    A model's are a table with the columns ``case`` and ``label``, or ``prediction`` (a data frame, a path, a mapping of
    the two columns, a list of records or of pairs), or a mapping ``{case: label}``, which needs the name of its model:
    what is not a mapping of columns is one from the names of models to such tables. `needed` says of every case whether
    it needs a prediction, `column` is ``"label"`` or ``"score"``; with `extra` ``"ignore"``, rows of unknown cases are
    left out, with a warning; `repeats` is that of :meth:`Labels.of`. Raises PredictionError if a needed case has no
    prediction, one is missing, a case is unknown or has a second prediction that is another one, unless `repeats` says
    what to do with it, or labels and predictions are of different types.
    """
    names = {column, "class", *(PREDICTED if isinstance(predictions, Mapping) and "case" in predictions else ())}
    named = isinstance(predictions, Mapping) and not names & {*predictions}
    models = predictions if named else {MODEL: predictions}
    if not models:
        raise PredictionError("there are no predictions; give those of one model at least")
    read = {}
    for name, source in models.items():
        if isinstance(source, Predictions):
            read[str(name)] = source
            continue
        if isinstance(source, pd.Series) and source.index.dtype.kind not in "iu":
            source = source.to_dict()
        with naming(source if is_path(source) else f"predictions of {name}"):
            if not (is_path(source) or isinstance(source, Mapping | list | tuple) or hasattr(source, "columns")):
                raise PredictionError(
                    f"a model's predictions are a table with the columns 'case' and {column!r}, got {show(source)}; "
                    "name the model: {model: {case: label}}"
                )
            try:
                found = _read(source, labels, needed, column, extra)
                read[str(name)] = _once(str(name), found, labels, repeats)
            except AnnotationError as error:  # a reader of tables does not know whose labels they hold
                raise PredictionError(*error.args) from error
    return read


def _read(source: Any, labels: Labels, needed: np.ndarray, column: str, extra: str) -> Predictions:
    case, values, more = read_rows(source, labels, column, instead=PREDICTED)
    without = needed.copy()
    without[case] = False
    refuse_absent(labels.cases[without], more, not len(case), f"predict every case{_LEAVE_OUT}")
    if more and extra == "refuse":
        raise PredictionError(
            f"there is a row for case {some(more)}, which is not annotated; remove it, or leave such rows out with "
            'extra="ignore" (--extra ignore)'
        )
    if more:
        words = f"ignored predictions of {many(len(more), 'case')}, not annotated or left out"
        warnings.warn(words, PlausiblyWarning, stacklevel=4)
    if column == "label":
        _tell_unknown(values, labels)
    return Predictions(case, values)


def _once(name: str, read: Predictions, labels: Labels, repeats: str | None) -> Predictions:
    """Leave a model one label of each case, by the rule for annotators."""
    if not (np.diff(read.case) == 0).any():
        return read
    here, model = np.ones(len(read.case), bool), (np.array([name]), np.zeros(len(read.case), int))
    values, kept = one_each(read.values, here, (labels.cases, read.case), model, None, repeats, "model")
    return Predictions(read.case[kept], values[kept])


def beside_models(labels: Labels, predictions: Any) -> Labels:
    """Leave out annotators who are a model, by its name and all its answers, so that it meets others; warn of it."""
    models = predictions if isinstance(predictions, Mapping) else {}
    named = [name for name in models if name in labels.annotators and _says(labels, str(name), models[name])]
    if not named:
        return labels
    words = f"{some(named, 9)} {'is' if len(named) == 1 else 'are'} among the annotators, and compared with the others"
    warnings.warn(words, PlausiblyWarning, stacklevel=3)
    return labels.select(~np.isin(labels.annotators[labels.annotator], named)).of_cases(labels.cases)


def _says(labels: Labels, annotator: str, source: Any) -> bool:
    """Whether predictions are what an annotator says."""
    own = np.flatnonzero(labels.annotators[labels.annotator] == annotator)
    said = read_models({annotator: source}, labels, np.zeros(len(labels.cases), bool), extra="ignore")[annotator]
    same = np.array_equal(said.case, labels.case[own])
    return same and bool(np.all([a == b for a, b in zip(said.values, labels.values[own], strict=True)]))


def all_predicted(labels: Labels, predictions: Mapping[str, Any]) -> np.ndarray:
    """Names of the cases that all models have a label for."""

    def names_in(source: Any) -> tuple[Any, np.ndarray]:
        with naming(source):
            names, _, table = _cells(source, labels, "label", PREDICTED)
        return source, names[~are_missing(table.label)]

    return shared_cases(labels.cases, map(names_in, predictions.values()))


def read_rows(
    source: Any,
    of: Labels | Annotations,
    column: str = "label",
    instead: Sequence[str] = (),
    *,
    alone: bool = False,
    alike: bool = True,
) -> tuple[Int[np.ndarray, " row"], np.ndarray, list[str]]:
    """Read a column by case: indices of the cases, increasing, their values, and names of cases that there are not.

    Values are of the type of labels, where the cases are those of labels and both are `alike`. For `instead` and
    `alone` see :func:`read_table`.
    """
    names, case, table = _cells(source, of, column, instead, alone)
    values, unknown = table.label, case < 0
    for row in np.flatnonzero(are_missing(values) & ~unknown):
        fix = f"fill it{_LEAVE_OUT if instead else ''}"
        raise PredictionError(f"row {row + 1} (case {str(names[row])!r}): the {column} is missing; {fix}")
    if column == "label" and isinstance(of, Labels):
        values = _alike(table, of) if alike else values
    elif column == "label" and table.text is not None:
        values = table.text
    order = np.argsort(case, kind="stable")
    order = order[case[order] >= 0]
    return case[order], values[order], list(dict.fromkeys(names[unknown].tolist()))


def _cells(
    source: Any, of: Labels | Annotations, column: str, instead: Sequence[str], alone: bool = False
) -> tuple[np.ndarray, Int[np.ndarray, " row"], Table]:
    """Read a table with the name of the case of each row, and its index, which is -1 if it is unknown."""
    known = of.values if isinstance(of, Labels) else of.classes
    names = () if isinstance(of, Labels) and of.is_numeric else {*map(str, known.tolist())}
    source = unpack(_one_column(source, column) if instead else source, names, column, column)
    if isinstance(source, Mapping) and "case" in source:  # of columns
        source = next(({"case": source["case"], "label": source[name]} for name in instead if name in source), source)
    table = read_table(source, ("case", column), instead=instead, alone=alone)
    if not is_path(source) and not len(table.names["case"]):
        raise PredictionError("there are no rows; give a row per case")
    for row in missing(table.names["case"]):
        raise PredictionError(f"row {row + 1}: the cell in column 'case' is missing; name the case")
    names, code = to_codes(table.names["case"], "case")
    return names[code], places(names, of.cases)[code], table


def _one_column(source: Any, column: str) -> Any:
    """Choose the column of a table that holds the predictions; refuse one with several that may."""
    in_file = is_path(source) and ending(Path(source)) in TABLES and Path(source).exists()
    names = header_of(Path(source)) if in_file else list(map(str, getattr(source, "columns", ())))
    if (in_file or is_frame(source)) and (who := find("annotator", names)) is not None:
        cells = read_columns(Path(source), [who]) if in_file else frame_columns(source)
        people = sorted({*texts_of(cells[who])} - {None})
        if len(people) > 1:
            fix = f"name one of them: FILE:{people[0]}" if in_file else "keep those of one of them"
            raise PredictionError(f"these are the answers of {some(people)}, so {fix}")
    if column == "score":
        found = [name for name in POSITIVE if name in names]
        return f"{source}:{found[0]}" if in_file and "score" not in names and len(found) == 1 else source
    found = [name for name in PREDICTED if name in names]
    if len(found) > 1 and {*found} != {"label", "class"}:
        words = f"so name one of them: FILE:{found[0]}" if in_file else "so keep one of them"
        raise PredictionError(f"the columns {' and '.join(map(repr, found))} may each be the prediction, {words}")
    return source


def _tell_unknown(values: np.ndarray, labels: Labels) -> None:
    """Warn of predicted labels that no annotator gave, where annotators give few different ones; refuse spellings."""
    given, said = (of.tolist() for of in (labels.values, values))
    if not all(isinstance(one, str) for one in (*given, *said)) or len({*given}) * _OFTEN > len(given):
        return
    check_spelled(said, given, "predictions")
    if new := sorted({*said} - {*given}):
        words = f"annotators gave no label {some(new)}, which is predicted, but {some(sorted({*given}))}"
        warnings.warn(words, PlausiblyWarning, stacklevel=5)


def _alike(table: Table, labels: Labels) -> np.ndarray:
    """Take predictions for text where labels are: a file of text cells does not say which of its numbers are names."""
    values = table.label
    numeric = values.dtype.kind in "biuf"
    if numeric == labels.is_numeric:
        return values
    text = all(isinstance(value, str) for value in labels.values)
    if numeric and table.text is not None and text:
        return table.text
    if numeric and not text:
        return values.astype(object)
    kinds = ("text", "numbers") if numeric else ("numbers", "text")
    shown = show(labels.values[0] if not labels.is_numeric else labels.values[0].item())
    first = values[0].item() if numeric else values[0]
    raise PredictionError(
        f"the annotators' labels are {kinds[0]}, such as {shown}, and the predictions are {kinds[1]}, such as "
        f"{show(first)}; give both alike"
    )
