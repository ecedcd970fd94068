"""What every reader hands over: one row per named class, and the one function that puts rows into columnar order."""

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int, Num

from plausibly.base.errors import AnnotationError, PlausiblyWarning, show
from plausibly.base.names import many, numbered

MOST, MOST_EACH = 10**7, 10**3  #: named classes that counts may stand for: in all, or else for each row of the file


ONE_ANSWER = ("first", "last")  #: which of several answers of one annotator to one case is kept
#: What may be done with them but keeping one.
WAYS = {"ties": "ties, if several rows are one answer", "readings": "readings, if cases were read again"}


class SecondAnswers(AnnotationError):
    """An annotator answers a case twice."""


def check_size(number: float, n_rows: int) -> None:
    """Refuse counts with which a small file would fill the memory, before they are written out.

    The classes that the counts stand for may be :data:`MOST`, or :data:`MOST_EACH` for each row of the file.
    """
    limit = max(MOST, MOST_EACH * n_rows)
    if number > limit:
        raise AnnotationError(
            f"the counts stand for {number:.3g} named classes, and {limit:,} is the limit for {n_rows:,} rows; give "
            f"how many annotators chose each"
        )


@dataclass(frozen=True)
class Rows:
    """One row per (case, annotator, named class), in any order, with a number that ranks it."""

    cases: np.ndarray
    classes: np.ndarray
    annotators: np.ndarray
    anonymous: bool  #: whether names of annotators are only positions within a case
    case: Int[np.ndarray, " row"]
    annotator: Int[np.ndarray, " row"]
    class_index: Int[np.ndarray, " row"]
    rank: Num[np.ndarray, " row"]  #: within an annotation a smaller number is better and equal numbers tie
    #: in which order annotations were given, smaller first; None if unknown
    order: Num[np.ndarray, " row"] | None = None
    told: bool = False  #: whether the source says so, and it is not only how rows follow each other
    of_labels: bool = False  #: whether classes are labels in a column, some of which may stand for none
    ranked: bool = True  #: whether several classes of an annotation are one answer, as ranks and blocks say


def arrange(rows: Rows) -> dict:
    """Sort rows by case, annotator, rank and class, and return the fields of :class:`plausibly.Annotations`.

    Annotators are put in the order in which the sorted cases first show them, so that the same annotations read from
    two formats are equal; annotators without a row are left out. Anonymous ones are renumbered within each case.
    """
    empty = np.flatnonzero(np.bincount(rows.case, minlength=len(rows.cases)) == 0)
    if len(empty):
        raise AnnotationError(f"case {str(rows.cases[empty[0]])!r} has no annotators; annotate it, or remove the case")
    annotator, names = as_first_shown(rows.case, rows.annotator, rows.annotators)
    order = np.lexsort((rows.class_index, rows.rank, annotator, rows.case))
    case, annotator = rows.case[order], annotator[order]
    class_index = rows.class_index[order]
    new_rank = _begins(rows.rank[order])
    row = order if rows.order is not None else None
    del order  # of millions of rows, each of these takes as much room as a column
    new_annotation = _begins(case) | _begins(annotator)
    entry_annotation = np.cumsum(new_annotation, dtype=np.int32) - 1
    annotation_case, annotation_annotator = case[new_annotation], annotator[new_annotation]
    key = entry_annotation * np.int64(len(rows.classes))
    key += class_index
    key.sort()
    again = ~_begins(key)
    if again.any() and not rows.ranked:
        return arrange(_once(rows))
    for at in np.flatnonzero(again)[:1]:
        annotation, k = divmod(int(key[at]), len(rows.classes))
        case_name = str(rows.cases[annotation_case[annotation]])
        who, label = str(names[annotation_annotator[annotation]]), str(rows.classes[k])
        raise AnnotationError(
            f"case {case_name!r}, annotator {who!r}: the class {label!r} is named twice; an annotator ranks each class "
            'once, so keep one, in a table with repeats="first" (--repeats first): two readings by one person are not '
            "two annotators"
        )
    del again
    del key
    block = np.cumsum(new_annotation | new_rank, dtype=np.int32)
    block = block - block[new_annotation][entry_annotation]
    if block.max() > np.iinfo(np.int16).max:
        raise AnnotationError(
            f"case {str(rows.cases[case[block.argmax()]])!r}: an annotation has {block.max() + 1} blocks; "
            "32768 is the limit, so shorten it"
        )
    given = None
    if rows.order is not None:
        when = np.minimum.reduceat(rows.order[row], np.flatnonzero(new_annotation))
        who = None if rows.anonymous else (annotation_annotator, names)
        given = order_of(annotation_case, when, class_index[new_annotation], who, rows.told)
    if rows.anonymous:
        annotation_annotator = places(annotation_case)
        names = numbered(int(annotation_annotator.max()) + 1)
    return {
        "cases": rows.cases,
        "classes": rows.classes,
        "annotators": names,
        "anonymous": rows.anonymous,
        "annotation_case": annotation_case,
        "annotation_annotator": annotation_annotator,
        "entry_annotation": entry_annotation,
        "entry_class": class_index,
        "entry_block": block,
        "annotation_order": given,
    }


