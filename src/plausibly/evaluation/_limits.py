"""Sentences on annotations that cannot say how accurate a classifier is, or not well."""

import numpy as np

from plausibly.annotations import Annotations
from plausibly.evaluation._first_choices import check_labels

FEW_CASES, FEW_PEOPLE, MANY_CLASSES = 60, 5, 10


def limits(annotations: Annotations) -> list[str]:
    """List the reasons why an accuracy that is computed from these annotations needs caution.

    Accuracy against the most plausible class depends on how the opinions of experts are distributed in a case, of
    which one label a case says nothing, and two say little.

    Parameters
    ----------
    annotations
        Labels, counts or rankings; first choices count. For scores, pass ``scores.split(threshold)``.

    Returns
    -------
    list of str
        A sentence each, the most serious first; empty if there is nothing to say.

    Raises
    ------
    AnnotationError
        If the annotations are scores or something else.

    Examples
    --------
    >>> for sentence in limits(Annotations.from_counts([[1, 0], [0, 1], [2, 0]] * 30)):
    ...     print(sentence)
    Most cases (60 of 90) have one label: accuracy against the most plausible class cannot be known from them, however many cases there are. Report agreement with an expert, and bounds for the accuracy.
    """  # noqa: E501 (the sentence is printed in one line)
    check_labels(annotations)
    n_labels, n_cases = np.diff(annotations.case_start), annotations.n_cases
    found = []
    single, pairs = int((n_labels == 1).sum()), int((n_labels <= 2).sum())
    if 2 * single > n_cases:
        found.append(
            f"Most cases ({single} of {n_cases}) have one label: accuracy against the most plausible class cannot be "
            "known from them, however many cases there are. Report agreement with an expert, and bounds for the "
            "accuracy."
        )
    elif 2 * pairs > n_cases:
        found.append(
            f"Most cases ({pairs} of {n_cases}) have at most two labels: whether the assumed shape of disagreement is "
            "right cannot be checked. Collect a third label for some cases."
        )
    if n_cases < FEW_CASES:
        found.append(f"{n_cases} cases are few: with fewer than {FEW_CASES}, intervals are rough.")
    if not annotations.anonymous:
        own = np.sort(np.bincount(annotations.annotation_annotator))[::-1]
        own = own[own > 0]
        least = int(np.searchsorted(np.cumsum(own), len(annotations.annotation_case) / 2, side="right")) + 1
        if least <= FEW_PEOPLE:
            people = "One person" if least == 1 else f"{least} people"
            found.append(
                f"{people} gave most of the labels: accuracy is that against {'this person' if least == 1 else 'them'}."
                " Other experts may judge otherwise."
            )
    if annotations.n_classes > MANY_CLASSES:
        found.append(
            f"There are {annotations.n_classes} classes: with more than {MANY_CLASSES}, accuracy against the most "
            "plausible class depends more on the model, and may be too low by several points."
        )
    return found
