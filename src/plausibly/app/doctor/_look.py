"""One file: what it is, what it holds, and what its columns are taken for."""

import re
import shlex
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa

from plausibly.app.doctor._outcomes import Found, comparisons_in, outcomes_in
from plausibly.base.checks import are_percentages
from plausibly.base.errors import FileError, PlausiblyError, PlausiblyWarning, PredictionError
from plausibly.base.names import many, some
from plausibly.data.annotations import Annotations, Scores, read_annotations, read_classes
from plausibly.data.annotations.io.answers import whole
from plausibly.data.annotations.io.columns import is_number, is_number_type, list_of
from plausibly.data.annotations.io.files import TABLES, ending, lines_of, naming, read_npy, read_text, suffix_of
from plausibly.data.annotations.io.formats import FORMATS, OF_ANSWERS, TOOLS, format_of
from plausibly.data.annotations.io.long_table import WHEN, is_of_scores
from plausibly.data.annotations.io.matrix import SUFFIXES as MATRICES
from plausibly.data.annotations.io.matrix import Matrix, read_matrix
from plausibly.data.annotations.io.predicted import frame_of_json, predicted_labels
from plausibly.data.annotations.io.source import Source, open_files, open_source
from plausibly.data.annotations.io.spellings import CASE, COLUMNS, OUTCOMES, PREDICTED, find
from plausibly.data.annotations.io.table_files import read_columns
from plausibly.data.annotations.shown import ComparisonsError
from plausibly.data.labels import Labels, read_labels

Role = Literal[
    "annotations",
    "labels",
    "predictions",
    "labels of one rater",
    "gold labels",
    "classes",
    "risks",
    "plausibilities",
    "groups",
    "outcomes",
    "posterior",
]
POSTERIORS = (".nc", ".zarr")
SUFFIXES = tuple(dict.fromkeys([*(one for known in FORMATS for one in known.suffixes), *MATRICES, *POSTERIORS]))
_RISKS = {"0", "1", "2"}
_PEOPLE = {*COLUMNS["annotator"], "annotation"}
_CLUSTERS = ("patient", "subject", "cluster")  # how columns of clusters of cases begin
_GOLD = ("gold", "truth", "true", "reference", "biopsy", "outcome", "expected")  # parts of names of files
_MOST_GROUPS = 20
_ROLES = ("case", "annotator", "label", "score")  #: in the order in which options name their columns
#: Words of names of columns that hint at what they are; in the order in which columns are looked for.
_HINTS = {
    "annotator": "annotator reader rater coder expert judge reviewer grader labeler labeller evaluator user worker",
    "label": "label class diagnosis answer response verdict category decision finding choice",
    "score": "score rating grade",
    "case": "case id image item task study question prompt document sample example text scan slide",
}


@dataclass(frozen=True)
class Looked:
    """What a file is taken for.

    Parameters
    ----------
    path
        The file.
    role
        What it is for; None if it cannot be read.
    words
        A sentence with its format and content, or on why it cannot be read.
    columns
        Names of columns with what each is taken for.
    content
        What was read of it: annotations, scores, labels or a matrix; None where that is not needed.
    labels
        The same as labels for measures of agreement; None if it has no such form.
    cases, classes
        Names of cases and of classes, as far as the file has any.
    control
        Question of an export that is read, of several there are.
    by, clusters
        Columns with groups of cases, and one with clusters of cases, such as patients.
    of_tool
        Whether it is the export of a tool that tests language models.
    options
        Words of the command for outcomes of systems.
    column
        Column of a table with one for each classifier, which ends the path then.
    files
        Files by one annotator each, if these are several, which the path lists then.
    roles
        Columns by role, of names that only look like it, which commands have to be told.
    """

    path: Path
    role: Role | None
    words: str
    columns: Mapping[str, str] = field(default_factory=dict)
    content: Any = None
    labels: Labels | None = None
    cases: np.ndarray | None = None
    classes: np.ndarray | None = None
    control: str | None = None
    by: Sequence[str] = ()
    clusters: str | None = None
    of_tool: bool = False
    options: Sequence[str] = ()
    column: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)

    @property
    def given(self) -> list[str]:
        """Words by which a command takes the file, or the files, and knows its columns."""
        named = [word for role, name in self.roles.items() for word in (f"--{role}", name)]
        return [*([f"{who}={file}" for who, file in self.files.items()] or [str(self.path)]), *named]

    def __str__(self) -> str:
        meant: dict[str, list[str]] = {}
        for name, what in self.columns.items():
            meant.setdefault(what, []).append(name)
        taken = "; ".join(f"{what}: {some(names)}" for what, names in meant.items())
        return f"{self.path}: {self.words}{f' ({taken})' if taken else ''}"


