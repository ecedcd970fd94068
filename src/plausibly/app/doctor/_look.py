"""One file: what it is, what it holds, and what its columns are taken for."""

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from plausibly.app.doctor._hints import ROLES, refuse_unknown, roles_by_words
from plausibly.app.doctor._looked import Looked, Role
from plausibly.app.doctor._outcomes import Found, comparisons_in, outcomes_in
from plausibly.base.errors import DataWarning, FileError, PlausiblyError, PlausiblyWarning, PredictionError
from plausibly.base.names import many, some
from plausibly.data.annotations import Annotations, Scores, read_classes, read_metadata
from plausibly.data.annotations.io.columns import is_number, is_number_type, list_of
from plausibly.data.annotations.io.exports import SecondAnswers
from plausibly.data.annotations.io.files import TABLES, ending, lines_of, naming, read_npy, read_text, suffix_of
from plausibly.data.annotations.io.formats import FORMATS, OF_ANSWERS, TOOLS, format_of
from plausibly.data.annotations.io.long_table import WHEN, is_of_scores
from plausibly.data.annotations.io.matrix import SUFFIXES as MATRICES
from plausibly.data.annotations.io.matrix import read_matrix
from plausibly.data.annotations.io.predicted import frame_of_json, predicted_labels
from plausibly.data.annotations.io.read import annotations_of, open_any
from plausibly.data.annotations.io.source import Source
from plausibly.data.annotations.io.spellings import CASE, COLUMNS, OUTCOMES, PREDICTED, find
from plausibly.data.annotations.io.table_files import read_columns
from plausibly.data.annotations.io.wide import SURVEY
from plausibly.data.annotations.shown import ComparisonsError
from plausibly.data.audit import tell_doubts
from plausibly.data.labels import Labels
from plausibly.data.understood import understood

CONDITION = "condition"
POSTERIORS = (".nc", ".zarr")
SUFFIXES = tuple(dict.fromkeys([*(one for known in FORMATS for one in known.suffixes), *MATRICES, *POSTERIORS]))
_RISKS = {"0", "1", "2"}
_PEOPLE = {*COLUMNS["annotator"], "annotation"}
_CLUSTERS = ("patient", "subject", "cluster")  # how columns of clusters of cases begin
_GOLD = ("gold", "truth", "true", "reference", "biopsy", "outcome", "expected")  # parts of names of files
_MOST_GROUPS, _MOST_CONDITIONS = 20, 4


def look(
    path: Path,
    classes: np.ndarray | None = None,
    files: Mapping[str, str] | None = None,
    asked: Mapping[str, str] | None = None,
) -> Looked:
    """Look into a file, or files by one annotator each; whatever is wrong with it is its sentence."""
    asked = asked or {}
    try:
        with warnings.catch_warnings(record=True) as told, naming(path):
            warnings.simplefilter("always", PlausiblyWarning)
            if files or (asked and ending(path) not in POSTERIORS):
                opened = opened_as(files or path, asked, classes)
                found = replace(_annotations(path, opened), files=files or {}, asked=asked)
            else:
                found = _look(path, classes)
        kinds = {str(one.message).removeprefix(f"{path}: "): one.category for one in told}
        faults = [note for note, kind in kinds.items() if issubclass(kind, DataWarning)]
        return replace(found, notes=[note for note in kinds if re.search(r"\bleft\b", note)], faults=faults)
    except PlausiblyError as error:
        words = str(error)
        while words.startswith(f"{path}: "):
            words = words.removeprefix(f"{path}: ")
        return Looked(path, None, words)


def _look(path: Path, classes: np.ndarray | None) -> Looked:
    suffix = ending(path)
    if suffix in POSTERIORS:
        if not path.exists():
            raise FileError("the file does not exist; check the path")
        return Looked(path, "posterior", "a posterior")
    if path.is_dir():
        return _annotations(path, opened_as(path, {}, classes))
    suffix_of(path, SUFFIXES)
    if suffix == ".npy":
        values = read_npy(path)
        counts = values.dtype.kind in "iu" and values.ndim == 2 and (values.sum(axis=1) > 1).any()
        return _annotations(path, opened_as(path, {}, classes)) if counts else _matrix(path, classes)
    if suffix == ".txt":
        return _text(path, classes)
    source = opened_as(path, {}, classes)
    if format_of(source, TOOLS) is not None:
        return _annotations(path, source)
    if suffix in TABLES:
        return _table(path, source, classes)
    if isinstance(source.content, Mapping) and (said := predicted_labels(path, ())) is not None:
        return of_one_rater(path, said["case"], said["label"], {})
    return _of_json(path, source, classes) or _annotations(path, source)