def order_of(
    case: Int[np.ndarray, " annotation"],
    when: Num[np.ndarray, " annotation"],
    label: Int[np.ndarray, " annotation"],
    who: tuple[Int[np.ndarray, " annotation"], np.ndarray] | None,
    told: bool,
) -> Int[np.ndarray, " annotation"] | None:
    """Place of each annotation in the order in which its case got them, which ascends; None if it is unknown.

    It matters, and is kept, only where cases have different numbers of them. Unless the source tells it, rows that are
    sorted by annotators (their names, or a fixed sequence of them) or by labels in every case do not tell it either.
    """
    start = np.flatnonzero(_begins(case))
    number = np.diff(start, append=len(case))
    if (number == number[:1]).all():
        return None
    by_time = np.lexsort((when, case))
    order = np.empty(len(case), np.int32)
    order[by_time] = np.arange(len(case)) - np.repeat(start, number)
    if told:
        return order
    sorts = [label] if who is None else [who[0], np.argsort(np.argsort(who[1]))[who[0]]]
    same = np.diff(case) == 0
    return None if any((np.diff(one[by_time])[same] >= 0).all() for one in sorts) else order


def _once(rows: Rows) -> Rows:
    """Leave out rows that repeat another, and warn of it."""
    table = pd.DataFrame({"case": rows.case, "annotator": rows.annotator, "class": rows.class_index})
    kept = np.flatnonzero(~table.duplicated().to_numpy())
    tell_repeats(len(table) - len(kept), len(table))
    names = ("case", "annotator", "class_index", "rank", *(() if rows.order is None else ("order",)))
    return replace(rows, **{name: getattr(rows, name)[kept] for name in names})


def tell_repeats(n: int, of: int) -> None:
    """Warn of rows that repeat another, as where a table was exported twice."""
    words = f"{n:,} of {of:,} rows repeat another (same case, annotator and label), and each is counted once"
    warnings.warn(f"{words}.", PlausiblyWarning, stacklevel=3)


def second_answers(
    pair: Int[np.ndarray, " row"], label: np.ndarray
) -> tuple[Int[np.ndarray, " repeat"], Int[np.ndarray, " second"], Int[np.ndarray, " earlier"]]:
    """Find rows of a pair, a case and an annotator, that has an earlier one.

    Returns those with the label of the one before, those with another label, and of these the ones before.
    """
    order = np.argsort(pair, kind="stable")
    same = np.diff(pair[order]) == 0
    again, before = order[1:][same], order[:-1][same]
    pairs = zip(again.tolist(), before.tolist(), strict=True)
    other = np.array([str(label[a]) != str(label[b]) for a, b in pairs], bool)
    return again[~other], again[other], before[other]


