"""Who errs together: annotators of whom pairs agree more often than independent errors explain."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

_LEAST = 30  # cases that two annotators must both have
_PAIRS = 300  # those with most cases in common
_SHOWN = 6  # members of a group in a sentence
_SURE = 3.2  # eigenvalue, in roots of the number of annotators; 2 is expected by chance
_MUCH = 0.05  # excess of agreement, of what it lacks to perfect


@dataclass(frozen=True)
class Agreement:
    """Agreement of two annotators, as a share of cases or a correlation."""

    pair: tuple[int, int]
    n_cases: int
    observed: float
    expected: float  #: if their errors were independent
    z: float  #: excess in standard errors


def pairs_in_common(
    has: Bool[np.ndarray, "case annotator"],
) -> tuple[Int[np.ndarray, "pair two"], Int[np.ndarray, " pair"]]:
    """Pairs of annotators who have most cases in common, and how many.

    Examples
    --------
    >>> pairs, n = pairs_in_common(np.ones((40, 2), bool))
    >>> pairs.tolist(), n.tolist()
    ([[0, 1]], [40])
    """
    of_each = has.astype(np.float32)
    common = np.triu(of_each.T @ of_each, 1).astype(int)
    pairs = np.argwhere(common >= _LEAST)
    pairs = pairs[np.argsort(-common[tuple(pairs.T)], kind="stable")[:_PAIRS]]
    return pairs, common[tuple(pairs.T)]


def err_together(found: Sequence[Agreement]) -> tuple[np.ndarray, float, float] | None:
    """Return annotators who err together, their agreement and that of independent errors; None if nobody does.

    If all errors were independent, the excesses of pairs in standard errors would be like standard normal variables,
    and the greatest eigenvalue of their matrix about twice the root of the number of annotators. Those who share errors
    agree more often than that among themselves, and less often with others, which makes it greater.
    """
    who = np.unique([one.pair for one in found])
    excess = np.zeros((len(who), len(who)))
    for one in found:
        at = tuple(np.searchsorted(who, one.pair))
        excess[at] = excess[at[::-1]] = one.z
    if len(who) < 3:
        return None
    values, vectors = np.linalg.eigh(excess)
    if values[-1] < _SURE * np.sqrt(len(who)):
        return None
    parts = []
    for side in (vectors[:, -1] > 0, vectors[:, -1] <= 0):
        own = [one for one in found if set(one.pair) <= set(who[side].tolist())]
        if own:
            observed, expected = (
                float(np.mean([getattr(one, name) for one in own])) for name in ("observed", "expected")
            )
            parts.append(((observed - expected) / (1 - expected), who[side], observed, expected))
    much, *group = max(parts, key=lambda part: part[0])
    return None if much < _MUCH else (group[0], group[1], group[2])


def named(names: np.ndarray, members: np.ndarray) -> tuple[str, str]:
    """Names of members in a sentence, and the argument that makes a group of them.

    Examples
    --------
    >>> named(np.array(["ann", "gpt", "llama"]), np.array([1, 2]))
    ("'gpt', 'llama'", "annotator_groups={'A': ['gpt', 'llama']} (--annotator-groups)")
    """
    everybody = [str(names[one]) for one in members]
    who = ", ".join(map(repr, everybody[:_SHOWN])) + (" and others" if len(members) > _SHOWN else "")
    return who, f"annotator_groups={{'A': {everybody}}} (--annotator-groups)"
