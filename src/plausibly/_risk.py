"""Plausibility of the risk levels: every class has one of a few levels, and a level's classes pool their mass."""

import numpy as np
from jaxtyping import Float, Int

from plausibly._remainder import log_shares
from plausibly._streams import Stream, Words
from plausibly.annotations import Slots


def level_plausibility(
    plausibility: Float[np.ndarray, "draw slot"],
    slots: Slots,
    cases: Int[np.ndarray, " case"],
    words: Words,
    risks: Int[np.ndarray, " class"],
    *,
    n_levels: int,
    concentration: float,
) -> Float[np.ndarray, "draw case level"]:
    """Sum of the plausibilities of the classes of each risk level.

    The remainder's mass falls on the levels as Dirichlet(concentration · number of unnamed classes of the level), which
    is how Dirichlet(concentration · 1) over the classes adds up within levels.

    Parameters
    ----------
    plausibility
        Of all slots.
    slots
        Which case and class they belong to.
    cases
        Positions of consecutive cases.
    words
        Random keys of these cases, of every stream.
    risks
        Level of each class, 0 … ``n_levels`` − 1.
    n_levels
        Number of levels.
    concentration
        Of the Dirichlet that splits the remainder, for each class.
    """
    start, end = slots.start[cases], slots.start[cases + 1]
    own = slice(start[0], end[-1])
    named = ~slots.is_remainder[own]
    of_slot = np.where(named, risks[slots.class_index[own]], -1)
    member = of_slot == np.arange(n_levels)[:, None]
    n_of_level = np.bincount(risks, minlength=n_levels) - np.add.reduceat(member, start - start[0], axis=1, dtype=int).T
    out = np.empty((len(plausibility), len(cases), n_levels), np.float32)
    for level in range(n_levels):
        masses = np.where(member[level], plausibility[:, own], 0)
        out[..., level] = np.add.reduceat(masses, start - start[0], axis=1)
    rest = np.where(slots.is_remainder[end - 1], plausibility[:, end - 1], 0)
    draw, case = np.nonzero(rest > 0)
    shares = np.exp(log_shares(words[Stream.RISK][case], draw, np.zeros_like(draw), concentration * n_of_level[case]))
    out[draw, case] += rest[draw, case, None] * shares
    return out
