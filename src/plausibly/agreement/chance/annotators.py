"""Who is a bad annotator: agreement with the others on the same cases, and whether it could be chance."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.special import stdtrit

from plausibly.agreement.chance._compared_pairs import ComparedPairs
from plausibly.agreement.chance._pair_distances import distances_of
from plausibly.agreement.chance.copying import LEAST, find_copies, leaning_in_words, leanings
from plausibly.agreement.pairs import pairs_of_others
from plausibly.base.names import listed, many
from plausibly.data.audit import identical_annotators

Groups = Int[np.ndarray, " row"]
Values = Float[np.ndarray, " row"]

TOO_FEW, NO_BETTER = "too few", "no better than chance"
_LEVEL = 0.01  # of the test against chance
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
    gains = [_mean_and_error(who, expected - found, people) for found in (adjusted, shared.distance[known])]
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
            "flag": _flags(gains, n, _mean_and_error(who, expected, people)[0]),
        }
    ).join(leanings(labels, nominal=compared.distance.name == "nominal"))
    for copier, source in find_copies(labels, compared.distinct.code):
        table.loc[copier, "flag"] = f"copies {labels.annotators[source]}"
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
    'Of 3 annotators, 1 needs a look: a copies b. 1 has too few labels to tell.'
    >>> annotators_in_words(table[1:2])
    'Of 1 annotator, none is flagged; b agrees least with the others (0.60 beyond chance; median 0.60).'
    """
    flagged = table.loc[~table["flag"].isin(["", TOO_FEW])]
    few = int((table["flag"] == TOO_FEW).sum())
    start = f"Of {many(len(table), 'annotator')}, "
    if len(flagged):
        shown = [
            f"{name} {flag if flag != NO_BETTER else 'agrees with the others no better than chance'}"
            for name, flag in zip(flagged["annotator"].head(3), flagged["flag"].head(3), strict=True)
        ]
        more = f" and {len(flagged) - 3:,} more" if len(flagged) > 3 else ""
        start += f"{len(flagged):,} need{'s' * (len(flagged) == 1)} a look: {', '.join(shown)}{more}."
    elif (rest := table[table["flag"] == ""].reset_index()).size:
        name, least, median = rest.loc[0, "annotator"], rest.loc[0, "agreement"], rest["agreement"].median()
        start += (
            f"none is flagged; {name} agrees least with the others ({least:.2f} beyond chance; median {median:.2f})."
        )
    else:
        start += "none can be judged."
    start += f" {few:,} {'has' if few == 1 else 'have'} too few labels to tell." if few else ""
    leaning = leaning_in_words(table) if "leans" in table else ""
    return f"{start} {leaning}".rstrip()


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


def _flags(
    gains: list[tuple[np.ndarray, np.ndarray]],
    n: Int[np.ndarray, " annotator"],
    by_chance: Float[np.ndarray, " annotator"],
) -> np.ndarray:
    """Test gains against chance; labels are too few where neither chance nor what is typical can be excluded.

    Gains are means and their standard errors, adjusted for difficulty and as they are; one is enough to be better.
    Where nobody is, half of the distance by chance is taken for typical.
    """
    critical = stdtrit(np.maximum(n - 1, 1), 1 - _LEVEL)
    at_chance = ~np.logical_or.reduce([gain > critical * error for gain, error in gains])
    gain, error = gains[0]
    better = gain[(n >= LEAST) & ~at_chance]
    typical = np.median(better) if len(better) else by_chance / 2
    unclear = at_chance & ~(gain + critical * error < typical)
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
