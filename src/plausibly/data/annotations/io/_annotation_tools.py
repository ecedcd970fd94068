"""Exports of annotation tools: Argilla, doccano and Prodigy.

Records that Argilla exports, nested or flattened: each with responses of users to questions.

Nested, ``responses`` maps a question to a list of ``{"value": …, "user_id": …}``; flattened, as in ``to_datasets``,
there are the fields ``QUESTION.responses``, ``QUESTION.responses.users`` and ``QUESTION.responses.status``. In the data
sets of Argilla 1 a question is a field of its own beside ``QUESTION-suggestion``, with such a list or with the lists
``user_id``, ``value`` and ``status``; and records for text classification have one ``annotation`` by an
``annotation_agent``. Discarded and draft responses say nothing. Suggestions are a model's and are not read. A ranking's
value is a list of ``{"value": …, "rank": …}``.

What doccano exports as JSON lines, JSON or CSV: a document with the labels of one annotator in each line.

doccano writes a file for every annotator, who is not named in it. The labels of a document (``label``), in CSV joined
by "#", are a tie; a list of ``[start, end, tag]`` are spans, which only labels of any type can hold. A document without
labels says nothing.

The lines that Prodigy's ``db-out`` writes: an answer of one annotator to one task each.

The annotator is ``_annotator_id``, or else ``_session_id``. Of multiple choice (``options``), the chosen ones
(``accept``) are a tie, and the case is the input (``_input_hash``); so it is of ``spans``, which only labels of any
type can hold. Of a label shown for a decision, the answer itself, "accept" or "reject", is the class, and the case is
the task (``_task_hash``). Ignored tasks and empty choices say
nothing.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from plausibly.base.errors import AnnotationError, show
from plausibly.data.annotations.io._platforms import rows_of
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
from plausibly.data.annotations.io.spellings import PEOPLE, find

if TYPE_CHECKING:
    from plausibly.data.annotations.io.source import Source


_END = ".responses"
_NAME = ("external_id", "id", "_server_id")
_ONE = {"annotation", "annotation_agent"}
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
    *("external_id", "annotation", "annotation_agent", "prediction", "prediction_agent", "metrics", "event_timestamp"),
}


def is_argilla(record: Any) -> bool:
    """Whether a record is one of Argilla's."""
    return isinstance(record, Mapping) and has_argilla_fields({*map(str, record)})


def has_argilla_fields(names: Set[str]) -> bool:
    """Whether these are the fields of a record, or the columns of a table."""
    nested = "responses" in names and bool({"fields", "suggestions", "_server_id"} & names)
    return nested or any(_is_question(name, names) for name in names) or names >= _ONE


def _is_question(name: str, record: Collection[str]) -> bool:
    """Whether a field holds the responses to a question in themselves."""
    return name.endswith(_END) or f"{name}-suggestion" in record


def argilla_answers(source: "Source") -> Answers:
    """Take apart an export, of which the question to read is the source's control."""
    records = source.records if source.content is not None else rows_of(source)
    wanted = _question(records, source.control)
    answers, seen = Answers(), set()
    for number, record in enumerate(records):
        if not is_argilla(record):
            raise AnnotationError(f"record {number + 1} is {show(record)}; write a record with its responses")
        case = name_of(record, number, _NAME)
        if case in seen:
            raise AnnotationError(f"record {case!r} occurs twice; keep one")
        seen.add(case)
        columns = [name for name in record if str(name).endswith((_END, _END + ".users", _END + ".status"))]
        columns += [name for name in record if _is_question(str(name), record)]
        suggested = [name for name in record if ".suggestion" in str(name) or "-suggestion" in str(name)]
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
        for values in _values_of(record.get("responses")):
            names |= dict.fromkeys(map(str, values))
        names |= {str(name).removesuffix(_END): None for name in record if _is_question(str(name), record)}
        names |= dict.fromkeys({"annotation"} & {*record}) if {*record} >= _ONE else {}
    if not names:
        raise AnnotationError("no record has a response; export finished records")
    return choose(list(names), question, "question")


