"""Labels of any type in a long table: who called which case what."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from plausibly.base.checks import to_numbers
from plausibly.base.errors import AnnotationError, ArgumentError, show
from plausibly.base.names import tell_no_answers, tell_unused, to_names
from plausibly.data.annotations import Annotations, Scores
from plausibly.data.annotations._rows import WAYS, order_of
from plausibly.data.annotations.by_case import check_annotated
from plausibly.data.annotations.io.answers import whole
from plausibly.data.annotations.io.columns import category_order, is_frame, is_number, missing, to_codes
from plausibly.data.annotations.io.files import naming_file
from plausibly.data.annotations.io.long_table import WHEN, one_answer, order_in
from plausibly.data.annotations.io.read import annotations_of, naming_cases, open_any
from plausibly.data.annotations.io.source import Source
from plausibly.data.annotations.io.spellings import COLUMNS
from plausibly.data.annotations.views import blocks_by_annotation
from plausibly.data.groups import check_clusters
from plausibly.data.labels.table import Table, are_missing, is_missing, labels_in, to_objects


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels sorted by case and, within a case, by annotator.

    Build it with :meth:`of`. An annotator may label a case several times, if asked for. A case or annotator whose
    labels are all missing keeps its name but has no row.

    Parameters
    ----------
    cases
        Names of the N cases, in the order in which they first appear.
    annotators
        Names of the annotators, in the order in which they first appear.
    case, annotator
        Index of the case and of the annotator of every label; ``case`` does not decrease.
    values
        Labels, as an array of numbers or truth values if possible, else of Python objects.
    columns
        Further requested columns with a value for every label: numbers, or objects with None for missing cells.
    rows
        Row of every label in the original table, counted from 0.
    n_missing
        Number of rows without a label, which were left out.
    numbered
        Whether the source does not name annotators, so that they are numbered within each case: 1, 2, …
    order
        All labels from the lowest to the highest, if they have an order, which the ordinal distance takes.
    place
        Place of each label in its case: by a column ``round``, dates in ``time``, or rows; None if unknown.

    Examples
    --------
    >>> labels = Labels.of([("p7", "ann", "wart"), ("p7", "bob", "corn"), ("p8", "ann", "wart"), ("p8", "bob", None)])
    >>> labels
    Labels(2 cases, 2 annotators, 3 labels, 1 missing)
    >>> labels.values.tolist(), labels.cases[labels.case].tolist()
    (['wart', 'corn', 'wart'], ['p7', 'p7', 'p8'])
    """

    cases: np.ndarray
    annotators: np.ndarray
    case: Int[np.ndarray, " label"]
    annotator: Int[np.ndarray, " label"]
    values: np.ndarray
    columns: Mapping[str, np.ndarray]
    rows: Int[np.ndarray, " label"]
    n_missing: int = 0
    numbered: bool = False
    order: tuple[Any, ...] | None = None
    place: Int[np.ndarray, " label"] | None = None

    @classmethod
    def of(
        cls,
        source: Any,
        *,
        columns: Iterable[str] = (),
        optional: Iterable[str] = (),
        missing: Literal["drop", "error"] = "drop",
        case: str | None = None,
        annotator: str | None = None,
        label: str | None = None,
        score: str | None = None,
        count: str | None = None,
        layout: str | None = None,
        control: str | None = None,
        repeats: str | None = None,
    ) -> "Labels":
        """Read labels from a long table.

        Parameters
        ----------
        source
            A data frame (pandas, polars, PyArrow); the path of a ``.csv``, ``.parquet`` or ``.json`` file; a mapping of
            columns; a mapping ``{case: {annotator: label}}``; a list of records (mappings) or of triples (case,
            annotator, label); a table with one row per case, or an export of an annotation tool, as
            :meth:`plausibly.Annotations.from_case_rows` and :func:`plausibly.read_annotations` describe; annotations or
            scores by named annotators; or Labels, which are returned as they are. Columns are ``case``, ``annotator``,
            ``label`` (or ``task``, ``worker``; or ``class``, or else ``score``, for the label). A JSON file holds any
            of the mappings or lists. Labels of a CSV file become numbers if each of them is one; else all stay text.
        columns
            Names of further columns to keep, such as ``"confidence"`` or ``"group"``.
        optional
            Names of columns to keep if they exist.
        missing
            Treatment of missing labels, that is, cells that are empty, blank, None or NaN: ``"drop"`` leaves these rows
            out and counts them (``n_missing``); ``"error"`` refuses them.
        case, annotator, label, score, count, layout, control
            As for :func:`plausibly.read_annotations`.
        repeats
            What to do with several labels of one annotator of one case: ``"refuse"``, the default; ``"first"`` or
            ``"last"``; ``"ties"``, for rows that are one answer, a list of labels; or ``"readings"``, for cases that
            annotators read several times, all of which are kept.

        Raises
        ------
        AnnotationError
            If a column is absent or given twice, a case or annotator has no name, no label is left, or one is missing
            under ``missing="error"``; the message names the row.
        ArgumentError
            If a control is named, and the source is no file that may have several.
        FileError
            If a file cannot be read.

        Examples
        --------
        >>> Labels.of({"p7": {"ann": 3.5, "bob": 4}, "p8": {"ann": 1}}).values.tolist()
        [3.5, 4.0, 1.0]
        """
        columns = tuple(columns)
        if isinstance(source, Labels):
            absent = [name for name in columns if name not in source.columns]
            if absent:
                raise AnnotationError(f"these labels were read without the column {absent[0]!r}; read them with it")
            return source
        if isinstance(source, Annotations | Scores):
            _refuse_columns(columns)
            return _from_annotations(source)
        if missing not in ("drop", "error"):
            raise ArgumentError(f'missing must be "drop" or "error", but {missing!r} was given: choose one of the two.')
        roles = {"case": case, "annotator": annotator, "label": label, "score": score, "count": count}
        with naming_file(source):
            opened = open_any(source, roles, layout=layout, control=control, repeats=repeats)
            table = labels_in(opened, columns, (*optional, *WHEN))
            if table is None:
                _refuse_columns(columns)
                return _from_annotations(annotations_of(opened), numbered=True)
            with naming_cases(opened):
                found = from_table(table, missing, opened.repeats)
            found = found.without(opened.missing) if isinstance(source, Source) else found
        return replace(found, order=category_order(source, COLUMNS["label"])) if is_frame(source) else found

    def in_order(self, order: Iterable[Any]) -> "Labels":
        """Return the same labels with their order, from the lowest to the highest; of numbers, also as text."""
        names = tuple(order)
        if self.is_numeric and all(isinstance(name, str) and is_number(name) for name in names):
            names = tuple(map(float, names))
        return replace(self, order=names)

    def without(self, texts: Collection[str]) -> "Labels":
        """Leave out labels that are one of some texts, which stand for no answer, and count them as missing.

        Without any, a warning names labels that usually stand for none.

        Raises
        ------
        AnnotationError
            If no label is left.

        Examples
        --------
        >>> Labels.of({"p7": {"ann": "wart", "bob": "n/a"}, "p8": {"ann": "corn"}}).without(["n/a"])
        Labels(2 cases, 2 annotators, 2 labels, 1 missing)
        """
        if not texts:
            whole_numbers = self.is_numeric and self.values.dtype.kind != "b" and not (self.values % 1).any()
            said = np.unique(self.values).astype(int).tolist() if whole_numbers else self.values.tolist()
            tell_no_answers({str(one) for one in said if whole_numbers or isinstance(one, str)})
            return self
        said = [str(whole(value)).strip() for value in self.values.tolist()]
        tell_unused(texts, said)
        kept = np.array([one not in texts for one in said])
        if not kept.any():
            raise AnnotationError(f"all {len(kept):,} labels are missing; give at least one")
        values = self.values[kept]
        if not self.is_numeric and all(isinstance(value, str) and is_number(value) for value in values.tolist()):
            values = np.array(values.tolist(), float)
        columns = {name: column[kept] for name, column in self.columns.items()}
        parts = {name: getattr(self, name)[kept] for name in ("case", "annotator", "rows")}
        parts["place"] = None if self.place is None else self.place[kept]
        n_missing = self.n_missing + int((~kept).sum())
        return replace(self, **parts, values=values, columns=columns, n_missing=n_missing)

    def __len__(self) -> int:
        return len(self.case)

    def __str__(self) -> str:
        counts = ((len(self.cases), "case"), (len(self.annotators), "annotator"), (len(self), "label"))
        parts = [f"{n:,} {what}{'' if n == 1 else 's'}" for n, what in counts]
        return f"{', '.join(parts)}{f', {self.n_missing:,} missing' if self.n_missing else ''}"

    def __repr__(self) -> str:
        return f"Labels({self})"

    @cached_property
    def start(self) -> Int[np.ndarray, " boundary"]:
        """Offsets: the labels of case ``i`` are ``start[i]`` up to, but not including, ``start[i + 1]``."""
        return np.searchsorted(self.case, np.arange(len(self.cases) + 1))

    @property
    def is_numeric(self) -> bool:
        """Whether the labels are numbers or truth values."""
        return self.values.dtype.kind in "biuf"

    @cached_property
    def numbers(self) -> Float[np.ndarray, " label"]:
        """Labels as float64.

        Raises
        ------
        AnnotationError
            If labels are not numbers, or one is infinite.
        """
        return self._numbers(self.values, "label")

    @cached_property
    def coded(self) -> tuple[np.ndarray, Int[np.ndarray, " label"]]:
        """Distinct labels, sorted if possible, and the index of every label among them.

        Raises
        ------
        AnnotationError
            If a label cannot be hashed, for example a list or a dict.
        """
        if self.is_numeric:
            return np.unique(self.values, return_inverse=True)
        first: dict[Any, int] = {}
        code = np.empty(len(self), np.int64)
        for label, value in enumerate(self.values):
            try:
                code[label] = first.setdefault(value, len(first))
            except TypeError:
                raise AnnotationError(
                    f"{self.where(label)}: the label {show(value)} is a {type(value).__name__}, which only a distance "
                    "can compare; use labels that are text, numbers or tuples, or give a function"
                ) from None
        names = list(first)
        try:
            order = sorted(range(len(names)), key=names.__getitem__)
        except TypeError:  # of several types: in the order in which they appear
            order = list(range(len(names)))
        rank = np.empty(len(names), np.int64)
        rank[order] = np.arange(len(names))
        return to_objects(names[i] for i in order), rank[code]

    def floats(self, name: str) -> Float[np.ndarray, " label"]:
        """Return a further column as float64.

        Raises
        ------
        AnnotationError
            If a cell is missing or not a finite number.
        """
        return self._numbers(self.columns[name], name)

    def names_of(self, name: str) -> tuple[np.ndarray, Int[np.ndarray, " label"]]:
        """Return a further column of names: the distinct names as text, and an index into them for every label.

        Raises
        ------
        AnnotationError
            If a cell is missing or blank.
        """
        cells = self.columns[name]
        for bad in np.flatnonzero(are_missing(cells)):
            raise AnnotationError(f"{self.where(bad)}: the cell in column {name!r} is missing; fill it")
        if cells.dtype.kind == "f" and not (cells % 1).any():  # whole numbers, made floats by a missing label's row
            cells = cells.astype(np.int64)
        return np.unique(cells.astype(str), return_inverse=True)

    def select(self, chosen: np.ndarray) -> "Labels":
        """Keep some labels, by a mask or by increasing indices; indices of cases and annotators do not change."""
        return replace(
            self,
            case=self.case[chosen],
            annotator=self.annotator[chosen],
            values=self.values[chosen],
            columns={name: column[chosen] for name, column in self.columns.items()},
            rows=self.rows[chosen],
            place=None if self.place is None else self.place[chosen],
        )

    def of_cases(self, names: np.ndarray) -> "Labels":
        """Keep the labels of some cases, with the annotators who gave any."""
        kept = self.select(np.isin(self.cases, names)[self.case])
        case, at_case = np.unique(kept.case, return_inverse=True)
        annotator, at_annotator = np.unique(kept.annotator, return_inverse=True)
        names_left = {"cases": self.cases[case], "annotators": self.annotators[annotator]}
        return replace(kept, case=at_case, annotator=at_annotator, **names_left)

    def where(self, label: int) -> str:
        """Describe the place of a label for an error message."""
        case, annotator = self.cases[self.case[label]], self.annotators[self.annotator[label]]
        return f"row {self.rows[label] + 1} (case {str(case)!r}, annotator {str(annotator)!r})"

    def _numbers(self, cells: np.ndarray, name: str) -> Float[np.ndarray, " label"]:
        numbers = to_numbers(cells)
        for bad in np.flatnonzero(~np.isfinite(numbers)):
            if isinstance(cells[bad], int | float | np.number):
                raise AnnotationError(f"{self.where(bad)}: the {name} is {numbers[bad]:g}; write a finite number")
            shown = "missing" if is_missing(cells[bad]) else show(cells[bad])
            raise AnnotationError(f"{self.where(bad)}: the {name} is {shown}; write a number")
        return numbers


