"""Answers by case of files and of objects in memory, and what these say further of cases and annotators."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from plausibly.base.errors import AnnotationError, ArgumentError, FileError, suggest
from plausibly.base.names import some
from plausibly.data.annotations.io._formats import FORMATS as FORMATS
from plausibly.data.annotations.io._formats import OF_ANSWERS as OF_ANSWERS
from plausibly.data.annotations.io._formats import SUFFIXES, read_source
from plausibly.data.annotations.io._formats import TOOLS as TOOLS
from plausibly.data.annotations.io._formats import format_of as format_of
from plausibly.data.annotations.io._formats import refuse_control as refuse_control
from plausibly.data.annotations.io._inspect import ARCHIVE as ARCHIVE
from plausibly.data.annotations.io._shared_tables import alt_test_answers, is_alt_test
from plausibly.data.annotations.io.answers import Answers, whole
from plausibly.data.annotations.io.columns import is_number, list_of
from plausibly.data.annotations.io.files import TABLES, WORKBOOK, ending, naming, suffix_of
from plausibly.data.annotations.io.source import JSON, Source, open_source, source_in_memory
from plausibly.data.annotations.io.spellings import CASE, COLUMNS, find
from plausibly.data.annotations.io.table_files import header_of, read_columns
from plausibly.data.annotations.io.verdicts import answers_of_one
from plausibly.data.annotations.io.workbooks import sheets_of

_COLUMN = re.compile(r"(.+?\.(?:csv|tsv|parquet|xlsx)):(.+)", re.IGNORECASE)  # a file and the name of a column


def answers_in(source: Source) -> Answers | None:
    """Take apart a source in one of the formats that hold answers by case; None if it has another."""
    return read_source(source, OF_ANSWERS)  # type: ignore[return-value]


def answers_in_file(source: Source) -> Answers | None:
    """Take apart a file that only its path tells from a mapping in memory, or that a tool for language models made."""
    if is_alt_test(source):
        return alt_test_answers(source)
    return read_source(source, TOOLS)  # type: ignore[return-value]


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


def column_of_file(source: Any, texts: str, numbers: str | None, classes: Collection[str] = ()) -> pd.DataFrame | None:
    """Read ``FILE:COLUMN``, one column of a table with one for each model; None of anything else.

    Of a workbook it is ``FILE:SHEET:COLUMN``, unless only one sheet holds something.

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
    names = header_of(path)
    if column not in names:
        raise FileError(f"there is no such column; {suggest(column, names, f'choose from {some(names, 9)}')}")
    case = find("case", [name for name in names if name != column], {"case": CASE})
    read = read_columns(path, [name for name in (case, column) if name is not None])
    frame = pd.DataFrame({"case": list_of(read[case])} if case is not None else {})
    cells = [None if cell is None or not str(cell).strip() else cell for cell in list_of(read[column])]
    if case is not None:
        frame, cells = frame[[cell is not None for cell in cells]], [cell for cell in cells if cell is not None]
    as_text = [None if cell is None else str(whole(cell)).strip() for cell in cells]
    said = {cell for cell in as_text if cell is not None}
    if not all(map(is_number, said)) or said <= {*classes}:
        return frame.assign(**{texts: as_text})
    return frame.assign(**{numbers or column: [float("nan") if cell is None else float(cell) for cell in cells]})


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
        with naming(source):
            suffix_of(Path(source), SUFFIXES)
            return _long_table(open_source(Path(source), soft_weight=1))
    return _long_table(source_in_memory(source, soft_weight=1))


def _long_table(source: Source) -> pd.DataFrame:
    columns: Mapping[str, Any] = {}
    if (answers := answers_in(source)) is not None:
        columns = answers.to_columns()
    elif source.names:
        columns = {name: list_of(column) for name, column in source.columns().items()}
    names = {spelling: name for name in ("case", "annotator", "label") for spelling in COLUMNS[name]}
    names |= {found: name for name in ("case", "annotator", "label") if (found := find(name, columns)) is not None}
    columns = {names.get(name, name): column for name, column in columns.items()}
    if not {"case", "annotator"} <= set(columns):
        raise AnnotationError("there are no answers by case and annotator; give a long table, or one row per case")
    hashable = {
        name: [repr(cell) if isinstance(cell, list | dict) else cell for cell in column]
        for name, column in columns.items()
        if name != "label"
    }
    table = pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in hashable.items()})
    return table.assign(case=table["case"].astype(str), annotator=table["annotator"].astype(str)).infer_objects()
