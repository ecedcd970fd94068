"""Label Studio's exports as CSV and JSON-MIN: a row for each annotation, its controls beside the data of the task.

Where nothing tells the controls from the data, they are the columns that hold what controls other than single choices
give (``{"choices": […]}``, ``[{"rating": 3}]``), or else those in which the annotations of a task differ.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plausibly.base.errors import AnnotationError, show
from plausibly.data.annotations.io._label_studio import TYPES, answer_of
from plausibly.data.annotations.io._platforms import differing, finished, question_in, refuse_empty, rows_of, text_of
from plausibly.data.annotations.io.answers import Answers, is_list, parsed, to_name

if TYPE_CHECKING:
    from plausibly.data.annotations.io.source import Source

_OWN = {"annotator", "annotation_id", "created_at", "updated_at", "lead_time"}  # always there
_FURTHER = {"id", "agreement", "history"}


def is_label_studio_min(source: "Source") -> bool:
    """Whether rows are annotations in one of the two formats."""
    first = next(iter(source.records), None)
    names = source.names if source.content is None else first if isinstance(first, Mapping) else ()
    return {*names} >= {*_OWN, "id"}


def label_studio_min_answers(source: "Source") -> Answers:
    """Take apart rows, of which the control to read is the source's."""
    for number, record in enumerate(source.records, 1):
        if not isinstance(record, Mapping):
            raise AnnotationError(f"record {number} is {show(record)}; write an object")
    rows = rows_of(source)
    own = {*_OWN, *_FURTHER}
    known = [name for name in dict.fromkeys(name for row in rows for name in row) if name not in own]
    known = [name for name in known if any(_kind(parsed(row.get(name))) is not None for row in rows)]
    known += [name for name in differing(rows, "id", {*own, *known}) if known]
    control = question_in(source, rows, "id", own, known)
    answers = Answers()
    for number, row in enumerate(rows, 1):
        value, where = parsed(row.get(control)), f"row {number}, {control!r}"
        if (kind := _kind(value)) is not None:
            value = answer_of(kind, value[0] if is_list(value) else value, where)
        elif value is not None:
            value = text_of(value, where)
        if value is None:
            answers.leave_out("annotations without an answer")
            continue
        case = to_name(row.get("id"), f"row {number}: the id")
        who = None if row.get("annotator") is None else to_name(row["annotator"], f"row {number}: the annotator")
        further = {name: cell for name, cell in row.items() if name not in own and name != control}
        answers.add(case, who, value, further)
    return finished(refuse_empty(answers, "annotations"))


def _kind(value: Any) -> str | None:
    """Type of the control that gave a value, by the name of its field; None of text."""
    if is_list(value) and len(value) == 1:
        value = value[0]
    if not isinstance(value, Mapping):
        return None
    return next((kind for kind in TYPES if ("selected" if kind == "pairwise" else kind) in value), None)
