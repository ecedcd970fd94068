"""What a classifier says of cases, from any source: names of the cases, and scores of classes or one column.

A source is a path, ``FILE:COLUMN``, the export of a tool, a data frame, an array, a vector, a mapping, or records. A
record, in JSON, JSON lines or in memory, has the case and, for each class, its probability: in fields of their own, in
a field that holds a mapping (``"probs": {"a": 0.2, "b": 0.8}``), or in one that holds a list as Hugging Face's
pipelines return it (``[{"label": "a", "score": 0.2}, …]``). Such lists alone, and mappings ``{case: {class:
probability}}``, are read, too. A record with a single ``label`` and its ``score`` says the probabilities of two
classes; one with a label alone names a class.
"""

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from plausibly.base.errors import FileError, PredictionError, show, suggest
from plausibly.base.names import some
from plausibly.data.annotations.io.answers import is_list, to_name, whole
from plausibly.data.annotations.io.class_columns import POSITIVE, names_class
from plausibly.data.annotations.io.columns import is_number, list_of, taken
from plausibly.data.annotations.io.files import TABLES, WORKBOOK, ending, read_npy
from plausibly.data.annotations.io.formats import ARCHIVE, TOOLS, format_of
from plausibly.data.annotations.io.matrix import Matrix, column_of_cases, read_matrix
from plausibly.data.annotations.io.source import JSON, open_source, texts_of
from plausibly.data.annotations.io.spellings import CASE, PREDICTED, find, further_roles, success_in
from plausibly.data.annotations.io.table_files import header_of, read_columns
from plausibly.data.annotations.io.verdicts import answers_of_one
from plausibly.data.annotations.io.workbooks import sheets_of
from plausibly.data.annotations.matching import names_in

_COLUMN = re.compile(r"(.+?\.(?:csv|tsv|parquet|xlsx|jsonl?)):(.+)", re.IGNORECASE)  # a file and the name of a column
_FORM = 'write an object per case, such as {"case": "p1", "probs": {"a": 0.2, "b": 0.8}}'
_FIELDS = ("probs", "probabilities", "scores", "predictions")  # which is read if several hold numbers of classes
_SCORE = ("score", "probability", "confidence")
_VECTORS = (list, tuple, np.ndarray, pd.Series, pd.Index, pd.Categorical)


def read_scores(source: Any, classes: np.ndarray, cases: np.ndarray | None = None) -> Matrix:
    """Read what a classifier says of cases; a name of a class is 1 for that class and 0 for the others.

    `cases` tell names of cases from an index that counts rows; without them, an index is the names.
    """
    names = {*classes.tolist()}
    source = unpack(source, names, PREDICTED[0], _own(source, classes))
    if is_path(source) and ending(Path(source)) in JSON:
        source = frame_of_json(open_source(Path(source)).content, classes)
    source = _as_column(_from_memory(source, classes))
    own = None
    if nw.dependencies.is_pandas_dataframe(source):
        named = source.index.name == "case" and ("case" not in source.columns or "case" in classes)
        if named or (cases is not None and not column_of_cases(list(map(str, source.columns)), classes)):
            own = names_in(source.index, source.index if cases is None else cases, error=PredictionError)
            source = source.reset_index(drop=True)
    matrix = read_matrix(source, PredictionError, classes, cases, labels=True)
    if own is not None:
        return replace(matrix, cases=own.to_numpy(str))
    index = _range_of(source) if matrix.cases is None else None
    if matrix.counted and matrix.cases is not None:
        numbers = all(name.isdecimal() for name in matrix.cases.tolist())
        index = pd.Index(matrix.cases.astype(int) if numbers else matrix.cases.astype(object))
    if index is None or cases is None:
        return matrix
    found = names_in(index, cases, error=PredictionError)
    return replace(matrix, cases=None if found is None else found.to_numpy(str))


def is_path(source: Any) -> bool:
    """Whether a source is a path, or the name of a file and a column."""
    return isinstance(source, str | os.PathLike)


