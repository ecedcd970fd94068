"""Tables with a row per case and a column per annotator, as spreadsheets often have them."""

import warnings
from typing import TYPE_CHECKING

import pyarrow as pa

from plausibly.base.errors import PlausiblyWarning
from plausibly.base.names import some
from plausibly.data.annotations.io.answers import Answers, is_nothing, to_name
from plausibly.data.annotations.io.columns import Columns, is_number, is_text, list_of
from plausibly.data.annotations.io.long_table import MARKS
from plausibly.data.annotations.io.spellings import ANSWERS, CASE, SOFT, find
from plausibly.data.annotations.io.table_files import read_batches

if TYPE_CHECKING:
    from plausibly.data.annotations.io.source import Source

_MOST_CLASSES = 50  #: different texts, of more than which columns of free text have no few in common
_NOT_ANNOTATORS = {*MARKS, *ANSWERS, *SOFT, "score", "annotation"}


def is_wide(source: "Source") -> bool:
    """Whether a table has a column of cases and at least two columns with the same few texts, one per annotator."""
    names = {name.strip().lower() for name in map(str, source.names)}
    if source.path is None or source.content is not None or not _case(source) or names & _NOT_ANNOTATORS:
        return False
    return (
        len(names) > 2
        and _holds_text(next(read_batches(source.path), {}))
        and len(_annotators(source.columns(), _case(source))) > 1
    )


def wide_answers(source: "Source") -> Answers:
    """Take apart a table with a column per annotator; a blank cell is no answer, and further columns are of cases."""
    cells = source.columns()
    case = _case(source)
    people = _annotators(cells, case)
    columns = {name: list_of(column) for name, column in cells.items()}
    rest = [name for name in columns if name not in (case, *people)]
    answers = Answers()
    for row, name in enumerate(columns[case]):
        further = {one: columns[one][row] for one in rest}
        for who in people:
            if not is_nothing(said := columns[who][row]):
                answers.add(to_name(name, f"row {row + 1}: the case"), who, said.strip(), further)
    taken = "" if case in CASE else f", and {case!r} as the case"
    words = f"{source.path}: the columns {some(people, 9)} are read as one annotator each{taken}"
    warnings.warn(words, PlausiblyWarning, stacklevel=4)
    return answers


def _holds_text(columns: Columns) -> bool:
    """Whether the first rows hold more than numbers, as those of counts and scores, of which there may be millions."""
    texts = (column for name, column in columns.items() if name not in CASE and is_text(column.type))
    return any(not is_nothing(one) and not is_number(one) for column in texts for one in list_of(column.slice(0, 100)))


def _case(source: "Source") -> str:
    return next((name for name in CASE if name in source.names), None) or find("case", map(str, source.names)) or ""


def _annotators(columns: Columns, case: str) -> list[str]:
    """Columns of text, at least half of whose different texts are in another one, too."""
    said: dict[str, set[str]] = {}
    for name, column in columns.items():
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if name == case or name in CASE or not is_text(kind):
            continue
        texts = {one.strip() for one in list_of(column) if not is_nothing(one)}
        if 0 < len(texts) <= _MOST_CLASSES and not all(map(is_number, texts)):
            said[name] = texts
    shared = {name: set().union(*(own for other, own in said.items() if other != name)) for name in said}
    return [name for name, texts in said.items() if 2 * len(texts & shared[name]) >= len(texts)]