def _values_of(responses: Any) -> list[Mapping]:
    """Answers to all questions by each user, in a list."""
    listed = responses if is_list(responses) else []
    found = [one.get("values") if isinstance(one, Mapping) else None for one in listed]
    return [values if isinstance(values, Mapping) else {} for values in found]


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
    if {*record} >= _ONE:
        status = str(record.get("status")).lower()
        agent, value = record["annotation_agent"], parsed(record["annotation"])
        who = None if is_nothing(agent) else to_name(agent, f"{where}: the annotation_agent")
        yield who, value, "discarded" if status == "discarded" else "submitted"
        return
    if question in record:
        yield from _listed(parsed(record[question]), where)
        return
    responses = parsed(record.get("responses"))
    if responses is None:
        return
    if is_list(responses):  # of users, with their answers to all questions
        said = zip(responses, _values_of(responses), strict=True)
        replies = [{**one, **values[question]} for one, values in said if isinstance(values.get(question), Mapping)]
        responses = {question: replies}
    if not isinstance(responses, Mapping):
        raise AnnotationError(
            f"record {case!r}: the responses are {show(responses)}; write a mapping from question to a list"
        )
    yield from _listed(responses.get(question), where)


def _listed(listed: Any, where: str) -> Iterable[tuple[str | None, Any, Any]]:
    """Responses in a list, or in lists of their fields."""
    if isinstance(listed, Mapping) and "value" in listed:
        fields = {name: listed[name] for name in ("user_id", "value", "status") if is_list(listed.get(name))}
        listed = [dict(zip(fields, one, strict=False)) for one in zip(*fields.values(), strict=False)]
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
        and find("annotator", map(str, record)) is None
        and not {*PEOPLE} & {*record}
    )


def is_doccano_table(source: "Source") -> bool:
    """Whether a table has the columns that doccano writes."""
    names = {*source.names}
    return names >= {"id", "label", "Comments"} and not {"annotator", "worker", "annotators"} & names


def doccano_answers(source: "Source") -> Answers:
    """Take apart a file, whose annotator is unknown."""
    answers, several = Answers(), False
    seen: set[str] = set()
    for number, record in enumerate(source.records if source.content is not None else _documents(rows_of(source))):
        if not is_doccano(record):
            raise AnnotationError(
                f"line {number + 1} is {show(record)}; write a document with an id and a list 'label'"
            )
        case = name_of(record, number, ("id",))
        if case in seen:
            raise AnnotationError(f"document {case!r} occurs twice; keep one")
        seen.add(case)
        labels = list(record["label"])
        if not labels:
            answers.leave_out("documents without labels")
            continue
        spans = all(is_list(label) and len(label) == 3 for label in labels)
        value = [tuple(label) for label in labels] if spans else labels[0] if len(labels) == 1 else labels
        several |= isinstance(value, list) and not spans
        answers.add(case, None, value, scalars(record, _UNREAD_IN_DOCCANO))
    if several:
        words = "several labels of a document are one answer here; where annotators share a project, doccano does not"
        answers.note = f"{words} say whose they are: export a file for each"
    return answers


def _documents(rows: Iterable[Mapping]) -> Iterable[Mapping]:
    """Rows of a table with their labels as lists."""
    for row in rows:
        yield {**row, "label": [] if row["label"] is None else str(row["label"]).split("#")}


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


def _span(one: Any, where: str) -> tuple[Any, Any, Any]:
    if not isinstance(one, Mapping) or not {"start", "end", "label"} <= {*one}:
        raise AnnotationError(f"{where}: a span is {show(one)}; write its start, end and label")
    return one["start"], one["end"], one["label"]


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
        case = name_of(
            record,
            number,
            ("_input_hash", "_task_hash") if choice or is_list(record.get("spans")) else ("_task_hash", "_input_hash"),
        )
        if answer == "ignore":
            answers.leave_out("ignored tasks")
            continue
        who = record.get("_annotator_id")
        who = record.get("_session_id") if who is None else who
        annotator = None if who is None else to_name(who, f"{where}: the annotator")
        further = {name: cell for name, cell in scalars(record, _UNREAD_IN_PRODIGY).items() if not name.startswith("_")}
        if not choice and is_list(record.get("spans")):
            if answer == "reject":
                answers.leave_out("rejected tasks")
                continue
            answers.add(case, annotator, [_span(one, where) for one in record["spans"]], further)
            continue
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
