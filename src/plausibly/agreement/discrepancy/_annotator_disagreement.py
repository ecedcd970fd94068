"""What annotators say of a case, and how far they are from each other and from a model."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from plausibly._progress import Progress
from plausibly.agreement.discrepancy._case_pairs import pairs_across, pairs_within
from plausibly.agreement.discrepancy._delta import Compare, Delta
from plausibly.labels._container import Labels


@dataclass(frozen=True)
class Opinions:
    """An opinion is all that one annotator said of one case: mostly a single label, several if it was repeated.

    Parameters
    ----------
    case, annotator
        Of every opinion; by case, as the labels are.
    size
        How many labels it has.
    of_label
        The opinion of every label.
    start
        Where the opinions of every case begin.
    """

    case: Int[np.ndarray, " opinion"]
    annotator: Int[np.ndarray, " opinion"]
    size: Int[np.ndarray, " opinion"]
    of_label: Int[np.ndarray, " label"]
    start: Int[np.ndarray, " boundary"]

    @classmethod
    def of(cls, labels: Labels) -> "Opinions":
        """Gather the labels of each annotator in each case.

        Examples
        --------
        >>> Opinions.of(Labels.of([("p", "a", 1), ("p", "b", 0), ("p", "a", 0)])).size.tolist()
        [2, 1]
        """
        first = np.concatenate([[True], (np.diff(labels.case) != 0) | (np.diff(labels.annotator) != 0)])
        of_label = np.cumsum(first) - 1
        case = labels.case[first]
        start = np.searchsorted(case, np.arange(len(labels.cases) + 1))
        return cls(case, labels.annotator[first], np.bincount(of_label), of_label, start)

    @property
    def n_annotators(self) -> Int[np.ndarray, " case"]:
        """How many annotators each case has."""
        return np.diff(self.start)


def discrepancy_to_others(
    labels: Labels, values: np.ndarray, opinions: Opinions, delta: Delta, compare: Compare, progress: Progress
) -> Float[np.ndarray, " opinion"]:
    r"""Sum an opinion's discrepancies to all other opinions of its case, :math:`\sum_{j' \ne j} \psi(Y_j, Y_{j'})`.

    Parameters
    ----------
    labels
        All labels.
    values
        The labels in the form that ``delta`` compares.
    opinions
        Of the labels.
    delta, compare
        The disagreement, and its function of pairs of ``values``.
    progress
        Where to report to.
    """
    if delta.function is None and delta.name == "nominal":
        return _nominal(values, opinions)
    if delta.function is None and delta.name == "squared":
        return _squared(values, opinions)
    total = np.zeros(len(opinions.case))
    sizes = np.diff(labels.start).astype(np.int64)
    advance = progress.task("Comparing labels", int((sizes * (sizes - 1) // 2).sum()), "pairs")
    for left, right in pairs_within(labels.start):
        advance(len(left))
        first, second = opinions.of_label[left], opinions.of_label[right]
        other = first != second
        first, second = first[other], second[other]
        mean = compare(left[other], right[other]) / (opinions.size[first] * opinions.size[second])
        total += np.bincount(first, mean, len(total)) + np.bincount(second, mean, len(total))
    return total


def discrepancy_to_model(
    model_case: Int[np.ndarray, " prediction"],
    offset: int,
    labels: Labels,
    opinions: Opinions,
    compare: Compare,
    progress: Progress,
) -> Float[np.ndarray, " case"]:
    r"""Average a model's discrepancies to all annotators of a case, :math:`\frac1A \sum_j \psi(m, Y_j)`.

    Parameters
    ----------
    model_case
        Case of every prediction, in increasing order; a model may say several things of a case.
    offset
        Where the predictions begin in what ``compare`` compares.
    labels, opinions
        Of the annotators.
    compare
        The disagreement.
    progress
        Where to report to.

    Returns
    -------
    NaN where there is no prediction or no label.
    """
    said = np.bincount(model_case, minlength=len(labels.cases))
    total = np.zeros(len(labels.cases))
    advance = progress.task("Comparing predictions", int(np.diff(labels.start)[model_case].sum()), "pairs")
    for left, right in pairs_across(model_case, labels.start):
        advance(len(left))
        share = compare(left + offset, right) / opinions.size[opinions.of_label[right]]
        total += np.bincount(model_case[left], share, len(total))
    counted = said * opinions.n_annotators
    return np.divide(total, counted, out=np.full(len(total), np.nan), where=counted > 0)


def _nominal(code: np.ndarray, opinions: Opinions) -> np.ndarray:
    """From counts: two opinions agree as often as their shares of each label meet."""
    n_labels = int(code.max()) + 1
    cells, place = np.unique(opinions.of_label * n_labels + code, return_inverse=True)
    of_opinion = cells // n_labels
    share = np.bincount(place) / opinions.size[of_opinion]
    _, place = np.unique(opinions.case[of_opinion] * n_labels + cells % n_labels, return_inverse=True)
    of_case = np.bincount(place, share)[place]
    agreement = np.bincount(of_opinion, share * (of_case - share), len(opinions.case))
    # What is left of a difference of sums of shares such as 1/3 is not a disagreement.
    others = opinions.n_annotators[opinions.case] - 1
    return np.where(np.isclose(agreement, others, rtol=1e-12, atol=0), 0.0, others - agreement)


def _squared(values: np.ndarray, opinions: Opinions) -> np.ndarray:
    """From means and variances, counted from a label of the case so that equal labels differ by exactly nothing."""
    n_cases, annotators, case = len(opinions.start) - 1, opinions.n_annotators, opinions.case
    first_label = np.concatenate([[0], np.cumsum(opinions.size)])[opinions.start[:-1][case]]
    values = values - values[first_label][opinions.of_label]
    mean = np.bincount(opinions.of_label, values) / opinions.size
    middle = np.bincount(case, mean, n_cases) / np.maximum(annotators, 1)
    variance = np.bincount(opinions.of_label, (values - mean[opinions.of_label]) ** 2) / opinions.size
    squared = (mean - middle[case]) ** 2
    among = annotators[case]
    between = among * squared + np.bincount(case, squared, n_cases)[case]
    return between + (among - 2) * variance + np.bincount(case, variance, n_cases)[case]