def unpack(source: Any, known: Collection[str], text: str, number: str | None = None) -> Any:
    """Take what is in a column of a file, a tool's export, or ``{case: label}``; anything else stays as it is.

    A table has the columns ``case``, if cases have names, and `text`, or `number` (by default the column's own name) if
    it holds numbers that are no `known` names.
    """
    if (column := _column_of_file(source, text, number, known)) is not None:
        return column
    if (said := predicted_labels(source, known)) is None:
        return source
    return said if text == "label" else _labels(said["case"], said["label"], known)


def _own(source: Any, classes: np.ndarray) -> str | None:
    """What to call a classifier's column of numbers: by its own name if it is that of a class, or no class is positive.

    The positive class is one that stands for a success.
    """
    named = is_path(source) and names_class(str(source).rpartition(":")[2], classes)
    return None if len(classes) != 2 or named or success_in(classes) is None else POSITIVE[0]


def _labels(cases: list[Any], labels: list[Any], known: Collection[str]) -> pd.DataFrame:
    """Make a table of names of classes, or of numbers that are none."""
    texts = [None if label is None else str(whole(label)) for label in labels]
    numbers = all(isinstance(label, Real) and not isinstance(label, bool) for label in labels)
    if numbers and not {*texts} <= {*known}:
        return pd.DataFrame({"case": list(map(str, cases)), POSITIVE[0]: labels})
    return pd.DataFrame({"case": list(map(str, cases)), PREDICTED[0]: pd.Series(texts, dtype=object)})


def _from_memory(source: Any, classes: np.ndarray) -> Any:
    """Make a table of a mapping or of records."""
    if isinstance(source, Mapping):
        values = list(source.values())
        if values and all(isinstance(one, _VECTORS) and not _are_pairs(one) for one in values):
            return pd.DataFrame({str(name): list(column) for name, column in source.items()})
        if values and all(isinstance(one, str | Real) or one is None for one in values):
            return _labels(list(source), values, classes.tolist())
        return frame_of_json(source, classes)
    first = source[0] if isinstance(source, list | tuple) and source else None
    return frame_of_json(source, classes) if isinstance(first, Mapping) or _are_pairs(first) else source


def _as_column(source: Any) -> Any:
    """Take a vector, a Series or a file with a vector as the one column of a matrix, named if it holds text."""
    if is_path(source) and ending(Path(source)) == ".npy":
        values = read_npy(Path(source))
        source = values if values.ndim == 1 else source
    if isinstance(source, _VECTORS) and _holds_text(source):
        return pd.Series(source, dtype=object).to_frame(PREDICTED[0])
    if isinstance(source, pd.Series):
        source = source.astype(int) if source.dtype == bool else source
        return source.to_frame(POSITIVE[0] if source.name is None else source.name)
    if isinstance(source, list | tuple) and source and all(isinstance(value, Real) for value in source):
        source = np.array(source)
    if isinstance(source, np.ndarray) and source.ndim == 1 and source.dtype.kind in "biuf":
        return source[:, None]
    return source


def _holds_text(vector: Any) -> bool:
    """Whether any element is a text, as in a vector of names."""
    if isinstance(vector, np.ndarray) and (vector.ndim != 1 or vector.dtype.kind not in "OUT"):
        return False
    if isinstance(vector, pd.Series | pd.Index) and vector.dtype.kind in "biufcmM":
        return False
    return any(isinstance(value, str) for value in vector)


def _range_of(source: Any) -> pd.Index | None:
    """Read the index of whole numbers that pandas keeps beside the columns of a Parquet file."""
    if not is_path(source) or ending(Path(source)) != ".parquet":
        return None
    for kept in (pq.read_schema(source).pandas_metadata or {}).get("index_columns", []):
        if isinstance(kept, dict):
            return pd.RangeIndex(kept["start"], kept["stop"], kept["step"], name=kept["name"])
    return None


