"""Annotators who agree with others no better than chance, copy one of them, or lean towards a label."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.special import stdtrit

from plausibly.agreement.chance._compared_pairs import ComparedPairs, distances_of
from plausibly.agreement.chance.leaning import LEAST, leaning_in_words, leanings
from plausibly.agreement.pairs import OneCoin, pairs_of_others
from plausibly.base.names import listed, many
from plausibly.data.audit import identical_annotators
from plausibly.data.labels.container import Labels

LEAST_SHARED = 5  #: labels of the same cases, below which nobody is said to copy
_LEVEL_OF_COPIES, _REPEATED = 0.05, 0.8  # probability of any false report, and least share of labels that are the same
_PRIOR = 2.0  # pairs that the general rate of equal labels counts for in a case
_EVIDENCE = 0.5  # of the weight of the best annotator, that the others of a case have at least to tell anything
_LEAST_ABOVE = 0.02  #: accuracy above chance that anyone is taken to have
_INSIDE = 0.9  # of the cases of who copies, the other has labelled, too
_BLOCK = 1 << 16  # pairs at a time, each with all tilts
_TILTS = np.linspace(0.1, 12, 60)


def find_copies(labels: Labels, code: Int[np.ndarray, " label"]) -> list[tuple[int, int, bool]]:
    """Find annotators who copy another, and whom: indices of both, and whether it may be the reverse.

    For every two annotators, the number of cases of which they say the same is compared with what two independent
    annotators would: in each case, as often as either says the same as others, who count by how often they are right. A
    case of which nobody else knows anything tells nothing, and two who say the same of most cases agree for that.
    The probability of so many is bounded (Chernoff 1952, for independent events of different probabilities), for all
    pairs together (Bonferroni). Of two who say the same, the one copies whose cases the other has, too; if either has
    others, or both have the same, nothing tells.

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
    found = enough & (same >= _REPEATED * n) & (log_p < np.log(_LEVEL_OF_COPIES / max(enough.sum(), 1)))
    return _directed(np.column_stack([*np.divmod(cell[found], people)]), n[found], log_p[found], labels)


def _directed(pairs: np.ndarray, n: np.ndarray, log_p: np.ndarray, labels: Labels) -> list[tuple[int, int, bool]]:
    """Tell who of a pair copies; of several whom one may copy, take the likeliest."""
    n_labels = np.bincount(labels.annotator, minlength=len(labels.annotators))
    copied: dict[int, tuple[int, bool]] = {}
    for place in np.argsort(log_p, kind="stable").tolist():
        one, other = pairs[place].tolist()
        copier, source = (one, other) if n[place] / n_labels[one] > n[place] / n_labels[other] else (other, one)
        shares = n[place] / n_labels[[copier, source]]
        copied.setdefault(copier, (source, bool(shares[0] < _INSIDE or shares[1] >= _INSIDE)))
    return [(copier, *of) for copier, of in copied.items()]


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


Groups = Int[np.ndarray, " row"]
Values = Float[np.ndarray, " row"]

TOO_FEW, NO_BETTER = "too few", "no better than chance"
_LEVEL, _LEVEL_OF_ALL = 0.01, 0.05  # of the test against chance, of each annotator, and of any
_PARTNERS, _PAIRS, _SLOW_PAIRS = 128, 1_000_000, 40_000  # labels of other cases, of each label and in all


@dataclass(frozen=True)
class Shared:
    """What an annotator said of a case that others labelled, too: a *unit*, of one label or several."""

    annotator: Int[np.ndarray, " unit"]
    of_label: Int[np.ndarray, " label"]  # unit of every label; −1 for labels of nobody else's cases
    pairs: Float[np.ndarray, " unit"]  # pairs of a label of the unit and one of another annotator
    distance: Float[np.ndarray, " unit"]  # mean of these
    adjusted: Float[np.ndarray, " unit"]  # the same, in a case of average difficulty


