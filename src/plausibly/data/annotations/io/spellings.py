"""Names of columns and fields: in each list the usual name first, then what other tables call the same."""

import re
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar

import numpy as np

from plausibly.base.errors import AnnotationError, PlausiblyError, PlausiblyWarning, suggest
from plausibly.base.names import some

NAMES = ("case", "annotator")  #: columns of names; those of any other kind keep their type
#: Columns of a long table, with a row for each annotation or part of one.
COLUMNS: dict[str, tuple[str, ...]] = {
    "case": ("case", "task", "item"),
    "annotator": ("annotator", "worker"),
    "class": ("class", "label"),
    "label": ("label", "class"),
}
#: Fields of a record for each case: its name, answers of annotators, their names, and a soft label instead.
CASE = ("case", "id", "task", "item", "uid", "pairID")
ANSWERS = ("annotations", "labels", "annotator_labels")
PEOPLE = ("annotators", "annotator_ids", "workers")
SOFT = ("soft_label", "soft_labels")
#: Outcomes of systems: a row for each system, case and rater, or, of pairs, for each two systems that were compared.
OUTCOMES = {
    "system": ("system", "model", "candidate"),
    "system_a": ("system_a", "model_a", "left"),
    "system_b": ("system_b", "model_b", "right"),
    "case": ("case", "prompt", "task", "item", "question"),
    "rater": ("rater", "annotator", "judge", "worker"),
    "outcome": ("outcome", "label", "score", "verdict", "winner", "rating", "class"),
    "date": ("timestamp", "created_at", "create_time", "date"),
}
#: A single column of predictions that names the class of each row.
PREDICTED = ("prediction", "predicted", "label", "class", "y_pred", "pred", "predicted_label", "predicted_class")
LABELLED = "annotation"  #: column of labels, or else of numbers of annotators who have no names
_MEANT = (LABELLED, "uid")  # further names that mean nothing else
_IDS = ("case_id", "task_id", "image_id", "item_id", "sample_id", "example_id", "question_id", "document_id", "doc_id")
_IDS += ("comment_id", "prompt_id", "test_id", "study_id", "instance_id", "record_id", "post_id", "tweet_id", "pair_id")
_RATERS = ("rater", "reader", "reviewer", "grader", "coder", "expert", "judge", "labeler", "labeller", "evaluator")
_RATERS += ("user", "annotator_id", "rater_id", "reader_id", "reviewer_id", "grader_id", "coder_id", "expert_id")
_RATERS += ("worker_id", "user_id", "user_name", "username", "annotated_by", "annotator_name", "rad_id", "uid")
_RATINGS = ("rating", "grade")
_CLASSES = (
    "class_name",
    "diagnosis",
    "finding",
    "category",
    "answer",
    "verdict",
    "decision",
    "choice",
    "response",
    *_RATINGS,
)
#: Names that count where none of the usual ones is there, and exactly one of these is.
FURTHER: dict[str, tuple[str, ...]] = {
    "case": (*_IDS, "image", "sample", "example", "test", "study"),
    "annotator": _RATERS,
    "class": _CLASSES,
    "label": _CLASSES,
    "score": _RATINGS,
    "system": ("provider", "experiment", "system_name", "model_name", "model_id"),
    "rater": (*_RATERS, "judge_id", "feedback_source"),
    "outcome": ("grade", "feedback", "result", "passed", "correct", "preference", "preferred"),
}
TOTALS = "total", "sum", "n", "count", "counts", "number", "votes", "n_labels", "n_votes"  #: what totals are called
#: Names that count where none of those is there, and exactly one of these is.
LAST = {
    "case": ("id", "subject", "subject_id", "subject_ids", "patient", "patient_id", "scan", "slide", "document", "text")
}
#: Classes that stand for a success, each with the one that stands for a failure.
SUCCESSES = {
    "pass": "fail",
    "passed": "failed",
    "correct": "incorrect",
    "right": "wrong",
    "yes": "no",
    "true": "false",
    "good": "bad",
    "positive": "negative",
    "present": "absent",
    "success": "failure",
    "accept": "reject",
    "accepted": "rejected",
    "y": "n",
    "1": "0",
    "c": "i",
}
_NOTHING = {
    "none",
    "normal",
    "healthy",
    "well",
    "unremarkable",
    "benign",
    "negative",
    "absent",
    "no finding",
    "nothing",
    "control",
    "no",
    "other",
}
#: Grades of Inspect AI: correct, partial, incorrect, no answer; what each counts.
GRADES = {"c": 1.0, "p": 0.5, "i": 0.0, "n": 0.0}


