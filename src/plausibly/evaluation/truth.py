"""The truth of labels without a model: what one expert would say, and what a panel of experts would decide."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.special import binom

from plausibly.base.bootstrap import PANEL
from plausibly.base.checks import check_whole
from plausibly.base.errors import AnnotationError, ArgumentError
from plausibly.base.integers import distinct
from plausibly.base.names import numbered
from plausibly.base.random_streams import Stream, generator, key_words
from plausibly.data.annotations import Annotations, Scores
from plausibly.data.annotations.usual_models import check_annotations
from plausibly.data.annotations.views import first_shares, selected_rows
from plausibly.metrics.panels import panel_shares_of_entries
from plausibly.posterior.says import are_shares, has_true_class

_NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}
DRAWS = 64  #: of labels for a case whose tied first choices can be resolved in more ways than this


class ByClass(NamedTuple):
    """Numbers of the classes of rows; those of absent classes are 0."""

    key: Int[np.ndarray, " entry"]  #: Row times the number of classes, plus the class; ascending
    value: Float[np.ndarray, " entry *n"]  #: Numbers of each

    def of(self, key: Int[np.ndarray, "*shape"]) -> Float[np.ndarray, "..."]:
        """Look up the numbers of other keys."""
        at = np.searchsorted(self.key, key).clip(max=len(self.key) - 1)
        found = self.value[at]
        found[self.key[at] != key] = 0
        return found

    def of_choices(self, choice: Int[np.ndarray, "classifier row"], n_classes: int) -> Float[np.ndarray, "..."]:
        """Look up the numbers of the classes that classifiers name in each row; 0 without an answer, -1."""
        found = self.of(np.arange(choice.shape[-1]) * n_classes + choice)
        found[choice < 0] = 0
        return found


def check_labels(annotations: object) -> None:
    """Refuse scores, and whatever else is not rankings."""
    if isinstance(annotations, Scores):
        raise AnnotationError(
            "scores have no first choice: turn them into labels of two classes, with scores.split(threshold)"
        )
    check_annotations(annotations)


def first_choice_shares(annotations: Annotations) -> tuple[ByClass, Float[np.ndarray, " case"]]:
    """Compute the share of a case's annotations that name each class first, and how often two of them agree.

    A first block of b classes names each of them by 1/b. Agreement is that of two different annotators, each of whom
    chooses one class of the first block at random; it is NaN where there is a single one.
    """
    n_cases, n_classes, of_annotation = annotations.n_cases, annotations.n_classes, annotations.annotation_case
    first = annotations.entry_block == 0
    annotation = annotations.entry_annotation[first]
    size = np.bincount(annotation)
    named = of_annotation[annotation].astype(np.int64) * n_classes + annotations.entry_class[first]
    key, which = distinct(named)
    votes, n_labels = np.bincount(which, 1 / size[annotation]), annotations.per_case
    case = key // n_classes
    agree = np.bincount(case, votes**2, n_cases) - np.bincount(of_annotation, 1 / size, n_cases)
    pairs = n_labels * (n_labels - 1.0)
    return ByClass(key, votes / n_labels[case]), np.divide(
        agree, pairs, out=np.full(n_cases, np.nan), where=n_labels > 1
    )


def most_common(annotations: Annotations, *, several: bool = False) -> tuple[str, float]:
    """The class that would be right most often as the answer to every case, against one expert, and how often.

    Cases that count have annotations; with `several`, more than one.
    """
    annotations = annotations.fair or annotations
    shares, _ = first_choice_shares(annotations)
    case, of_class = np.divmod(shares.key, annotations.n_classes)
    total = np.bincount(of_class, shares.value * (annotations.per_case[case] > several), annotations.n_classes)
    return str(annotations.classes[total.argmax()]), float(total.max() / total.sum())


def of_panels(annotations: Annotations, n: int) -> Annotations:
    """Make annotations of which panels of n are a fair sample, also where further labels follow from the first ones.

    The decision of n is known once a class has more than n/2 labels: such a case counts as if further labels named it.

    Raises
    ------
    AnnotationError
        If further labels follow from the first ones, and a case lacks what would decide, or nothing tells which labels
        came first.
    """
    rounds = annotations.rounds
    if rounds is None:
        return annotations
    if n == 1:
        return annotations.fair or annotations
    if rounds.kept is None:
        rounds.refuse(f"what {_NUMBERS.get(n, n)} experts would decide")
    if n <= rounds.first:
        assert annotations.fair is not None
        return annotations.fair
    n_labels, kept = annotations.per_case, None
    if rounds.place is not None:
        kept = rounds.place < n
        n_labels = np.minimum(n_labels, n)
    rows = selected_rows(annotations, with_some := np.flatnonzero(n_labels), kept)
    first = rows.rank == 0
    votes = np.zeros((len(with_some), annotations.n_classes))
    who = rows.case * len(annotations.annotators) + rows.annotator
    _, label, size = np.unique(who[first], return_inverse=True, return_counts=True)
    np.add.at(votes, (rows.case[first], rows.class_index[first]), 1 / size[label])
    missing = n - n_labels[with_some]
    unknown = int(((missing < 0) | ((missing > 0) & (2 * votes.max(axis=1) <= n))).sum())
    if unknown:
        raise AnnotationError(
            f"{rounds.found}, and in {unknown:,} cases it is not known what {n} experts would decide; ask about panels "
            f"of {rounds.first}, or give {n} labels of every case"
        )
    case = np.repeat(np.arange(len(missing)), missing)
    further = {
        "case": case,
        "annotator": len(annotations.annotators) + np.arange(len(case)),
        "class_index": votes.argmax(axis=1)[case],
        "rank": np.zeros(len(case), int),
    }
    columns = {name: np.concatenate([getattr(rows, name), column]) for name, column in further.items()}
    names = numbered(len(annotations.annotators) + len(case))
    rows = replace(rows, **columns, annotators=names, anonymous=True, order=None)
    found = Annotations._from_rows(rows, "all", annotations.ordered)
    return replace(found, cases=annotations.cases, annotation_case=with_some[found.annotation_case])


def drawn_labels(
    annotations: Annotations, seed: int
) -> tuple[Int[np.ndarray, " row"], Int[np.ndarray, " label"], Int[np.ndarray, " label"]]:
    """Resolve tied first choices: one label for each annotation, several times for a case that has ties.

    Of at most 64 ways to resolve the ties of a case there is one row each, so that the mean over rows is exact; else
    there are 64 rows with random choices.

    Returns
    -------
    The case of each row, not decreasing; and for each label its row and its class.
    """
    start, of_annotation = annotations.case_start, annotations.annotation_case
    size = np.bincount(annotations.entry_annotation[annotations.entry_block == 0])
    n_ways = np.multiply.reduceat(size.astype(float), start[:-1])
    n_rows = np.minimum(n_ways, DRAWS).astype(np.int64)
    first_row = np.cumsum(n_rows) - n_rows
    copies = n_rows[of_annotation]
    first_label = np.cumsum(copies) - copies
    annotation = np.repeat(np.arange(len(copies)), copies)
    number = np.arange(len(annotation)) - first_label[annotation]
    member = np.zeros(len(annotation), np.int64)
    tied = np.flatnonzero(n_ways > 1)
    words = key_words(seed, annotations.cases[tied], Stream.PANELS)
    for place, case in enumerate(tied):
        own = np.arange(start[case], start[case + 1])
        own = own[size[own] > 1]
        if n_ways[case] <= DRAWS:
            chosen = np.unravel_index(np.arange(n_rows[case]), size[own])
        else:
            chosen = generator(words[place]).integers(size[own][:, None], size=(len(own), DRAWS))
        member[first_label[own][:, None] + np.arange(n_rows[case])] = chosen
    label = annotations.entry_class[annotations.annotation_start[annotation] + member]
    return np.repeat(np.arange(len(n_rows)), n_rows), first_row[of_annotation[annotation]] + number, label


def shares_of_panels(
    annotations: Annotations, most: int, seed: int
) -> tuple[ByClass, Float[np.ndarray, "case {most}"]]:
    """Share of the panels of 1 to `most` labels of a case that each class, and a further annotator's label, wins.

    The latter are panels of the other labels; NaN where these do not suffice.
    """
    case, row, label = drawn_labels(annotations, seed)
    key, count = np.unique(row * annotations.n_classes + label, return_counts=True)
    row, class_index = np.divmod(key, annotations.n_classes)
    shares, of_others = panel_shares_of_entries(row, count, most)
    each, own = (1 / np.bincount(case))[case[row], None], case[row]
    keys, which = np.unique(own * annotations.n_classes + class_index, return_inverse=True)
    won, human = np.zeros((len(keys), most)), np.zeros((annotations.n_cases, most))
    np.add.at(won, which, shares * each)
    np.add.at(human, own, of_others * each * (count / annotations.per_case[own])[:, None])
    return ByClass(keys, won), human


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
        others = attrs.get("readers") == "others" and "strictness" in attrs
        people = f"{people} {'other ' if others else ''}expert"
        people += "" if attrs["panel"] == 1 else "s"
        if "median" in attrs:
            return f"the median grade of {people}", "the shares of panels' medians"
        return f"what {people} would decide", "the shares of panels' decisions"
    if has_true_class(attrs):
        return "the true class", "the probabilities of the true class"
    if are_shares(attrs):
        return "what most experts would name", "the experts' distribution"
    return "the most plausible class", "the plausibilities"


def truth_of_labels(
    annotations: Annotations, truth: Truth, panel: int = PANEL, seed: int = 0, *, ordered: bool = False
) -> Float[np.ndarray, "case class"]:
    """Compute the weight of each class in every case from the annotations alone.

    Parameters
    ----------
    annotations
        Labels, counts or rankings, of which first choices count; classes that tie there share an annotation.
    truth
        ``"annotator"``, the shares of the annotations of a case that name each class; or ``"panel"``, the shares of the
        subsets of `panel` annotations whose most frequent class it is or, of grades, whose median.
    panel
        Number of annotations of a panel.
    seed
        Random seed for resolving ties in first choices, as for :func:`plausibly.evaluation.panels`.
    ordered
        Whether the classes are grades, in their order. Of an even number, either of the two in the middle counts half.

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
    if truth == "annotator":
        return first_shares(annotations.fair or annotations)
    n_classes = annotations.n_classes
    found = np.zeros((annotations.n_cases, n_classes))
    check_whole("panel", panel, 1, "give for example 5")
    if (most := annotations.per_case.max(initial=0)) < panel:
        raise ArgumentError(
            f"panel must be at most the number of annotations of some case, {most}, but {panel} was given: choose "
            "fewer, or pass a posterior of what annotators would say, as pb.aggregate(annotations) makes it by "
            "default, under which panels of any size are drawn."
        )
    annotations = of_panels(annotations, panel)
    enough = np.flatnonzero(annotations.per_case >= panel)
    if ordered:
        found[enough] = _medians(annotations.select(enough), panel, seed)
        return found
    won = shares_of_panels(annotations.select(enough), panel, seed)[0]
    case, class_index = np.divmod(won.key, n_classes)
    found[enough[case], class_index] = won.value[:, panel - 1]
    return found


def _medians(annotations: Annotations, panel: int, seed: int) -> Float[np.ndarray, "case class"]:
    """Share of the panels of a case whose median each grade is."""
    case, row, label = drawn_labels(annotations, seed)
    counts = np.zeros((len(case), annotations.n_classes))
    np.add.at(counts, (row, label), 1)
    below, n = counts.cumsum(axis=1), counts.sum(axis=1)[:, None]
    at_most = np.zeros_like(below)
    for middle in ((panel + 1) // 2, panel // 2 + 1):
        for inside in range(middle, panel + 1):  # experts of the panel whose grade is at most this one
            at_most += binom(below, inside) * binom(n - below, panel - inside) / binom(n, panel) / 2
    shares, rows = np.diff(at_most, axis=1, prepend=0), np.bincount(case)
    return np.add.reduceat(shares, np.cumsum(rows) - rows) / rows[:, None]


def label_rows(
    annotations: Annotations, truth: Literal["annotator", "panel"] = "annotator", panel: int = PANEL, *, seed: int = 0
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
