"""Tables with a row per case and a column per annotator, as spreadsheets often have them."""

import re
import warnings
from collections.abc import Collection
from itertools import compress
from typing import TYPE_CHECKING, Any

from plausibly.base.errors import AnnotationError, PlausiblyWarning, show
from plausibly.base.names import some
from plausibly.data.annotations._rows import MOST
from plausibly.data.annotations.io._platforms import finished
from plausibly.data.annotations.io.answers import Answers, is_nothing, to_name, whole
from plausibly.data.annotations.io.columns import Columns, is_number, is_text, list_of
from plausibly.data.annotations.io.long_table import MARKS
from plausibly.data.annotations.io.spellings import ANSWERS, CASE, FURTHER, LABELLED, OUTCOMES, SOFT, TOTALS, find
from plausibly.data.annotations.io.table_files import read_batches

if TYPE_CHECKING:
    from plausibly.data.annotations.io.source import Source

_MOST_CLASSES = 50  #: different labels, of more than which columns of free text have no few in common
_NOT_ANNOTATORS = {*MARKS, *ANSWERS, *SOFT, "score", "annotation"}
_PEOPLE = (
    *("annotator", "worker", "user", "person", "human", "observer", "physician", "doctor", "clinician", "radiologist"),
    *("pathologist", "dermatologist", *(name for name in FURTHER["annotator"] if "_" not in name)),
)
#: What columns of labels that no annotator gave are called.
_TRUTHS = {
    "gold",
    "truth",
    "ground_truth",
    "ground truth",
    "reference",
    "consensus",
    "majority",
    "final",
    "adjudicated",
}
_NAMES = ("name", "your name", "email", "email address", "e-mail", "initials", "responseid", "response id")
SURVEY = {"responseid", "response id", "timestamp", "email address"}  #: columns that forms write
_SUMS = ("total", "totals", "sum", "mean", "average", "median", "std", "sd")  #: cases that sum up others
_COUNTS = ("n", "count", "counts", "freq", "frequency")  #: columns that say how often a row is there
_VOTES = (*_COUNTS, "votes", "n_votes")  #: and how often a class was named
_PERSON = re.compile(rf"(?:.*[\W_])?(?:{'|'.join(_PEOPLE)})s?")
_NUMBERED = re.compile(r"(?:[\s_.#-]*\d+|[\s_.#-]+[a-z])?")


def is_wide(source: "Source") -> bool:
    """Whether a table has at least two columns of labels, one per annotator, and cases or numbers of equal rows.

    These are columns with the same few texts, or that are called after annotators.
    """
    names = {name.strip().lower() for name in map(str, source.names)}
    if source.content is not None or names & _NOT_ANNOTATORS or len(names) < 2:
        return False
    if all(any(one in names for one in OUTCOMES[role]) for role in ("system_a", "system_b")):
        raise AnnotationError("these are comparisons of two systems, which plausibly systems reads (pb.systems)")
    people = [name for name in map(str, source.names) if is_person(name) and name not in (source.classes or ())]
    case, count = _case(source), _count(source)
    if "count" in source.roles or (len(people) == 1 and len(names) == 2 and case is not None):
        return True
    if case is None and (len(people) > 1 or count is None):
        rest = [name for name in source.names if name not in (count, *people) and name.lower() not in _TRUTHS]
        if len(people) > 1 and rest:
            raise AnnotationError(
                f"{some(people, 5)} seem to be annotators, but no column is called case; say which of {some(rest, 9)} "
                "names the cases with case= (--case)"
            )
        return len(people) > 1
    in_file = source.path is not None and len(people) < 2
    if in_file and not _holds_text(next(read_batches(source.path), {})):
        return False
    return len(_annotators(source)) > 1


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


