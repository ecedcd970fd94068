"""Tables with a row per case and a column per annotator, as spreadsheets often have them."""

import re
import warnings
from typing import TYPE_CHECKING, Any

from plausibly.base.errors import PlausiblyWarning
from plausibly.base.names import some
from plausibly.data.annotations.io.answers import Answers, is_nothing, to_name, whole
from plausibly.data.annotations.io.columns import Columns, is_number, is_text, list_of
from plausibly.data.annotations.io.long_table import MARKS
from plausibly.data.annotations.io.spellings import ANSWERS, CASE, FURTHER, SOFT, find
from plausibly.data.annotations.io.table_files import read_batches

if TYPE_CHECKING:
    from plausibly.data.annotations.io.source import Source

_MOST_CLASSES = 50  #: different labels, of more than which columns of free text have no few in common
_NOT_ANNOTATORS = {*MARKS, *ANSWERS, *SOFT, "score", "annotation"}
_PEOPLE = (
    *("annotator", "worker", "user", "person", "human", "observer", "physician", "doctor", "clinician", "radiologist"),
    *("pathologist", "dermatologist", *(name for name in FURTHER["annotator"] if "_" not in name)),
)
_PERSON = re.compile(rf"(?:.*[\W_])?(?:{'|'.join(_PEOPLE)})s?")
_NUMBERED = re.compile(r"(?:[\s_.#-]*\d+|[\s_.#-]+[a-z])?")


def is_wide(source: "Source") -> bool:
    """Whether a table has a column of cases and at least two columns of labels, one per annotator.

    These are columns with the same few texts, or that are called after annotators.
    """
    names = {name.strip().lower() for name in map(str, source.names)}
    if source.content is not None or not _case(source) or names & _NOT_ANNOTATORS or len(names) < 3:
        return False
    people = [name for name in map(str, source.names) if is_person(name) and name not in (source.classes or ())]
    if source.path is None or len(people) > 1:
        return len(_annotators(source.columns(), _case(source))) > 1
    return _holds_text(next(read_batches(source.path), {})) and len(_annotators(source.columns(), _case(source))) > 1


def is_person(name: str) -> bool:
    """Whether a column is called after an annotator, with or without a number.

    Examples
    --------
    >>> [is_person(name) for name in ("Rater1", "reader B", "r2", "Radiologist_03", "rash", "R", "judged")]
    [True, True, True, True, False, False, False]
    """
    plain = name.strip().lower()
    if re.fullmatch(r"r[\s_.#-]*\d+", plain):
        return True
    found = _PERSON.match(plain)
    return found is not None and _NUMBERED.fullmatch(plain[found.end() :]) is not None


def wide_answers(source: "Source") -> Answers:
    """Take apart a table with a column per annotator; a blank cell is no answer, and further columns are of cases."""
    cells = source.columns()
    case = _case(source)
    people = _annotators(cells, case)
    if source.form == "wide" and len(people) < 2:
        people = [name for name in cells if name != case and name not in CASE]
    columns = {name: list_of(column) for name, column in cells.items()}
    rest = [name for name in columns if name not in (case, *people)]
    said = {who: [None if is_nothing(one) else _text(one) for one in columns[who]] for who in people}
    numbers = all(map(is_number, (one for of_one in said.values() for one in of_one if one is not None)))
    scores = numbers and any(float(one) % 1 for of_one in said.values() for one in of_one if one is not None)
    answers = Answers(scores=scores, rating=numbers and not scores)
    for row, name in enumerate(columns[case]):
        further = {one: columns[one][row] for one in rest}
        for who in people:
            if (label := said[who][row]) is not None:
                value = (float(label) if scores else int(float(label))) if numbers else label
                answers.add(to_name(name, f"row {row + 1}: the case"), who, value, further)
    taken = "" if case in CASE else f", and {case!r} as the case"
    left = f"; {some(rest, 9)} {'is' if len(rest) == 1 else 'are'} left as further columns" if rest else ""
    where = "" if source.path is None else f"{source.path}: "
    words = f"{where}the columns {some(people, 9)} are read as one annotator each{taken}{left}"
    if numbers:
        words += '; if they count labels, say form="counts" (--from counts)'
    warnings.warn(words, PlausiblyWarning, stacklevel=4)
    return answers


def _text(cell: Any) -> str:
    """A label as text, whole numbers without a decimal point."""
    return str(whole(cell)).strip()


def _holds_text(columns: Columns) -> bool:
    """Whether the first rows hold more than numbers, as those of counts and scores, of which there may be millions."""
    texts = (column for name, column in columns.items() if name not in CASE and is_text(column.type))
    return any(not is_nothing(one) and not is_number(one) for column in texts for one in list_of(column.slice(0, 100)))


def _case(source: "Source") -> str:
    return next((name for name in CASE if name in source.names), None) or find("case", map(str, source.names)) or ""


def _annotators(columns: Columns, case: str) -> list[str]:
    """Columns of few labels, at least half of which are in another one, too; of numbers, if called after annotators."""
    said: dict[str, set[str]] = {}
    numbers = set()
    for name, column in columns.items():
        if name == case or name in CASE:
            continue
        labels = {_text(one) for one in list_of(column) if not is_nothing(one)}
        if labels and all(map(is_number, labels)):
            numbers.add(name)
        if labels and (len(labels) <= _MOST_CLASSES or (name in numbers and is_person(name))):
            said[name] = labels
    people = {name for name in said if is_person(name) and name in numbers}
    words = people | (said.keys() - numbers)
    shared = {name: set().union(*(said[other] for other in words if other != name)) for name in said}
    found = [name for name, labels in said.items() if name in people or 2 * len(labels & shared[name]) >= len(labels)]
    people = [name for name in found if name in words]
    return found if len(people) > 1 else people
