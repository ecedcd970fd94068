"""Tables with a row per case and a column per annotator, as spreadsheets often have them."""

import re
import shlex
import warnings
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from plausibly.base.errors import AnnotationError, PlausiblyWarning, show
from plausibly.base.names import some
from plausibly.data.annotations._rows import MOST
from plausibly.data.annotations.io._platforms import are_numbers
from plausibly.data.annotations.io.answers import TAKEN, Answers, is_nothing, to_name
from plausibly.data.annotations.io.columns import Columns, is_number, is_text, list_of, missing, taken
from plausibly.data.annotations.io.long_table import MARKS, ORDERINGS
from plausibly.data.annotations.io.source import Source, as_text, column_of
from plausibly.data.annotations.io.spellings import (
    ANSWERS,
    CASE,
    FURTHER,
    LABELLED,
    NAMES,
    OUTCOMES,
    SOFT,
    TOTALS,
    find,
)
from plausibly.data.annotations.io.table_files import header_of, read_batches, refuse_repeats

_MOST_CLASSES = 50  #: different labels, of more than which columns of free text have no few in common
_NOT_ANNOTATORS = {*MARKS, *ANSWERS, *SOFT, "score", "annotation"}
_PEOPLE = (
    *("annotator", "worker", "user", "person", "human", "observer", "physician", "doctor", "clinician", "radiologist"),
    *("pathologist", "dermatologist", *(name for name in FURTHER["annotator"] if "_" not in name)),
)
#: Words of names of columns of labels that no annotator gave, and what may stand beside them.
_TRUTHS = {"gold", "truth", "reference", "consensus", "majority", "final", "adjudicated", "expected", "target"}
_BESIDE = {"ground", "label", "class", "vote", "answer", "diagnosis"}
_NAMES = ("name", "your name", "email", "initials", "responseid", "response id", "respondent id", "email address")
_NAMES += ("e-mail",)
SURVEY = {"responseid", "response id", "respondent id", "timestamp", "email address"}  #: columns that forms write
_SUMS = ("total", "totals", "sum", "mean", "average", "median", "std", "sd", "kappa", "icc", "agreement")  #: of others
_COUNTS = ("n", "count", "counts", "freq", "frequency")  #: columns that say how often a row is there
_VOTES = (*_COUNTS, "votes", "n_votes")  #: and how often a class was named
_PERSON = re.compile(rf"(?:.*[\W_])?(?:{'|'.join(_PEOPLE)})s?")
_NUMBERED = re.compile(r"(?:[\s_.#-]*\d+|[\s_.#-]+[a-z])?")


def is_wide(source: Source) -> bool:
    """Whether a table has at least two columns of labels, one per annotator, and cases or numbers of equal rows.

    These are columns with the same few texts, or that are called after annotators.
    """
    names = {name.strip().lower() for name in map(str, source.names)}
    if source.content is not None or names & _NOT_ANNOTATORS or len(names) < 2:
        return False
    if all(any(one in names for one in OUTCOMES[role]) for role in ("system_a", "system_b")):
        raise AnnotationError("these are comparisons of two systems, which plausibly systems reads (pb.systems)")
    known = () if source.classes is None else source.classes
    people = [name for name in map(str, source.names) if is_person(name) and name not in known]
    case, count, who = _case(source), _count(source), find("annotator", source.names)
    if "count" in source.roles or (len(people) == 1 and len(names) == 2 and case is not None):
        return True
    if case is None and (len(people) > 1 or count is None):
        rest = [name for name in source.names if name not in (count, *people) and not _is_truth(name)]
        if "" in names and source.path is not None:
            refuse_repeats(header_of(source.path))  # of two rows of headers
        if len(people) > 1 and rest:
            raise AnnotationError(
                f"{some(people, 5)} seem to be annotators, but no column is called case; say which of {some(rest, 9)} "
                "names the cases with case= (--case)"
            )
        return len(people) > 1
    in_file = source.path is not None and len(people) < 2
    if (
        in_file
        and (source.classes is None or names & {*known})
        and not _holds_text(next(read_batches(source.path), {}))
    ):
        return False
    annotators = _annotators(source)
    # Where a column names who answers in each row, others are answers to several questions.
    return len(annotators) > 1 and (None in (case, who) or who in annotators)


