"""What is odd about judges of pairs: no ties, the first output, the longer output."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool
from scipy import stats

from plausibly.systems.outcomes import Outcomes

_BY_CHANCE = 1e-3
_LEAST = 20  # comparisons by a judge
_TIES = 0.05  # share of ties by people, above which a judge without any is odd


def of_pairs(outcomes: Outcomes) -> Iterator[str]:
    """Say of each judge whether it never ties, prefers what is shown first, or prefers what is longer."""
    if outcomes.opponent is None:
        return
    people = outcomes.is_person[outcomes.rater]
    ties = outcomes.value == 0.5
    for judge in np.flatnonzero(~outcomes.is_person):
        own, name = outcomes.rater == judge, outcomes.raters[judge]
        if own.sum() < _LEAST:
            continue
        if not (own & ties).any() and ties[people].mean() >= _TIES:
            yield f"{name} never ties, people do in {_percent(ties[people])} of comparisons."
        first = outcomes.value == 1
        yield from _preference(name, "the output that is shown first", first[own & ~ties], first[people & ~ties])
        if outcomes.longer is not None:
            decided = ~ties & (outcomes.longer != 0) & ~np.isnan(outcomes.longer)
            long = first == (outcomes.longer > 0)
            yield from _preference(name, "the longer output", long[own & decided], long[people & decided])


def _preference(
    name: str, what: str, judged: Bool[np.ndarray, " row"], said: Bool[np.ndarray, " row"]
) -> Iterator[str]:
    """Say that a judge prefers something more often than people do, if chance does not explain it."""
    if not len(judged) or not len(said):
        return
    counts = [[judged.sum(), len(judged) - judged.sum()], [said.sum(), len(said) - said.sum()]]
    if judged.mean() > said.mean() and stats.fisher_exact(counts, alternative="greater")[1] < _BY_CHANCE:
        yield f"{name} prefers {what} in {_percent(judged)} of the comparisons it decides, people in {_percent(said)}."


def _percent(values: np.ndarray) -> str:
    return f"{100 * values.mean():.0f} %"