def _of_json(path: Path, source: Source, classes: np.ndarray | None) -> Looked | None:
    """Take records without annotators as predictions, or as labels of one rater; None of any others."""
    first = next(iter(source.records), None)
    keys = list(map(str, first)) if isinstance(first, Mapping) else []
    if (found := outcomes_in(path, keys)) is not None:
        return _outcomes(path, found)
    if not keys or find("annotator", keys) is not None or format_of(source, OF_ANSWERS) is not None:
        return None
    try:
        frame = frame_of_json(source.content, classes)
    except PredictionError:
        return None
    rest = list(frame)
    if rest == [PREDICTED[0]] and any(isinstance(one, Mapping) for one in frame[rest[0]]):
        return None
    if rest == [PREDICTED[0]] and frame.index.name is not None:
        return of_one_rater(path, frame.index.tolist(), frame[rest[0]].tolist(), {})
    return _matrix(path, classes, frame) if rest and rest != [PREDICTED[0]] else None


def _text(path: Path, classes: np.ndarray | None) -> Looked:
    lines = [line.strip() for line in lines_of(read_text(path))]
    if {*lines} <= _RISKS:
        return Looked(path, "risks", f"risk levels of {len(lines):,} classes")
    if all(all(map(is_number, line.replace(",", " ").split())) for line in lines if line):
        return _matrix(path, classes)
    names = read_classes(path)
    return Looked(path, "classes", f"names of {len(names):,} classes, {_named(names)}", classes=names)


def _table(path: Path, source: Source, classes: np.ndarray | None) -> Looked:
    names = list(map(str, source.names))
    if {"class", "risk"} == {*names}:
        return Looked(path, "risks", "risk levels of classes", {"class": "class", "risk": "risk level"})
    if (found := outcomes_in(path, names)) is not None:
        return _outcomes(path, found)
    known = format_of(source)
    annotated = _PEOPLE & {*names} or all(find(role, names) is not None for role in ("case", "annotator", "label"))
    scored = is_of_scores(names) and find("annotator", names) is not None
    if scored or (known is not None and known.name not in ("table", "counts", "scores")) or annotated:
        try:
            return _annotations(path, source)
        except ComparisonsError:
            return _outcomes(path, comparisons_in(path))
        except PlausiblyError:
            if (found := _by_words(path, names, classes)) is None:
                raise
            return found
    columns = read_columns(path)
    case = find("case", names, {"case": CASE})
    rest = [name for name in names if name != case]
    numbers = [name for name in rest if is_numeric(columns[name])]
    labels = [name for name in rest if name in PREDICTED]
    if not labels and (label := find("label", rest)) is not None and (label != "category" or _is_true(path)):
        labels = [label]
    scored = classes is not None and {*classes.tolist()} <= {*rest}  # a class may be called label
    if not labels and len(rest) == 1 and _is_true(path) and all(_is_whole(cell) for cell in list_of(columns[rest[0]])):
        labels, numbers = rest, []
    if case is not None and len(labels) == 1 and not scored and {*rest} == {*labels, *numbers}:
        cells = list_of(columns[labels[0]])
        return of_one_rater(path, list_of(columns[case]), cells, {case: "case", labels[0]: "label"})
    if {name.strip().lower() for name in names} & SURVEY and case is None:
        return _annotations(path, source)  # whose reader says how to take a survey
    several = case is None or len({*list_of(columns[case])}) < len(columns[case])
    if several and (found := _by_words(path, names, classes)) is not None:
        return found
    if case is None:
        refuse_unknown(names)
    if len(numbers) == len(rest):
        table = [list_of(columns[name]) for name in rest]
        whole = all(float(cell).is_integer() for column in table for cell in column)
        counted = whole and len(rest) > 1 and any(sum(map(float, row)) != 1 for row in zip(*table, strict=True))
        return _annotations(path, source) if counted else _matrix(path, classes)
    read = [] if case is None or find("annotator", rest) is None else list_of(columns[find("case", names) or case])
    if case is None or (len({*read}) < len(read) and find("system", names, OUTCOMES) is None):
        return _annotations(path, source)  # whose reader says what is missing
    if find("system", names, OUTCOMES) is not None and len({*list_of(columns[case])}) < len(columns[case]):
        raise FileError(
            "cases have several rows; if these are outcomes of systems, write a row for each outcome, with the columns "
            "system, case, rater and outcome, and not a column for each rater; if they are predictions, a row for each "
            "case, with a column for each classifier"
        )
    groups = {name: "group of cases" for name in rest}
    cases = np.array(list_of(columns[case]), str)
    words = f"groups of {many(len(cases), 'case')}"
    return Looked(path, "groups", words, {case: "case", **groups}, cases=cases, by=rest, clusters=_cluster(rest))


