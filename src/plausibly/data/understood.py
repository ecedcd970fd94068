"""What was read, in a line: how many answers of which kind, by whom, of how many cases, and what was left out."""

from collections.abc import Sequence

import numpy as np

from plausibly.base.names import many, some
from plausibly.data.annotations import Annotations, Scores
from plausibly.data.annotations.io.long_table import ORDERINGS, WHEN
from plausibly.data.annotations.io.source import Source
from plausibly.data.annotations.io.spellings import find
from plausibly.data.labels.container import Labels, are_single
from plausibly.data.labels.types import are_grades, type_of

_NAMED = 5  # classes or columns that are listed
_CALLED = {"categories": "label", "text": "text", "partial rankings": "ranking", "spans": "list of spans"}
_CALLED |= {"boxes": "list of boxes", "keypoints": "list of keypoints", "trees": "tree", "sets": "set"}


def understood(read: Annotations | Scores | Labels, source: Source | None = None, used: Sequence[str] = ()) -> str:
    """Say what was read of a source; `used` names further columns of it that are read.

    Examples
    --------
    >>> understood(Labels.of({"p7": {"ann": 3, "bob": 4}, "p8": {"ann": 1}}))
    '3 grades, 1 to 4, by 2 annotators of 2 cases'
    """
    if isinstance(read, Labels):
        what = _of_labels(read)
        people = "" if read.numbered else f", by {many(len(read.annotators), 'annotator')}"
        n_cases = len(read.cases)
    else:
        what = _of_numbers(read.score) if isinstance(read, Scores) else _of_classes(read)
        people = "" if read.anonymous else f", by {many(len(read.annotators), 'annotator')}"
        n_cases = read.n_cases
    spans = ("start", "end") if isinstance(read, Labels) and type_of(read) == "spans" else ()
    left = _left_out(source, (*used, *spans))
    return f"{what}{people or ', by annotators without names,'} of {many(n_cases, 'case')}{left}"


def _of_labels(labels: Labels) -> str:
    if labels.is_numeric:
        return _of_numbers(labels.values)
    kind = type_of(labels)
    if kind != "categories":
        return _plural(len(labels), _CALLED.get(kind, "answer"))
    classes = list(dict.fromkeys(map(str, labels.coded[0].tolist())))
    return f"{many(len(labels), 'label')}, of {_listed(classes)}"


def _of_classes(annotations: Annotations) -> str:
    what = "label" if are_single(annotations) else "ranking" if annotations.entry_block.any() else "answer"
    return f"{many(annotations.n_annotations, what)}, of {_listed(annotations.classes.tolist())}"


def _of_numbers(values: np.ndarray) -> str:
    values = values.astype(float)
    if {*np.unique(values)} == {0.0, 1.0}:
        return f"{many(len(values), 'label')}, 0 and 1"
    low, high = values.min(), values.max()
    return f"{many(len(values), 'grade' if are_grades(values) else 'score')}, {low:.6g} to {high:.6g}"


def _plural(n: int, what: str) -> str:
    head, of, rest = what.partition(" of ")
    return f"{many(n, head)}{of}{rest}"


def _listed(classes: Sequence[str]) -> str:
    names = ", ".join(classes[:_NAMED])
    return f"{many(len(classes), 'class')} ({names}{', …' if len(classes) > _NAMED else ''})"


def _left_out(source: Source | None, used: Sequence[str]) -> str:
    """Name the columns of a long table that are not read."""
    if source is None or not source.is_long:
        return ""
    roles = {find(role, source.names) for role in ("case", "annotator", "class", "score")}
    rest = [name for name in source.names if name not in {*roles, *ORDERINGS, *WHEN, *used}]
    ranks = next(
        (f" (call {name!r} rank if it ranks the classes of an answer)" for name in rest if _is_place(name)), ""
    )
    return f"; {'column' if len(rest) == 1 else 'columns'} {some(rest, _NAMED)} not used{ranks}" if rest else ""


def _is_place(name: str) -> bool:
    return name.strip().lower() in ("position", "place", "ranking", "priority", "rank order", "rank_order", "ranks")
