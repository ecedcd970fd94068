"""Annotators who err together: how often two agree, against how often they would if their errors were independent.

Independent means: given what a case looks like to everybody, which is inferred from all other labels of the case. Pairs
that agree more often share something that the model does not know, such as training data or a school.
"""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from plausibly.data.case import LabelledCases
from plausibly.families.settled import Values
from plausibly.families.together import Agreement, err_together, named, pairs_in_common
from plausibly.families.true_class._sampler import prevalence_of

if TYPE_CHECKING:
    from plausibly.families.true_class._family import TrueClass

_DRAWS = 10


def agreements(family: "TrueClass", labels: LabelledCases, shared: Values) -> list[Agreement]:
    """Compare the agreement of pairs of annotators with that of independent errors, the greatest excess first."""
    table = np.full((labels.n_cases, labels.n_annotators), -1)
    table[labels.case, labels.annotator] = np.arange(len(labels.case))
    has = table >= 0
    pairs, common = pairs_in_common(has)
    expected = [np.zeros(n) for n in common]
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
    """Say which annotators err together, and what to do; nothing if none do."""
    group = err_together(found)
    if group is None:
        return ""
    members, observed, expected = group
    who, argument = named(names, members)
    return (
        f"Some annotators err together: {who} agree in {observed:.0%} of the cases that two of them have, "
        f"{expected:.0%} if their errors were independent, and less with others. What they share counts as if it were "
        f"true: name them, as in {argument}."
    )
