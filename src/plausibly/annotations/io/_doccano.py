"""The JSON lines that doccano exports: a document with the labels of one annotator on each.

doccano writes a file for every annotator: a folder of them is read with the files' names for annotators; a single
file is one annotator's. The labels of a document (``label``) are a tie; a list of ``[start, end, tag]`` are
spans, which only labels of any type can hold. A document without labels says nothing.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plausibly.annotations.io.answers import Answers, is_list, name_of, scalars
from plausibly.annotations.io.files import naming, read_lines
from plausibly.errors import AnnotationError, show

if TYPE_CHECKING:
    from plausibly.annotations.io.source import Source

_UNREAD = {"id", "label", "text", "data", "Comments", "comments"}


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
            answers.add(case, who, value, scalars(record, _UNREAD))
    return answers
