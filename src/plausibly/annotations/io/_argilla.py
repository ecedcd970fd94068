"""Records that Argilla exports, nested or flattened: each with responses of users to questions.

Nested, ``responses`` maps a question to a list of ``{"value": …, "user_id": …}``; flattened, there are the fields
``QUESTION.responses``, ``QUESTION.responses.users`` and ``QUESTION.responses.status``. Discarded and draft responses
say nothing. Suggestions are a model's and are not read. A ranking's value is a list of ``{"value": …, "rank": …}``.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plausibly.annotations.io.answers import Answers, choose, is_list, is_nothing, name_of, parsed, scalars, to_name
from plausibly.errors import AnnotationError, show

if TYPE_CHECKING:
    from plausibly.annotations.io.source import Source

_END = ".responses"
_NAME = ("external_id", "id", "_server_id")
_UNREAD = {"responses", "suggestions", "vectors", "fields", "status", "inserted_at", "updated_at", "_server_id", "id"}


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
        further = scalars(record, {*_UNREAD, *columns, *suggested})
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