def wide_answers(source: "Source") -> Answers:
    """Take apart a table with a column per annotator; a blank cell is no answer, and further columns are of cases.

    A row without the name of a case is named by its number, from 0; one that says how often it is there is as many
    cases.
    """
    cells, case, count, people = source.cells, _case(source), _count(source), _annotators(source)
    columns = {name: list_of(column) for name, column in cells.items()}
    if len(people) < 2 and (source.layout == "wide" or "count" in source.roles or len(cells) == 2):
        people = [name for name in cells if name not in (case, count, *CASE)]
        counted = [name for name in people if any(is_number(str(one)) for one in columns[name])]
        people = counted if len(counted) > 1 else people  # words beside numbers are of cases
    people = [name for name in people if name.strip().lower() not in TOTALS or not _is_sum(columns, name, people)]
    columns, sums = _without_sums(columns, case)
    rest = [name for name in columns if name not in (case, count, *people)]
    said = {who: [None if is_nothing(one) else _text(one) for one in columns[who]] for who in people}
    numbers = all(map(is_number, (one for of_one in said.values() for one in of_one if one is not None)))
    scores = numbers and any(float(one) % 1 for of_one in said.values() for one in of_one if one is not None)
    answers = Answers(scores=scores, rating=numbers and not scores)
    for row in range(len(columns[people[0]])):
        name = to_name(columns[case][row], f"row {row + 1}: the case") if case else str(row)
        times = _times(columns[count][row], row) if count else None
        further = {one: columns[one][row] for one in rest}
        for who in people:
            if (label := said[who][row]) is not None:
                value = (float(label) if scores else int(float(label))) if numbers else label
                for again in range(1 if times is None else times):
                    answers.add(name if times is None else f"{name}.{again + 1}", who, value, further)
    taken = "" if case in CASE else f", and {case!r} as the case" if case else ", and a row as a case"
    taken += f", as often as {source.roles.get(count, count)!r} says" if count else ""
    left = f"; {some(rest, 9)} {'is' if len(rest) == 1 else 'are'} left as further columns" if rest else ""
    left += f"; the rows {some(sums)} sum up others, and are left out" if sums else ""
    where = "" if source.path is None else f"{source.path}: "
    read = (
        f"columns {some(people, 9)} are read as one annotator each"
        if len(people) > 1
        else (f"column {people[0]!r} is read as one annotator")
    )
    words = f"{where}the {read}{taken}{left}"
    if numbers:
        words += '; if they count labels, say layout="counts" (--layout counts)'
    warnings.warn(words, PlausiblyWarning, stacklevel=4)
    return answers


def _is_sum(columns: dict[str, list[Any]], name: str, people: list[str]) -> bool:
    """Whether a column is the sum of those of annotators in every row."""
    rows = zip(columns[name], zip(*(columns[one] for one in people if one != name), strict=True), strict=True)
    return all(
        is_number(str(total)) and float(total) == sum(float(one) for one in row if is_number(str(one)))
        for total, row in rows
        if not is_nothing(total)
    )


def _without_sums(columns: dict[str, list[Any]], case: str | None) -> tuple[dict[str, list[Any]], list[str]]:
    """Leave out blank rows, and rows at the end that are called after what sums up others."""
    kept = [any(not is_nothing(one) for one in row) for row in zip(*columns.values(), strict=True)]
    sums: list[str] = []
    for row in range(len(kept) - 1, 0, -1) if case else ():
        cells = [columns[case][row], *(column[row] for column in columns.values())]  # type: ignore[index]
        name = str(next((one for one in cells if not is_nothing(one)), ""))
        if kept[row] and name.strip().lower() not in _SUMS:
            break
        sums += [name] * kept[row]
        kept[row] = False
    return {name: list(compress(column, kept)) for name, column in columns.items()}, sums


def is_counted_long(source: "Source") -> bool:
    """Whether a table has a row for each case and class, and how often it was named there, by nobody in particular."""
    names = list(map(str, source.names))
    needed = all(find(role, names) is not None for role in ("case", "class"))
    anonymous = find("annotator", names) is None and LABELLED not in names
    return needed and anonymous and _called(names, _VOTES) is not None


def _called(names: Collection[str], known: Collection[str]) -> str | None:
    """The only column that is called one of some names."""
    found = [name for name in names if name.strip().lower() in known]
    return found[0] if len(found) == 1 else None


