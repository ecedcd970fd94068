"""Answers of annotators, a row for each, as the exports of tools and rows by case are taken apart into."""

import ast
import json
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any

import numpy as np

from plausibly.base.errors import AnnotationError, PlausiblyWarning, show
from plausibly.base.names import some, tell_unused
from plausibly.data.annotations.io._rankings import is_list as is_list
from plausibly.data.annotations.io.spellings import CASE

_NAMED = 9  # parts of an export that an error lists


class Numbers(list[str]):
    """Numbers in place of names that annotators do not have: 1, 2, … within each case."""


@dataclass
class Answers:
    """What annotators say of cases; the lists have a value for every answer."""

    case: list[str] = field(default_factory=list)
    annotator: list[str | None] = field(default_factory=list)  #: None if the source does not say
    value: list[Any] = field(default_factory=list)  #: None if missing
    further: list[Mapping[str, Any]] = field(default_factory=list)  #: other fields of the source
    left_out: dict[str, int] = field(default_factory=dict)  #: how often what was left out
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

    def without(self, absent: Collection[str]) -> "Answers":
        """Return the answers but those that are one of some texts, which say nothing."""
        kept = [not (isinstance(value, str) and value.strip() in absent) for value in self.value]
        lists = {name: list(compress(getattr(self, name), kept)) for name in ("case", "annotator", "value", "further")}
        tell_unused(absent, (value.strip() for value in self.value if isinstance(value, str)))
        n = len(kept) - sum(kept)
        return replace(self, **lists, left_out=self.left_out | ({"answers that are missing": n} if n else {}))

    def tell_left_out(self, path: Any = None) -> None:
        """Warn of what was left out, of a file or of what is in memory."""
        if self.left_out:
            words = ", ".join(f"{number:,} {what}" for what, number in self.left_out.items())
            where = "" if path is None else f"{path}: "
            warnings.warn(f"{where}left out: {words}", PlausiblyWarning, stacklevel=4)

    def to_columns(self, *, tell: bool = False) -> dict[str, list[Any]]:
        """Return columns of a long table of labels; annotators without names are numbered within their case.

        `tell` says whether to warn of what was left out.
        """
        self._check()
        if tell:
            self.tell_left_out()
        names = dict.fromkeys(name for fields in self.further for name in fields)
        columns = {name: [fields.get(name) for fields in self.further] for name in names}
        annotators: list[Any] = self.annotator
        if annotators[0] is None:
            seen: Counter[str] = Counter()
            annotators = Numbers()
            for case in self.case:
                seen[case] += 1
                annotators.append(str(seen[case]))
        return columns | {"case": self.case, "annotator": annotators, "label": self.value}

    def to_rankings(self, classes: Iterable[str] | None) -> dict[str, Any]:
        """Return rankings in object form; a single value becomes a block of its own, and a list of values a tie."""
        self._check()
        anonymous = self.annotator[0] is None
        known = None if classes is None else {str(name) for name in classes}
        found: dict[str, Any] = {}
        for case, who, value in zip(self.case, self.annotator, self.value, strict=True):
            if value is None:
                self.leave_out("missing answers")
                continue
            where = f"case {case!r}" + ("" if who is None else f", annotator {who!r}")
            blocks = _blocks(str(value) if self.rating else value, known, where)
            if anonymous:
                found.setdefault(case, []).append(blocks)
                continue
            said = found.setdefault(case, {})
            if who in said:
                raise AnnotationError(f"{where}: a second answer; keep one per annotator")
            said[who] = blocks
        if not found:
            raise AnnotationError("no case has an answer; give at least one")
        return {"cases": found}

    def _check(self) -> None:
        if not self.case:
            raise AnnotationError("no case has an answer; give at least one")
        nameless = [who is None for who in self.annotator]
        if any(nameless) and not all(nameless):
            case = self.case[nameless.index(True)]
            raise AnnotationError(f"case {case!r}: an answer has no annotator, but others do; name its annotator")


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


def is_nothing(value: Any) -> bool:
    """Whether a value stands for no answer: None, NaN, blank text."""
    return (
        value is None or (isinstance(value, str) and not value.strip()) or (isinstance(value, float) and value != value)
    )


def parsed(cell: Any) -> Any:
    """Read text that is JSON, or a Python literal, of a list or a mapping; anything else stays as it is."""
    if not isinstance(cell, str) or cell.strip()[:1] not in ("[", "{"):
        return cell
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        pass
    try:
        found = ast.literal_eval(cell.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return cell
    return found if isinstance(found, list | dict) else cell


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


def _blocks(value: Any, known: set[str] | None, where: str) -> list[list[Any]]:
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