def _outcomes(path: Path, found: Found) -> Looked:
    read = found.outcomes
    words = f"outcomes ({read.quantity}) of {many(len(read.systems), 'system')}: "
    words += f"{len(read.value):,} in {len(read.cases):,} "
    people, judges = len(read.people), len(read.judges)
    words += f"cases, by {people:,} {'person' if people == 1 else 'people'} and {judges:,} judge{'s' * (judges != 1)}"
    words += " (a guess: correct it with --people)" if found.guessed else ""
    return Looked(path, "outcomes", words, found.columns, read, options=found.words)


def _by_words(path: Path, names: Sequence[str], classes: np.ndarray | None) -> Looked | None:
    """Read annotations some columns of which only look like their roles, which commands are told; None if not so."""
    found = roles_by_words(names)
    roles = {role: like[0] for role, like in found.items() if len(like) == 1}
    there = {*roles, *(role for role in ROLES if find(role, names) is not None)}
    if not roles or len(roles) < len(found) or not {"case", "annotator"} < there:
        return None
    try:
        read = _annotations(path, opened_as(path, roles, classes))
    except PlausiblyError:
        return None
    return replace(read, asked=roles, words=f"{read.words}, if columns hold what they are called after")


def _is_whole(cell: Any) -> bool:
    """Whether a cell is no number, or a whole one, which may stand for a class."""
    return not is_number(str(cell)) or float(cell).is_integer()


def _matrix(path: Path, classes: np.ndarray | None, frame: pd.DataFrame | None = None) -> Looked:
    matrix = read_matrix(path if frame is None else frame, PredictionError, classes, labels=classes is not None)
    n = matrix.values.shape[1]
    names = None if matrix.columns is None else np.array(matrix.columns)
    what = f"numbers for {n:,} classes" if n > 1 else "one number"
    role: Role = "plausibilities" if _is_true(path) else "predictions"
    words = f"{role} of {many(len(matrix.values), 'case')}, {what} each"
    words += ", no classifier's by the name of the file" if role == "plausibilities" else ""
    columns = {} if matrix.cases is None else {"case": "case"}
    columns |= {} if names is None else {str(name): "score of a class" for name in names}
    return Looked(path, role, words, columns, matrix, cases=matrix.cases, classes=names if n > 1 else None)


def of_one_rater(path: Path, cases: Sequence[Any], labels: Sequence[Any], columns: Mapping[str, str]) -> Looked:
    given = [str(label) for label in labels if label is not None and str(label).strip()]
    found = np.array(list(dict.fromkeys(given)), str)
    role: Role = "gold labels" if _is_true(path) else "labels of one rater"
    words = f"{role} of {many(len(cases), 'case')}, {len(found):,} different, {_named(found)}"
    words += f", {len(labels) - len(given):,} blank" if len(given) < len(labels) else ""
    return Looked(path, role, words, columns, cases=np.array(cases, str), classes=found)


def opened_as(source: Any, asked: Mapping[str, str], classes: np.ndarray | None) -> Source:
    """Open a file, or files by one annotator each, as options say."""
    missing = None if "missing" not in asked else asked["missing"].split(",")
    rest = {name: asked.get(name) for name in ("layout", "control", "repeats")}
    roles = {role: asked.get(role) for role in (*ROLES, "count")}
    return open_any(source, roles, missing=missing, classes=classes, **rest)


def _readings(path: Path, source: Source, condition: str) -> Looked | None:
    """Take a table in which annotators read a case once under each of some conditions; None of any other."""
    who, case = (find(role, source.names) for role in ("annotator", "case"))
    if source.repeats is not None or source.path is None or None in (who, case) or ending(path) not in TABLES:
        return None
    texts = source.texts
    known = {who, case, *(find(role, source.names) for role in ("label", "score"))}
    for name in [condition] if condition else sorted(texts.keys() - known):
        readings = [*zip(texts[case], texts[who], texts[name], strict=True)]
        different, pairs = {*texts[name]}, {reading[:2] for reading in readings}
        unlike = None not in different and 1 < len(different) <= _MOST_CONDITIONS
        if not unlike or not len(pairs) < len({*readings}) == len(readings):
            continue
        labels = Labels.of(replace(source, repeats="readings"))
        words = f"readings in {many(len(different), 'condition')} ({some(sorted(different), 9)}): {labels}"
        taken = {one: what for one, what in _taken(source).items() if what in ROLES} | {name: "condition"}
        return Looked(path, "labels", words, taken, labels=labels, cases=labels.cases, conditions=name)
    return None