def annotator_table(compared: ComparedPairs, ci_prob: float, seed: int) -> pd.DataFrame:
    """Tabulate annotators; see :meth:`plausibly.agreement.Agreement.annotators`."""
    labels, people = compared.labels, len(compared.labels.annotators)
    shared = compare_units(compared)
    chance = distance_by_chance(compared, shared, seed)
    known = ~np.isnan(chance)
    who, expected, adjusted = shared.annotator[known], chance[known], shared.adjusted[known]
    n = np.bincount(who, minlength=people)
    overall = compared.expected() @ compared.levels / compared.expected().sum()
    agreement, error = _mean_and_error(
        who, 1 - adjusted / overall if overall > 0 else np.full(len(who), np.nan), people
    )
    half = stdtrit(np.maximum(n - 1, 1), (1 + ci_prob) / 2) * error
    table = pd.DataFrame(
        {
            "annotator": labels.annotators,
            "labels": np.bincount(labels.annotator, minlength=people),
            "pairs": np.bincount(shared.annotator, shared.pairs, people).astype(int),
            "distance": _mean(shared.annotator, shared.distance, shared.pairs, people),
            "by_chance": np.divide(np.bincount(who, expected, people), n, out=np.full(people, np.nan), where=n > 0),
            "agreement": agreement,
            "lower": agreement - half,
            "upper": agreement + half,
            "flag": _flags(who, expected, [adjusted, shared.distance[known]], people),
        }
    ).join(leanings(labels, nominal=compared.distance.name == "nominal"))
    for copier, source, reverse in find_copies(labels, compared.distinct.code):
        table.loc[copier, "flag"] = f"copies {labels.annotators[source]}" + ", or is copied" * reverse
    for group in identical_annotators(labels):
        known = table.loc[group, "flag"].str.startswith("copies").any()  # who copies whom
        for at in group if not known else ():
            others = listed(labels.annotators[group[group != at]].tolist(), 3)
            table.loc[at, "flag"] = f"says the same as {others}"
    order = np.select([table["flag"] == "", table["flag"] == TOO_FEW], [1, 2], 0)
    return table.iloc[np.lexsort((np.nan_to_num(agreement, nan=np.inf), order))].reset_index(drop=True)


def annotators_in_words(table: pd.DataFrame) -> str:
    """Say in sentences which annotators of a table need a closer look, and who is strict or lenient.

    Parameters
    ----------
    table
        Table from :meth:`Agreement.annotators`.

    Examples
    --------
    >>> table = pd.DataFrame({"annotator": ["a", "b", "c"], "agreement": 0.6, "flag": ["copies b", "", "too few"]})
    >>> annotators_in_words(table)
    '1 of 3 annotators needs a look: a copies b. 1 has too few labels to tell.'
    >>> annotators_in_words(table[1:2])
    'Nothing is odd about 1 annotator; b agrees least with the others (0.60 beyond chance; median 0.60).'
    """
    people = many(len(table), "annotator")
    few = int((table["flag"] == TOO_FEW).sum())
    start, leaning = flagged_in_words(table), leaning_in_words(table) if "leans" in table else ""
    if not start and (rest := table[table["flag"] == ""].reset_index()).size:
        name, least, median = rest.loc[0, "annotator"], rest.loc[0, "agreement"], rest["agreement"].median()
        start = f"{name} agrees least with the others ({least:.2f} beyond chance; median {median:.2f})."
        start = start if leaning else f"Nothing is odd about {people}; {start}"
    start = start or f"None of {people} can be judged."
    start += f" {few:,} {'has' if few == 1 else 'have'} too few labels to tell." if few else ""
    return f"{start} {leaning}".rstrip()


def flagged_in_words(table: pd.DataFrame) -> str:
    """Say who of a table is flagged; nothing if nobody is."""
    flagged = table.loc[~table["flag"].isin(["", TOO_FEW])]
    if flagged.empty:
        return ""
    first = flagged.head(3)
    shown = [f"{row['annotator']} {row['flag']}" for row in first.to_dict("records") if row["flag"] != NO_BETTER]
    if by_chance := first.loc[first["flag"] == NO_BETTER, "annotator"].tolist():
        agree = f"agree{'s' * (len(by_chance) == 1)} with the others no better than chance"
        shown.append(f"{listed(by_chance)} {agree}")
    more = f" and {len(flagged) - 3:,} more" if len(flagged) > 3 else ""
    need = f"need{'s' * (len(flagged) == 1)} a look"
    return f"{len(flagged):,} of {many(len(table), 'annotator')} {need}: {', '.join(shown)}{more}."