def from_table(table: Table, rule: str = "drop", repeats: str | None = None) -> Labels:
    """Sort the labels of a table; `rule` and `repeats` are `missing` and `repeats` of :meth:`Labels.of`."""
    columns = table.names
    n = len(columns["case"])
    if not n:
        raise AnnotationError("the table has no rows; give at least one")
    for name in ("case", "annotator"):
        for row in missing(columns[name]):
            raise AnnotationError(f"row {row + 1}: the cell in column {name!r} is missing; fill it, or remove the row")
    cases, case = to_codes(columns["case"], "case")
    annotators, annotator = to_codes(columns["annotator"], "annotator")
    cases, annotators, values = to_names(cases, "case"), to_names(annotators, "annotator"), table.label
    absent = np.flatnonzero(~(there := ~are_missing(values)))
    if rule == "error" and len(absent):
        row = absent[0]
        raise AnnotationError(
            f"row {row + 1} (case {str(cases[case[row]])!r}, annotator {str(annotators[annotator[row]])!r}): "
            'the label is missing; fill it, remove the row, or pass missing="drop"'
        )
    if len(absent) == n:
        raise AnnotationError(f"all {n:,} labels are missing; give at least one")
    when = order_in(table.further)
    if not table.numbered:
        rank = table.further.get("rank") if repeats in ("first", "last") else None  # of rows that are one answer
        first = when if rank is None else np.asarray(rank, float)
        values, there = one_each(values, there, (cases, case), (annotators, annotator), first, repeats)
    order = np.lexsort((annotator, case))
    order = order[there[order]]
    who = None if table.numbered else (annotator[order], annotators)
    said = np.unique([*map(str, values[order].tolist())], return_inverse=True)[1] if table.numbered else order
    placed = order_of(case[order], order if when is None else when[order], said, who, when is not None)
    return Labels(
        cases=cases,
        annotators=annotators,
        case=case[order],
        annotator=annotator[order],
        values=values[order],
        columns={name: column[order] for name, column in table.further.items()},
        rows=order,
        n_missing=len(absent),
        numbered=table.numbered,
        place=placed,
    )


