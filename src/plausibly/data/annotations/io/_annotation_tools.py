"""Exports of annotation tools: Argilla, doccano and Prodigy.

Records that Argilla exports, nested or flattened: each with responses of users to questions.

Nested, ``responses`` maps a question to a list of ``{"value": …, "user_id": …}``; flattened, there are the fields
``QUESTION.responses``, ``QUESTION.responses.users`` and ``QUESTION.responses.status``. Discarded and draft responses
say nothing. Suggestions are a model's and are not read. A ranking's value is a list of ``{"value": …, "rank": …}``.

The JSON lines that doccano exports: a document with the labels of one annotator on each.

doccano writes a file for every annotator: a folder of them is read with the files' names for annotators; a single
file is one annotator's. The labels of a document (``label``) are a tie; a list of ``[start, end, tag]`` are
spans, which only labels of any type can hold. A document without labels says nothing.

The lines that Prodigy's ``db-out`` writes: an answer of one annotator to one task each.

The annotator is ``_annotator_id``, or else ``_session_id``. Of multiple choice (``options``), the chosen ones
(``accept``) are a tie, and the case is the input (``_input_hash``). Of a label shown for a decision, the answer itself,
"accept" or "reject", is the class, and the case is the task (``_task_hash``). Ignored tasks and empty choices say
nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plausibly.base.errors import AnnotationError, show
from plausibly.data.annotations.io.answers import (
    Answers,
    choose,
    is_list,
    is_nothing,
    name_of,
    parsed,
    scalars,
    to_name,
)
from plausibly.data.annotations.io.files import naming, read_lines

if TYPE_CHECKING:
    from plausibly.data.annotations.io.source import Source


_END = ".responses"
_NAME = ("external_id", "id", "_server_id")
_UNREAD_IN_ARGILLA = {
    "responses",
    "suggestions",
    "vectors",
    "fields",
    "status",
    "inserted_at",
    "updated_at",
    "_server_id",
    "id",
}


def is_argilla(record: Any) -> bool:
    """Whether a record is one of Argilla's."""
    if not isinstance(record, Mapping):
        return False
    nested = "responses" in record and bool({"fields", "suggestions", "_server_id"} & set(record))
    return nested or any(str(name).endswith(_END) for name in record)


def argilla_answers(source: "Source") -> Answers:
    """Take apart an export, of which the question to read is the source's control."""
    wanted = _question(source.records, source.control)
    answers, seen = Answers(), set()
    for number, record in enumerate(source.records):
        if not is_argilla(record):
            raise AnnotationError(f"record {number + 1} is {show(record)}; write a record with its responses")
        case = name_of(record, number, _NAME)
        if case in seen:
            raise AnnotationError(f"record {case!r} occurs twice; keep one")
        seen.add(case)
        columns = [name for name in record if str(name).endswith((_END, _END + ".users", _END + ".status"))]
        suggested = [name for name in record if ".suggestion" in str(name)]
        further = scalars(record, {*_UNREAD_IN_ARGILLA, *columns, *suggested})
        for who, value, status in _responses(record, wanted, case):
            if status in ("discarded", "draft"):
                answers.leave_out(f"{status} responses")
            elif is_nothing(value):
                answers.leave_out("responses without a value")
            else:
                answers.add(case, who, value, further)
    return answers


def _question(records: Sequence[Any], question: str | None) -> str:
    names: dict[str, None] = {}
    for record in records:
        if not isinstance(record, Mapping):
            continue
        if isinstance(record.get("responses"), Mapping):
            names |= dict.fromkeys(map(str, record["responses"]))
        names |= {str(name).removesuffix(_END): None for name in record if str(name).endswith(_END)}
    if not names:
        raise AnnotationError("no record has a response; export finished records")
    return choose(list(names), question, "question")


def _responses(record: Mapping, question: str, case: str) -> Iterable[tuple[str | None, Any, Any]]:
    where = f"record {case!r}, question {question!r}"
    if question + _END in record:
        values, users, statuses = (parsed(record.get(f"{question}{_END}{end}")) for end in ("", ".users", ".status"))
        if values is None:
            return
        if not is_list(values):
            raise AnnotationError(f"{where}: the responses are {show(values)}; write a list")
        for name, cells in (("users", users), ("status", statuses)):
            if cells is not None and (not is_list(cells) or len(cells) != len(values)):
                raise AnnotationError(
                    f"{where}: there are {len(values)} responses, and their {name} are {show(cells)}; one for each"
                )
        for place, value in enumerate(values):
            who = None if users is None or users[place] is None else to_name(users[place], f"{where}: the user")
            yield who, value, None if statuses is None else statuses[place]
        return
    responses = record.get("responses")
    if responses is None:
        return
    if not isinstance(responses, Mapping):
        raise AnnotationError(
            f"record {case!r}: the responses are {show(responses)}; write a mapping from question to a list"
        )
    listed = responses.get(question)
    if listed is None:
        return
    if not is_list(listed):
        raise AnnotationError(f"{where}: the responses are {show(listed)}; write a list")
    for reply in listed:
        if not isinstance(reply, Mapping):
            raise AnnotationError(f"{where}: a response is {show(reply)}; write an object with 'value' and 'user_id'")
        who = reply.get("user_id")
        who = None if who is None else to_name(who, f"{where}: the user_id")
        yield who, reply.get("value"), reply.get("status")


_UNREAD_IN_DOCCANO = {"id", "label", "text", "data", "Comments", "comments"}


def is_doccano(record: Any) -> bool:
    """Whether a record is one of doccano's."""
    return (
        isinstance(record, Mapping)
        and "id" in record
        and is_list(record.get("label"))
        and not {"annotator", "worker", "annotators"} & set(record)
    )


def doccano_answers(source: "Source") -> Answers:
    """Take apart a folder with a file for each annotator, or one file, whose annotator is unknown."""
    files: dict[str | None, Sequence[Any]] = {} if source.folder else {None: source.records}
    for path in sorted(source.path.glob("*.jsonl")) if source.folder and source.path else ():
        with naming(path.name):
            files[path.stem] = read_lines(path)
    answers = Answers()
    for who, records in files.items():
        file = "" if who is None else f"{who}, "
        seen: set[str] = set()
        for number, record in enumerate(records):
            if not is_doccano(record):
                raise AnnotationError(
                    f"{file}line {number + 1} is {show(record)}; write a document with an id and a list 'label'"
                )
            case = name_of(record, number, ("id",))
            if case in seen:
                raise AnnotationError(f"{file}document {case!r} occurs twice; keep one")
            seen.add(case)
            labels = list(record["label"])
            if not labels:
                answers.leave_out("documents without labels")
                continue
            spans = all(is_list(label) and len(label) == 3 for label in labels)
            value = [tuple(label) for label in labels] if spans else labels[0] if len(labels) == 1 else labels
            answers.add(case, who, value, scalars(record, _UNREAD_IN_DOCCANO))
    return answers


_ANSWERS = ("accept", "reject", "ignore")
_UNREAD_IN_PRODIGY = {
    "answer",
    "accept",
    "options",
    "spans",
    "tokens",
    "text",
    "html",
    "image",
    "config",
    "style",
    "_view_id",
}


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
        further = {name: cell for name, cell in scalars(record, _UNREAD_IN_PRODIGY).items() if not name.startswith("_")}
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
