"""What raters say of traced outputs: in MLflow, Langfuse, Phoenix and LangSmith.

MLflow 3: traces as JSON (a list of ``Trace.to_dict()``, or the records of ``search_traces``), whose ``assessments`` are
feedback or expectations. Langfuse 2 and 3: scores, as the API answers (``{"data": […]}``), or the export of its table
as JSON or CSV. Phoenix 9 and later: span annotations, as the API answers, as a list, or as the table that
``get_span_annotations_dataframe`` makes. LangSmith: feedback, as ``list_feedback`` yields it, or as a table.

A trace, or a span or observation within one, is a case. The name of an assessment, score or annotation, and the key of
feedback, is the question. The rater is who is named there (MLflow's ``source_id``, Langfuse's ``authorUserId``,
Phoenix's ``identifier`` or ``user_id``, LangSmith's ``user_id``), else the kind of source, such as HUMAN or EVAL. Text
counts before numbers. A field of the record, a tag or metadata may say which system produced an output.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plausibly.base.errors import AnnotationError, show
from plausibly.data.annotations.io.answers import is_nothing, parsed, scalars
from plausibly.data.annotations.io.columns import is_number, list_of
from plausibly.data.annotations.io.verdicts import Output, Verdict, first_name, list_in, record_of

if TYPE_CHECKING:
    from plausibly.data.annotations.io.source import Source

_TRACE = ("trace_id", "request_id", "traceId")
_SAID = ("value", "stringValue", "string_value", "label", "score", "result", "assessments", "feedback", "expectation")
_SCORED = (*_TRACE, "session_id", "sessionId", "dataset_run_id", "datasetRunId")


def is_mlflow(source: "Source") -> bool:
    """Whether these are traces of MLflow with assessments."""
    first = next(iter(_records(source, "traces")), None)
    if not isinstance(first, Mapping):
        return False
    info = first.get("info")
    if isinstance(info, Mapping):
        return bool({"trace_id", "request_id"} & set(info))
    return "assessments" in first and bool({"trace_id", "request_id"} & set(first))


def mlflow_verdicts(source: "Source") -> Iterator[Verdict]:
    """Yield the feedback and the expectations of traces; those that later ones replace have no value."""
    for number, one in enumerate(_records(source, "traces"), 1):
        trace = record_of(one, f"trace {number}")
        trace = record_of(trace.get("info", trace), f"trace {number}: info")
        name = first_name(trace, _TRACE, f"trace {number}")
        if name is None:
            raise AnnotationError(f"trace {number} has no trace_id; export again")
        where = f"trace {name!r}"
        about = _about(trace)
        assessments = {"assessments": parsed(trace.get("assessments"))}
        for assessment in list_in(assessments, "assessments", where):
            assessment = record_of(assessment, f"{where}: an assessment")
            question = _named(assessment, ("assessment_name", "name"), f"{where}: an assessment")
            given = record_of(assessment.get("source") or {}, f"{where}: the source of {question!r}")
            who = {"source_id": None if given.get("source_id") == "default" else given.get("source_id")}
            rater = _named({**given, **who}, ("source_id", "source_type"), f"{where}: the source of {question!r}")
            said = assessment.get("feedback") or assessment.get("expectation") or {}
            said = record_of(said, f"{where}: the value of {question!r}")
            value = said.get("value")
            if "serialized_value" in said:
                value = parsed(record_of(said["serialized_value"], f"{where}: {question!r}").get("value"))
            if assessment.get("valid") is False or said.get("error"):
                value = None
            span = first_name(assessment, ("span_id",), where)
            person = given.get("source_type") == "HUMAN"
            output = Output(cluster=name, fields=about | _about(assessment))
            case = name if span is None else f"{name}/{span}"
            yield Verdict(question, case, rater, value, person=person, output=output)


def is_langfuse(source: "Source") -> bool:
    """Whether these are scores of Langfuse."""
    names = _fields(source)
    return (
        {"name", "value"} <= names and bool({"traceId", "trace_id"} & names) and bool({"dataType", "data_type"} & names)
    )


def langfuse_verdicts(source: "Source") -> Iterator[Verdict]:
    """Yield scores."""
    for number, record in enumerate(_rows(source), 1):
        where = f"score {number}"
        question = _named(record, ("name",), where)
        case = _named(record, _SCORED, where)
        part = first_name(record, ("observationId", "observation_id"), where)
        rater = _named(record, ("authorUserId", "author_user_id", "source"), where)
        text = next((record[one] for one in ("stringValue", "string_value") if not is_nothing(record.get(one))), None)
        value = _number(record.get("value")) if text is None else text
        output = Output(cluster=case, fields=_about(record))
        person = record.get("source") == "ANNOTATION"
        yield Verdict(question, case if part is None else f"{case}/{part}", rater, value, person=person, output=output)


def is_phoenix(source: "Source") -> bool:
    """Whether these are annotations of spans in Phoenix."""
    names = _fields(source)
    return {"span_id", "annotator_kind"} <= names and bool({"name", "annotation_name"} & names)


def phoenix_verdicts(source: "Source") -> Iterator[Verdict]:
    """Yield annotations: the label, or else the score."""
    for number, record in enumerate(_rows(source), 1):
        where = f"annotation {number}"
        question = _named(record, ("annotation_name", "name"), where)
        case = _named(record, ("span_id",), where)
        rater = _named(record, ("identifier", "user_id", "annotator_kind"), where)
        result = record_of(parsed(record.get("result")) or {}, f"{where}: the result")
        said = {one: result.get(one, record.get(f"result.{one}", record.get(one))) for one in ("label", "score")}
        value = _number(said["score"]) if is_nothing(said["label"]) else said["label"]
        person = record.get("annotator_kind") == "HUMAN"
        yield Verdict(question, case, rater, value, person=person, output=Output(fields=_about(record)))


def is_langsmith(source: "Source") -> bool:
    """Whether this is feedback of LangSmith."""
    return {"run_id", "key", "score"} <= _fields(source)


def langsmith_verdicts(source: "Source") -> Iterator[Verdict]:
    """Yield feedback: the value, or else the score."""
    for number, record in enumerate(_rows(source), 1):
        where = f"feedback {number}"
        by = record_of(parsed(record.get("feedback_source")) or {}, f"{where}: the feedback_source")
        rater = first_name(record, ("user_id",), where) or _named(
            by or {"type": "feedback"}, ("user_id", "type"), where
        )
        value = _number(record.get("score")) if is_nothing(record.get("value")) else record["value"]
        question, case = _named(record, ("key",), where), _named(record, ("run_id",), where)
        output = Output(fields=_about(record))
        yield Verdict(question, case, rater, value, person=by.get("type") == "app", output=output)


def _records(source: "Source", within: str = "data") -> Sequence[Any]:
    """Return records: of a list, of the field that an answer of an API has them in, or of one record alone."""
    content = source.content
    if not isinstance(content, Mapping):
        return source.records
    found = content.get(within, [content])
    return found if isinstance(found, list) else []


def _fields(source: "Source") -> set[str]:
    first = next(iter(_records(source)), None)
    return set(map(str, first if isinstance(first, Mapping) else ())) if source.content is not None else {*source.names}


def _rows(source: "Source") -> Iterable[Mapping]:
    """Yield records, or the rows of a table."""
    if source.content is not None:
        for number, one in enumerate(_records(source), 1):
            yield record_of(one, f"record {number}")
        return
    columns = source.columns()
    for row in zip(*map(list_of, columns.values()), strict=True):
        yield dict(zip(columns, row, strict=True))


def _about(record: Mapping) -> dict[str, Any]:
    """Return the fields of a record that say something of an output."""
    return scalars({name: parsed(cell) for name, cell in record.items()}, _SAID)


def _named(record: Mapping, fields: Sequence[str], where: str) -> str:
    if (found := first_name(record, fields, where)) is None:
        raise AnnotationError(f"{where} has no {fields[0]}, among {show(sorted(scalars(record, ())))}; export again")
    return found


def _number(value: Any) -> Any:
    """Read a number in a cell of text."""
    return float(value) if isinstance(value, str) and is_number(value) else value
