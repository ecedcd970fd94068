"""The full report of CrowdFlower, later called Figure Eight and Appen: a CSV file with a row for each judgment.

A unit (``_unit_id``) is a case, and ``_worker_id`` the annotator. The questions are the columns that have one with the
right answers beside them, as ``sentiment`` has ``sentiment_gold``; if there is none, those in which the judgments of a
unit differ. Options of checkboxes stand on lines of their own, and tie. Judgments of test questions (``_golden``), and
of workers who failed them (``_tainted``), are left out and counted.
"""

from typing import TYPE_CHECKING

from plausibly.base.errors import AnnotationError
from plausibly.data.annotations.io._platforms import finished, is_true, question_in, refuse_empty, rows_of
from plausibly.data.annotations.io.answers import Answers, to_name

if TYPE_CHECKING:
    from plausibly.data.annotations.io.source import Source

_GOLD = "_gold"


def is_crowdflower(source: "Source") -> bool:
    """Whether a table is a report, be it the full one or one that has no annotators."""
    names = {*source.names}
    return "_unit_id" in names and bool({"_worker_id", "_trusted_judgments"} & names)


def crowdflower_answers(source: "Source") -> Answers:
    """Take apart a table, of which the question to read is the source's control."""
    if "_worker_id" not in source.names:
        raise AnnotationError("this is the aggregated report, which names no annotators; export the full report")
    rows = rows_of(source)
    own = {name for name in source.names if name.startswith("_") or name.endswith(_GOLD)}
    known = [name for name in source.names if f"{name}{_GOLD}" in own]
    question = question_in(source, rows, "_unit_id", own, known)
    answers = Answers()
    for number, row in enumerate(rows, 1):
        if is_true(row.get("_golden")):
            answers.leave_out("judgments of test questions")
        elif is_true(row.get("_tainted")):
            answers.leave_out("judgments of workers who failed test questions")
        elif row[question] is None:
            answers.leave_out("judgments without an answer")
        else:
            chosen = str(row[question]).split("\n")
            case, who = (to_name(row[name], f"row {number}: the {name}") for name in ("_unit_id", "_worker_id"))
            further = {name: cell for name, cell in row.items() if name not in own and name != question}
            answers.add(case, who, chosen[0] if len(chosen) == 1 else chosen, further)
    return finished(refuse_empty(answers, "judgments"))