def one_each(
    values: np.ndarray,
    there: np.ndarray,
    cases: tuple[np.ndarray, np.ndarray],
    annotators: tuple[np.ndarray, np.ndarray],
    when: np.ndarray | None,
    repeats: str | None,
    who: str = "annotator",
) -> tuple[np.ndarray, np.ndarray]:
    """Leave each annotator one label of each case, as asked for; returns labels, and which rows have one.

    Of ties, the first row of a case and an annotator has all their labels as a list. Raises AnnotationError for a
    second label if nothing was asked for, in which annotators are called `who`.
    """
    rows = np.flatnonzero(there)
    if repeats == "readings":
        return values, there
    kept = np.zeros(len(there), bool)
    if repeats == "ties":
        pair = cases[1][rows].astype(np.int64) * len(annotators[0]) + annotators[1][rows]
        again = pd.Series(pair).duplicated().to_numpy()
        kept[rows[~again]] = True
        sets: dict[int, list[Any]] = {}
        for row, one in zip(rows.tolist(), pair.tolist(), strict=True):
            sets.setdefault(one, []).append(values[row])
        told = to_objects([None] * len(values))
        told[rows[~again]] = to_objects(sets.values())
        return told, kept
    when, coded = None if when is None else when[rows], [(names, code[rows]) for names, code in (cases, annotators)]
    kept[rows[one_answer(*coded, values[rows], when, repeats, WAYS, who)]] = True
    return values, kept


