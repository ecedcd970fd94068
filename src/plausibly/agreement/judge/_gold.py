"""Accuracy of models, and of annotators, against gold labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plausibly.agreement.discrepancy._baselines import in_words
from plausibly.agreement.pairs import distinct
from plausibly.base.bootstrap import interval, resampled_sums, with_unseen
from plausibly.base.errors import PredictionError
from plausibly.data.labels.container import Labels
from plausibly.data.labels.gold import Gold
from plausibly.data.labels.predictions import Predictions
from plausibly.data.labels.verified import Selection, selection

_MOST = 10  # different labels, the most frequent ones, by which cases may differ


@dataclass(frozen=True)
class AgainstGold:
    """Accuracy of a model, annotators and a constant answer on the cases that have a gold label and both of the former.

    Parameters
    ----------
    n_cases
        Number of these cases.
    mean
        Accuracy of the model, of the annotators, the mean over cases of the share of them who are right, and of the
        most frequent gold label as the answer to every case.
    replicates
        The same in bootstrap replicates; None if there is a single cluster of cases.
    selection
        How cases with a gold label differ from others, by whose weights both are; None if nothing shows that they do.
    unweighted
        The mean without weights.
    constant
        The most frequent gold label.
    wrong
        Number of the answers that most annotators get wrong, and how many of these the model gives, too.
    """

    n_cases: int
    mean: Float[np.ndarray, "3"]
    replicates: Float[np.ndarray, "replicate 3"] | None
    selection: Selection | None
    unweighted: Float[np.ndarray, "3"]
    constant: Any = None
    wrong: tuple[int, int] = (0, 0)

    def row(self, margin: float, ci_prob: float) -> dict[str, Any]:
        """Columns of a table."""
        row: dict[str, Any] = {"gold_accuracy": self.mean[0]}
        if self.replicates is not None:
            row["gold_accuracy_lower"], row["gold_accuracy_upper"] = interval(self.replicates[:, 0], ci_prob)
            for name, place in (("p_gold", 0), ("p_gold_constant", 2)):
                row[name] = (self.replicates[:, place] >= self.replicates[:, 1] - margin).mean()
            for name, place in (("difference", 1), ("over_constant", 2)):
                ends = interval(self.replicates[:, 0] - self.replicates[:, place], ci_prob)
                row[f"gold_{name}_lower"], row[f"gold_{name}_upper"] = ends
        row |= {"gold_constant": in_words(self.constant), "gold_constant_accuracy": self.mean[2]}
        row["n_wrong"], row["n_repeated"] = self.wrong
        row |= {"annotators_gold_accuracy": self.mean[1], "n_gold": self.n_cases}
        if self.selection is not None and self.selection.weights is not None:
            row["gold_accuracy_unweighted"], row["annotators_gold_accuracy_unweighted"] = self.unweighted[:2]
        return row


def against_gold(
    gold: Gold,
    labels: Labels,
    models: Mapping[str, Predictions],
    clusters: Int[np.ndarray, " case"],
    replicates: int,
    seed: int,
) -> dict[str, AgainstGold]:
    """Compare every model and the annotators with gold labels, clusters of cases drawn with replacement."""
    truth = np.empty(len(labels.cases), object)
    truth[gold.case] = gold.values.tolist()
    known = np.isin(np.arange(len(truth)), gold.case)
    own = _share_right(labels.case, labels.values, truth)
    most = max(listed := gold.values.tolist(), key=listed.count)
    constant = np.array([value == most for value in truth], float)
    of_wrong, wrong = _wrong_votes(labels, truth)
    found, weight = {}, np.ones(len(truth))
    differ = _selection(gold, labels, models, seed)
    if differ is not None and differ.weights is not None:
        weight[gold.case] = differ.weights
    for name, predicted in models.items():
        right = np.stack([_share_right(predicted.case, predicted.values, truth), own, constant], axis=1)
        both = known & ~np.isnan(right).any(axis=1)
        if not both.any():
            raise PredictionError(f"no case has a gold label, labels of annotators and one of {name}; join other cases")
        right, cluster = right[both], np.unique(clusters[both], return_inverse=True)[1]
        drawn, own_weight = None, weight[both]
        if cluster.max() > 0:
            columns = np.column_stack([right * own_weight[:, None], own_weight])
            sums = resampled_sums(columns, cluster, replicates, seed)
            sizes = np.bincount(cluster, own_weight)
            drawn = with_unseen(sums[:, :3], sums[:, 3], (sizes**2).sum() / sizes.sum(), seed)
        mean = np.average(right, axis=0, weights=own_weight)
        repeats = _share_right(predicted.case, predicted.values, wrong)[of_wrong]
        repeated = int((~np.isnan(repeats)).sum()), int(np.nansum(repeats))
        found[name] = AgainstGold(int(both.sum()), mean, drawn, differ, right.mean(axis=0), most, repeated)
    return found


def _wrong_votes(labels: Labels, truth: np.ndarray) -> tuple[Int[np.ndarray, " wrong"], np.ndarray]:
    """Cases in which one label has the most votes, at least two, and is wrong; and that label, of every case."""
    code, wrong = distinct(labels).code, np.full(len(truth), None, object)
    cells, first, votes = np.unique(labels.case * len(labels) + code, return_index=True, return_counts=True)
    case = cells // len(labels)
    most = np.zeros(len(truth), int)
    np.maximum.at(most, case, votes)
    top = (votes == most[case]) & (votes > 1)
    alone = top & (np.bincount(case[top], minlength=len(truth)) == 1)[case]
    for at, label in zip(case[alone].tolist(), labels.values[first[alone]].tolist(), strict=True):
        if truth[at] is not None and label != truth[at]:
            wrong[at] = label
    return np.array([at for at, label in enumerate(wrong) if label is not None], np.int64), wrong


def _selection(gold: Gold, labels: Labels, models: Mapping[str, Predictions], seed: int) -> Selection | None:
    """Whether gold labels are of a random part, as far as shares of equal labels, and of models' labels, tell."""
    classes, size = np.unique([str(value) for value in labels.values.tolist()], return_counts=True)
    classes = classes[np.argsort(-size, kind="stable")[:_MOST]]

    def shares(case: np.ndarray, values: np.ndarray) -> Float[np.ndarray, "case class"]:
        same = np.array([str(value) for value in values.tolist()])[:, None] == classes
        total = np.maximum(np.bincount(case, minlength=len(labels.cases)), 1)
        of_each = [np.bincount(case, one, len(labels.cases)) for one in same.T]
        return np.stack(of_each, axis=1) / total[:, None]

    said = {name: shares(one.case, one.values) for name, one in models.items()}
    return selection(shares(labels.case, labels.values), said, gold.case, classes, labels.cases, seed)


def _share_right(case: np.ndarray, values: np.ndarray, truth: np.ndarray) -> Float[np.ndarray, " case"]:
    """Share of the labels of each case that are right; NaN without any."""
    right = np.array([value == truth[at] for at, value in zip(case, values.tolist(), strict=True)], float)
    total = np.bincount(case, minlength=len(truth))
    with np.errstate(invalid="ignore"):
        return np.bincount(case, weights=right, minlength=len(truth)) / total