def predicted_labels(source: Any, known: Collection[str]) -> dict[str, list[Any]] | None:
    """Read the labels of a classifier from a tool's export or from JSON ``{case: label}``; None of another source.

    Of several questions in an export it is the one that is answered with `known` labels only. Columns are ``case`` and
    ``label``.
    """
    if not isinstance(source, str | Path) or ending(Path(source)) not in (*JSON, *TABLES, ARCHIVE):
        return None
    opened = open_source(Path(source))
    if (tool := format_of(opened, TOOLS)) is not None and tool.verdicts is not None:
        return answers_of_one(tool.verdicts(opened), known)
    content = opened.content
    if isinstance(content, Mapping) and content and all(isinstance(one, str | int | float) for one in content.values()):
        return {"case": [str(case) for case in content], "label": list(content.values())}
    return None


def _column_of_file(source: Any, texts: str, numbers: str | None, classes: Collection[str] = ()) -> pd.DataFrame | None:
    """Read ``FILE:COLUMN``, one column of a table, or field of JSON records, with one for each model; else None.

    A column of a workbook is ``FILE:SHEET:COLUMN``, or ``FILE:COLUMN`` if only one sheet has content. In a long table,
    ``FILE:NAME`` is what the annotator of that name says.

    The frame has the names of the cases as ``case``, if there are any, and the column as `texts` if some cells are no
    numbers, or all are names of classes, and else as `numbers`, by default under its own name. A case whose cell is
    blank has no row.
    """
    found = _COLUMN.fullmatch(str(source)) if isinstance(source, str | Path) else None
    if found is None or Path(str(source)).exists():
        return None
    path, column = Path(found[1]), found[2]
    if not path.exists():
        raise FileError(f"there is no file {str(path)!r}; check the path")
    if ending(path) == WORKBOOK and (parts := column.split(":", 1))[0] in sheets_of(path):
        if len(parts) == 1:
            return None
        path, column = Path(f"{path}:{parts[0]}"), parts[1]
    records = _columns_of_records(open_source(path).content) if ending(path) in JSON else None
    names = header_of(path) if records is None else list(records)
    who, said = find("annotator", names), find("label", names) or find("score", names)
    of_annotator = column not in names and None not in (who, said)
    of_annotator = of_annotator and column in texts_of((records or read_columns(path))[who])
    if column not in names and not of_annotator:
        raise FileError(f"there is no such column; {suggest(column, names, f'choose from {some(names, 9)}')}")
    case = further_roles(names).get("case") or find("case", [name for name in names if name != column], {"case": CASE})
    wanted = [name for name in (case, who, said, column) if name is not None]
    read = read_columns(path, wanted) if records is None else records
    if of_annotator:
        own = np.flatnonzero(texts_of(read[who]) == column)
        read, column = {name: taken(cells, own) for name, cells in read.items() if len(cells)}, said
        case = find("case", [name for name in names if name not in (who, said)])
    frame = pd.DataFrame({"case": list_of(read[case])} if case is not None else {})
    cells = [None if cell is None or not str(cell).strip() else cell for cell in list_of(read[column])]
    if case is not None:
        there = np.array([cell is not None for cell in cells], bool)
        frame, cells = frame[there], [cell for cell in cells if cell is not None]
    as_text = [None if cell is None else str(whole(cell)).strip() for cell in cells]
    said = {cell for cell in as_text if cell is not None}
    if not all(map(is_number, said)) or said <= {*classes}:
        return frame.assign(**{texts: as_text})
    return frame.assign(**{numbers or column: [float("nan") if cell is None else float(cell) for cell in cells]})


def _columns_of_records(content: Any) -> dict[str, list[Any]]:
    """Fields of JSON records as columns, None where a record has none."""
    if not is_list(content) or not all(isinstance(record, Mapping) for record in content):
        raise FileError("a field can be named of a list of JSON records only; " + _FORM)
    names = list(dict.fromkeys(str(name) for record in content for name in record))
    return {name: [record.get(name) for record in content] for name in names}


