"""Rows of classes of files and of objects in memory, and what these say further of cases and annotators."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from plausibly.base.errors import AnnotationError, ArgumentError
from plausibly.base.names import to_names
from plausibly.data.annotations._classes import read_classes
from plausibly.data.annotations._rows import Rows, SecondAnswers, one_answer
from plausibly.data.annotations.io._rankings import Collector
from plausibly.data.annotations.io.answers import blocks_of
from plausibly.data.annotations.io.columns import category_order, is_frame, list_of, to_codes
from plausibly.data.annotations.io.files import is_by_annotator, naming_file, suffix_of
from plausibly.data.annotations.io.formats import FORMATS, OF_ANSWERS, SUFFIXES, Format, read_source
from plausibly.data.annotations.io.long_table import (
    WHEN,
    check_repeats,
    is_of_scores,
    labels_that_are_lists,
    order_in,
    parse_scores,
    parse_table,
    rows_of,
    wanted_in,
    without_names,
)
from plausibly.data.annotations.io.source import Source, open_files, open_source, source_in_memory
from plausibly.data.annotations.io.spellings import COLUMNS, LABELLED, NAMES, find


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
    with naming_file(source):
        table = _long(open_any(source, {}, soft_weight=1))
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


@contextmanager
def naming_cases(source: Source) -> Iterator[None]:
    """Say which other column may name the cases of a table in which annotators answer a case twice."""
    try:
        yield
    except SecondAnswers as error:
        case, who = find("case", source.names), find("annotator", source.names)
        if case is not None and who is not None:
            answers = {find(role, source.names) for role in ("class", "score")}
            columns = {name: column for name, column in source.columns().items() if name not in answers}
            cells = {name: list(map(str, list_of(column))) for name, column in columns.items()}
            n, least = len(cells[case]), len({*cells[case]})
            pairs = {name: {*zip(column, cells[who], strict=True)} for name, column in cells.items()}
            for name in [name for name in cells if len(pairs[name]) == n and least < len({*cells[name]}) < n][:1]:
                words = f"; or, if {name!r} and not {case!r} names the cases, say case={name!r} (--case {name})"
                error.args = (error.args[0] + words, *error.args[1:])
        raise


def rows_in(source: Source, formats: Sequence[Format] = FORMATS) -> Rows | dict[str, Any] | None:
    """Read rows of classes, or fields of scores; None if there is no format that recognises the source."""
    content = read_source(source, formats)
    if isinstance(content, Source):
        return _of_long(content)
    if source.missing and content is not None:
        raise ArgumentError("missing is for tables with a row for each label, or answers, and this is neither.")
    return content


def _of_long(source: Source) -> Rows | dict[str, Any]:
    """Read a table that is long: rows of classes, or of answers that are lists of them, or fields of scores."""
    if source.layout == "scores" or (source.layout is None and is_of_scores(source.names, source.columns)):
        columns = source.columns(wanted_in(source.names, "score"))
        return parse_scores(columns, anonymous=False, absent=source.missing, repeats=source.repeats)
    columns = source.columns(wanted_in(source.names))
    label = find("class", columns)
    if label is not None and (lists := labels_that_are_lists(columns[label])) is not None:
        return _parse_answers(columns | {label: lists}, source)
    rows = parse_table(columns, source.classes, anonymous=False, absent=source.missing, repeats=source.repeats)
    return replace(rows, of_labels=True)


def _parse_answers(columns: dict[str, Any], source: Source) -> Rows:
    """Read the columns of a long table whose labels are a class, tied classes, or a ranking each."""
    anonymous = without_names(columns)
    columns = rows_of(columns, "class", WHEN, source.missing or ("",), source.repeats)
    cases, annotators = (to_codes(columns[name], name) for name in NAMES)
    values, when = columns["class"], order_in(columns)
    rows = np.arange(len(values))
    if not anonymous and source.repeats != "ties":
        rows = one_answer(cases, annotators, values, ways=("ties",))
    known = None if source.classes is None else {*source.classes.tolist()}
    collected, sizes = Collector(source.classes), []
    (case_names, case_of), (people, annotator_of) = ((names.tolist(), of.tolist()) for names, of in (cases, annotators))
    for row in rows.tolist():
        case, who = case_of[row], annotator_of[row]
        where = f"case {case_names[case]!r}" + ("" if anonymous else f", annotator {people[who]!r}")
        blocks = blocks_of(str(values[row]) if source.graded else values[row], known, where)
        collected.add(case, case_names[case], who, people[who], blocks)
        sizes.append(sum(map(len, blocks)))
    named = (to_names(of[0], name) for of, name in zip((cases, annotators), NAMES, strict=True))
    found = collected.rows_of(*named, anonymous, numeric=source.graded)
    told = {} if when is None else {"order": np.repeat(when[rows], sizes), "told": True}
    return replace(found, of_labels=True, **told)


def open_any(
    source: Any,
    roles: Mapping[str, str | None],
    *,
    missing: str | Collection[str] | None = None,
    repeats: str | None = None,
    classes: str | os.PathLike | Iterable[str] | None = None,
    **options: Any,
) -> Source:
    """Look into a file, or take an object in memory, with what the reader was asked for; once."""
    if isinstance(source, Source):
        return source
    if classes is not None:
        classes = read_classes(classes) if isinstance(classes, str | os.PathLike) else to_names(classes, "class")
    elif is_frame(source):
        order = category_order(source, COLUMNS["class"])
        classes = None if order is None else to_names(order, "class")
    named = {role: name for role, name in roles.items() if name is not None}
    absent = [missing] if isinstance(missing, str) else [*(missing or ())]
    options |= {"roles": named, "missing": absent, "repeats": check_repeats(repeats), "classes": classes}
    if is_by_annotator(source):
        return open_files(source, **options)
    if not isinstance(source, str | os.PathLike):
        return source_in_memory(source, **options)
    path = Path(source)
    if not path.is_dir():
        suffix_of(path, SUFFIXES)
    return open_source(path, **options)
