"""Classifications of Zooniverse's project builder: a CSV file with a row for each, whose answers are JSON.

A subject (``subject_ids``) is a case, and ``user_name`` the annotator, of those who are not logged in by their address.
``annotations`` is a list of the tasks of a workflow with their values, and the tasks (T0, T1, …) are the questions: an
answer is a class, several tie, as do the choices of a survey. Marks on an image are no classes.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from plausibly.base.errors import AnnotationError, show
from plausibly.data.annotations.io._platforms import Row, finished, refuse_empty, rows_of, text_of
from plausibly.data.annotations.io.answers import Answers, choose, is_list, parsed, to_name

if TYPE_CHECKING:
    from plausibly.data.annotations.io.source import Source

_NAMES = {"classification_id", "subject_ids", "user_name", "annotations"}


def is_zooniverse(source: "Source") -> bool:
    """Whether a table has the columns of classifications."""
    return {*source.names} >= _NAMES


def zooniverse_answers(source: "Source") -> Answers:
    """Take apart a table, of which the task to read is the source's control."""
    rows = rows_of(source)
    workflows = {row.get("workflow_id") for row in rows}
    prefixes = ["" if len(workflows) == 1 else f"{row.get('workflow_id')}/" for row in rows]
    given = [
        {f"{prefix}{task}": value for task, value in _tasks(row, f"row {number}")}
        for number, (row, prefix) in enumerate(zip(rows, prefixes, strict=True), 1)
    ]
    questions = list(dict.fromkeys(name for said in given for name in said))
    if not questions:
        raise AnnotationError("no classification has an answer; export others")
    question = choose(questions, source.control, "question")
    answers = Answers()
    for number, (row, said) in enumerate(zip(rows, given, strict=True), 1):
        value = _value(said.get(question), f"row {number}, task {question}")
        if value is None:
            answers.leave_out("classifications without an answer")
        else:
            case, who = (to_name(row[name], f"row {number}: the {name}") for name in ("subject_ids", "user_name"))
            further = {name: row[name] for name in ("workflow_id", "workflow_version", "created_at") if name in row}
            answers.add(case, who, value, further)
    return finished(refuse_empty(answers, "classifications"))


def _tasks(row: Row, where: str) -> Iterator[tuple[str, Any]]:
    """Tasks of a classification with their values; those of a combined task one by one."""
    listed = parsed(row["annotations"])
    if listed is None:
        return
    if not is_list(listed) or not all(isinstance(one, Mapping) and "task" in one for one in listed):
        raise AnnotationError(f"{where}: annotations are {show(listed)}; write JSON, a list of tasks with their values")
    for one in listed:
        value = one.get("value")
        combined = is_list(value) and any(isinstance(part, Mapping) and "task" in part for part in value)
        yield from ((str(part["task"]), part.get("value")) for part in (value if combined else [one]))


def _value(value: Any, where: str) -> str | list[str] | None:
    """Answer to a task: a class, or several."""
    if value is None or value == []:
        return None
    parts = list(value) if is_list(value) else [value]
    parts = [part["choice"] if isinstance(part, Mapping) and "choice" in part else part for part in parts]
    chosen = list(dict.fromkeys(text_of(part, where) for part in parts))
    return chosen[0] if len(chosen) == 1 else chosen
