"""What is odd about judges of pairs: no ties, the first output, the longer output.

A judge is compared with people by how often each does something, with errors of clusters of cases, as people who see
the same pair are alike. A judge that does the same as people is told of in 1 % of data sets at most.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float

from plausibly.systems._estimates import Estimate, mean, p_of_contrast
from plausibly.systems._result import SURE
from plausibly.systems.outcomes import Cells, Outcomes

_LEAST = 20  # comparisons by a judge


def of_pairs(outcomes: Outcomes) -> Iterator[str]:
    """Say of each judge whether it never ties, prefers what is shown first, or prefers what is longer."""
    if outcomes.opponent is None:
        return
    people = outcomes.is_person[outcomes.rater]
    ties = outcomes.value == 0.5
    first = outcomes.value == 1
    for judge in np.flatnonzero(~outcomes.is_person):
        own, name = outcomes.rater == judge, outcomes.raters[judge]
        if own.sum() < _LEAST:
            continue
        if not (own & ties).any():
            yield from _never_ties(outcomes, name, own, people, ties)
        if not outcomes.ranked:  # which do not say what was shown first
            yield from _preference(outcomes, name, "the output that is shown first", own & ~ties, people & ~ties, first)
        if outcomes.longer is not None:
            decided = ~ties & (outcomes.longer != 0) & ~np.isnan(outcomes.longer)
            long = first == (outcomes.longer > 0)
            yield from _preference(outcomes, name, "the longer output", own & decided, people & decided, long)


def _never_ties(
    outcomes: Outcomes,
    name: str,
    own: Bool[np.ndarray, " row"],
    people: Bool[np.ndarray, " row"],
    ties: Bool[np.ndarray, " row"],
) -> Iterator[str]:
    """Say that a judge never ties, if chance does not explain it; the comparisons of a cluster count once."""
    share = _shares(outcomes, ties.astype(float), people)
    fewest, n = share.interval(0.95, share=True)[0][0], len(np.unique(outcomes.cluster[outcomes.case[own]]))
    if (1 - fewest) ** n < SURE:
        yield f"{name} never ties, people do in {100 * share.value[0]:.0f} % of comparisons."


def _preference(
    outcomes: Outcomes,
    name: str,
    what: str,
    judged: Bool[np.ndarray, " row"],
    said: Bool[np.ndarray, " row"],
    preferred: Bool[np.ndarray, " row"],
) -> Iterator[str]:
    """Say that a judge prefers something more often than people do, if chance does not explain it."""
    if not judged.any() or not said.any():
        return
    shares = _shares(outcomes, preferred.astype(float), judged, said)
    more, p = p_of_contrast(shares, np.array([True, False]))
    if more > 0 and p < SURE:
        by_judge, by_people = 100 * shares.value
        yield (f"{name} prefers {what} in {by_judge:.0f} % of the comparisons it decides, people in {by_people:.0f} %.")


def _shares(outcomes: Outcomes, values: Float[np.ndarray, " row"], *chosen: Bool[np.ndarray, " row"]) -> Estimate:
    """Mean of each choice of rows, as if it were a system, with the errors of clusters of cases."""
    rows = np.concatenate([np.flatnonzero(one) for one in chosen])
    of = np.repeat(np.arange(len(chosen)), [int(one.sum()) for one in chosen])
    cells = Cells(of, outcomes.cluster[outcomes.case[rows]], values[rows], np.empty((0, len(rows))))
    return mean(cells, cells.people, len(chosen), int(outcomes.cluster.max()) + 1)
