"""The lines that Prodigy's ``db-out`` writes: an answer of one annotator to one task each.

The annotator is ``_annotator_id``, or else ``_session_id``. Of multiple choice (``options``), the chosen ones
(``accept``) are a tie, and the case is the input (``_input_hash``). Of a label shown for a decision, the answer itself,
"accept" or "reject", is the class, and the case is the task (``_task_hash``). Ignored tasks and empty choices say
nothing.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plausibly.annotations.io.answers import Answers, is_list, name_of, scalars, to_name
from plausibly.errors import AnnotationError, show

if TYPE_CHECKING:
    from plausibly.annotations.io.source import Source

_ANSWERS = ("accept", "reject", "ignore")
_UNREAD = {"answer", "accept", "options", "spans", "tokens", "text", "html", "image", "config", "style", "_view_id"}


def is_prodigy(record: Any) -> bool:
    """Whether a record is one of Prodigy's."""
    return isinstance(record, Mapping) and "answer" in record and bool({"_input_hash", "_task_hash"} & set(record))


def prodigy_answers(source: "Source") -> Answers:
    """Take apart an export; an annotator who answers a task twice is refused where the answers are read."""
    answers = Answers()
    for number, record in enumerate(source.records):
        where = f"line {number + 1}"
        if not is_prodigy(record):
            raise AnnotationError(f"{where} is {show(record)}; write a task with its hashes and its answer")
        answer = record["answer"]
        if answer not in _ANSWERS:
            raise AnnotationError(f"{where}: the answer is {show(answer)}; write accept, reject or ignore")
        choice = "accept" in record or "options" in record
        case = name_of(record, number, ("_input_hash", "_task_hash") if choice else ("_task_hash", "_input_hash"))
        if answer == "ignore":
            answers.leave_out("ignored tasks")
            continue
        who = record.get("_annotator_id")
        who = record.get("_session_id") if who is None else who
        annotator = None if who is None else to_name(who, f"{where}: the annotator")
        further = {name: cell for name, cell in scalars(record, _UNREAD).items() if not name.startswith("_")}
        if not choice:
            answers.add(case, annotator, answer, further)
            continue
        chosen = record.get("accept", [])
        if not is_list(chosen):
            raise AnnotationError(f"{where}: accept is {show(chosen)}; write the list of chosen options")
        if not len(chosen) or answer == "reject":
            answers.leave_out("tasks without a choice")
            continue
        answers.add(case, annotator, chosen[0] if len(chosen) == 1 else list(chosen), further)
    return answers
