"""The JSON that Label Studio exports: tasks, each with the annotations of several people.

A task is a case, by its id; the annotator is who completed the annotation (``completed_by``, by id). Of the controls of
a labelling interface those that choose or order are read:

* ``choices``: one choice is a label, several are a tie;
* ``taxonomy``: each path is a class, its steps joined by " / ";
* ``rating``: the number of stars is the class;
* ``ranker``: the items are classes, best first; what stays in the column "_" is not ranked;
* ``pairwise``: "left" or "right".

Annotations that were skipped (``was_cancelled``) or hold no answer are left out, and so are tasks without any answer; a
:class:`plausibly.errors.PlausiblyWarning` says how many. ``predictions`` in the file are those of a model and are not
read.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plausibly.base.errors import AnnotationError, show
from plausibly.base.names import some
from plausibly.data.annotations.io.answers import Answers, choose, scalars

if TYPE_CHECKING:
    from plausibly.data.annotations.io.source import Source

_UNREAD = {"id", "annotations", "completions", "predictions", "drafts"}
TYPES = ("choices", "taxonomy", "rating", "ranker", "pairwise")


def is_label_studio(record: object) -> bool:
    """Whether a record is a task with annotations."""
    if not isinstance(record, Mapping):
        return False
    annotations = record.get("annotations", record.get("completions"))
    if not isinstance(annotations, list):
        return False
    has_results = any(isinstance(one, Mapping) and "result" in one for one in annotations)
    return has_results or isinstance(record.get("data"), Mapping)


def label_studio_answers(source: "Source") -> Answers:
    """Take apart an export, of which one control (``from_name``) is read."""
    answers, types, seen = Answers(), {}, set()
    rows = []
    for number, task in enumerate(source.records):
        case = _name(task, number)
        if case in seen:
            raise AnnotationError(f"task {case!r} occurs twice; keep one")
        seen.add(case)
        annotations = task.get("annotations", task.get("completions"))
        if not isinstance(annotations, list):
            raise AnnotationError(
                f"task {case!r}: 'annotations' is {show(annotations)}, and a task of Label Studio has a list of them; "
                "export as JSON (not JSON-MIN), or write rankings"
            )
        for annotation in annotations:
            if not isinstance(annotation, Mapping):
                raise AnnotationError(f"task {case!r}: an annotation is {show(annotation)}; write an object")
            if annotation.get("was_cancelled"):
                answers.leave_out("cancelled annotations")
            else:
                rows.append((task, case, _who(annotation, case), _given(annotation, case, types)))
    control = _control(types, source.control)
    answers.rating = types[control] == "rating"
    for task, case, who, values in rows:
        if control in values:
            answers.add(case, who, values[control], scalars(task, _UNREAD))
        else:
            answers.leave_out("annotations without an answer")
    for _ in range(len(seen) - len(set(answers.case))):
        answers.leave_out("tasks without answers")
    return answers


def _name(task: object, number: int) -> str:
    """Name a task by its id."""
    if not isinstance(task, Mapping):
        raise AnnotationError(f"task {number} (counted from 0) is {show(task)}; write an object")
    name = task.get("id")
    if name is None and not {"annotations", "completions"} & {*task}:
        raise AnnotationError(
            f"records with {some(list(map(str, task)), 5)} are of no form that is known here; write a table with the "
            "columns case, annotator and class"
        )
    if isinstance(name, bool) or not isinstance(name, int | str):
        raise AnnotationError(f"task {number} (counted from 0) has the id {show(name)}; give it text or a whole number")
    return str(name)


def _who(annotation: Mapping, case: str) -> str | None:
    who = annotation.get("completed_by")
    if isinstance(who, Mapping):
        who = who.get("id", who.get("email"))
    if who is None:
        return None
    if isinstance(who, bool) or not isinstance(who, int | str):
        raise AnnotationError(f"task {case!r}: completed_by is {show(who)}; write the id of a person")
    return str(who)


def _given(annotation: Mapping, case: str, types: dict[str, str]) -> dict[str, Any]:
    """Read the answers of one annotation, by control."""
    results = annotation.get("result", [])
    if results == {}:  # as the interface for programs suggests for empty ones
        results = []
    if not isinstance(results, list):
        raise AnnotationError(f"task {case!r}: 'result' is {show(results)}; write a list")
    given: dict[str, Any] = {}
    for result in results:
        if not isinstance(result, Mapping):
            raise AnnotationError(f"task {case!r}: a result is {show(result)}; write an object")
        kind, control, value = result.get("type"), result.get("from_name"), result.get("value")
        if not isinstance(control, str) or not isinstance(kind, str):
            continue  # relations between regions have neither
        if types.setdefault(control, kind) != kind:
            raise AnnotationError(
                f"task {case!r}: {control!r} is of type {kind!r} here and {types[control]!r} elsewhere; use one type"
            )
        if kind not in TYPES:
            continue
        if control in given:
            raise AnnotationError(
                f"task {case!r}: one annotation answers {control!r} twice, as for regions or items of a task; make "
                f"each a task of its own"
            )
        answer = answer_of(kind, value, f"task {case!r}, {control!r}")
        if answer is not None:
            given[control] = answer
    return given


def answer_of(kind: str, value: Any, where: str) -> Any:
    """Read an answer: a class, a list of tied ones, a ranking as lists, or a number of stars; None if it is empty."""
    found = value.get("selected" if kind == "pairwise" else kind) if isinstance(value, Mapping) else None
    if kind == "choices" and _is_texts(found):
        return _tied(found)
    if kind == "pairwise" and found in ("left", "right"):
        return found
    if kind == "rating" and isinstance(found, int) and not isinstance(found, bool):
        return found
    if kind == "taxonomy" and isinstance(found, list) and all(path and _is_texts(path) for path in found):
        return _tied([" / ".join(path) for path in found])
    if kind == "ranker":
        if isinstance(found, Mapping):
            columns = [name for name in found if name != "_"]
            if len(columns) > 1:
                raise AnnotationError(
                    f"{where}: items are sorted into {some(columns)}, which nothing orders; use a single column"
                )
            found = found[columns[0]] if columns else []
        if isinstance(found, list) and all(
            isinstance(item, str | int) and not isinstance(item, bool) for item in found
        ):
            return [[str(item)] for item in found] or None
    raise AnnotationError(f"{where}: the {kind} is {show(value)}; correct it, or export again")


def _tied(classes: list[str]) -> str | list[str] | None:
    return classes[0] if len(classes) == 1 else classes or None


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _control(types: Mapping[str, str], control: str | None) -> str:
    """Choose the control to read."""
    readable = [name for name, kind in types.items() if kind in TYPES]
    if not readable:
        kinds = sorted(set(types.values()))
        what = f"only {some(kinds)}" if kinds else "no results"
        raise AnnotationError(
            f"there is no control of choices or of an order, {what}; read here are {', '.join(TYPES)}"
        )
    return choose(readable, control, "control")
