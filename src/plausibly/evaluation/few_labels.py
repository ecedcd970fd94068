"""How far experts, or panels of them, differ in every case, as their labels tell without a model."""

import numpy as np
from jaxtyping import Float
from scipy.special import digamma, entr

from plausibly.base.bootstrap import PANEL
from plausibly.data.annotations import Annotations
from plausibly.evaluation.truth import Truth, first_choice_shares, truth_of_labels
from plausibly.metrics.declared import FOR_ENTROPY, LabelSpread

_SPLITS = 16  # of the labels of a case into panels


def label_spread(annotations: Annotations, truth: Truth, panel: int = PANEL, seed: int = 0) -> LabelSpread:
    r"""Estimate how far experts, or panels of them, differ in every case, without a model.

    Two labels of a case agree as often as two different annotations of it do, on average, however few there are; two
    panels, as often as those of 16 random splits of its annotations. The entropy of experts'
    labels is estimated by :math:`\sum_k n_k / n (\psi(n) - \psi(n_k))`, whose bias decreases exponentially with the
    number of annotations n, and that of panels by their shares.

    Parameters
    ----------
    annotations, truth, panel, seed
        Arguments of :func:`truth_of_labels`.

    Returns
    -------
    Probabilities (case,) that two labels agree, NaN in a case with fewer annotations than two labels (or panels) need;
    and entropies (case,) in nats, NaN with fewer than 20 times as many as one needs. Annotations that follow from
    others (:attr:`plausibly.Annotations.rounds`) do not count.

    References
    ----------
    Zhang (2012), Entropy estimation in Turing's perspective, Neural Computation 24; Schürmann (2015), A note on entropy
    estimation, Neural Computation 27, equation 13.

    Examples
    --------
    >>> annotations = Annotations.from_counts([[1, 1], [2, 1], [15, 5], [1, 0]])
    >>> agree, entropy = label_spread(annotations, "annotator")
    >>> agree.round(3).tolist(), entropy.round(3).tolist()
    ([0.0, 0.333, 0.605, nan], [nan, nan, 0.588, nan])
    """
    weights = truth_of_labels(annotations, truth, panel, seed)
    n_people, fair = 1, annotations.fair
    if fair is None:
        return LabelSpread(*np.full((2, annotations.n_cases), np.nan))
    n_labels = fair.per_case
    if truth == "annotator":
        agree = first_choice_shares(fair)[1]
        count = weights * n_labels[:, None]
        some = np.where(weights > 0, count, 1)
        entropy = (weights * (digamma(np.maximum(n_labels, 1))[:, None] - digamma(some))).sum(axis=1)
    else:
        n_people, agree, entropy = panel, _agreement_of_panels(fair, panel, seed), entr(weights).sum(axis=1)
    return LabelSpread(agree, np.where(n_labels >= FOR_ENTROPY * n_people, entropy, np.nan))


def _agreement_of_panels(annotations: Annotations, panel: int, seed: int) -> Float[np.ndarray, " case"]:
    """How often two panels without a common annotation decide alike, by case; NaN with too few annotations."""
    n_classes, found = annotations.n_classes, np.full(annotations.n_cases, np.nan)
    enough = np.flatnonzero(annotations.per_case >= 2 * panel)
    if not len(enough):
        return found
    chosen, random = annotations.select(enough), np.random.default_rng([seed, panel])
    size = np.bincount(chosen.entry_annotation[chosen.entry_block == 0], minlength=chosen.n_annotations)
    case, n_panels, n_cases = chosen.annotation_case, chosen.per_case // panel, len(enough)
    place = np.arange(len(case)) - chosen.case_start[case]
    inside = place < (n_panels * panel)[case]
    of_panel = (np.cumsum(n_panels) - n_panels)[case[inside]] + place[inside] // panel
    alike, of_case = np.zeros(n_cases), np.repeat(np.arange(n_cases), n_panels)
    for _ in range(_SPLITS):
        label = chosen.entry_class[chosen.annotation_start[:-1] + random.integers(size)]
        label = label[np.lexsort((random.random(len(case)), case))][inside]
        votes = np.bincount(of_panel * n_classes + label, minlength=len(of_case) * n_classes).reshape(-1, n_classes)
        decided = votes == votes.max(axis=1, keepdims=True)
        decided = decided / decided.sum(axis=1, keepdims=True)
        both = np.add.reduceat(decided, np.cumsum(n_panels) - n_panels) ** 2
        alike += both.sum(axis=1) - np.bincount(of_case, (decided**2).sum(axis=1))
    found[enough] = alike / (_SPLITS * n_panels * (n_panels - 1))
    return found
