"""What does not fit between annotations and what goes with them."""

import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from plausibly.app.doctor._looked import Looked
from plausibly.base.checks import are_percentages
from plausibly.base.errors import PlausiblyError, PlausiblyWarning
from plausibly.base.names import some
from plausibly.data.annotations import Annotations, Scores, read_risks
from plausibly.data.annotations.io.columns import is_number
from plausibly.data.annotations.io.matrix import Matrix
from plausibly.data.annotations.matching import called
from plausibly.data.labels import read_gold

PREDICTING = ("predictions", "labels of one rater")  #: roles of files of classifiers


def unfit(one: Looked, main: Looked) -> Iterator[str]:
    """Say why predictions, labels or groups cannot be used with annotations; nothing if they can."""
    cases = main.content.cases if main.cases is None else main.cases
    if one.cases is not None:
        absent, more = np.setdiff1d(cases, one.cases), np.setdiff1d(one.cases, cases)
        if told := called(absent, more, "its own"):
            lacks = f"{one.path} has no rows for {len(absent):,} of {len(cases):,} cases of {main.path}"
            yield f"{lacks}, such as {some(absent[:2])}: {told}."
            return
        if len(absent) and (one.role not in PREDICTING or len(absent) == len(cases)):
            yield (
                f"{one.path} has no rows for {len(absent):,} of {len(cases):,} cases of {main.path}, such as "
                f"{some(absent[:2])} (its own are such as {some(one.cases[:2])}): add them, or call the cases by the "
                "same names."
            )
            return
    elif isinstance(one.content, Matrix) and len(one.content.values) != len(cases):
        yield (
            f"{one.path} has {len(one.content.values):,} rows without names for {len(cases):,} cases of {main.path}: "
            "give a row for each, or a column case."
        )
        return
    if one.role == "predictions" and isinstance(one.content, Matrix) and are_percentages(one.content.values):
        yield f"{one.path} holds percentages: divide them by 100."
    if one.role in PREDICTING and isinstance(main.content, Annotations):
        yield from _unfit_classes(one, main.content, main)


def unpredicted(one: Looked, main: Looked) -> int:
    """Count annotated cases without a row."""
    return 0 if one.cases is None or main.cases is None else len(np.setdiff1d(main.cases, one.cases))


def unnamed(one: Looked, main: Looked) -> str | None:
    """Name of the one column of numbers that is called after neither of two classes; None if there is none."""
    from plausibly.data.annotations.io.class_columns import names_class

    read, matrix = main.content, one.content
    if not isinstance(matrix, Matrix) or not isinstance(read, Annotations) or read.n_classes != 2:
        return None
    if matrix.columns is None or matrix.values.shape[1] != 1:
        return None
    return None if names_class(matrix.columns[0], read.classes) else matrix.columns[0]


def extra_cases(one: Looked, main: Looked) -> int:
    """Count cases that are not annotated."""
    return 0 if one.cases is None or main.cases is None else len(np.setdiff1d(one.cases, main.cases))


def unfit_risks(risks: Looked, classes: Sequence[str]) -> str | None:
    """Say why risk levels do not fit the classes."""
    try:
        read_risks(risks.path, classes)
    except PlausiblyError as error:
        return f"{error}."
    return None


def unfit_gold(gold: Looked, main: Looked) -> str | None:
    """Say why gold labels do not fit annotations, which are ratings perhaps of what is so."""
    of = main.content if isinstance(main.content, Annotations) else main.labels
    if of is None:
        return None
    try:
        read_gold(gold.path, of, alike=isinstance(of, Annotations))
    except PlausiblyError as error:
        return f"{error}."
    return None


def _unfit_classes(one: Looked, read: Annotations, main: Looked) -> Iterator[str]:
    numbers = all(map(is_number, read.classes.tolist()))
    if isinstance(one.content, Matrix):
        from plausibly.data.predictions import scores_of

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PlausiblyWarning)
                scores_of(one.path, read.classes, read.cases, str(read.classes[-1]), ordered=numbers)
        except PlausiblyError as error:
            yield f"{one.path}: {error}."
    elif one.classes is not None:
        unknown = np.setdiff1d(one.classes, read.classes)
        if len(unknown) and not (numbers and all(map(is_number, unknown.tolist()))):
            yield (
                f"{one.path} names {some(unknown[:2])}, of {len(unknown):,} that are no classes of {main.path}: list "
                "all classes in a file, one per line, and give it, too."
            )


def is_scores(main: Looked) -> bool:
    """Whether annotations are scores."""
    return isinstance(main.content, Scores)