def _refuse_columns(columns: Iterable[str]) -> None:
    for name in columns:
        raise AnnotationError(f"annotations have no column {name!r}; give a table of labels")


def _from_annotations(annotations: Annotations | Scores, *, numbered: bool = False) -> Labels:
    """Labels that are names of classes, blocks of them, or scores; with `numbered`, annotators may have no names."""
    check_annotated(annotations)
    if annotations.anonymous and not numbered:
        raise AnnotationError(
            "agreement compares annotators, but these annotations do not say who gave them; give each a name"
        )
    if isinstance(annotations, Scores):
        values = annotations.score
    elif are_single(annotations):
        values = to_objects(annotations.classes[annotations.entry_class].tolist())
    else:
        values = to_objects(blocks_by_annotation(annotations, annotations.classes[annotations.entry_class].tolist()))
    return Labels(
        cases=annotations.cases,
        annotators=annotations.annotators,
        case=annotations.annotation_case.astype(np.int64),
        annotator=annotations.annotation_annotator.astype(np.int64),
        values=values,
        columns={},
        rows=np.arange(len(values)),
        order=tuple(annotations.classes.tolist())
        if isinstance(annotations, Annotations) and annotations.ordered
        else None,
        numbered=annotations.anonymous,
        place=getattr(annotations, "annotation_order", None),
    )