def _annotations(path: Path, source: Source) -> Looked:
    if CONDITION in source.names and (readings := _readings(path, source, CONDITION)) is not None:
        return readings
    try:
        labels = None if source.folder and source.parts is None else Labels.of(source)
    except PlausiblyError:
        labels = None
    known = format_of(source)
    control, questions = None, []
    if known is not None and known.verdicts is not None:
        verdicts = [one for one in known.verdicts(source) if not (one.of_model or one.aside)]
        questions = list(dict.fromkeys(one.question for one in verdicts))
        control = questions[0] if len(questions) > 1 and source.control is None else None
    if labels is not None and _are_objects(labels) and (known is None or known.name in ("table", "records", "nested")):
        words = f"labels of objects such as boxes or spans: {labels}"
        return Looked(path, "labels", words, _taken(source), labels=labels, cases=labels.cases)
    try:
        read = annotations_of(replace(source, control=control or source.control))
    except PlausiblyError as error:
        if source.classes is not None:
            return _annotations(path, replace(source, classes=None))  # whose classes do not fit, which is told
        if isinstance(error, SecondAnswers) and (readings := _readings(path, source, "")) is not None:
            return readings
        if labels is None or not comparable(labels):
            raise
        why = str(error).removeprefix(f"{path}: ")
        words = f"labels of any type: {labels}, but no annotations ({why})"
        return Looked(path, "labels", words, _taken(source), labels=labels, cases=labels.cases)
    if isinstance(read, Annotations):
        tell_doubts(read, source)
    form = "scores" if isinstance(read, Scores) else known.name if known is not None else "annotations"
    taken = _taken(source)
    by = [name for name, what in taken.items() if what == "group of cases"]
    words = f"annotations, read as {form}: {understood(read, source, by)}"
    if control is not None:
        words += f"; of the questions {some(questions, 9)}, {control!r} is read"
    return Looked(
        path,
        "annotations",
        words,
        taken,
        read,
        labels,
        read.cases,
        None if isinstance(read, Scores) else read.classes,
        control,
        [name for name in by if not name.lower().startswith(_CLUSTERS)],
        _cluster(by),
        known is not None and known.verdicts is not None,
    )


def _taken(source: Source) -> dict[str, str]:
    """Say what the columns of a long table are taken for."""
    if source.content is not None or source.path is None or ending(source.path) not in TABLES:
        return {}
    return {source.roles.get(name, name): what for name, what in _taken_by_role(source).items()}


def _taken_by_role(source: Source) -> dict[str, str]:
    names = list(map(str, source.names))
    roles = {"case": COLUMNS["case"], "annotator": (*COLUMNS["annotator"],)}
    roles |= {"label": ("class", "label"), "score": ("score",), "rank": ("rank",), "confidence": ("confidence",)}
    roles |= {"order": WHEN}
    found = {name: next((role for role, words in roles.items() if name in words), "") for name in names}
    scored = is_of_scores(names, source.columns)
    for role in ("case", "annotator", "score" if scored else "label"):
        if role not in found.values() and (further := find(role, names)) is not None:
            found[further] = role
    if (
        "" not in found.values()
        or "case" not in found.values()
        or not ("annotator" in found.values() or _PEOPLE & {*names})
    ):
        return {name: what for name, what in found.items() if what}
    known = read_metadata(source)
    for name in (name for name, role in found.items() if not role):
        values = known[name] if name in known else pd.Series([None])
        groups = values.nunique() <= _MOST_GROUPS or name.lower().startswith(_CLUSTERS)
        found[name] = "group of cases" if groups and not values.isin(["", None]).any() else "not used"
    return found


def _are_objects(labels: Labels) -> bool:
    """Whether labels are lists that hold numbers, such as boxes and spans, rather than rankings or tied classes."""
    values = labels.values.tolist()
    leaves = [one for value in values if isinstance(value, list | tuple) for one in value[:1]]
    leaves = [one[0] if isinstance(one, list | tuple) and len(one) else one for one in leaves]
    numbers = bool(leaves) and all(isinstance(leaf, int | float) for leaf in leaves)
    return numbers and all(isinstance(value, list | tuple) for value in values)


def _is_true(path: Path) -> bool:
    """Whether the name of a file says that it holds the truth."""
    return any(word in path.stem.lower() for word in _GOLD)


def _cluster(names: Sequence[str]) -> str | None:
    return next((name for name in names if name.lower().startswith(_CLUSTERS)), None)


def is_numeric(column: pa.ChunkedArray) -> bool:
    return is_number_type(column.type) or all(isinstance(one, str) and is_number(one) for one in list_of(column))


def _named(names: np.ndarray) -> str:
    return some(names[:3].tolist(), 3) + (", …" if len(names) > 3 else "")


def comparable(labels: Labels) -> bool:
    """Whether named annotators give a case one label each, and some case has several."""
    twice = (np.diff(labels.case) == 0) & (np.diff(labels.annotator) == 0)
    several = (np.diff(labels.start) > 1).any() and len(labels.cases) > 1
    return bool(several and not twice.any() and not labels.numbered and len(labels.annotators) > 1)


def with_classes(looked: Looked, classes: np.ndarray) -> Looked:
    """Look again once the classes are known, which say more of what annotations and predictions name."""
    again = look(looked.path, classes, looked.files, looked.asked)
    return looked if again.role is None else again