def is_person(name: str) -> bool:
    """Whether a column is called after an annotator, with or without a number.

    Examples
    --------
    >>> [is_person(name) for name in ("Rater1", "reader B", "r2", "Dr. Rossi", "rash", "R", "judged")]
    [True, True, True, True, False, False, False]
    """
    plain = name.strip().lower()
    if re.fullmatch(r"r[\s_.#-]*\d+|(?:dr|prof)[.\s_]+\w.*", plain):
        return True
    found = _PERSON.match(plain)
    return found is not None and _NUMBERED.fullmatch(plain[found.end() :]) is not None


def _is_truth(name: str) -> bool:
    """Whether a column is called after labels that no annotator gave, such as ``gold_label``."""
    words = {*re.split(r"[\W_]+", name.strip().lower())}
    return bool(words & _TRUTHS) and words <= _TRUTHS | _BESIDE


def wide_rows(source: Source) -> Source:
    """Turn a table with a column per annotator into a long one; a blank cell is no answer.

    Further columns are of cases. A row without the name of a case is named by its number, from 0; one that says how
    often it is there is as many cases.
    """
    cells, case, count, people = source.cells, _case(source), _count(source), _annotators(source)
    texts = source.texts
    if len(people) < 2 and (source.layout == "wide" or "count" in source.roles or len(cells) == 2):
        people = [name for name in cells if name not in (case, count, *CASE)]
        counted = [name for name in people if any(map(is_number, {*texts[name]} - {None}))]
        people = counted if len(counted) > 1 else people  # words beside numbers are of cases
        if case is None and count is None and len(people) > 2 and _may_be_names(texts, people):
            raise AnnotationError(
                f"{people[0]!r} differs in every row and may name the cases: say case={people[0]!r} (--case "
                f"{shlex.quote(people[0])}); if an annotator gave these labels, add a column case"
            )
    people = [name for name in people if name.strip().lower() not in TOTALS or not _is_sum(texts, name, people)]
    kept, sums = _without_sums(texts, case)
    rest = [name for name in cells if name not in (case, count, *people)]
    names = column_of([*map(str, kept.tolist())]) if case is None else _filled(cells[case], kept, "case")
    if count is not None:
        times = [_times(cell, row) for row, cell in zip(kept.tolist(), list_of(taken(cells[count], kept)), strict=True)]
        again = [f"{name}.{number + 1}" for name, n in zip(list_of(names), times, strict=True) for number in range(n)]
        kept, names = np.repeat(kept, times), column_of(again)
    row, who, said = melted({name: texts[name][kept] for name in people})
    columns = {name: taken(cells[name], kept[row]) for name in rest}
    columns |= {"case": taken(names, row), "annotator": column_of([people[one] for one in who.tolist()])}
    found = _as_long(source, columns, said)
    taken_for = "" if case in CASE else f", and {case!r} as the case" if case else ", and a row as a case"
    taken_for += f", as often as {source.roles.get(count, count)!r} says" if count else ""
    left = f"; {some(rest, 9)} {'is' if len(rest) == 1 else 'are'} left as further columns" if rest else ""
    left += f"; the rows {some(sums)} sum up others, and are left out" if sums else ""
    where = "" if source.path is None else f"{source.path}: "
    read = "columns {} are read as one annotator each" if len(people) > 1 else "column {} is read as one annotator"
    words = f"{where}the {read.format(some(people, 9))}{taken_for}{left}"
    if ("score" in found.names or found.graded) and source.classes is None:
        words += '; if they count labels, say layout="counts" (--layout counts)'
    warnings.warn(words, PlausiblyWarning, stacklevel=4)
    return found


def _may_be_names(texts: Mapping[str, np.ndarray], people: list[str]) -> bool:
    """Whether the first of some columns differs in every row, and no other does, or it counts the rows."""
    unlike = [name for name in people if len({*texts[name]} - {None}) == len(texts[name]) > 1]
    if unlike[:1] != people[:1]:
        return False
    numbers = pd.to_numeric(texts[unlike[0]], errors="coerce")
    return len(unlike) == 1 or bool((np.diff(numbers) == 1).all())


