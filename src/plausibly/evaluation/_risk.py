"""Risk of the cases: every class has one of a few levels, and a level's classes pool their plausibility."""

import numpy as np
from jaxtyping import Float, Int

from plausibly.evaluation._ranges import Range
from plausibly.metrics._risk import N_LEVELS
from plausibly.posterior._split_remainder import dirichlet
from plausibly.random_streams import Stream, generator


def level_plausibility(cases: Range, risks: Int[np.ndarray, " class"]) -> Float[np.ndarray, "level case draw"]:
    """Sum of the plausibilities of the classes of each risk level.

    The remainder's mass falls on the levels as Dirichlet(concentration · number of unnamed classes of the level), which
    is how Dirichlet(concentration · 1) over the classes adds up within levels.
    """
    slots = cases.slots
    start, end = slots.start[:-1], slots.start[1:]
    of_slot = np.where(slots.is_remainder, -1, risks[slots.class_index])
    member = of_slot == np.arange(N_LEVELS)[:, None]
    n_of_level = np.bincount(risks, minlength=N_LEVELS) - np.add.reduceat(member, start, axis=1, dtype=int).T
    if np.ndim(cases.concentration):
        by_class = np.asarray(cases.concentration)
        of_named = member * np.where(slots.is_remainder, 0, by_class[slots.class_index])
        of_level = np.bincount(risks, by_class, N_LEVELS) - np.add.reduceat(of_named, start, axis=1).T
        shape = np.where(n_of_level > 0, np.maximum(of_level, 1e-9), 0)
    else:
        shape = cases.concentration * n_of_level
    out = np.stack([np.add.reduceat(cases.draws * row[:, None], start, axis=0) for row in member])
    for case in np.flatnonzero(slots.is_remainder[end - 1]):
        rest = cases.draws[end[case] - 1]
        if rest.any():
            shares = dirichlet(generator(cases.words[Stream.RISK][case]), shape[case], len(rest))
            out[:, case] += rest * shares.T
    return out


def risk_by_case(
    best: Int[np.ndarray, "case draw"],
    levels: Float[np.ndarray, "level case draw"],
    risks: Int[np.ndarray, " class"],
) -> dict[str, np.ndarray]:
    """Summarize the risk of each case over the draws; cases are last.

    Parameters
    ----------
    best
        Most plausible class.
    levels
        Plausibility of each risk level.
    risks
        Level of each class.
    """
    certainty = [
        np.max([(level == at).mean(axis=1) for at in range(N_LEVELS)], axis=0)
        for level in (risks[best], levels.argmax(axis=0))
    ]
    expected = np.tensordot(np.arange(N_LEVELS, dtype=np.float32), levels, axes=1)
    return {
        "risk_certainty": certainty[0],
        "risk_level_certainty": certainty[1],
        "risk_plausibility": levels.mean(axis=2),
        "expected_risk_mean": expected.mean(axis=1),
        "expected_risk_min": expected.min(axis=1),
        "expected_risk_max": expected.max(axis=1),
    }
