"""Whether systems were judged alike: by the same people, on the same cases, against the same opponents.

Means of systems can be compared if all else is the same for them, or left to chance. Where it is not, outcomes tell how
much of a difference is due to it as far as systems have people, cases or opponents in common: by least squares with an
effect of each person, and of each case; on the cases that all systems have; or by strengths (``_strengths.py``). Where
they have nothing in common, nothing tells which one is best.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse, stats
from scipy.sparse.csgraph import connected_components

from plausibly.base.names import many, probability_in_words, some
from plausibly.data.outcomes import Outcomes, cell_of_rows, cells_of
from plausibly.systems._estimates import Estimate, mean
from plausibly.systems._result import FEW
from plausibly.systems._strengths import Meetings, strengths

_NOT_BY_CHANCE, _APART = 0.001, 0.05  # p-values of an even design; of people who are never the same
_SAME = 0.95  # share of the cases of a system that another has, from which they have the same cases
_MOST = 0.8  # share of the outcomes by people that has to be left of each system, unless enough are
_LINK = 5  # cases or clusters, at least, in which two systems have a case or a person in common
_SMALL = 1e-9
_MANY = 8  # people of a system, from which they are a sample of people


@dataclass(frozen=True, eq=False)
class Design:
    """What systems have in common, and how they are compared by it.

    Parameters
    ----------
    outcomes
        Outcomes to use: all, or those of the common cases.
    cautions
        What is not the same for all systems, and what follows, in sentences; empty if all is.
    shift
        What is to be added to the estimate that ranks, with its errors by cluster; None for nothing.
    estimate
        Estimate that ranks instead of the usual one; None if that does.
    leads
        Name of the estimator that ranks, ``strengths`` or ``adjusted``; empty for the usual ones.
    comparable
        Whether P(best) can be told.
    randomised
        Whether P(best) could be told if cases were given to systems at random.
    met
        Of pairs with different opponents, whom each system met, in words.
    """

    outcomes: Outcomes
    cautions: tuple[str, ...] = ()
    shift: Estimate | None = None
    estimate: Estimate | None = None
    leads: str = ""
    comparable: bool = True
    randomised: bool = False
    met: tuple[str, ...] = ()

    def applied(self, main: Estimate) -> Estimate:
        """Return the estimate that ranks, from the one that would otherwise."""
        return self.estimate or shifted(main, self.shift)

    def if_random(self, p_best: Float[np.ndarray, " system"]) -> Iterator[str]:
        """Say what P(best) of the first system would be if cases were given to systems at random."""
        if self.randomised and np.isfinite(p_best[0]):
            share = probability_in_words(p_best[0])
            yield f"If cases were given to systems at random, P(best) of the first one would be {share}."


def design_of(read: Outcomes) -> Design:
    """Find out what systems have in common, and estimate by it if it is not all."""
    if len(read.systems) < 2:
        return Design(read)
    if read.opponent is not None:
        return _of_pairs(read)
    read, cautions, by_case = _common_cases(read)
    people = read.is_person[read.rater]
    groups = _groups(_cases_in_common(read, people) >= _LINK) if by_case else []
    apart = len(groups) > 1
    if apart:
        cautions += (_no_case(read, groups),)
    uneven = _raters_differ(read, people)
    if uneven:
        rated = _clusters_rated(read, people) >= _LINK
        groups = _groups(rated.T.astype(int) @ rated > 0)
        if len(groups) > 1 and not by_case and (_number_of_people(read, people) >= _MANY).all():
            words = (
                "Each system was rated by people of its own: they are taken for a sample, and intervals count people."
            )
            return Design(read, (*cautions, words), _errors_of_people(read, people), leads="adjusted")
        if len(groups) > 1:
            return Design(read, (*cautions, _no_person(read, groups)), comparable=False)
    if apart or not (uneven or by_case):
        return Design(read, cautions, comparable=not apart, randomised=apart)
    found = least_squares(read, people, raters=uneven, cases=by_case)
    if found is None:  # those who link people are not those who link cases
        return Design(read, (*cautions, _no_person(read, [*np.arange(len(read.systems))[:, None]])), comparable=False)
    cautions += (_adjusted(read, raters=uneven, cases=by_case),)
    if by_case:
        return Design(read, cautions, estimate=found, leads="adjusted")
    alone = mean(cells_of(read))
    gap = replace(found, value=found.value - alone.value, influence=found.influence - alone.influence)
    return Design(read, cautions, gap, leads="adjusted")


def shifted(estimate: Estimate, by: Estimate | None, sign: int = 1) -> Estimate:
    """Return an estimate to which another is added, whose first rows of influence are those of the same clusters."""
    if by is None:
        return estimate
    n = min(len(estimate.influence), len(by.influence))
    both = estimate.influence[:n] + sign * by.influence[:n]
    influence = np.vstack([both, estimate.influence[n:], by.influence[n:]])
    value, df = estimate.value + sign * by.value, np.minimum(estimate.df, by.df)
    return replace(estimate, value=value, influence=influence, df=df)


def least_squares(read: Outcomes, people: Bool[np.ndarray, " row"], *, raters: bool, cases: bool) -> Estimate | None:
    """People's mean of each system with an effect of each person and each case: of the average person and case.

    The outcomes of a system in a case count as much as one. The error is that of the mean of all outcomes, and that of
    the differences between systems. None if people and cases together do not tell the systems apart.
    """
    cell, n_cells, _ = cell_of_rows(read)
    rows, n = np.flatnonzero(people), len(read.systems)
    system, rater, y = read.system[rows], read.rater[rows], read.value[rows]
    weight = 1 / np.bincount(cell[rows], minlength=n_cells)[cell[rows]]
    case = np.unique(read.case[rows], return_inverse=True)[1] if cases else np.zeros(len(rows), int)
    one = np.ones(len(rows))
    parts = [sparse.csr_array((one, (np.arange(len(rows)), system)), (len(rows), n))]
    if raters:
        parts.append(sparse.csr_array((one, (np.arange(len(rows)), rater)), (len(rows), len(read.raters))))
    design: Any = sparse.hstack(parts).tocsr()
    of_case = np.bincount(case, weight)
    means = sparse.csr_array((weight / of_case[case], (case, np.arange(len(rows)))))  # of each case
    centre = (means.T * of_case).T @ design  # sums by case
    information = (design.T * weight @ design - centre.T @ (means @ design)).toarray()
    inverse = np.linalg.pinv(information, rcond=_SMALL, hermitian=True)
    share = np.bincount(system, weight, n) / weight.sum()
    contrast = np.eye(n, design.shape[1]) - np.r_[share, np.zeros(design.shape[1] - n)]
    slopes = contrast @ inverse
    if not np.allclose(slopes @ information, contrast, atol=1e-6):
        return None
    found = inverse @ (design.T @ (weight * y) - centre.T @ (means @ y))
    rest = y - design @ found
    within = rest - (means @ rest)[case]
    of_row = (design @ slopes.T) - (means @ (design @ slopes.T))[case]
    level = rest - np.average(rest, weights=weight)
    several = np.bincount(case)[case] > 1
    rank = np.linalg.matrix_rank(information, tol=_SMALL * np.abs(information).max(), hermitian=True)
    units = len(np.unique(case[several])) if cases else len(rows)  # of which each shows an error of its own
    grown = np.sqrt(units / max(units - rank, 1))
    by_row = weight[:, None] * (level[:, None] / weight.sum() + grown * of_row * within[:, None])
    cluster, n_clusters = read.cluster[read.case[rows]], int(read.cluster.max()) + 1
    influence = np.zeros((n_clusters, n))
    np.add.at(influence, cluster, by_row)
    used = len(np.unique(cluster))
    influence *= np.sqrt(used / max(used - 1, 1))
    of_all, fourth = (np.maximum((influence**power).sum(axis=0), _SMALL) for power in (2, 4))
    df = np.clip(3 * of_all**2 / fourth - 1, 1, max(used - 1, 1))  # as many clusters as normal errors would take
    seen = np.bincount(np.unique(cluster * n + system) % n, minlength=n)
    return Estimate(np.average(y, weights=weight) + contrast @ found, influence, seen, df)


def _common_cases(read: Outcomes) -> tuple[Outcomes, tuple[str, ...], bool]:
    """Leave out cases that not all systems have, if enough are left; otherwise say whether they need an effect each."""
    n = len(read.systems)
    common = _cases_in_common(read, np.ones(len(read.value), bool))
    most = np.maximum.outer(np.diag(common), np.diag(common))
    if (common >= _SAME * most).all():
        return read, (), False
    key = np.unique(read.case.astype(np.int64) * n + read.system) // n
    shared = np.bincount(key, minlength=len(read.cases)) == n
    rows = shared[read.case]
    people = read.is_person[read.rater]
    left, seen = (np.bincount(read.system[one], minlength=n) for one in (rows & people, people))
    if (left < np.minimum(FEW, _MOST * seen)).any():
        return read, (), True
    case = np.cumsum(shared) - 1
    columns = {name: getattr(read, name) for name in ("system", "rater", "value", "longer", "date")}
    columns = {name: None if value is None else value[rows] for name, value in columns.items()}
    cluster = np.unique(read.cluster[shared], return_inverse=True)[1]
    part = replace(read, cases=read.cases[shared], case=case[read.case[rows]], cluster=cluster, **columns)
    words = (
        f"The systems do not have the same cases, and those of one may be easier: only the {shared.sum():,} cases that "
        f"all of them have are used, of {len(shared):,}."
    )
    return part, (words,), False


def _cases_in_common(read: Outcomes, rows: Bool[np.ndarray, " row"]) -> Int[np.ndarray, "system system"]:
    """Number of cases that each two systems have, in some rows."""
    n = len(read.systems)
    key = np.unique(read.case[rows].astype(np.int64) * n + read.system[rows])
    has = sparse.csr_array((np.ones(len(key), int), (key // n, key % n)), (len(read.cases), n))
    return (has.T @ has).toarray()


def _clusters_rated(read: Outcomes, people: Bool[np.ndarray, " row"]) -> Int[np.ndarray, "rater system"]:
    """Number of clusters of cases in which each person rated each system."""
    key = np.stack([read.rater, read.system, read.cluster[read.case]])[:, people]
    return _outcomes_of_people(read, np.flatnonzero(people)[np.unique(key, axis=1, return_index=True)[1]])


def _groups(linked: Bool[np.ndarray, "system system"]) -> list[Int[np.ndarray, " system"]]:
    """Systems that links hold together."""
    number, group = connected_components(linked, directed=False)
    return [np.flatnonzero(group == one) for one in range(number)]


def _outcomes_of_people(read: Outcomes, people: np.ndarray) -> Int[np.ndarray, "rater system"]:
    n = len(read.systems)
    key = read.rater[people].astype(np.int64) * n + read.system[people]
    return np.bincount(key, minlength=len(read.raters) * n).reshape(-1, n)


def _number_of_people(read: Outcomes, people: Bool[np.ndarray, " row"]) -> Float[np.ndarray, " system"]:
    """Number of people who rated each system, of whom those count for less who rated less."""
    number = _outcomes_of_people(read, people)
    return number.sum(axis=0) ** 2 / (number**2).sum(axis=0)


def _raters_differ(read: Outcomes, people: Bool[np.ndarray, " row"]) -> bool:
    """Whether systems were rated by different people, or in different shares, and not by chance."""
    number = _outcomes_of_people(read, people)
    apart = len(_groups(number.T @ number > 0)) > 1
    total = number.sum(axis=1)
    often = total >= min(number.shape[1], _LINK)
    number = np.vstack([number[often], number[~often].sum(axis=0)])  # those who rated little, together
    number = number[number.sum(axis=1) > 0]
    p = stats.chi2_contingency(number, correction=False)[1] if len(number) > 1 else 1.0
    return bool(p < (_APART if apart else _NOT_BY_CHANCE))


def _errors_of_people(read: Outcomes, people: Bool[np.ndarray, " row"]) -> Estimate:
    """Errors of systems that people of their own rated: what the variance by person exceeds that by outcome."""
    n, clusters = len(read.systems), int(read.cluster.max()) + 1
    system, rater = read.system[people], read.rater[people]
    size = np.bincount(system, minlength=n)
    error = (read.value[people] - (np.bincount(system, read.value[people], n) / size)[system]) / size[system]
    by_person = np.bincount(rater * n + system, error, len(read.raters) * n).reshape(-1, n)
    number = np.count_nonzero(_outcomes_of_people(read, people), axis=0)
    alone = np.bincount(system, error**2, n)
    more = np.maximum((by_person**2).sum(axis=0) * number / np.maximum(number - 1, 1) - alone, 0)
    influence = np.vstack([np.zeros((clusters, n)), np.diag(np.sqrt(more))])
    return Estimate(np.zeros(n), influence, number, _number_of_people(read, people) - 1)


def _named(read: Outcomes, groups: list[Int[np.ndarray, " system"]]) -> str:
    return " and ".join(
        some(group) if len(group) == 1 else f"({some(group)})" for group in map(read.systems.take, groups[:3])
    )


def _no_person(read: Outcomes, groups: list[Int[np.ndarray, " system"]]) -> str:
    return (
        f"{_named(read, groups)} were rated by different people, so what differs may be the people: which system is "
        f"best cannot be told. Let the same people rate {_LINK} outputs of each system or more."
    )


def _no_case(read: Outcomes, groups: list[Int[np.ndarray, " system"]]) -> str:
    return (
        f"{_named(read, groups)} have no cases in common (fewer than {_LINK}), so differences between cases are "
        "differences between systems: which one is best cannot be told, unless cases were given to systems at random. "
        "Let people rate the same cases of all systems."
    )


def _adjusted(read: Outcomes, *, raters: bool, cases: bool) -> str:
    differ = " and ".join(["people"] * raters + ["cases"] * cases)
    what = " and ".join(["how strict each person is"] * raters + ["how hard each case is"] * cases)
    alone = ", from people alone" if cases else ""
    return (
        f"Systems were rated {'by' if raters else 'on'} different {differ}, so their means do not compare them: the "
        f"ranking takes out {what} (least squares{alone})."
    )


def _of_pairs(read: Outcomes) -> Design:
    """Tell of opponents that differ, and of systems that are shown first more often than others."""
    people, n = read.is_person[read.rater], len(read.systems)
    met = _met(read, people)
    groups = _groups(met > 0)
    if len(groups) > 1:
        words = (
            f"No chain of opponents links {_named(read, groups)}, so win rates do not compare them: which system is "
            "best cannot be told. Let people compare systems of one with those of another."
        )
        return Design(read, (words,), comparable=False, met=tuple(_opponents(read, met)))
    raters = [people, *(read.rater == judge for judge in np.flatnonzero(~read.is_person))]
    uneven = any(_opponents_differ(read, rows) for rows in raters if rows.any())
    sided = not read.ranked and _sides_differ(read, people, met)
    if not uneven and not sided:
        return Design(read)
    opponents = tuple(_opponents(read, met))
    most = np.argsort(-met.max(axis=1) / met.sum(axis=1), kind="stable")[:2]
    examples = "; ".join(f"{read.systems[one]} met {opponents[one]}" for one in most)
    why = [f"met different opponents ({examples})"] * uneven + ["were shown first in different shares"] * sided
    words = (
        f"Systems {' and '.join(why)}, so win rates do not compare them: strengths rank (Bradley–Terry with ties, by "
        f"people alone{', without the advantage of the first place' * sided})."
    )
    rows = _meetings(read, people)
    found = strengths(rows, n, sided=sided)
    won = np.bincount(np.r_[rows.first, rows.second], np.r_[rows.value, 1 - rows.value], n)
    rate = won / np.bincount(np.r_[rows.first, rows.second], minlength=n)
    all_or_none = read.systems[(rate == 0) | (rate == 1)]
    if len(all_or_none):
        words += (
            f" {some(all_or_none)} won or lost all comparisons, so that a strength is known on one side only; half a "
            "win and half a defeat are added for each system."
        )
    return Design(read, (words,), estimate=found.win_rate, leads="strengths", met=opponents)


def _meetings(read: Outcomes, people: Bool[np.ndarray, " row"]) -> Meetings:
    """Outcomes by people; those of the same comparison count as one, unless it is the only one of two systems."""
    cell, n_cells, _ = cell_of_rows(read)
    rows = np.flatnonzero(people)
    weight, cluster = 1 / np.bincount(cell[rows], minlength=n_cells)[cell[rows]], read.cluster[read.case[rows]]
    if _without_cases(read):
        weight, cluster = np.ones(len(rows)), read.rater[rows]
    side = np.full(len(rows), float(not read.ranked))
    assert read.opponent is not None
    return Meetings(read.system[rows], read.opponent[rows], read.value[rows], weight, cluster, side)


def _without_cases(read: Outcomes) -> bool:
    """Whether each two systems were compared in a single case, as where there is no column of cases."""
    first, second = np.minimum(read.system, read.opponent), np.maximum(read.system, read.opponent)
    return (
        len(np.unique(first.astype(np.int64) * len(read.systems) + second)) == len(read.cases) == cell_of_rows(read)[1]
    )


def _comparisons(read: Outcomes, rows: Bool[np.ndarray, " row"]):
    """Both systems of each comparison in some rows, its cluster, and how often the first in order was shown first."""
    cell, _, _ = cell_of_rows(read)
    if _without_cases(read):
        cell = np.arange(len(cell))
    at, of_row = np.unique(cell[rows], return_index=True, return_inverse=True)[1:]
    assert read.opponent is not None
    first, second = read.system[rows], read.opponent[rows]
    turned = np.bincount(of_row, first > second) / np.bincount(of_row)
    cluster = (read.rater if _without_cases(read) else read.cluster[read.case])[rows]
    return np.minimum(first, second)[at], np.maximum(first, second)[at], cluster[at], 1 - turned


def _met(read: Outcomes, rows: Bool[np.ndarray, " row"]) -> Int[np.ndarray, "system system"]:
    n = len(read.systems)
    first, second, _, _ = _comparisons(read, rows)
    met = np.bincount(first * n + second, minlength=n * n).reshape(n, n)
    return met + met.T


def _opponents_differ(read: Outcomes, rows: Bool[np.ndarray, " row"]) -> bool:
    """Whether not all pairs of systems were compared equally often, and not by chance.

    Pearson's statistic, over what it would be for clusters that are drawn at random.
    """
    n = len(read.systems)
    first, second, cluster, _ = _comparisons(read, rows)
    pairs = n * (n - 1) // 2
    if pairs < 2:
        return False
    pair, total = first * n + second, len(first)
    expected = total / pairs
    number = np.bincount(pair, minlength=n * n)[np.triu(np.ones((n, n), bool), 1).ravel()]
    cluster = np.unique(cluster, return_inverse=True)[1]
    clusters = int(cluster.max()) + 1
    squares = (np.unique(cluster.astype(np.int64) * n * n + pair, return_counts=True)[1] ** 2).sum()
    by_chance = (squares - (number**2).sum() / clusters) * clusters / max(clusters - 1, 1) / expected
    statistic = ((number - expected) ** 2).sum() / expected
    if statistic < _SMALL:
        return False
    return bool(stats.chi2.sf(statistic * (pairs - 1) / max(by_chance, _SMALL), pairs - 1) < _NOT_BY_CHANCE)


def _sides_differ(read: Outcomes, people: Bool[np.ndarray, " row"], met: Int[np.ndarray, "system system"]) -> bool:
    """Whether systems were shown first unequally often, not by chance, where two of them were shown in both orders."""
    first, second, _, side = _comparisons(read, people)
    _, pair, number = np.unique(first * len(met) + second, return_inverse=True, return_counts=True)
    if not (np.abs(np.bincount(pair, 2 * side - 1)) < number).any():
        return False
    more = np.bincount(first, 2 * side - 1, len(met)) - np.bincount(second, 2 * side - 1, len(met))
    by_chance = np.diag(met.sum(axis=1)) - met  # covariance of first minus second places of each system
    statistic = more @ np.linalg.pinv(by_chance, rcond=_SMALL, hermitian=True) @ more
    return bool(stats.chi2.sf(statistic, len(met) - 1) < _NOT_BY_CHANCE)


def _opponents(read: Outcomes, met: Int[np.ndarray, "system system"]) -> Iterator[str]:
    """Say of each system whom it met most."""
    for row in met:
        most = np.argsort(-row, kind="stable")[:2]
        parts = [f"{read.systems[one]} ({100 * row[one] / row.sum():.0f} %)" for one in most if row[one]]
        others = f" and {many(np.count_nonzero(row) - 2, 'other')}" if np.count_nonzero(row) > 2 else ""
        yield ", ".join(parts) + others
