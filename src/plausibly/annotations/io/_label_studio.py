"""The JSON that Label Studio exports: tasks, each with the annotations of several people.

A task is a case, by its id; the annotator is who completed the annotation (``completed_by``, by id). Of the controls of
a labelling interface those that choose or order are read:

* ``choices``: one choice is a label, several are a tie;
* ``taxonomy``: each path is a class, its steps joined by " / ";
* ``rating``: the number of stars is the class;
* ``ranker``: the items are classes, best first; what stays in the column "_" is not ranked;
* ``pairwise``: "left" or "right".

An annotation that was skipped (``was_cancelled``) or holds no answer says nothing, and a task without any other answer
is no case: a :class:`plausibly.errors.PlausiblyWarning` says how many were left out. ``predictions`` in the file are a
model's and are not read.
"""

import warnings
from collections.abc import Mapping
from typing import Any

from plausibly.annotations._names import _show, some
from plausibly.errors import AnnotationError, PlausiblyWarning

TYPES = ("choices", "taxonomy", "rating", "ranker", "pairwise")


def is_label_studio(content: object) -> bool:
    """Whether JSON is a list of tasks."""
    return isinstance(content, list) and bool(content) and isinstance(content[0], Mapping)


def as_rankings(content: list, control: str | None, source: object = "the export") -> dict:
    """Rewrite an export as rankings in object form.

    Parameters
    ----------
    content
        What the file holds.
    control
        Name of the control (``from_name``) to read; None if there is one alone.
    source
        Name of the file, for the warning.

    Raises
    ------
    AnnotationError
        On anything that is not as Label Studio writes it, naming the task; if there are several controls and none is
        chosen; or if there is nothing to read.
    """
    answers, skipped, types = _answers(content)
    wanted = _control(types, control)
    cases: dict[str, Any] = {}
    n_empty = 0
    anonymous = {who is None for _, who, _ in answers}
    if len(anonymous) > 1:
        case = next(case for case, who, _ in answers if who is None)
        raise AnnotationError(
            f"task {case!r}: an annotation does not say who completed it, and others do; add completed_by"
        )
    for case, who, given in answers:
        if wanted not in given:
            n_empty += 1
            continue
        blocks = given[wanted]
        said = cases.setdefault(case, [] if who is None else {})
        if who is None:
            said.append(blocks)
        elif who in said:
            raise AnnotationError(
                f"task {case!r}: annotator {who!r} answered twice; keep one annotation of each annotator"
            )
        else:
            said[who] = blocks
    if not cases:
        raise AnnotationError("no annotation of any task holds an answer; export finished annotations")
    without = len({_name(task, number) for number, task in enumerate(content)}) - len(cases)
    left_out = {
        "cancelled annotations": skipped,
        "annotations without an answer": n_empty,
        "tasks without answers": without,
    }
    if any(left_out.values()):
        words = ", ".join(f"{number:,} {what}" for what, number in left_out.items() if number)
        warnings.warn(f"{source}: left out: {words}", PlausiblyWarning, stacklevel=4)
    if types[wanted] != "rating":
        return {"cases": cases}
    every = (said if isinstance(said, list) else said.values() for said in cases.values())
    stars = {block[0][0] for said in every for block in said}
    return {"cases": cases, "stars": sorted(stars, key=int)}


def _answers(content: list) -> tuple[list[tuple[str, str | None, dict]], int, dict[str, str]]:
    """Collect (case, annotator, blocks by control) of every annotation, how many were skipped, and types by control."""
    answers, skipped = [], 0
    types: dict[str, str] = {}
    seen: set[str] = set()
    for number, task in enumerate(content):
        case = _name(task, number)
        if case in seen:
            raise AnnotationError(f"task {case!r} is there twice; keep one")
        seen.add(case)
        annotations = task.get("annotations", task.get("completions"))
        if not isinstance(annotations, list):
            raise AnnotationError(
                f"task {case!r}: 'annotations' is {_show(annotations)}, and a task of Label Studio has a list of them; "
                "export as JSON (not JSON-MIN), or write rankings"
            )
        for annotation in annotations:
            if not isinstance(annotation, Mapping):
                raise AnnotationError(f"task {case!r}: an annotation is {_show(annotation)}; write an object")
            if annotation.get("was_cancelled"):
                skipped += 1
                continue
            answers.append((case, _who(annotation, case), _given(annotation, case, types)))
    return answers, skipped, types


def _name(task: object, number: int) -> str:
    """Name a task by its id."""
    if not isinstance(task, Mapping):
        raise AnnotationError(f"task {number} (counted from 0) is {_show(task)}; write an object")
    name = task.get("id")
    if isinstance(name, bool) or not isinstance(name, int | str):
        raise AnnotationError(
            f"task {number} (counted from 0) has the id {_show(name)}; give it text or a whole number"
        )
    return str(name)


def _who(annotation: Mapping, case: str) -> str | None:
    who = annotation.get("completed_by")
    if isinstance(who, Mapping):
        who = who.get("id", who.get("email"))
    if who is None:
        return None
    if isinstance(who, bool) or not isinstance(who, int | str):
        raise AnnotationError(f"task {case!r}: completed_by is {_show(who)}; write the id of a person")
    return str(who)


def _given(annotation: Mapping, case: str, types: dict[str, str]) -> dict[str, list[list[str]]]:
    """Read the answers of one annotation, by control."""
    results = annotation.get("result", [])
    if results == {}:  # as the interface for programs suggests for empty ones
        results = []
    if not isinstance(results, list):
        raise AnnotationError(f"task {case!r}: 'result' is {_show(results)}; write a list")
    given: dict[str, list[list[str]]] = {}
    for result in results:
        if not isinstance(result, Mapping):
            raise AnnotationError(f"task {case!r}: a result is {_show(result)}; write an object")
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
        blocks = _blocks(kind, value, f"task {case!r}, {control!r}")
        if blocks:
            given[control] = blocks
    return given


def _blocks(kind: str, value: Any, where: str) -> list[list[str]]:
    """Read an answer as blocks; none if it is empty."""
    found = value.get("selected" if kind == "pairwise" else kind) if isinstance(value, Mapping) else None
    if kind == "choices" and _is_texts(found):
        return [found] if found else []
    if kind == "pairwise" and found in ("left", "right"):
        return [[found]]
    if kind == "rating" and isinstance(found, int) and not isinstance(found, bool):
        return [[str(found)]]
    if kind == "taxonomy" and isinstance(found, list) and all(path and _is_texts(path) for path in found):
        paths = [" / ".join(path) for path in found]
        return [paths] if paths else []
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
            return [[str(item)] for item in found]
    raise AnnotationError(f"{where}: the {kind} is {_show(value)}; correct it, or export again")


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _control(types: Mapping[str, str], control: str | None) -> str:
    """Choose the control to read."""
    readable = [name for name, kind in types.items() if kind in TYPES]
    if control is not None and control not in readable:
        raise AnnotationError(
            f"there is no control {control!r} of choices or of an order; choose from {some(readable, 9) or 'none'}"
        )
    if control is None and len(readable) != 1:
        if readable:
            raise AnnotationError(
                f"there are several controls, {some(readable, 9)}; choose one with control= (--control)"
            )
        kinds = sorted(set(types.values()))
        what = f"only {some(kinds)}" if kinds else "no results"
        raise AnnotationError(
            f"there is no control of choices or of an order, {what}; read here are {', '.join(TYPES)}"
        )
    return control or readable[0]