def success_in(names: Iterable[str]) -> str | None:
    """Return the name that stands for a success, if the one for its failure is there, too; None if none is known.

    Names of one character are known only where there are no others than a pair, or than Inspect's grades.

    Examples
    --------
    >>> success_in(["error", "fail", "pass"]), success_in(["C", "I"]), success_in(["A", "B", "C", "I"])
    ('pass', 'C', None)
    """
    given = {str(name).strip().lower(): str(name) for name in names}
    for success, failure in SUCCESSES.items():
        alone = len(success) > 1 or {*given} == {success, failure} or (success == "c" and {*given} <= {*GRADES})
        if alone and {success, failure} <= {*given}:
            return given[success]
    return None


def in_two_codes(names: Iterable[str]) -> tuple[str, str] | None:
    """Return two names that stand for a success where both are there beside those for their failures; None otherwise.

    Examples
    --------
    >>> in_two_codes(["yes", "no", "1", "0"]), in_two_codes(["yes", "no", "1", "2"])
    (('yes', '1'), None)
    """
    given = {str(name).strip().lower(): str(name) for name in names}
    there = [given[good] for good, bad in SUCCESSES.items() if good != "c" and {good, bad} <= {*given}]
    return (there[0], there[1]) if len(there) > 1 else None


def in_one_code(names: Iterable[str]) -> bool:
    """Whether names may be of one code: all numbers, all letters, or all words, which do not stand for other answers.

    Examples
    --------
    >>> in_one_code(["no", "yes"]), in_one_code(["benign", "malignant"]), in_one_code(["no", "positive"])
    (True, True, False)
    >>> in_one_code(["no", "1"]), in_one_code(["benign", "M"])
    (False, False)
    """
    plain = [str(name).strip().lower() for name in names]
    forms = {"number" if re.fullmatch(r"[-+\d.]+", name) else len(name) == 1 for name in plain}
    known = [{code for code in SUCCESSES.items() if name in code} for name in plain]
    return len(forms) == 1 and (not all(known) or bool(set.intersection(*known)))


def positive_of_two(classes: Sequence[str] | np.ndarray) -> int:
    """Return which of two classes is positive unless one is named.

    That which stands for a success; else that whose other stands for nothing found, or is its negation; or the second.

    Examples
    --------
    >>> [positive_of_two(one) for one in (["fracture", "no fracture"], ["ill", "well"], ["a", "b"])]
    [0, 0, 1]
    """
    if success_in(classes) is not None:
        return 0 if success_in(classes) == str(classes[0]) else 1
    first, second = (str(name).strip().casefold() for name in classes)
    return 0 if _is_nothing(second, first) and not _is_nothing(first, second) else 1


def _is_nothing(name: str, other: str) -> bool:
    """Whether a class stands for nothing found, or is the negation of another."""
    return name in _NOTHING or re.fullmatch(rf"(?:no|non|not|without)[\W_]*{re.escape(other)}", name) is not None


def find(name: str, columns: Iterable[str], spellings: Mapping[str, tuple[str, ...]] = COLUMNS) -> str | None:
    """Return the name under which a table has a column: a usual one, or the only further one; None if it has none.

    Examples
    --------
    >>> find("case", ["image_id", "label"]), find("case", ["task", "image_id"]), find("case", ["image_id", "item_id"])
    ('image_id', 'task', None)
    """
    columns = list(columns)
    usual = called(spellings.get(name, (name,)), columns)
    further = [] if usual else _further(name, columns)
    return usual[0] if usual else further[0] if len(further) == 1 else None