def frame_of_json(content: Any, classes: Collection[str] | np.ndarray | None = None) -> pd.DataFrame:
    """Return a column for each class, or one that names classes; its index is called "case" if cases have names.

    Raises
    ------
    PredictionError
        If a record has another form, or not the same fields as the first one.
    """
    classes = None if classes is None else list(map(str, classes))
    nested = isinstance(content, Mapping) and all(isinstance(said, Mapping) and said for said in content.values())
    if nested and all(isinstance(one, Mapping) for said in content.values() for one in said.values()):
        raise PredictionError(
            f"the file holds several classifiers, {some(list(content))}, with a mapping from case to what each says; "
            "write a file for each, {case: {class: number}}"
        )
    if isinstance(content, Mapping):
        content = [{"case": str(case), "probs": said} for case, said in content.items()]
    if not is_list(content) or not len(content):
        raise PredictionError(f"the file holds {show(content)}; {_FORM}")
    read = [_row(record, f"record {number}", classes) for number, record in enumerate(content, 1)]
    names, rows = zip(*read, strict=True)
    fields = [{*row} if name is None else {*row, "case"} for name, row in read]
    for number, own in enumerate(fields, 1):
        for odd in sorted(own ^ fields[0])[:1]:
            raise PredictionError(f"record {number} and record 1 do not both have {odd!r}; give every case all classes")
    return pd.DataFrame(list(rows), None if names[0] is None else pd.Index(names, name="case"))


def _row(record: Any, where: str, classes: Collection[str] | None) -> tuple[str | None, dict[str, Any]]:
    """Name of the case of a record, if it has one, and the numbers of classes or the name of one."""
    if (scores := _scores(record)) is not None and is_list(record):
        return None, scores
    if not isinstance(record, Mapping):
        raise PredictionError(f"{where} is {show(record)}; {_FORM}")
    fields = {str(name): value for name, value in record.items()}
    nested = any(_scores(value) is not None for value in fields.values())
    name = find("case", [one for one in fields if nested or one not in (classes or ())], {"case": CASE})
    case = None if name is None else to_name(fields.pop(name), f"{where}: the {name}")
    inner = {one: found for one, value in fields.items() if (found := _scores(value)) is not None}
    if inner:
        chosen = next((one for one in _FIELDS if one in inner), next(iter(inner)))
        if len(inner) > 1 and chosen not in _FIELDS:
            raise PredictionError(f"{where} has numbers of classes in {' and '.join(map(repr, inner))}; keep one")
        return case, inner[chosen]
    if classes is not None and {*classes} <= {*fields}:
        return case, {one: fields[one] for one in classes}
    label = find("label", fields, {"label": PREDICTED})
    score = next((one for one in _SCORE if one in fields), None)
    if label is not None and score is not None and classes is not None and _is_number(fields[score]):
        if len(classes) != 2 or str(fields[label]) not in classes:
            raise PredictionError(
                f"{where} has the {score} of {show(fields[label])} alone; give those of all classes (in Hugging Face's "
                "pipelines top_k=None)"
            )
        value = fields[score]
        return case, {one: value if one == str(fields[label]) else 1 - value for one in classes}
    if label is not None:
        return case, {PREDICTED[0]: fields[label]}
    numbers = {one: value for one, value in fields.items() if _is_number(value)}
    return case, numbers if classes is not None or len(numbers) == len(fields) else {}


def _scores(value: Any) -> dict[str, Any] | None:
    """Numbers by class, from a mapping or from a list of labels with scores; None if it is neither."""
    if _are_pairs(value):
        value = {one["label"]: one["score"] for one in value}
    if not isinstance(value, Mapping) or not value or not all(map(_is_number, value.values())):
        return None
    return {str(name): number for name, number in value.items()}


def _are_pairs(value: Any) -> bool:
    """Whether this is a list of labels with their scores."""
    listed = is_list(value) and len(value) > 0
    return listed and all(isinstance(one, Mapping) and {"label", "score"} <= {*one} for one in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
