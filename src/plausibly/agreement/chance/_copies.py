"""Annotators who repeat another's labels, mistakes included, more often than agreement explains."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from plausibly.agreement._case_pairs import pairs_of_others
from plausibly.agreement._votes import OneCoin
from plausibly.labels.container import Labels

LEAST_SHARED = 5  #: labels of the same cases, below which nobody is said to copy
_LEVEL, _REPEATED = 0.05, 0.8  # probability of any false report, and least share of labels that are the same
_PRIOR = 2.0  # pairs that the general rate of equal labels counts for in a case
_EVIDENCE = 0.5  # of the weight of the best annotator, that the others of a case have at least to tell anything
_LEAST_ABOVE = 0.02  #: accuracy above chance that anyone is taken to have
_BLOCK = 1 << 16  # pairs at a time, each with all tilts
_TILTS = np.linspace(0.1, 12, 60)


def find_copies(labels: Labels, code: Int[np.ndarray, " label"]) -> list[tuple[int, int]]:
    """Find annotators who copy another, and whom: indices of both.

    For every two annotators, the number of cases of which they say the same is compared with what two independent
    annotators would: in each case, as often as either says the same as others, who count by how often they are right. A
    case of which nobody else knows anything tells nothing, and two who say the same of most cases agree for that.
    The probability of so many is bounded (Chernoff 1952, for independent events of different probabilities), for all
    pairs together (Bonferroni). Of two who say the same, the one copies whose cases the other has, too.

    `code` are the labels as indices of the different ones.
    """
    people = len(labels.annotators)
    weight = _weights(labels, code)[labels.annotator]
    equal, all_pairs = np.zeros(len(labels)), np.zeros(len(labels))  # with the labels of others, by their weight
    for left, right in pairs_of_others(labels, _BLOCK):
        same = code[left] == code[right]
        for side, other in ((left, right), (right, left)):
            equal += np.bincount(side, same * weight[other], len(labels))
            all_pairs += np.bincount(side, weight[other], len(labels))
    prior, habit = _PRIOR * weight.mean(), _habits(labels, code)
    rate = (equal @ weight) / max(all_pairs @ weight, 1e-300)
    cells, sums = [], []
    for left, right in pairs_of_others(labels, _BLOCK):
        alike = (code[left] == code[right]).astype(float)
        both = weight[left] + weight[right]
        others = all_pairs[left] + all_pairs[right] - both
        share = (equal[left] + equal[right] - alike * both + prior * rate) / (others + prior)
        by_habit = np.maximum(habit(left, right), habit(right, left))
        share = np.where(others < 2 * _EVIDENCE, 1.0, np.maximum(share, by_habit))
        low, high = np.sort([labels.annotator[left], labels.annotator[right]], axis=0)
        cell, place = np.unique(low * people + high, return_inverse=True)
        tilted = np.log1p(np.clip(share, 1e-9, 1)[:, None] * np.expm1(_TILTS))
        cells.append(cell)
        columns = (np.ones(len(place)), alike, *tilted.T)
        sums.append(np.stack([np.bincount(place, column) for column in columns], axis=1))
    if not cells:
        return []
    cell, place = np.unique(np.concatenate(cells), return_inverse=True)
    total = np.zeros((len(cell), 2 + len(_TILTS)))
    np.add.at(total, place, np.concatenate(sums))
    n, same, tilted = total[:, 0], total[:, 1], total[:, 2:]
    log_p = (tilted - _TILTS * same[:, None]).min(axis=1)
    enough = n >= LEAST_SHARED
    found = enough & (same >= _REPEATED * n) & (log_p < np.log(_LEVEL / max(enough.sum(), 1)))
    return _directed(np.column_stack([*np.divmod(cell[found], people)]), n[found], log_p[found], labels)


def _directed(pairs: np.ndarray, n: np.ndarray, log_p: np.ndarray, labels: Labels) -> list[tuple[int, int]]:
    """Tell who of a pair copies; of several whom one may copy, take the likeliest."""
    n_labels = np.bincount(labels.annotator, minlength=len(labels.annotators))
    copied: dict[int, int] = {}
    for place in np.argsort(log_p, kind="stable").tolist():
        one, other = pairs[place].tolist()
        copier, source = (one, other) if n[place] / n_labels[one] > n[place] / n_labels[other] else (other, one)
        copied.setdefault(copier, source)
    return list(copied.items())


def _habits(labels: Labels, code: Int[np.ndarray, " label"]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Function of labels and of others: the share of the former among the further labels of who gave the latter."""
    n, base = np.bincount(labels.annotator, minlength=len(labels.annotators)), int(code.max()) + 1
    said, times = np.unique(labels.annotator * base + code, return_counts=True)

    def share(label: Int[np.ndarray, " pair"], other: Int[np.ndarray, " pair"]) -> Float[np.ndarray, " pair"]:
        who = labels.annotator[other]
        key = who * base + code[label]
        place = np.minimum(np.searchsorted(said, key), len(said) - 1)
        further = np.where(said[place] == key, times[place], 0) - (code[label] == code[other])
        return further / np.maximum(n[who] - 1, 1)

    return share


def _weights(labels: Labels, code: np.ndarray) -> Float[np.ndarray, " annotator"]:
    """Weigh annotators by how often they are right, above chance, if one label of each case is.

    Where most of them are never right by that, as with boxes, which are hardly ever identical, it tells nothing, and
    all count the same.
    """
    frequency = np.bincount(code) / len(code)
    accuracy = OneCoin(labels, code, frequency).accuracies(np.ones((1, len(labels.cases))))[0]
    chance = float(frequency @ frequency)
    above = np.maximum(accuracy - chance, _LEAST_ABOVE)
    return above / above.max() if np.median(above) > _LEAST_ABOVE else np.ones(len(above))
