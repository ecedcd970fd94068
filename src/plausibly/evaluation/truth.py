"""The truth of labels without a model: what one expert would say, and what a panel of experts would decide."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from jaxtyping import Float

from plausibly.aggregation import are_shares
from plausibly.annotations import Annotations
from plausibly.errors import ArgumentError, check_whole
from plausibly.evaluation.first_choices import check_labels, drawn_labels, first_choice_shares
from plausibly.metrics.panels import panel_shares_of_entries

_NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}

Truth = Literal["most-plausible", "annotator", "panel"]


def check_truth(truth: object) -> bool:
    """Refuse another truth than the three there are; say whether it has draws."""
    if truth not in get_args(Truth):
        named = ", ".join(map(repr, get_args(Truth)))
        raise ArgumentError(f"truth must be one of {named}, but {truth!r} was given: choose one.")
    return truth == "most-plausible"


def truth_in_words(attrs: Mapping[str, Any]) -> str:
    """Say what labels are compared with, given the attributes of results."""
    return truths_in_words(attrs)[0]


def truths_in_words(attrs: Mapping[str, Any]) -> tuple[str, str]:
    """Say what labels are compared with, and what metrics of whole distributions are."""
    truth = attrs.get("truth", "most-plausible")
    if "gold" in attrs:
        return "the gold labels", "the gold labels"
    if truth == "annotator":
        return "what one expert would say", "the shares of experts' labels"
    if truth == "panel":
        people = _NUMBERS.get(attrs["panel"], attrs["panel"])
        return f"what {people} experts would decide", "the shares of panels' decisions"
    if "assumes" in attrs:
        return "the true class", "the probabilities of the true class"
    if are_shares(attrs):
        return "what most experts would name", "the experts' distribution"
    return "the most plausible class", "the plausibilities"


def truth_of_labels(
    annotations: Annotations, truth: Truth, panel: int = 3, seed: int = 0
) -> Float[np.ndarray, "case class"]:
    """Compute the weight of each class in every case from the annotations alone.

    Parameters
    ----------
    annotations
        Labels, counts or rankings, of which first choices count; classes that tie there share an annotation.
    truth
        ``"annotator"``, the shares of the annotations of a case that name each class; or ``"panel"``, the shares of the
        subsets of `panel` annotations whose most frequent class it is.
    panel
        Number of annotations of a panel.
    seed
        Random seed for resolving ties in first choices, as for :func:`plausibly.evaluation.panels`.

    Returns
    -------
    Weights, which sum to one in every case that has as many annotations, and to zero in others.

    Raises
    ------
    ArgumentError
        If no case has as many annotations as a panel.

    Examples
    --------
    >>> annotations = Annotations.from_labels([["a", "a", "b"], ["b"]])
    >>> truth_of_labels(annotations, "annotator").round(3).tolist()
    [[0.667, 0.333], [0.0, 1.0]]
    >>> truth_of_labels(annotations, "panel", 3).tolist()
    [[1.0, 0.0], [0.0, 0.0]]
    """
    check_labels(annotations)
    n_classes = annotations.n_classes
    found = np.zeros((annotations.n_cases, n_classes))
    if truth == "annotator":
        shares, _ = first_choice_shares(annotations)
        found.ravel()[shares.key] = shares.value
        return found
    check_whole("panel", panel, 1, "give for example 3")
    if (most := annotations.per_case.max(initial=0)) < panel:
        raise ArgumentError(
            f"panel must be at most the number of annotations of some case, {most}, but {panel} was given: choose "
            "fewer."
        )
    enough = np.flatnonzero(annotations.per_case >= panel)
    case, row, label = drawn_labels(annotations.select(enough), seed)
    key, count = np.unique(row * n_classes + label, return_counts=True)
    of_row, side = np.divmod(key, n_classes)
    shares = panel_shares_of_entries(of_row, count, panel)[0][:, panel - 1]
    np.add.at(found, (enough[case[of_row]], side), shares / np.bincount(case)[case[of_row]])
    return found


def label_rows(
    annotations: Annotations, truth: Literal["annotator", "panel"] = "annotator", panel: int = 3, *, seed: int = 0
) -> pd.DataFrame:
    """Write what experts would say as N × K rows, one for each case and class, with weights.

    As :func:`plausibly.posterior.as_weighted_rows` does for a posterior: give scikit-learn the features, or the
    prediction, of a case once for each of its rows, the class as the label and ``sample_weight``. Estimators are then
    trained on soft labels, and metrics are those of :func:`plausibly.evaluate` against this truth.

    Parameters
    ----------
    annotations, truth, panel, seed
        Arguments of :func:`truth_of_labels`.

    Returns
    -------
    pandas.DataFrame
        ``case``, ``class`` and ``sample_weight``; the rows of a case follow each other, in the order of the classes.
        Weights sum to one in each case, and to zero in one with too few annotations.

    Raises
    ------
    ArgumentError
        If there is no such truth, or no case has as many annotations as a panel.

    Examples
    --------
    >>> annotations = Annotations.from_labels([["a", "a", "b"], ["b", "b", "b"]])
    >>> rows = label_rows(annotations)
    >>> rows["class"].tolist(), rows["sample_weight"].round(2).tolist()
    (['a', 'b', 'a', 'b'], [0.67, 0.33, 0.0, 1.0])

    >>> from sklearn.linear_model import LogisticRegression
    >>> features = np.array([[0.1], [0.9]]).repeat(2, axis=0)
    >>> model = LogisticRegression().fit(features, rows["class"], sample_weight=rows["sample_weight"])
    """
    if check_truth(truth):
        raise ArgumentError(
            'truth must be "annotator" or "panel", but "most-plausible" was given, which needs a posterior: use '
            "plausibly.posterior.as_weighted_rows."
        )
    weights = truth_of_labels(annotations, truth, panel, seed)
    n_cases, n_classes = weights.shape
    rows = {"case": np.repeat(annotations.cases, n_classes), "class": np.tile(annotations.classes, n_cases)}
    return pd.DataFrame(rows | {"sample_weight": weights.ravel()})
