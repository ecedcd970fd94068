"""What several measures require of labels."""

import numpy as np

from plausibly.errors import AnnotationError
from plausibly.labels._container import Labels


def check_single_labels(labels: Labels) -> None:
    """Refuse a second label of one case by one annotator."""
    for label in 1 + np.flatnonzero((np.diff(labels.case) == 0) & (np.diff(labels.annotator) == 0)):
        raise AnnotationError(
            f"{labels.where(label)}: a second label of the same case; an annotator gives one, so keep one, or name the "
            "second annotator"
        )


def check_two_annotators(labels: Labels, n_annotators: np.ndarray) -> None:
    """Refuse labels of which no case has two annotators."""
    if (n_annotators < 2).all():
        raise AnnotationError(
            f"no case has labels of two annotators ({len(labels.cases):,} cases, {len(labels.annotators):,} annotators "
            "in all), so annotators cannot be compared; give more labels"
        )
