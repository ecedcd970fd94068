"""Which of the forms that hold answers by case a source has, and how it is taken apart."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from plausibly.annotations._matching import with_index
from plausibly.annotations.io._answers import Answers
from plausibly.annotations.io._argilla import argilla_answers, is_argilla
from plausibly.annotations.io._case_rows import (
    case_answers,
    check_weight,
    holds_case_rows,
    holds_nested,
    is_of_cases,
    nested_answers,
    rows_of_columns,
)
from plausibly.annotations.io._columns import frame_columns, is_frame
from plausibly.annotations.io._doccano import doccano_answers, is_doccano
from plausibly.annotations.io._files import (
    check_path,
    lines_of,
    naming,
    parse_json,
    read_json,
    read_text,
    refuse_workbook,
)
from plausibly.annotations.io._label_studio import is_label_studio, label_studio_answers
from plausibly.annotations.io._prodigy import is_prodigy, prodigy_answers
from plausibly.annotations.io._spellings import COLUMNS
from plausibly.annotations.io._table_files import header_of, read_columns
from plausibly.errors import AnnotationError, ArgumentError


def answers_of(content: Any, question: str | None = None, weight: int | None = None) -> Answers | None:
    """Take apart what JSON, or Python's own containers, hold; None if it has none of the forms.

    Parameters
    ----------
    content
        A list of records (Label Studio, Argilla, Prodigy, doccano, or one per case), or a mapping from case to record
        or to ``{annotator: answer}``.
    question
        Of Argilla: the question to read, if there are several; of Label Studio the control.
    weight
        Number of annotators behind a soft label.
    """
    weight = None if weight is None else check_weight(weight)
    found = None
    asked = False
    if isinstance(content, Sequence) and not isinstance(content, str | bytes) and content:
        first = content[0]
        if is_label_studio(first):
            found, asked = label_studio_answers(content, question), True
        elif is_argilla(first):
            found, asked = argilla_answers(content, question), True
        elif is_prodigy(first):
            found = prodigy_answers(content)
        elif is_doccano(first):
            found = doccano_answers({None: content})
        elif holds_case_rows(content):
            found = case_answers(content, weight)
    elif holds_nested(content):
        found = nested_answers(content, weight)
    if found is not None and question is not None and not asked:
        raise ArgumentError(
            f"a control is for exports of Label Studio and Argilla, but {question!r} was given: leave it out."
        )
    return found


def answers_of_table(columns: Mapping[str, Any], weight: int | None = None) -> Answers | None:
    """Take apart columns with a row per case; None if it is another table."""
    if not is_of_cases(columns):
        return None
    listed = {name: _listed(column) for name, column in columns.items()}
    return case_answers(rows_of_columns(listed), None if weight is None else check_weight(weight))


def answers_of_object(source: Any, question: str | None = None, weight: int | None = None) -> Answers | None:
    """Take apart anything held in memory: a data frame, a ``datasets.Dataset``, columns, records, nested mappings."""
    if (columns := columns_of_dataset(source)) is not None:
        source = columns
    if is_frame(source):
        return answers_of_table(_frame(source), weight)
    if isinstance(source, Mapping) and source and all(_is_column(column) for column in source.values()):
        if len({len(column) for column in source.values()}) == 1:
            return answers_of_table({str(name): column for name, column in source.items()}, weight)
        return None
    return answers_of(source, question, weight)


def columns_of_dataset(source: Any) -> dict[str, list[Any]] | None:
    """Columns of a ``datasets.Dataset``, known by what it offers, so that the package need not be there."""
    if hasattr(source, "features") and hasattr(source, "column_names") and callable(getattr(source, "to_dict", None)):
        return {str(name): list(column) for name, column in source.to_dict().items()}
    return None


def read_lines(path: Path) -> list[Any]:
    """Read JSON lines."""
    return [parse_json(line, f"line {n}") for n, line in enumerate(lines_of(read_text(path)), 1) if line.strip()]


def answers_of_file(path: Path, question: str | None = None, weight: int | None = None) -> Answers | None:
    """Take apart a file, or a folder of doccano's; None if it has none of the forms."""
    suffix = path.suffix.lower()
    if path.is_dir():
        files = sorted(path.glob("*.jsonl"))
        if not files:
            return None
        by_annotator = {}
        for one in files:
            with naming(one.name):
                by_annotator[one.stem] = read_lines(one)
        return doccano_answers(by_annotator)
    if suffix == ".jsonl":
        return answers_of(read_lines(path), question, weight)
    if suffix == ".json":
        return answers_of(read_json(path), question, weight)
    if suffix in (".csv", ".tsv", ".parquet") and is_of_cases(header_of(path)):
        return answers_of_table(read_columns(path), weight)
    refuse_workbook(suffix)
    return None