def two_answers(
    case: str, annotator: str, first: str, second: str, n: int, of: int, *ways: str, who: str = "annotator"
) -> str:
    """Say that somebody answers a case twice, one of `n` such answers, and what to do, `ways` among it."""
    share = f" ({n:,} such answers beside {of:,})" if n > 1 else ""
    return (
        f"case {case!r}, {who} {annotator!r}: a second answer, {show(second)} after {show(first)}{share}: say "
        f'which counts with repeats="last" (--repeats last), or first{"".join(f"; or {WAYS[way]}" for way in ways)}'
    )


def one_answer(
    cases: tuple[np.ndarray, Int[np.ndarray, " row"]],
    annotators: tuple[np.ndarray, Int[np.ndarray, " row"]],
    said: Any,
    when: Float[np.ndarray, " row"] | None = None,
    repeats: str | None = None,
    ways: Collection[str] = (),
    who: str = "annotator",
) -> Int[np.ndarray, " kept"]:
    """Rows that leave each annotator one answer to each case: the first or the last, or else all but repeated ones.

    Cases and annotators are their names, and the code of each row. Raises AnnotationError for a second answer that is
    another one, if nothing was asked for; `ways` are what may be asked for, `who` is what annotators are called.
    """
    pair = cases[1].astype(np.int64) * len(annotators[0]) + annotators[1]
    if repeats is not None:
        return kept_rows([pair], when, repeats)
    same, second, earlier = second_answers(pair, said)
    for row, before in zip(second[:1].tolist(), earlier[:1].tolist(), strict=True):
        case, name = str(cases[0][cases[1][row]]), str(annotators[0][annotators[1][row]])
        first, then = _shown(said[before]), _shown(said[row])
        raise SecondAnswers(
            two_answers(case, name, first, then, len(second), len(pair) - len(second) - len(same), *ways, who=who)
        )
    if len(same):
        tell_repeats(len(same), len(pair))
    return np.delete(np.arange(len(pair)), same)


def kept_rows(
    keys: Sequence[Int[np.ndarray, " row"]], when: Float[np.ndarray, " row"] | None, repeats: str
) -> Int[np.ndarray, " kept"]:
    """Keep the first or the last row of each key, case and annotator, by time or by rows; warn of how many go."""
    order = np.arange(len(keys[0])) if when is None else np.argsort(when, kind="stable")
    table = pd.DataFrame({number: key[order] for number, key in enumerate(keys)})
    kept = np.sort(order[~table.duplicated(keep=repeats).to_numpy()])  # type: ignore[arg-type]
    if n := len(order) - len(kept):
        told = f"left out {many(n, 'answer')} by annotators who answered a case more than once; kept the {repeats} one"
        warnings.warn(told, PlausiblyWarning, stacklevel=5)
    return kept


def _shown(said: Any) -> str:
    """An answer as text, whole numbers without a decimal point."""
    return f"{said:.15g}" if isinstance(said, float) else str(said)


def as_first_shown(
    case: Int[np.ndarray, " row"], annotator: Int[np.ndarray, " row"], annotators: np.ndarray
) -> tuple[Int[np.ndarray, " row"], np.ndarray]:
    """Return annotators numbered in the order in which the sorted cases first show them, and their names."""
    by_case = annotator[np.argsort(case, kind="stable")] if (case[1:] < case[:-1]).any() else annotator
    named = pd.unique(by_case)
    number = np.zeros(named.max() + 1, np.int32)
    number[named] = np.arange(len(named))
    return number[annotator], annotators[named]


def places(case: Int[np.ndarray, " row"]) -> Int[np.ndarray, " row"]:
    """Return the place of each row within its case, if cases ascend."""
    return np.arange(len(case)) - np.searchsorted(case, case)


def _begins(values: Num[np.ndarray, " row"]) -> Bool[np.ndarray, " row"]:
    """Tell of each row whether its value differs from that of the row before."""
    return np.concatenate([[True], values[1:] != values[:-1]])
