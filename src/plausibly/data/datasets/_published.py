"""The case that the literature prints with its figures."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from plausibly.data.annotations import Annotations

_RANKINGS: dict[str, list[list[str]]] = {
    "A0": [["Pyogenic granuloma"], ["Hemangioma"], ["Melanoma"]],
    "A1": [["Angiokeratoma of skin"], ["Atypical Nevus"]],
    "A2": [["Hemangioma"], ["Melanocytic Nevus", "Melanoma", "O/E - ecchymoses present"]],
    "A3": [["Hemangioma", "Melanoma", "Skin Tag"]],
    "A4": [["Melanoma"]],
    "A5": [["Hemangioma"], ["Melanoma"], ["Melanocytic Nevus"]],
}
_TOP_3 = {
    "Model A": ["Atypical Nevus", "Hemangioma", "Melanocytic Nevus"],
    "Model B": ["Hemangioma", "Melanocytic Nevus", "Melanoma"],
}
_N_CLASSES = 419  # of the source; it matters where the remainder is split among the unranked classes


@dataclass(frozen=True)
class PublishedCase:
    """One annotated case and the top-3 sets of two classifiers.

    Attributes
    ----------
    annotations
        One case, six annotators ``"A0"`` to ``"A5"``, 419 classes: the eight named ones, and placeholders ``"other
        condition 001"``, … for the others.
    predictions
        Scores (1, 419), float32, of ``"Model A"`` and ``"Model B"``: 1 for the members of the published top-3 set, 0
        for the others. The order within a set is not published, so the three scores are equal and only metrics of depth
        3 are meaningful.
    """

    annotations: Annotations
    predictions: dict[str, Float[np.ndarray, "1 419"]]


def published_case() -> PublishedCase:
    """Return the skin case from the publication of the aggregation models, with the top-3 sets of two classifiers.

    Six dermatologists name eight conditions in all; four of these are ranked first by at least one of them. The
    published uncertainty-adjusted top-3 accuracy at medium reliability is 0.70 (A) and 1.00 (B) under Plackett–Luce
    (reliability 3), and 0.52 (A) and 0.99 (B) under PrIRN (reliability 30, ``ties="full"``).

    Returns
    -------
    PublishedCase
        Annotations and predictions. The conditions that an annotator did not name are unranked.

    References
    ----------
    Stutz, Cemgil, Roy et al. (2025), figures 3 and 5; the annotations are case 1026 of the data set published with
    it in the repository google-deepmind/uncertain_ground_truth (CC BY 4.0).

    Examples
    --------
    >>> case = published_case()
    >>> case.annotations.n_classes
    419
    >>> case.annotations.rankings("published case")["A1"]
    [['Angiokeratoma of skin'], ['Atypical Nevus']]
    """
    named = sorted({name for ranking in _RANKINGS.values() for block in ranking for name in block})
    classes = named + [f"other condition {i:03d}" for i in range(1, _N_CLASSES - len(named) + 1)]
    annotations = Annotations.from_rankings({"classes": classes, "cases": {"published case": _RANKINGS}})
    predictions = {model: np.isin(classes, names)[None].astype(np.float32) for model, names in _TOP_3.items()}
    return PublishedCase(annotations, predictions)
