"""Results of batches of Amazon Mechanical Turk: a CSV file with a row for each assignment.

``Answer.NAME`` are the questions. Options of a question that are marked or not have a column each, as ``Answer.q.yes``
and ``Answer.q.no``; several that are marked tie. The elements of the newer templates put all answers as JSON into
``Answer.taskAnswers``. A HIT is a case, by its id or by its input (``Input.NAME``), and ``WorkerId`` is the annotator.
Rejected assignments are left out and counted.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plausibly.data.annotations.io._platforms import (
    Row,
    cases_of,
    chosen_of,
    finished,
    is_marks,
    refuse_empty,
    rows_of,
    text_of,
    with_prefix,
)
from plausibly.data.annotations.io.answers import Answers, choose, is_list, parsed, to_name

if TYPE_CHECKING:
    from plausibly.data.annotations.io.source import Source

_ALL = "taskAnswers"


def is_mturk(source: "Source") -> bool:
    """Whether a table is the result of a batch."""
    return {"HITId", "WorkerId"} <= {*source.names} and any(name.startswith("Answer.") for name in source.names)


def mturk_answers(source: "Source") -> Answers:
    """Take apart a table, of which the question to read is the source's control."""
    rows = rows_of(source)
    inputs, columns = with_prefix(source.names, "Input."), with_prefix(source.names, "Answer.")
    options = _options(rows, columns)
    given = [_given(row, columns, options) for row in rows]
    questions = list(dict.fromkeys(name for one in given for name in one))
    answers = Answers()
    question = choose(questions, source.control, "question") if questions else ""
    for number, (row, case, said) in enumerate(zip(rows, cases_of(rows, inputs, "HITId"), given, strict=True), 1):
        if str(row.get("AssignmentStatus")).lower() == "rejected":
            answers.leave_out("rejected assignments")
        elif said.get(question) is None:
            answers.leave_out("assignments without an answer")
        else:
            value = said[question]
            value = value if is_list(value) else text_of(value, f"row {number}")
            who = to_name(row["WorkerId"], f"row {number}: the WorkerId")
            answers.add(case, who, value, {name: row[column] for name, column in inputs.items()})
    return finished(refuse_empty(answers, "answers"))


def _options(rows: list[Row], columns: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Columns of the options of questions, by the question and the option."""
    found: dict[str, dict[str, str]] = {}
    for name, column in columns.items():
        question, _, option = name.rpartition(".")
        if question and is_marks(row.get(column) for row in rows):
            found.setdefault(question, {})[option] = column
    return {question: options for question, options in found.items() if len(options) > 1}


def _given(row: Row, columns: Mapping[str, str], options: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Answers of one assignment, by question."""
    marks = {column for of_question in options.values() for column in of_question.values()}
    said = {name: row.get(column) for name, column in columns.items() if column not in marks and name != _ALL}
    said = {name.removesuffix(".label"): value for name, value in said.items()}
    said |= {name: chosen_of({option: row.get(one) for option, one in of.items()}) for name, of in options.items()}
    everything = parsed(row.get(f"Answer.{_ALL}"))
    for part in everything if is_list(everything) else [everything]:
        said |= {str(name): _value(one) for name, one in part.items()} if isinstance(part, Mapping) else {}
    return said


def _value(answer: Any) -> Any:
    """Answer in the JSON of a template: a label, labels that tie, options that are marked, a text or a number."""
    if not isinstance(answer, Mapping):
        return answer
    if {*answer} in ({"label"}, {"labels"}):
        value = next(iter(answer.values()))
        return parsed(value)
    if {*answer} == {"on"}:
        return str(answer["on"]).lower()
    return chosen_of(answer) if is_marks(answer.values()) else answer