def counted_long(source: "Source") -> Answers:
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
            answers.add(to_name(name, f"row {row + 1}: the case"), None, _answer(value), {})
    return answers


def rater_rows(source: "Source") -> Answers:
    """Take apart a table with a row per annotator and a column per case, as survey forms export it."""
    columns = {name: list_of(column) for name, column in source.cells.items()}
    who = find("annotator", columns) or next((name for name in columns if name.strip().lower() in _NAMES), None)
    if who is None:
        raise AnnotationError(
            f"no column names the annotators, among {some([*columns], 9)}; say which one does with annotator= "
            "(--annotator)"
        )
    cases = _annotators(source) or [name for name in columns if name != who and name.strip().lower() not in SURVEY]
    answers = Answers()
    # Qualtrics has two more rows of headers, the second of which says where columns come from.
    first = next((row + 1 for row, one in enumerate(columns[who]) if "ImportId" in str(one)), 0)
    for name in cases:
        for row, value in enumerate(columns[name][first:], first):
            answers.add(name, to_name(columns[who][row], f"row {row + 1}: the annotator"), _answer(value), {})
    rest = [name for name in columns if name not in (who, *cases)]
    left = f"; {some(rest, 9)} {'is' if len(rest) == 1 else 'are'} left out" if rest else ""
    where = "" if source.path is None else f"{source.path}: "
    words = f"{where}the columns {some(cases, 9)} are read as one case each, and {source.roles.get(who, who)!r} as the "
    warnings.warn(f"{words}annotator{left}", PlausiblyWarning, stacklevel=4)
    return finished(answers)


def _answer(cell: Any) -> str | None:
    return None if is_nothing(cell) else _text(cell)


def _times(cell: Any, row: int) -> int:
    """Read how often a row is there."""
    if not is_number(str(cell)) or float(cell) % 1 or not 0 <= float(cell) <= MOST:
        raise AnnotationError(f"row {row + 1}: the count is {show(cell)}; write a whole number, 0 or more")
    return int(float(cell))


def _text(cell: Any) -> str:
    """A label as text, whole numbers without a decimal point."""
    return str(whole(cell)).strip()


def _holds_text(columns: Columns) -> bool:
    """Whether the first rows hold more than numbers, as those of counts and scores, of which there may be millions."""
    texts = (column for name, column in columns.items() if name not in CASE and is_text(column.type))
    return any(not is_nothing(one) and not is_number(one) for column in texts for one in list_of(column.slice(0, 100)))


def _case(source: "Source") -> str | None:
    plain = {name.strip().lower(): name for name in reversed(list(map(str, source.names)))}
    return next((plain[name] for name in map(str.lower, CASE) if name in plain), None) or find("case", source.names)


def _count(source: "Source") -> str | None:
    """Column that says how often a row is there: the one named, or one called so where no column names cases."""
    return _called(source.names, _COUNTS) if "count" in source.roles or _case(source) is None else None


def _annotators(source: "Source") -> list[str]:
    """Columns of few labels, at least half of which are in another one, too; of numbers, if called after annotators."""
    columns, others = source.cells, (_case(source), _count(source), *CASE)
    said: dict[str, set[str]] = {}
    numbers = set()
    for name, column in columns.items():
        if name in others:
            continue
        labels = {_text(one) for one in list_of(column) if not is_nothing(one)}
        if labels and all(map(is_number, labels)):
            numbers.add(name)
        if labels and (len(labels) <= _MOST_CLASSES or (name in numbers and is_person(name))):
            said[name] = labels
    called = [name for name in said if is_person(name)]
    if len(called) > 1:  # then others are not, however much their cells look like labels
        return called
    said = {name: labels for name, labels in said.items() if name.strip().lower() not in _TRUTHS}
    people = {name for name in said if is_person(name) and name in numbers}
    words = people | (said.keys() - numbers)
    shared = {name: set().union(*(said[other] for other in words if other != name)) for name in said}
    found = [name for name, labels in said.items() if name in people or 2 * len(labels & shared[name]) >= len(labels)]
    people = [name for name in found if name in words]
    return found if len(people) > 1 else people
