"""The true class of each case in every draw, under models that assume one.

Plausibilities of such models are probabilities: how probable each class is to be the true one, given what all cases
share in that draw. The largest of them is not the truth of the draw; the truth is a class drawn from them. Whatever
reads draws as truth reads the drawn class, with all mass on it; a list ranks it first, and the others by probability.
Means over draws are those of the probabilities, which have no noise of drawing.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plausibly._arviz import Posterior
from plausibly.annotations import Slots
from plausibly.random_streams import Stream, Words, uniform_draws

ONE_TRUE_CLASS = "one true class"  #: in each case; the attribute "assumes" of a posterior


def has_true_class(posterior: Posterior) -> bool:
    """Say whether the model of a posterior assumes that each case has one true class."""
    return posterior.attrs.get("assumes") == ONE_TRUE_CLASS


def draw_true_class(
    probability: Float[np.ndarray, "slot draw"],
    slots: Slots,
    cases: Int[np.ndarray, " case"],
    words: Words,
) -> Float[np.ndarray, "slot draw"]:
    """Draw the true class of some cases in every draw: 1 at its slot, 0 at all others of the case.

    Parameters
    ----------
    probability
        Probability of each class to be the true one; the slots of a case sum to one.
    slots
        Which case and class they belong to; every class has one.
    cases
        Positions of the cases; the slots of others keep their probabilities.
    words
        Random keys of these cases, of every stream.

    Examples
    --------
    >>> from plausibly.random_streams import case_keys, stream_words
    >>> probability = np.repeat(np.array([[0.7], [0.3]], np.float32), 10000, axis=1)
    >>> slots, words = Slots.of_every_class(1, 2), stream_words(case_keys(0, ["p"]))
    >>> drawn = draw_true_class(probability, slots, np.array([0]), words)
    >>> drawn.sum(axis=0).max().item(), drawn.mean(axis=1, dtype=float).round(1).tolist()
    (1.0, [0.7, 0.3])
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
