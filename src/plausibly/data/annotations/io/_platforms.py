"""What the tables that crowdsourcing platforms export have in common: a row for each answer, or for several questions.

Columns with a prefix, such as ``Input.``, describe the task, and others hold answers. A single one of the former, or
the only one with a name such as ``image_id``, names the cases, unless it has the same cell for different tasks.
"""

import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plausibly.base.errors import AnnotationError, PlausiblyWarning, show
from plausibly.data.annotations.io.answers import Answers, choose, is_list, is_nothing, whole
from plausibly.data.annotations.io.columns import is_number, list_of
from plausibly.data.annotations.io.spellings import CASE, find
from plausibly.data.annotations.io.verdicts import record_of

if TYPE_CHECKING:
    from plausibly.data.annotations.io.source import Source

Row = Mapping[str, Any]


def rows_of(source: "Source") -> Sequence[Row]:
    """Rows of a table, or records; a blank cell is None."""
    if source.content is not None:
        rows: Iterable[Any] = source.records
        for number, row in enumerate(rows, 1):
            record_of(row, f"record {number}")
    else:
        columns = source.columns()
        rows = (dict(zip(columns, row, strict=True)) for row in zip(*map(list_of, columns.values()), strict=True))
    return [{str(name): None if is_nothing(cell) else whole(cell) for name, cell in row.items()} for row in rows]


def with_prefix(names: Iterable[str], prefix: str) -> dict[str, str]:
    """Columns whose names begin with a prefix, by what follows it."""
    return {name.removeprefix(prefix): name for name in names if name.startswith(prefix)}


def cases_of(rows: Sequence[Row], inputs: Mapping[str, str], task: str | None) -> list[str]:
    """Name the case of each row by the column of its task, or by an input that says as much and has a better name."""
    name = next(iter(inputs), None) if len(inputs) == 1 else find("case", inputs, {"case": CASE})
    tasks = [tuple(str(row.get(column)) for column in inputs.values()) for row in rows]
    if name is not None:
        named = [row[inputs[name]] for row in rows]
        if None not in named and len({*named}) == len({*tasks}):
            return [str(one) for one in named]
    if task is None or any(row.get(task) is None for row in rows):
        return [", ".join(one) for one in tasks]
    return [str(row[task]) for row in rows]


def differing(rows: Sequence[Row], case: str, without: Collection[str]) -> list[str]:
    """Columns in which two rows of a case differ, as answers of annotators do and what describes a case does not."""
    first: dict[Any, Row] = {}
    found: dict[str, None] = {}
    for row in rows:
        other = first.setdefault(row.get(case), row)
        for name, cell in row.items():
            if name not in without and None not in (cell, other.get(name)) and cell != other.get(name):
                found[name] = None
    return list(found)


def question_in(
    source: "Source", rows: Sequence[Row], case: str, without: Collection[str], known: Sequence[str]
) -> str:
    """Choose the column of answers: the one asked for, one of those `known` to be, or else one that differs in a case.

    A warning names one that was found by its differing.
    """
    columns = [name for name in dict.fromkeys(name for row in rows for name in row) if name not in without]
    if source.control is not None:
        return choose(columns, source.control, "question")
    if known:
        return choose(known, None, "question")
    if not (found := differing(rows, case, without)):
        raise AnnotationError(
            f"nothing tells the answers from what describes a case; name their column, one of {', '.join(columns)}, "
            "with control= (--control)"
        )
    question = choose(found, None, "question")
    where = "" if source.path is None else f"{source.path}: "
    warnings.warn(
        f"{where}the answers are read from {question!r}, the only column that differs between annotators of a case",
        PlausiblyWarning,
        stacklevel=5,
    )
    return question


def chosen_of(options: Mapping[str, Any]) -> str | list[str] | None:
    """Options that are marked, of a mapping from option to whether it is: one, several that tie, or None."""
    found = [name for name, marked in options.items() if marked is True or str(marked).strip().lower() == "true"]
    return found[0] if len(found) == 1 else found or None


def is_marks(cells: Iterable[Any]) -> bool:
    """Whether cells say of an option whether it is marked."""
    said = {str(cell).strip().lower() for cell in cells if cell is not None}
    return bool(said) and said <= {"true", "false"}


def finished(answers: Answers) -> Answers:
    """Take answers that are all numbers for grades, or for scores where some are not whole."""
    cells = [str(one).strip() for one in answers.value if one is not None]
    if not cells or not are_numbers(cells) or any(map(is_list, answers.value)):
        return answers
    answers.scores = any(float(cell) % 1 for cell in cells)
    answers.rating = not answers.scores
    kind = float if answers.scores else int
    answers.value = [None if one is None else kind(float(str(one).strip())) for one in answers.value]
    return answers


def are_numbers(cells: Iterable[str]) -> bool:
    """Whether all texts read as numbers, which codes such as 007 do not."""
    plain = ((cell, cell.lstrip("+-")) for cell in {*cells})
    return all(is_number(cell) and (len(own) < 2 or own[0] != "0" or "." in cell[:3]) for cell, own in plain)


def is_true(cell: Any) -> bool:
    """Whether a cell says true."""
    return str(cell).strip().lower() in ("true", "1")


def refuse_empty(answers: Answers, what: str) -> Answers:
    """Refuse a table in which nothing is left to read."""
    if not answers.case:
        left = ", ".join(f"{number:,} {of}" for of, number in answers.left_out.items())
        raise AnnotationError(f"there are no {what}{f' ({left} were left out)' if left else ''}; export others")
    return answers


def text_of(value: Any, where: str) -> str:
    """Take a value for the name of a class."""
    if isinstance(value, str | int | float):
        return str(value)
    raise AnnotationError(f"{where}: the answer is {show(value)}, which is no class; choose another question")
