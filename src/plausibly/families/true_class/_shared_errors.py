"""Annotators who err together: how often two agree, against how often they would if their errors were independent.

Independent means: given what a case looks like to everybody, which is inferred from all other labels of the case. Pairs
that agree more often share something that the model does not know, such as training data or a school.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from plausibly.case import LabelledCases
from plausibly.families.settled import Values
from plausibly.families.true_class._sampler import prevalence_of

if TYPE_CHECKING:
    from plausibly.families.true_class._family import TrueClass

LEAST = 30  #: cases that two annotators must both have labelled
_PAIRS = 300  # those with most cases in common
_DRAWS = 10
_SHOWN = 6  # members of a group in a sentence
_SURE = 3.2  # eigenvalue, in roots of the number of annotators; 2 is expected by chance
_MUCH = 0.05  # excess of agreement, of what it lacks to perfect


@dataclass(frozen=True)
class Agreement:
    """Agreement of two annotators."""

    pair: tuple[int, int]
    n_cases: int
    observed: float  #: share of cases in which they agree
    expected: float  #: if their errors were independent
    z: float  #: excess in standard errors


def agreements(family: "TrueClass", labels: LabelledCases, shared: Values) -> list[Agreement]:
    """Compare the agreement of pairs of annotators with that of independent errors, the greatest excess first."""
    table = np.full((labels.n_cases, labels.n_annotators), -1)
    table[labels.case, labels.annotator] = np.arange(len(labels.case))
    has = (table >= 0).astype(np.float32)
    common = np.triu(has.T @ has, 1)
    pairs = np.argwhere(common >= LEAST)
    pairs = pairs[np.argsort(-common[tuple(pairs.T)], kind="stable")[:_PAIRS]]
    expected = [np.zeros(int(common[a, b])) for a, b in pairs]
    places = np.array(list(np.ndindex(shared["prevalence"].shape[:2])))
    places = places[np.linspace(0, len(places) - 1, _DRAWS).astype(int)]
    for at in map(tuple, places):
        values = {name: np.asarray(draws[at], float) for name, draws in shared.items()}
        confusion = family.confusion(values)
        seen = confusion if labels.looks is None else labels.looks.seen(confusion)
        logs = np.log(np.maximum(seen[labels.annotator, :, labels.label], 1e-300))
        before = _looks_before(labels, values)
        joint = before + labels.log_labels(confusion)[0].T
        for number, (a, b) in enumerate(pairs):
            case = np.flatnonzero(has[:, a] * has[:, b])
            others = joint[case] - logs[table[case, a]] - logs[table[case, b]]
            chance = np.exp(others - others.max(1, keepdims=True))
            alike = (seen[a] * seen[b]).sum(-1)
            expected[number] += (chance @ alike) / chance.sum(1) / _DRAWS
    found = []
    for (a, b), chance in zip(pairs.tolist(), expected, strict=True):
        case = np.flatnonzero(has[:, a] * has[:, b])
        same = labels.label[table[case, a]] == labels.label[table[case, b]]
        sd = float(np.sqrt((chance * (1 - chance)).sum() + 1e-9))
        excess = float((same - chance).sum())
        found.append(Agreement((a, b), len(case), float(same.mean()), float(chance.mean()), excess / sd))
    return sorted(found, key=lambda one: -one.z)


def _looks_before(labels: LabelledCases, values: dict[str, np.ndarray]) -> Float[np.ndarray, "*case look"]:
    """Log probability of each look, or of each class without looks, before labels are known."""
    prevalence = prevalence_of(labels, values)
    if labels.looks is not None:
        prevalence = prevalence @ labels.looks.given_class(values["looks"])[0].T
    return np.log(np.maximum(prevalence, 1e-300))


def sentence(found: list[Agreement], names: np.ndarray) -> str:
    """Say which annotators err together, and what to do; nothing if none do.

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
        return ""
    values, vectors = np.linalg.eigh(excess)
    if values[-1] < _SURE * np.sqrt(len(who)):
        return ""
    parts = []
    for side in (vectors[:, -1] > 0, vectors[:, -1] <= 0):
        own = [one for one in found if set(one.pair) <= set(who[side].tolist())]
        if own:
            observed, expected = (np.mean([getattr(one, name) for one in own]) for name in ("observed", "expected"))
            parts.append(((observed - expected) / (1 - expected), observed, expected, who[side]))
    much, observed, expected, members = max(parts, key=lambda part: part[0])
    if much < _MUCH:
        return ""
    some = [str(names[one]) for one in members[:_SHOWN]]
    who_they_are = ", ".join(map(repr, some)) + (" and others" if len(members) > _SHOWN else "")
    return (
        f"Some annotators err together: {who_they_are} agree in {observed:.0%} of the cases that two of them have, "
        f"{expected:.0%} if their errors were independent, and less "
        "with others. What they share counts as if it were true: name them, as in "
        f"annotator_groups={{'group': {some}}} (--annotator-groups)."
    )
