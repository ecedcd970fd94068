"""Certainty of the annotations, on plain arrays and on ranked lists; ambiguity and uncertainty of a case."""

import math
from functools import partial

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import entr
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int

from plausibly.base.errors import ArgumentError
from plausibly.metrics.inputs import BreakTies, as_array, check_plausibilities, check_size
from plausibly.metrics.list_metric import ranked

_FEW = 8  # places of a list
_FEW_SETS = 128  # of classes


def annotation_certainty(
    plausibilities: Float[ArrayLike, "draw case class"],
    size: int = 1,
    *,
    break_ties: BreakTies = "order",
    seed: int = 0,
) -> Float[Array, " case"]:
    """Largest share of draws that agree on which ``size`` classes are the most plausible.

    The certainty of a data set is the mean over its cases; a point estimate has certainty 1.

    Parameters
    ----------
    plausibilities
        Draws of the class distributions; finite, not negative.
    size
        Size of the set, at most the number of classes.
    break_ties
        How to break ties between plausibilities: by class order (``"order"``) or at random (``"random"``).
    seed
        Random seed for random ties.

    Returns
    -------
    Numbers between 1/draws and 1.

    Raises
    ------
    ArgumentError
        If the shape is not (draw, case, class), a value is not finite or negative, or ``size`` is out of range.

    References
    ----------
    Stutz et al. (2025), section 2.4, arXiv 2307.02191.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.array([[[0.6, 0.3, 0.1]], [[0.3, 0.6, 0.1]], [[0.5, 0.4, 0.1]], [[0.5, 0.4, 0.1]]])
    >>> annotation_certainty(draws).tolist(), annotation_certainty(draws, size=2).tolist()
    ([0.75], [1.0])
    """
    plausibilities = check_plausibilities(plausibilities)
    n_classes = plausibilities.shape[2]
    size = check_size("size", size, n_classes)
    return set_certainty(ranked(plausibilities, size, break_ties, seed, 1), n_classes)


def certainty(
    plausibilities: Float[ArrayLike, "draw case class"],
    sets: Int[ArrayLike, "case size"],
    *,
    break_ties: BreakTies = "order",
    seed: int = 0,
) -> Float[Array, " case"]:
    """Share of the draws in which given classes are the most plausible ones.

    Parameters
    ----------
    plausibilities, break_ties, seed
        As for :func:`annotation_certainty`.
    sets
        For each case the indices of ``size`` different classes, in any order.

    Returns
    -------
    Numbers between 0 and 1; no more than the annotation certainty of that size.

    Raises
    ------
    ArgumentError
        If shapes do not fit, a plausibility is not finite or negative, or a set has a class twice or an index out of
        range.

    References
    ----------
    Stutz et al. (2025), section 2.4, arXiv 2307.02191.

    Examples
    --------
    >>> draws = [[[0.6, 0.3, 0.1]], [[0.3, 0.6, 0.1]], [[0.1, 0.3, 0.6]], [[0.5, 0.4, 0.1]]]
    >>> certainty(draws, [[0]]).tolist(), certainty(draws, [[1, 0]]).tolist()
    ([0.5], [0.75])
    """
    plausibilities, sets = check_plausibilities(plausibilities), as_array(sets)
    _, n_cases, n_classes = plausibilities.shape
    if sets.ndim != 2 or len(sets) != n_cases or sets.dtype.kind not in "iu":
        raise ArgumentError(
            f"sets must be whole numbers of shape (case, size) for {n_cases} cases, but the shape is {sets.shape} and "
            f"the type {sets.dtype}: give one row of class indices per case."
        )
    check_size("size", sets.shape[1], n_classes)
    if not isinstance(sets, jax.core.Tracer):
        members = np.sort(np.asarray(sets), axis=1)
        wrong = (members < 0).any(1) | (members >= n_classes).any(1) | (np.diff(members) == 0).any(1)
        for case in np.flatnonzero(wrong)[:1]:
            raise ArgumentError(
                f"sets must hold different classes from 0 to {n_classes - 1}, but that of case {case} is "
                f"{np.asarray(sets)[case].tolist()}: name each class once."
            )
    plausible = jnp.sort(ranked(plausibilities, sets.shape[1], break_ties, seed, 1), axis=-1)
    return jnp.mean(jnp.all(plausible == jnp.sort(jnp.asarray(sets), axis=-1), axis=-1), axis=0)


@partial(jax.jit, static_argnames="n_classes")
def set_certainty(plausible: Int[Array, "draw case size"], n_classes: int) -> Float[Array, " case"]:
    """Share of the draws whose set of classes is the most frequent one."""
    return most_frequent(plausible.transpose(2, 1, 0), n_classes) / len(plausible)