def are_single(annotations: Annotations) -> bool:
    """Whether every annotation names one class."""
    return bool((np.diff(annotations.annotation_start) == 1).all())


def column_names(*givens: Any) -> list[str]:
    """List the columns that have to be read, of what is a name of a column or a mapping."""
    return [given for given in givens if isinstance(given, str)]


def by_case(given: str | Mapping | None, labels: Labels, what: str) -> tuple[np.ndarray, Int[np.ndarray, " case"]]:
    """Find the value that each case has in a column or a mapping, such as its cluster.

    Returns the distinct values, as text, sorted, and for every case an index into them, −1 for a case without labels.
    `given` is the name of a column that was read with the labels, a mapping from case to value, or None, for which each
    case is its own. A case without labels may lack a value. Raises AnnotationError if a case has two values, and
    ArgumentError if `given` is something else or lacks a case. In errors the value is called `what`.
    """
    there = np.diff(labels.start) > 0
    if given is None:
        return labels.cases, np.arange(len(labels.cases))
    code = np.full(len(labels.cases), -1)
    if isinstance(given, str):
        names, of_label = labels.names_of(given)
        code[there] = of_label[labels.start[:-1][there]]
        for label in np.flatnonzero(code[labels.case] != of_label):
            case = labels.case[label]
            raise AnnotationError(
                f"case {str(labels.cases[case])!r} has two values in column {given!r}, {str(names[code[case]])!r} and "
                f"{str(names[of_label[label]])!r} (row {labels.rows[label] + 1}); a case belongs to one {what}"
            )
        return names, code
    if not isinstance(given, Mapping):
        raise ArgumentError(
            f"a {what} is the name of a column, or a mapping from case to {what}, but {show(given)} was given."
        )
    cases = labels.cases[there]
    known = set(cases.tolist())
    found = {str(case): value for case, value in given.items() if str(case) in known}
    names, code[there] = np.unique(check_clusters(found, cases, what), return_inverse=True)
    return names, code