def called(spellings: Iterable[str], columns: Iterable[str]) -> list[str]:
    """Columns that have one of some names, in the order of these; capital letters and kinds of blanks do not count.

    Examples
    --------
    >>> called(["case", "case_id"], ["Case ID", "Case ", "note"])
    ['Case ', 'Case ID']
    """
    columns = list(columns)
    plain = {re.sub(r"\s", "_", one.strip().lower()): one for one in reversed(columns)} | {one: one for one in columns}
    return [plain[one if one in plain else one.lower()] for one in spellings if one in plain or one.lower() in plain]


def _further(name: str, columns: list[str]) -> list[str]:
    """Further names of a column that a table has, or else last ones; an annotation is a label beside annotators."""
    found = called(FURTHER.get(name, ()), columns) or called(LAST.get(name, ()), columns)
    if not found and name in ("class", "label") and LABELLED in columns and find("annotator", columns) is not None:
        return [LABELLED]
    return found


def spelling_of(
    name: str,
    columns: Iterable[str],
    needed: str,
    *,
    several: str = "keep one",
    spellings: Mapping[str, tuple[str, ...]] = COLUMNS,
    error: type[PlausiblyError] = AnnotationError,
) -> str:
    """Return the name under which a table has a column, see :func:`find`; warn if it is one of the further names.

    `needed` and `several` are the advice where the column is missing, and where it is there under two names.
    """
    columns = list(columns)
    there = called(spellings.get(name, (name,)), columns)
    if len(there) > 1:
        raise error(f"the table has both a column {there[0]!r} and a column {there[1]!r}; {several}")
    further = _further(name, columns)
    if not there and len(further) == 1:
        if further[0].strip().lower() not in _MEANT:
            words = f"the column {further[0]!r} is taken for {name}"
            if name == "score":
                words += f": numbers in their order; for names, label={further[0]!r} (--label {further[0]}) and classes"
            warnings.warn(words, PlausiblyWarning, stacklevel=2)
        return further[0]
    if not there and further:
        raise error(
            f"the table has no column {name!r}, but {' and '.join(map(repr, further))}, each of which may be it; "
            f"say which with {name}= (--{name})"
        )
    if not there:
        raise error(f"the table has no column {name!r} (columns found: {', '.join(map(repr, columns))}); {needed}")
    return there[0]


#: Columns of further tables, such as those of predictions, by role.
_ALSO: ContextVar[Mapping[str, str] | None] = ContextVar("_ALSO", default=None)


def name_columns(roles: Mapping[str, str | None]) -> None:
    """Let further tables, such as those of predictions, call the case and the label as these do, if not as usual."""
    _ALSO.set({role: name for role in ("case", "label") if (name := roles.get(role)) is not None})


def further_roles(header: Collection[str]) -> dict[str, str]:
    """Columns of a further table that :func:`name_columns` named, by role."""
    also = (_ALSO.get() or {}).items()
    return {role: name for role, name in also if name in header and find(role, header) is None}


def renamed(names: Iterable[str], roles: Mapping[str, str]) -> dict[str, str]:
    """Return the name under which each column is read: its role, if the user gave it one, else its own.

    A column that would be taken for such a role, had the user not named another one, goes in parentheses.

    Raises
    ------
    AnnotationError
        If there is no column of a name that was given, or one has two roles.

    Examples
    --------
    >>> renamed(["photo", "case", "label"], {"case": "photo"})
    {'photo': 'case', 'case': '(case)', 'label': 'label'}
    """
    names = list(names)
    by_name: dict[str, str] = {}
    for role, name in roles.items():
        if name not in names:
            raise AnnotationError(
                f"there is no column {name!r} for {role}; {suggest(name, names, f'choose from {some(names, 9)}')}"
            )
        if name in by_name:
            raise AnnotationError(f"the column {name!r} is named for {by_name[name]} and for {role}; give each its own")
        by_name[name] = role
    spelled = {one for role in roles for one in COLUMNS.get("label" if role == "score" else role, ())} | {*roles}
    return {name: by_name.get(name, f"({name})" if name in spelled else name) for name in names}
