"""Answers of annotators, a row for each, as the exports of tools and rows by case are taken apart into."""

import ast
import json
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from plausibly.base.errors import AnnotationError, PlausiblyWarning, show
from plausibly.base.names import some
from plausibly.data.annotations.io._rankings import is_list as is_list
from plausibly.data.annotations.io.columns import is_nothing as is_nothing
from plausibly.data.annotations.io.spellings import CASE, COLUMNS, LABELLED

_NUMBERS = re.compile(r"\[[\s\d.eE+\-\[\]]*\]")
_GAP = re.compile(r"(?<=[\d.\]])\s+(?=[\d.\[]|[+-][\d.])")  # between two numbers or rows
TAKEN = {*sum(COLUMNS.values(), ())}  #: names of columns that answers themselves have
_NAMED = 9  # parts of an export that an error lists


@dataclass
class Answers:
    """What annotators say of cases; the lists have a value for every answer."""

    case: list[str] = field(default_factory=list)
    annotator: list[str | None] = field(default_factory=list)  #: None if the source does not say
    value: list[Any] = field(default_factory=list)  #: None if missing
    further: list[Mapping[str, Any]] = field(default_factory=list)  #: other fields of the source
    left_out: dict[str, int] = field(default_factory=dict)  #: how often what was left out
    note: str = ""  #: what else is told of a file that is read by itself
    rating: bool = False  #: whether values are numbers of stars; their classes are in the order of the numbers
    scores: bool = False  #: whether values are numbers on a scale, which annotations keep as such

    def add(self, case: str, annotator: str | None, value: Any, further: Mapping[str, Any]) -> None:
        """Add an answer."""
        self.case.append(case)
        self.annotator.append(annotator)
        self.value.append(value)
        self.further.append(further)

    def leave_out(self, what: str) -> None:
        """Count something that says nothing."""
        self.left_out[what] = self.left_out.get(what, 0) + 1

    def tell_left_out(self, path: Any = None) -> None:
        """Warn of what was left out, of a file or of what is in memory."""
        words = ", ".join(f"{number:,} {what}" for what, number in self.left_out.items())
        for told in filter(None, (words and f"left out: {words}", self.note)):
            warnings.warn(told if path is None else f"{path}: {told}", PlausiblyWarning, stacklevel=4)

    def to_columns(self) -> dict[str, list[Any]]:
        """Return columns of a long table; annotators without names are numbered within their case.

        A further field that is called as the case, the annotator or the label goes in parentheses.
        """
        if not self.case:
            raise AnnotationError("no case has an answer; give at least one")
        label = "score" if self.scores else "label"
        columns = {"case": self.case, "annotator": self.annotator, label: self.value}
        nameless = [who is None for who in self.annotator]
        if any(nameless) and not all(nameless):
            case = self.case[nameless.index(True)]
            raise AnnotationError(f"case {case!r}: an answer has no annotator, but others do; name its annotator")
        if nameless[0]:
            seen: Counter[str] = Counter()
            del columns["annotator"]
            columns[LABELLED] = [str(seen.update([case]) or seen[case]) for case in self.case]
        names = dict.fromkeys(name for fields in self.further for name in fields)
        free = {name: f"({name})" if name in TAKEN else name for name in names}
        return {free[name]: [fields.get(name) for fields in self.further] for name in names} | columns


def name_of(record: Mapping, number: int, fields: Sequence[str] = CASE) -> str:
    """Name a case by the first of some fields that a record has, else by its number, counted from 0."""
    for one in fields:
        if (given := record.get(one)) is not None:
            return to_name(given, f"record {number + 1}: the {one}")
    return str(number)


def to_name(given: Any, what: str) -> str:
    """Make a name of text or a whole number."""
    if isinstance(given, bool | np.bool_) or not isinstance(given, str | int | np.integer):
        raise AnnotationError(f"{what} is {show(given)}; names are text or whole numbers, so convert it")
    if not str(given).strip():
        raise AnnotationError(f"{what} is blank; name it")
    return str(given)