def read_metadata(source: Any, of: str = "cases") -> pd.DataFrame:
    r"""Read metadata of cases or annotators, such as site, language or age.

    Parameters
    ----------
    source
        A file in one of the forms of :func:`plausibly.read_annotations` that have such fields (one row per case, Label
        Studio, Argilla, Prodigy, doccano, or a long table), or such a table, records or ``datasets.Dataset`` in memory.
    of
        ``"cases"``: fields with a single value in each case. ``"annotators"``: fields with a single value for each
        annotator but not in each case.

    Returns
    -------
    pandas.DataFrame
        A column for each field, indexed by the name of the case or the annotator. Its columns can be used as groups in
        :func:`plausibly.evaluate` and :func:`plausibly.agreement.judge`.

    Raises
    ------
    ArgumentError
        If ``of`` is neither ``"cases"`` nor ``"annotators"``.
    AnnotationError, FileError
        If the source has none of these forms, or is damaged.

    Examples
    --------
    >>> records = [{"id": 7, "annotations": ["a", "b"], "annotators": ["x", "y"], "age": [30, 41], "site": "north"}]
    >>> read_metadata(records)["site"].to_dict(), read_metadata(records, "annotators")["age"].to_dict()
    ({'7': 'north'}, {'x': 30, 'y': 41})
    """
    if of not in ("cases", "annotators"):
        raise ArgumentError(f'of must be "cases" or "annotators", but {of!r} was given: choose one of the two.')
    table = _long(source)
    further = [name for name in table if name not in ("case", "annotator", "label")]
    by_case = table.groupby("case", sort=False)
    constant = [name for name in further if (by_case[name].nunique(dropna=False) <= 1).all()]
    if of == "cases":
        return by_case[constant].first() if constant else pd.DataFrame(index=pd.unique(table["case"]))
    by_annotator = table.groupby("annotator", sort=False)
    rest = [name for name in further if name not in constant]
    rest = [name for name in rest if (by_annotator[name].nunique(dropna=False) <= 1).all()]
    return by_annotator[rest].first() if rest else pd.DataFrame(index=pd.unique(table["annotator"]))


def _long(source: Any) -> pd.DataFrame:
    """A row per answer, further fields as they are."""
    if isinstance(source, str | Path):
        check_path(source)
        path = Path(source)
        with naming(path):
            if path.suffix.lower() in (".csv", ".tsv", ".parquet") and not is_of_cases(header_of(path)):
                return _long_table({name: column.to_pylist() for name, column in read_columns(path).items()})
            found = answers_of_file(path, weight=1)
            return _long_table(None if found is None else found.to_columns())
    found = answers_of_object(source, weight=1)
    if found is None and is_frame(source):
        return _long_table({name: column.to_pylist() for name, column in frame_columns(source).items()})
    return _long_table(None if found is None else found.to_columns())


def _long_table(columns: Mapping[str, list[Any]] | None) -> pd.DataFrame:
    names = {spelling: name for name in ("case", "annotator", "label") for spelling in COLUMNS[name]}
    renamed = {} if columns is None else {names.get(name, name): column for name, column in columns.items()}
    if not {"case", "annotator"} <= set(renamed):
        raise AnnotationError("there are no answers by case and annotator; give a long table, or one row per case")
    hashable = {
        name: [repr(cell) if isinstance(cell, list | dict) else cell for cell in column]
        for name, column in renamed.items()
        if name != "label"
    }
    table = pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in hashable.items()})
    return table.assign(case=table["case"].astype(str), annotator=table["annotator"].astype(str)).infer_objects()


def _frame(frame: Any) -> dict[str, Any]:
    """Columns of a data frame; those that hold lists or mappings as they are."""
    if hasattr(frame, "to_pylist"):
        return {name: frame.column(name).to_pylist() for name in frame.column_names}
    if hasattr(frame, "to_dicts"):
        return {name: frame[name].to_list() for name in frame.columns}
    frame = with_index(frame)
    if frame.index.name is not None and frame.index.name not in frame.columns:
        frame = frame.reset_index()
    return {str(name): frame[name].tolist() for name in frame.columns}


def _listed(column: Any) -> list[Any]:
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


def _is_column(column: Any) -> bool:
    return isinstance(column, Iterable) and hasattr(column, "__len__") and not isinstance(column, str | bytes | Mapping)