def look(path: Path, classes: np.ndarray | None = None, files: Mapping[str, str] | None = None) -> Looked:
    """Look into a file, or files by one annotator each; whatever is wrong with it is its sentence."""
    try:
        with warnings.catch_warnings(), naming(path):
            warnings.simplefilter("ignore", PlausiblyWarning)
            if files:
                return replace(_annotations(path, open_files(files), classes, files), files=files)
            return _look(path, classes)
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
        return _annotations(path, open_source(path), classes)
    suffix_of(path, SUFFIXES)
    if suffix == ".npy":
        values = read_npy(path)
        counts = values.dtype.kind in "iu" and values.ndim == 2 and (values.sum(axis=1) > 1).any()
        return _annotations(path, open_source(path), classes) if counts else _matrix(path, classes)
    if suffix == ".txt":
        return _text(path, classes)
    source = open_source(path)
    if format_of(source, TOOLS) is not None:
        return _annotations(path, source, classes)
    if suffix in TABLES:
        return _table(path, source, classes)
    if isinstance(source.content, Mapping) and (said := predicted_labels(path, ())) is not None:
        return _of_one(path, said["case"], said["label"], {})
    return _of_json(path, classes) or _annotations(path, source, classes)


def _of_json(path: Path, classes: np.ndarray | None) -> Looked | None:
    """Take records without annotators as predictions, or as labels of one rater; None of any others."""
    source = open_source(path)
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
    if rest == [PREDICTED[0]] and frame.index.name is not None:
        return _of_one(path, frame.index.tolist(), frame[rest[0]].tolist(), {})
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
            return _annotations(path, source, classes)
        except ComparisonsError:
            return _outcomes(path, comparisons_in(path))
        except PlausiblyError:
            if (found := _by_words(path, names, classes)) is None:
                raise
            return found
    columns = read_columns(path)
    case = find("case", names, {"case": CASE})
    rest = [name for name in names if name != case]
    numbers = [name for name in rest if _is_numeric(columns[name])]
    labels = [name for name in rest if name in PREDICTED]
    if not labels and (label := find("label", rest)) is not None and (label != "category" or _is_true(path)):
        labels = [label]
    scored = classes is not None and {*classes.tolist()} <= {*rest}  # a class may be called label
    if not labels and len(rest) == 1 and _is_true(path) and all(_is_whole(cell) for cell in list_of(columns[rest[0]])):
        labels, numbers = rest, []
    if case is not None and len(labels) == 1 and not scored and {*rest} == {*labels, *numbers}:
        cells = list_of(columns[labels[0]])
        return _of_one(path, list_of(columns[case]), cells, {case: "case", labels[0]: "label"})
    several = case is None or len({*list_of(columns[case])}) < len(columns[case])
    if several and (found := _by_words(path, names, classes)) is not None:
        return found
    if case is None and "case" in (roles := _roles_by_words(names)):
        looks = ", ".join(f"{some(like)} looks like {role}" for role, like in roles.items())
        options = " ".join(f"--{role} {shlex.quote(like[0])}" for role, like in roles.items())
        raise FileError(
            f"no column has a name that is known, but {looks}: say so, {options}, or, in predictions, call it case"
        )
    if len(numbers) == len(rest):
        table = [list_of(columns[name]) for name in rest]
        whole = all(float(cell).is_integer() for column in table for cell in column)
        counted = whole and len(rest) > 1 and any(sum(map(float, row)) != 1 for row in zip(*table, strict=True))
        return _annotations(path, source, classes) if counted else _matrix(path, classes)
    if case is None:
        return _annotations(path, source, classes)  # whose reader says what is missing
    if find("system", names, OUTCOMES) is not None and len({*list_of(columns[case])}) < len(columns[case]):
        raise FileError(
            "cases have several rows; if these are outcomes of systems, write a row for each outcome, with the columns "
            "system, case, rater and outcome, and not a column for each rater"
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


def _roles_by_words(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns of unknown names that look like a role, by role, by words in their names."""
    usual = {role: name for role in _HINTS if (name := find(role, names)) is not None}
    called: dict[str, list[str]] = {}
    for role, hints in _HINTS.items():
        free = [name for name in names if name not in {*usual.values(), *chain(*called.values())}]
        like = [name for name in free if {*re.split(r"[^a-z]+", name.lower())} & {*hints.split()}]
        if like and role not in usual and not (role == "score" and "label" in {*usual, *called}):
            called[role] = like
    return {role: called[role] for role in _ROLES if role in called}


def _by_words(path: Path, names: Sequence[str], classes: np.ndarray | None) -> Looked | None:
    """Read annotations some columns of which only look like their roles, which commands are told; None if not so."""
    found = _roles_by_words(names)
    roles = {role: like[0] for role, like in found.items() if len(like) == 1}
    there = {*roles, *(role for role in _ROLES if find(role, names) is not None)}
    if not roles or len(roles) < len(found) or not {"case", "annotator"} < there:
        return None
    try:
        read = _annotations(path, open_source(path, roles=roles), classes)
    except PlausiblyError:
        return None
    return replace(read, roles=roles, words=f"{read.words}, if columns hold what they are called after")


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


def _of_one(path: Path, cases: Sequence[Any], labels: Sequence[Any], columns: Mapping[str, str]) -> Looked:
    given = [str(label) for label in labels if label is not None and str(label).strip()]
    found = np.array(list(dict.fromkeys(given)), str)
    role: Role = "gold labels" if _is_true(path) else "labels of one rater"
    words = f"{role} of {many(len(cases), 'case')}, {len(found):,} different, {_named(found)}"
    words += f", {len(labels) - len(given):,} blank" if len(given) < len(labels) else ""
    return Looked(path, role, words, columns, cases=np.array(cases, str), classes=found)


def _annotations(
    path: Path, source: Source, classes: np.ndarray | None, files: Mapping[str, str] | None = None
) -> Looked:
    try:
        column = "score" if is_of_scores(source.names, source.columns) else None
        named = {"score": column, **source.roles}
        labels = None if source.folder and not files else read_labels(files or path, **named)
    except PlausiblyError:
        labels = None
    known = format_of(source)
    control, questions = None, []
    if known is not None and known.verdicts is not None:
        verdicts = [one for one in known.verdicts(source) if not (one.of_model or one.aside)]
        questions = list(dict.fromkeys(one.question for one in verdicts))
        control = questions[0] if len(questions) > 1 else None
    if labels is not None and _are_objects(labels) and (known is None or known.name in ("table", "records", "nested")):
        words = f"labels of objects such as boxes or spans: {labels}"
        return Looked(path, "labels", words, _taken(source), labels=labels, cases=labels.cases)
    try:
        read = read_annotations(files or path, classes, control, **source.roles)
    except PlausiblyError as error:
        if classes is not None:
            return _annotations(path, source, None, files)  # whose classes do not fit, which is told
        if labels is None or not comparable(labels):
            raise
        why = str(error).removeprefix(f"{path}: ")
        words = f"labels of any type: {labels}, but no annotations ({why})"
        return Looked(path, "labels", words, _taken(source), labels=labels, cases=labels.cases)
    form = "scores" if isinstance(read, Scores) else known.name if known is not None else "annotations"
    words = f"annotations, read as {form}: {_size(read)}"
    if control is not None:
        words += f"; of the questions {some(questions, 9)}, {control!r} is read"
    taken = _taken(source)
    by = [name for name, what in taken.items() if what == "group of cases"]
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


def _size(read: Annotations | Scores) -> str:
    who = "anonymous annotators" if read.anonymous else many(len(read.annotators), "annotator")
    if isinstance(read, Scores):
        n = len(read.score)
        return f"{read.n_cases:,} cases, {n:,} scores from {read.score.min():g} to {read.score.max():g} by {who}"
    return f"{read.n_cases:,} cases, {read.n_annotations:,} annotations by {who}, {read.n_classes:,} classes"


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
    columns = {name: list_of(column) for name, column in source.cells.items()}
    case = columns[next(name for name, role in found.items() if role == "case")]
    for name in (name for name, role in found.items() if not role):
        pairs = {*zip(case, columns[name], strict=True)}
        constant = len(pairs) == len({*case})
        groups = constant and (len({*columns[name]}) <= _MOST_GROUPS or name.lower().startswith(_CLUSTERS))
        found[name] = "group of cases" if groups and "" not in columns[name] else "not used"
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


def _is_numeric(column: pa.ChunkedArray) -> bool:
    return is_number_type(column.type) or all(isinstance(one, str) and is_number(one) for one in list_of(column))


def _named(names: np.ndarray) -> str:
    return some(names[:3].tolist(), 3) + (", …" if len(names) > 3 else "")


def comparable(labels: Labels) -> bool:
    """Whether named annotators give a case one label each, and some case has several."""
    twice = (np.diff(labels.case) == 0) & (np.diff(labels.annotator) == 0)
    several = (np.diff(labels.start) > 1).any() and len(labels.cases) > 1
    return bool(several and not twice.any() and not labels.numbered and len(labels.annotators) > 1)


def as_classifier(one: Looked, main: Looked) -> Looked | None:
    """Take the export of a tool as predictions for annotated cases, if they are one rater's or a model's answers."""
    if not one.of_tool or main.of_tool or main.classes is None or one.cases is None:
        return None
    try:
        said = predicted_labels(one.path, {*main.classes.tolist()})
    except PlausiblyError:
        return None
    if said is None or not len(np.intersect1d(said["case"], main.cases)):
        return None
    found = _of_one(one.path, said["case"], said["label"], {})
    return replace(found, role="labels of one rater", words=f"{one.words}; here {found.words}", of_tool=True)


def as_scores(one: Looked, main: Looked) -> Looked | None:
    """Take a table with scores of all classes of annotations as predictions, as their reader does."""
    from plausibly.data.predictions import scores_of  # with SciPy, which takes long to import

    other = one.role in ("labels", "gold labels", "outcomes", "risks", "plausibilities") or one.of_tool
    if other or one is main or ending(one.path) not in TABLES or not isinstance(main.content, Annotations):
        return None
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", PlausiblyWarning)
            matrix = scores_of(one.path, main.content.classes, main.content.cases)
    except PlausiblyError:
        return None
    if matrix.labels or matrix.cases is None or not len(np.intersect1d(matrix.cases, main.content.cases)):
        return None
    if (one.role == "predictions" and not told) or (one.role == "annotations" and not are_percentages(matrix.values)):
        return None
    notes = "".join(f"; {str(note.message).removeprefix(f'{one.path}: ')}" for note in told)
    words = (
        f"predictions of {many(len(matrix.values), 'case')}, numbers for {main.content.n_classes:,} classes each{notes}"
    )
    return Looked(one.path, "predictions", words, content=matrix, cases=matrix.cases)


def as_classifiers(one: Looked, main: Looked) -> list[Looked]:
    """Take columns of a table as predictions of a classifier each: classes, or of two classes probabilities.

    Where the columns might be annotators instead, there are annotations already.
    """
    known = one.role in ("annotations", "groups", "predictions", None) and one is not main
    if not known or ending(one.path) not in TABLES or main.classes is None:
        return []
    classes, columns = {*main.classes.tolist()}, read_columns(one.path)
    case = find("case", columns, {"case": CASE})
    if case is None:
        return []
    cases, found = list_of(columns.pop(case)), []
    for name, column in columns.items():
        given = [cell is not None and bool(str(cell).strip()) for cell in list_of(column)]
        cells = [cell for cell, is_given in zip(list_of(column), given, strict=True) if is_given]
        path, named = Path(f"{one.path}:{name}"), {"column": name, "cases": np.array(cases, str)[given]}
        if cells and {str(whole(cell)) for cell in cells} <= classes:
            found.append(replace(_of_one(path, named["cases"], cells, {}), role="labels of one rater", **named))
        elif (
            len(classes) == 2
            and name not in classes
            and _is_numeric(column)
            and all(0 <= float(cell) <= 1 for cell in cells)
        ):
            matrix = Matrix(np.array(cells, float)[:, None], None, None)
            words = f"predictions of {many(len(cells), 'case')}, one number each"
            found.append(Looked(path, "predictions", words, content=matrix, **named))
    return found if len(found) > 1 else []


def with_classes(looked: Looked, classes: np.ndarray) -> Looked:
    """Look again once the classes are known, which say more of what annotations and predictions name."""
    again = look(looked.path, classes, looked.files)
    return looked if again.role is None else again
