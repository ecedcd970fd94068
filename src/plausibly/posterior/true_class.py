"""The true class of each case in every draw, under models that assume one.

Plausibilities of such models are probabilities: how probable each class is to be the true one, given what all cases
share in that draw. The largest of them is not the truth of the draw; the truth is a class drawn from them. Whatever
reads draws as truth reads the drawn class, with all mass on it; a list ranks it first, and the others by probability.
Means over draws are those of the probabilities, which have no noise of drawing.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plausibly.base.random_streams import Stream, Words, uniform_draws
from plausibly.data.annotations import Slots


def draw_true_class(
    probability: Float[np.ndarray, "slot draw"],
    slots: Slots,
    cases: Int[np.ndarray, " case"],
    words: Words,
) -> Float[np.ndarray, "slot draw"]:
    """Draws of the true class of some cases: 1 at its slot, 0 at all others of the case.

    Every class has a slot, and the probabilities of a case sum to one; slots of other cases keep theirs. ``words`` are
    the random keys of the drawn cases, of every stream.
    """
    out = probability.copy()
    place = uniform_draws(words[Stream.TRUE_CLASS], probability.shape[1])
    for case, of_case in zip(cases, place, strict=True):
        own = slice(*slots.start[case : case + 2].tolist())
        upto = np.cumsum(probability[own], axis=0, dtype=float)
        at = (upto <= of_case * upto[-1:]).sum(axis=0)
        out[own] = np.arange(len(upto))[:, None] == at
    return out


def to_rank(truth: Any, probability: Any) -> Any:
    """Numbers by which classes rank: the drawn class first, then by probability; without probabilities, as they are."""
    return truth if probability is None else 2 * truth + probability