def most_frequent(lists: Int[Array, "place case draw"], n_classes: int) -> Int[Array, " case"]:
    """Count the draws whose set of classes is the most frequent one.

    Where few sets are possible, each is counted. Else, the sorted classes of a set are packed into as few 32-bit words
    as hold them, the draws of a case sorted by these words, and the longest run counted.
    """
    size, n_cases, n_draws = lists.shape
    members = _ascending(lists).astype(jnp.uint32)
    if (n_sets := math.comb(n_classes, size)) <= _FEW_SETS:
        at = [math.prod(one - n for n in range(place)) // math.factorial(place) for place, one in enumerate(members, 1)]

        def count(most, number):  # of a set, by its place among all in colexicographic order
            return jnp.maximum(most, jnp.sum(sum(at) == number, axis=1, dtype=jnp.int32)), None

        return lax.scan(count, jnp.zeros(n_cases, jnp.int32), jnp.arange(n_sets, dtype=jnp.uint32))[0]
    bits = max(1, (n_classes - 1).bit_length())
    per_word = 32 // bits
    words = []
    for first in range(0, size, per_word):
        word = members[first]
        for member in members[first + 1 : first + per_word]:
            word = (word << bits) | member
        words.append(word)
    words = jnp.stack(lax.sort(words, dimension=1, num_keys=len(words)))
    differs = jnp.any(words[:, :, 1:] != words[:, :, :-1], axis=0)
    # Where runs begin, in ascending order, followed by the end; a second sort costs less than a cumulative maximum.
    starts = jnp.sort(jnp.where(differs, jnp.arange(1, n_draws), n_draws), axis=1)
    ends = jnp.concatenate([starts, jnp.full_like(starts[:, :1], n_draws)], axis=1) if n_draws > 1 else None
    return jnp.ones(lists.shape[1], jnp.int32) if ends is None else jnp.max(jnp.diff(ends, axis=1, prepend=0), axis=1)


def _ascending(lists: Int[Array, " place *batch"]) -> Int[Array, " place *batch"]:
    """Sort along the first axis; few places by exchanging neighbours, as XLA's sort would take list by list."""
    if len(lists) > _FEW:
        return jnp.sort(lists, axis=0)
    places = list(lists)
    for last in range(len(places) - 1, 0, -1):
        for at in range(last):
            one, other = places[at : at + 2]
            places[at : at + 2] = jnp.minimum(one, other), jnp.maximum(one, other)
    return jnp.stack(places)


def expected_entropy(plausibilities: Float[ArrayLike, "draw case class"]) -> Float[Array, " case"]:
    r"""Ambiguity: mean entropy of the plausibilities, :math:`E_m H(\lambda^{(m)})`.

    If plausibilities are shares of annotators, this is the expected uncertainty about a random annotator's label that
    would remain if the plausibilities were known. Further annotations do not reduce it on average if the prior is
    right, but they change it where the prior is wrong: with few annotations and many classes, it is mostly the prior's.

    Parameters
    ----------
    plausibilities
        Draws of the class distributions; finite, not negative.

    Returns
    -------
    Entropies in nats, from 0 to the logarithm of the number of classes.

    Raises
    ------
    ArgumentError
        If the shape is not (draw, case, class), or a value is not finite or negative.

    References
    ----------
    Depeweg, Hernández-Lobato, Doshi-Velez & Udluft (2018), Decomposition of uncertainty in Bayesian deep learning,
    section 3.

    Examples
    --------
    >>> draws = [[[0.5, 0.5], [1.0, 0.0]], [[0.5, 0.5], [0.0, 1.0]]]
    >>> print(expected_entropy(draws).round(3), mutual_information(draws).round(3))
    [0.693 0.   ] [0.    0.693]
    """
    return jnp.mean(jnp.sum(entr(check_plausibilities(plausibilities)), axis=2), axis=0)


def mutual_information(plausibilities: Float[ArrayLike, "draw case class"]) -> Float[Array, " case"]:
    r"""Uncertainty: mutual information of the next label and the plausibilities, :math:`H(\bar\lambda) - E_m H`.

    More annotations reduce it towards 0 under a model that learns from them (``Model.learns``). Together with
    :func:`expected_entropy` it adds up to the entropy of the next label.

    Parameters
    ----------
    plausibilities
        As for :func:`expected_entropy`, including the errors.

    Returns
    -------
    Mutual information in nats, at least 0.

    References
    ----------
    As for :func:`expected_entropy`.

    Examples
    --------
    >>> round(float(mutual_information([[[0.9, 0.1]], [[0.1, 0.9]]])[0]), 3)
    0.368
    """
    plausibilities = check_plausibilities(plausibilities)
    whole = jnp.sum(entr(jnp.mean(plausibilities, axis=0)), axis=1)
    return jnp.maximum(whole - expected_entropy(plausibilities), 0)