def compare_units(compared: ComparedPairs) -> Shared:
    """Compare labels with those of the other annotators of their cases, and take out how hard the cases are.

    The distance of a unit is expected to rise with that among the other annotators of its case, by a slope that is
    estimated: noise of the latter, which is great where others are few, makes it small.
    """
    labels, people = compared.labels, len(compared.labels.annotators)
    own, unit = np.unique(labels.case * people + labels.annotator, return_inverse=True)
    case, annotator = own // people, own % people
    total, pairs = np.zeros(len(own)), np.zeros(len(own))
    for left, right in pairs_of_others(labels):
        distance = compared.distance_of(left, right)
        for side in (left, right):
            total += np.bincount(unit[side], distance, len(own))
            pairs += np.bincount(unit[side], minlength=len(own))
    n_cases = len(labels.cases)
    rest_total = np.bincount(case, total, n_cases)[case] / 2 - total
    rest_pairs = np.bincount(case, pairs, n_cases)[case] / 2 - pairs
    some = pairs > 0
    distance = np.divide(total, pairs, out=np.zeros(len(own)), where=some)
    # What the others of a case differ by is compared with what they differ by in all cases.
    by_person = [np.bincount(annotator, found, people) for found in (total, pairs)]
    usual, n_usual = (found.sum() / 2 - own_part for found, own_part in zip((total, pairs), by_person, strict=True))
    usual = np.divide(usual, n_usual, out=np.zeros(people), where=n_usual > 0.5)[annotator]
    rest = np.divide(rest_total, rest_pairs, out=usual.copy(), where=rest_pairs > 0.5) - usual
    distance, rest, others = distance[some], rest[some], np.rint(rest_pairs[some]).astype(int)
    several = others > 0
    together = max(float(np.cov(distance[several], rest[several])[0, 1]), 0.0) if several.sum() > 1 else 0.0
    _, alike = np.unique(others, return_inverse=True)
    spread = np.bincount(alike, rest**2) / np.maximum(np.bincount(alike), 1)
    slope = np.divide(together, spread, out=np.zeros(len(spread)), where=spread > 0).clip(max=1)[alike]
    number = np.where(some, np.cumsum(some) - 1, -1)
    return Shared(annotator[some], number[unit], pairs[some], distance, distance - slope * rest)


def distance_by_chance(compared: ComparedPairs, shared: Shared, seed: int) -> Float[np.ndarray, " unit"]:
    """Mean distance of a unit's labels to other annotators' labels of other cases, of which some are drawn."""
    labels = compared.labels
    rows = np.flatnonzero(shared.of_label >= 0)
    most = _SLOW_PAIRS if compared.distance.slow and compared.across.sampled else _PAIRS
    times = int(np.clip(most // max(len(rows), 1), 1, _PARTNERS))
    left = np.repeat(rows, times)
    right = np.random.default_rng([seed, 1]).integers(0, len(labels), len(left))
    other = (labels.case[left] != labels.case[right]) & (labels.annotator[left] != labels.annotator[right])
    left, right = left[other], right[other]
    key = compared.key_of(left, right)
    if compared.across.sampled:
        keys, place = np.unique(key, return_inverse=True)
        known = distances_of(labels, compared.distinct, keys, compared.distance, progress=False)
    else:
        place, known = np.searchsorted(compared.keys, key), compared.distances
    unit = shared.of_label[left]
    return _mean(unit, known[place], np.ones(len(unit)), len(shared.annotator))


def _flags(who: Groups, expected: Values, distances: Sequence[Values], people: int) -> np.ndarray:
    """Test distances against those `expected` by chance; labels are too few where neither chance nor typical is out.

    Distances are adjusted for difficulty and as they are; by one of them to be better is enough. What is typical is the
    median, among those who are better, of what they gain as a share of their distance by chance, which is small of
    somebody who hardly ever names a rare label. That somebody stays below it has to hold if one case more had been
    labelled as well as possible, without which two rare labels would seem to be sure. Of all annotators together, one
    is found by chance with a probability of 5 %.
    """
    n = np.bincount(who, minlength=people)
    gains = [_mean_and_error(who, expected - found, people) for found in distances]
    critical = stdtrit(np.maximum(n - 1, 1), 1 - _LEVEL)
    at_chance = ~np.logical_or.reduce([gain > critical * error for gain, error in gains])
    by_chance = _mean_and_error(who, expected, people)[0]
    better = (n >= LEAST) & ~at_chance
    typical = np.median(gains[0][0][better] / by_chance[better]) if better.any() else 0.5
    best = np.zeros(people)
    np.maximum.at(best, who, expected)
    gain, error = _mean_and_error(np.append(who, np.arange(people)), np.append(expected - distances[0], best), people)
    critical = stdtrit(np.maximum(n - 1, 1), 1 - min(_LEVEL, _LEVEL_OF_ALL / people))
    unclear = at_chance & ~(gain + critical * error < typical * by_chance)
    return np.select([(n < LEAST) | unclear, at_chance], [TOO_FEW, NO_BETTER], "").astype(object)


def _mean_and_error(group: Groups, values: Values, n_groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean by group and its standard error; NaN without rows, or with one."""
    n = np.bincount(group, minlength=n_groups)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(group, values, n_groups) / n
        return mean, np.sqrt(np.bincount(group, (values - mean[group]) ** 2, n_groups) / (n - 1) / n)


def _mean(group: Groups, values: Values, weight: Values, n: int) -> np.ndarray:
    """Weighted mean by group; NaN without a row."""
    total = np.bincount(group, weight, n)
    return np.divide(np.bincount(group, weight * values, n), total, out=np.full(n, np.nan), where=total > 0)
