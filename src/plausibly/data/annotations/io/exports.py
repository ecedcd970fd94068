"""Answers by case of files and of objects in memory, and what these say further of cases and annotators."""

from pathlib import Path
from typing import Any

import pandas as pd

from plausibly.base.errors import AnnotationError, ArgumentError
from plausibly.data.annotations.io._formats import FORMATS as FORMATS
from plausibly.data.annotations.io._formats import OF_ANSWERS as OF_ANSWERS
from plausibly.data.annotations.io._formats import SUFFIXES, read_source
from plausibly.data.annotations.io._formats import TOOLS as TOOLS
from plausibly.data.annotations.io._formats import format_of as format_of
from plausibly.data.annotations.io._formats import read_by_annotator as read_by_annotator
from plausibly.data.annotations.io._formats import refuse_control as refuse_control
from plausibly.data.annotations.io._inspect import ARCHIVE as ARCHIVE
from plausibly.data.annotations.io.columns import list_of
from plausibly.data.annotations.io.files import is_by_annotator, naming, suffix_of
from plausibly.data.annotations.io.long_table import without_names
from plausibly.data.annotations.io.source import Source, open_files, open_source, source_in_memory
from plausibly.data.annotations.io.spellings import COLUMNS, LABELLED, find


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
    if isinstance(source, Source):
        return _long_table(source)
    if is_by_annotator(source):
        return _long_table(open_files(source, soft_weight=1))
    if isinstance(source, str | Path):
        with naming(source):
            suffix_of(Path(source), SUFFIXES)
            return _long_table(open_source(Path(source), soft_weight=1))
    return _long_table(source_in_memory(source, soft_weight=1))


def _long_table(source: Source) -> pd.DataFrame:
    found = read_source(source, OF_ANSWERS) or source
    columns = {name: list_of(column) for name, column in found.columns().items()} if found.names else {}  # type: ignore[union-attr]
    names = {LABELLED: "annotator"} if without_names(columns) else {}
    names |= {spelling: name for name in ("case", "annotator", "label") for spelling in COLUMNS[name]}
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