def parsed(cell: Any) -> Any:
    """Read text of a list or a mapping, as :func:`literal` does; keep anything else."""
    found = literal(cell) if isinstance(cell, str) and cell.strip()[:1] in ("[", "{", "(") else cell
    return found if isinstance(found, list | dict | tuple) else cell


def literal(cell: str) -> Any:
    """Read JSON, a Python literal, or an array as NumPy prints it; anything else is the text itself."""
    text = cell.strip()
    if not text or text[0] not in "[{(\"'-.0123456789":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if _NUMBERS.fullmatch(text):  # without commas
        text = _GAP.sub(", ", text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return cell.strip()


def lists_in(cells: Sequence[Any]) -> list[Any] | None:
    """Read labels that are lists or mappings, or text of such, beside JSON's ``null``; None of any others.

    Raises AnnotationError if most are, in text, and one is not, which is damaged then.
    """
    given = [None if isinstance(cell, str) and cell.strip() == "null" else cell for cell in cells]
    found = [parsed(cell) for cell in given]
    other = [row for row, one in enumerate(found) if not is_nothing(one) and not isinstance(one, list | dict | tuple)]
    there = sum(not is_nothing(one) for one in found)
    if 2 * len(other) >= there:
        return None
    for row in other if not any(isinstance(one, list | tuple | Mapping) for one in given) else ():
        raise AnnotationError(f"row {row + 1}: the label {show(cells[row])} is no list, but others are; correct it")
    return found


def scalars(record: Mapping, without: Iterable[str]) -> dict[str, Any]:
    """Fields of a record that are text, numbers or truth values, and those in its mappings."""
    skipped, found = set(without), {}
    for name, value in record.items():
        if name in skipped:
            continue
        if isinstance(value, Mapping):
            found |= {key: one for key, one in scalars(value, skipped).items() if key not in record}
        elif value is not None and not is_list(value):
            found[str(name)] = value
    return found


def blocks_of(value: Any, known: set[str] | None, where: str) -> list[list[Any]]:
    """Take an answer for a ranking: a single value is a block of its own, and a list of values a tie."""
    if not is_list(value):
        return [[_class(value, known, where)]]
    parts = list(value)
    if parts and all(isinstance(part, Mapping) and {"value", "rank"} <= set(part) for part in parts):
        return _ranked(parts, known, where)
    if parts and all(is_list(part) for part in parts):
        return [[_class(one, known, where) for one in part] for part in parts]
    if not parts:
        raise AnnotationError(f"{where}: the answer is an empty list; name a class, or leave the annotator out")
    return [[_class(one, known, where) for one in parts]]


def _ranked(parts: list[Mapping], known: set[str] | None, where: str) -> list[list[Any]]:
    blocks: dict[Any, list[Any]] = {}
    for part in parts:
        rank = part["rank"]
        if isinstance(rank, bool) or not isinstance(rank, int):
            raise AnnotationError(f"{where}: the rank is {show(rank)}; write a whole number, 1 for the best")
        blocks.setdefault(rank, []).append(_class(part["value"], known, where))
    return [blocks[rank] for rank in sorted(blocks)]


def whole(value: Any) -> Any:
    """Return a whole number in floating point as an integer, and anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _class(value: Any, known: set[str] | None, where: str) -> Any:
    """Name a class; a whole number is an index where classes are known and none has that name."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return str(value)
    value = whole(value)
    if isinstance(value, int):
        return value if known is not None and str(value) not in known else str(value)
    if isinstance(value, str):
        return value
    raise AnnotationError(
        f"{where}: the answer is {show(value)}; classes are text or whole numbers, rankings lists of lists"
    )


def choose(names: Sequence[str], wanted: str | None, what: str) -> str:
    """Choose the part of an export to read, such as a control or a question: the one asked for, or the only one."""
    if wanted is not None and wanted not in names:
        raise AnnotationError(f"there is no {what} {wanted!r}; choose from {some(list(names), _NAMED)}")
    if wanted is None and len(names) > 1:
        raise AnnotationError(
            f"there are several {what}s, {some(list(names), _NAMED)}; choose one with control= (--control), or write "
            "one to a table of its own: plausibly convert FILE NEW.csv --control NAME"
        )
    return names[0] if wanted is None else wanted
