"""First choices of annotators: how often a class is one, and labels drawn from those that tie."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from plausibly.annotations import Annotations, Scores
from plausibly.errors import AnnotationError
from plausibly.random_streams import Stream, generator, key_words

DRAWS = 64  #: of labels for a case whose tied first choices can be resolved in more ways than this


class ByClass(NamedTuple):
    """Numbers of the classes of rows; those of absent classes are 0."""

    key: Int[np.ndarray, " entry"]  #: Row times the number of classes, plus the class; ascending
    value: Float[np.ndarray, "entry *n"]  #: Numbers of each

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
    if not isinstance(annotations, Annotations):
        raise AnnotationError(
            f"annotations are needed, but an object of type {type(annotations).__name__} was given: read them with "
            "pb.read_annotations"
        )


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
    key, which = np.unique(named, return_inverse=True)
    votes, n_labels = np.bincount(which, 1 / size[annotation]), annotations.per_case
    case = key // n_classes
    agree = np.bincount(case, votes**2, n_cases) - np.bincount(of_annotation, 1 / size, n_cases)
    pairs = n_labels * (n_labels - 1.0)
    return ByClass(key, votes / n_labels[case]), np.divide(
        agree, pairs, out=np.full(n_cases, np.nan), where=n_labels > 1
    )


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