def melted(texts: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the row, the place of the column, and the text, of each filled cell of some columns of text."""
    cells = np.stack([*texts.values()], axis=1)
    row, place = np.nonzero(np.not_equal(cells, None))
    return row, place, cells[row, place]


def _as_long(source: Source, columns: Mapping[str, Any], said: np.ndarray) -> Source:
    """Make a long table of answers as text, which are grades if all are numbers, or scores if some are not whole."""
    if not len(said):
        raise AnnotationError("no case has an answer; give at least one")
    numbers = are_numbers(said.tolist())
    values: Any = [float(one) for one in said.tolist()] if numbers else column_of(said.tolist())
    if scores := numbers and any(one % 1 for one in values):
        values = pa.chunked_array([values])
    found = {f"({name})" if name in {*TAKEN, *ORDERINGS} - {*NAMES} else name: of for name, of in columns.items()}
    found["score" if scores else "label"] = [*map(int, values)] if numbers and not scores else values
    return source.as_long(found, scores=scores, graded=numbers and not scores)


def _filled(column: Any, rows: np.ndarray, what: str) -> Any:
    """Names in some rows of a column, none of which may be blank."""
    for row in np.intersect1d(rows, missing(column))[:1]:
        raise AnnotationError(f"row {row + 1}: the {what} is blank; name it")
    return taken(column, rows)


def _is_sum(texts: Mapping[str, np.ndarray], name: str, people: list[str]) -> bool:
    """Whether a column is the sum of those of annotators in every row."""
    numbers = pd.DataFrame({one: pd.to_numeric(texts[one], errors="coerce") for one in people})
    return bool((numbers[name].eq(numbers.drop(columns=name).sum(axis=1)) | pd.isna(texts[name])).all())


def _without_sums(texts: Mapping[str, np.ndarray], case: str | None) -> tuple[np.ndarray, list[str]]:
    """Rows that are neither blank nor, at the end, called after what sums up others, and the names of the latter."""
    kept = np.flatnonzero(np.any([np.not_equal(column, None) for column in texts.values()], axis=0))
    sums: list[str] = []
    while case is not None and len(kept) > 1:
        cells = [texts[case][kept[-1]], *(column[kept[-1]] for column in texts.values())]
        name = str(next(one for one in cells if one is not None))
        if name.lower() not in _SUMS:
            break
        sums.append(name)
        kept = kept[:-1]
    return kept, sums


def is_counted_long(source: Source) -> bool:
    """Whether a table has a row for each case and class, and how often it was named there, by nobody in particular."""
    names = list(map(str, source.names))
    needed = all(find(role, names) is not None for role in ("case", "class"))
    anonymous = find("annotator", names) is None and LABELLED not in names
    return needed and anonymous and _called(names, _VOTES) is not None


def _called(names: Collection[str], known: Collection[str]) -> str | None:
    """The only column that is called one of some names."""
    found = [name for name in names if name.strip().lower() in known]
    return found[0] if len(found) == 1 else None


def counted_long(source: Source) -> Answers:
    """Take apart a table with a row for each case and class, and a count, into answers of annotators without names."""
    columns = {name: list_of(column) for name, column in source.cells.items()}
    names = list(columns)
    case, label, count = find("case", names), find("class", names), _called(names, _VOTES)
    assert case is not None
    assert label is not None
    assert count is not None
    answers = Answers()
    for row, (name, value, times) in enumerate(zip(columns[case], columns[label], columns[count], strict=True)):
        for _ in range(_times(times, row)):
            answers.add(to_name(name, f"row {row + 1}: the case"), None, as_text(value), {})
    return answers


def rater_rows(source: Source) -> Source:
    """Turn a table with a row per annotator and a column per case, as survey forms export it, into a long one."""
    cells = source.cells
    who = find("annotator", cells) or next((name for name in cells if name.strip().lower() in _NAMES), None)
    if who is None:
        raise AnnotationError(
            f"no column names the annotators, among {some([*cells], 9)}; say which one does with annotator= "
            "(--annotator)"
        )
    # Qualtrics has two more rows of headers, the second of which says where columns come from; SurveyMonkey has one.
    first = next((row + 1 for row, one in enumerate(list_of(cells[who])) if "ImportId" in str(one)), 0)
    first = 1 if not first and who.strip().lower() == "respondent id" and 0 in missing(cells[who]) else first
    if first:
        cells = {name: taken(column, np.arange(first, len(column))) for name, column in cells.items()}
        source = replace(source, content=None, table=lambda: cells)
    cases = _annotators(source) or [name for name in cells if name != who and name.strip().lower() not in SURVEY]
    row, place, said = melted({name: source.texts[name] for name in cases})
    order = np.argsort(place, kind="stable")
    columns = {"case": column_of([cases[one] for one in place[order].tolist()])}
    columns["annotator"] = _filled(cells[who], row[order], "annotator")
    rest = [name for name in cells if name not in (who, *cases)]
    left = f"; {some(rest, 9)} {'is' if len(rest) == 1 else 'are'} left out" if rest else ""
    where = "" if source.path is None else f"{source.path}: "
    words = f"{where}the columns {some(cases, 9)} are read as one case each, and {source.roles.get(who, who)!r} as the "
    warnings.warn(f"{words}annotator{left}", PlausiblyWarning, stacklevel=4)
    return _as_long(source, columns, said[order])


def _times(cell: Any, row: int) -> int:
    """Read how often a row is there."""
    if not is_number(str(cell)) or float(cell) % 1 or not 0 <= float(cell) <= MOST:
        raise AnnotationError(f"row {row + 1}: the count is {show(cell)}; write a whole number, 0 or more")
    return int(float(cell))


def _holds_text(columns: Columns) -> bool:
    """Whether the first rows hold more than numbers, as those of counts and scores, of which there may be millions."""
    texts = (column for name, column in columns.items() if name not in CASE and is_text(column.type))
    return any(not is_nothing(one) and not is_number(one) for column in texts for one in list_of(column.slice(0, 100)))


def _case(source: Source) -> str | None:
    plain = {name.strip().lower(): name for name in reversed(list(map(str, source.names)))}
    return next((plain[name] for name in map(str.lower, CASE) if name in plain), None) or find("case", source.names)


def _count(source: Source) -> str | None:
    """Column that says how often a row is there: the one named, or one called so where no column names cases."""
    return _called(source.names, _COUNTS) if "count" in source.roles or _case(source) is None else None


def _annotators(source: Source) -> list[str]:
    """Columns of few labels, at least half of which are in another one, too; of numbers, if called after annotators.

    Where the classes are known, and no column is called after one, these are the columns of nothing but classes.
    """
    columns, others = source.cells, (_case(source), _count(source), *CASE)
    known = set() if source.classes is None else {*source.classes.tolist()}
    if known and not known & {*columns}:
        found = {name: {*source.texts[name]} - {None} for name in columns if name not in others}
        named = [name for name, labels in found.items() if labels and all(_is_in(one, known) for one in labels)]
        if len(named) > 1:
            return named
    said: dict[str, set[str]] = {}
    numbers = set()
    for name in columns:
        if name in others:
            continue
        labels = {*source.texts[name]} - {None}
        if labels and all(map(is_number, labels)):
            numbers.add(name)
        if labels and (len(labels) <= _MOST_CLASSES or (name in numbers and is_person(name))):
            said[name] = labels
    called = [name for name in said if is_person(name)]
    if len(called) > 1:  # then others are not, however much their cells look like labels
        return called
    said = {name: labels for name, labels in said.items() if not _is_truth(name)}
    people = {name for name in said if is_person(name) and name in numbers}
    words = people | (said.keys() - numbers)
    shared = {name: set().union(*(said[other] for other in words if other != name)) for name in said}
    found = [name for name, labels in said.items() if name in people or 2 * len(labels & shared[name]) >= len(labels)]
    people = [name for name in found if name in words]
    return found if len(people) > 1 else people


def _is_in(label: str, known: Collection[str]) -> bool:
    """Whether a label is one of some names, also as a number that is written in another way."""
    return label in known or (is_number(label) and f"{float(label):g}" in known)
