"""Chains that stay in different modes, told apart by the true classes that they hold for most probable."""

from typing import TYPE_CHECKING

import numpy as np

from plausibly.case import LabelledCases
from plausibly.families.settled import SharedDraws
from plausibly.families.true_class._sampler import class_probabilities

if TYPE_CHECKING:
    from plausibly.families.true_class._family import TrueClass

_DRAWS = 10  # of each chain
_SURE = 0.7  # probability of a class that counts
_APART = 0.03  # share of cases of which chains in different modes hold different classes for most probable


def modes(family: "TrueClass", labels: LabelledCases, shared: SharedDraws, limit: float) -> str:
    """Say which chains are in which mode and how probable labels are there; nothing below a ``limit`` of R-hat.

    The log likelihood is that of all labels with true classes summed out, the mean over draws. Its differences say
    which mode the data support.
    """
    if float(shared.judged["r_hat"].fillna(1).max()) < limit:
        return ""
    chains, draws = shared.values["prevalence"].shape[:2]
    at = np.linspace(0, draws - 1, min(_DRAWS, draws)).astype(int)
    probability, log_probability = class_probabilities(family, labels, {k: v[:, at] for k, v in shared.values.items()})
    mean, fit = probability.mean(1), log_probability.sum(-1).mean(1)
    top, sure = mean.argmax(-1), mean.max(-1) > _SURE
    apart = np.array([[(sure[a] & sure[b] & (top[a] != top[b])).mean() for b in range(chains)] for a in range(chains)])
    groups: list[list[int]] = []
    for chain in range(chains):
        near = next((group for group in groups if apart[group, chain].min() < _APART), None)
        groups.append([chain]) if near is None else near.append(chain)
    if len(groups) == 1:
        return ""
    groups.sort(key=lambda group: -fit[group].mean())
    named = [
        f"chain{'s' * (len(group) > 1)} {' and '.join(str(chain + 1) for chain in group)} "
        f"(log likelihood {fit[group].mean():,.0f})"
        for group in groups
    ]
    return f"{'; '.join(named)}; they differ on the true class of up to {apart.max():.0%} of the cases"
