"""Results of Toloka: a TSV file with a row for each task and worker.

``OUTPUT:NAME`` are the questions, ``INPUT:NAME`` describe the task, which is the case, and ``ASSIGNMENT:worker_id`` is
the annotator. Tasks with a known answer (``GOLDEN:NAME``), and assignments that were rejected, skipped or not finished,
are left out and counted.
"""

from typing import TYPE_CHECKING

from plausibly.data.annotations.io._platforms import cases_of, finished, refuse_empty, rows_of, text_of, with_prefix
from plausibly.data.annotations.io.answers import Answers, choose, is_list, parsed, to_name

if TYPE_CHECKING:
    from plausibly.data.annotations.io.source import Source

_WORKER, _STATUS, _TASK = "ASSIGNMENT:worker_id", "ASSIGNMENT:status", "ASSIGNMENT:task_id"
_FINISHED = ("submitted", "accepted", "approved")


def is_toloka(source: "Source") -> bool:
    """Whether a table has the columns of Toloka."""
    names = {*source.names}
    return _WORKER in names and bool(with_prefix(names, "INPUT:")) and bool(with_prefix(names, "OUTPUT:"))


def toloka_answers(source: "Source") -> Answers:
    """Take apart a table, of which the question to read is the source's control."""
    rows = rows_of(source)
    inputs, outputs, golden = (with_prefix(source.names, f"{kind}:") for kind in ("INPUT", "OUTPUT", "GOLDEN"))
    question = choose(list(outputs), source.control, "question")
    answers = Answers()
    for number, (row, case) in enumerate(zip(rows, cases_of(rows, inputs, _TASK), strict=True), 1):
        value, status = parsed(row.get(outputs[question])), row.get(_STATUS)
        if any(row.get(column) is not None for column in golden.values()):
            answers.leave_out("answers to tasks with a known answer")
        elif status is not None and str(status).lower() not in _FINISHED:
            answers.leave_out(f"{str(status).lower()} assignments")
        elif value is None or row[_WORKER] is None:
            answers.leave_out("tasks without an answer")
        else:
            value = value if is_list(value) else text_of(value, f"row {number}")
            who = to_name(row[_WORKER], f"row {number}: the {_WORKER}")
            answers.add(case, who, value, {name: row[column] for name, column in inputs.items()})
    return finished(refuse_empty(answers, "answers"))
