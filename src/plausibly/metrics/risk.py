"""Metrics of risk on plain arrays: every class has a level, and what a case risks follows from its plausibilities."""

from typing import Literal

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int

from plausibly.base.errors import ArgumentError
from plausibly.metrics.inputs import BreakTies, as_array, check_plausibilities
from plausibly.metrics.list_metric import ranked

N_LEVELS = 3
"""Low, medium and high."""


def risk_plausibility(
    plausibilities: Float[ArrayLike, "draw case class"], risks: Int[ArrayLike, " class"]
) -> Float[Array, "draw case level"]:
    """Sum of the plausibilities of the classes of each risk level.

    Parameters
    ----------
    plausibilities
        Draws of the class distributions; finite, not negative.
    risks
        Level of each class: 0 (low), 1 (medium) or 2 (high).

    Returns
    -------
    Plausibilities of the three levels; 0 for a level without classes.

    Raises
    ------
    ArgumentError
        If shapes do not fit, a plausibility is not finite or negative, or a level is not 0, 1 or 2.

    References
    ----------
    Stutz et al. (2025), section 3.3, arXiv 2307.02191.

    Examples
    --------
    >>> risk_plausibility([[[0.5, 0.25, 0.25]]], [0, 2, 0]).tolist()
    [[[0.75, 0.0, 0.25]]]
    """
    plausibilities = check_plausibilities(plausibilities)
    risks = _check_risks(risks, plausibilities.shape[2])
    return jnp.asarray(plausibilities) @ jax.nn.one_hot(risks, N_LEVELS)


def expected_risk(
    plausibilities: Float[ArrayLike, "draw case class"], risks: Int[ArrayLike, " class"]
) -> Float[Array, "draw case"]:
    """Expected risk of a case in each draw: the mean level, weighted by plausibility.

    Arguments and errors are those of :func:`risk_plausibility`. Its mean over draws is the expected risk of a case; its
    range over draws shows how uncertain that is.

    Returns
    -------
    Numbers between 0 and 2, if plausibilities sum to one.

    References
    ----------
    Stutz et al. (2025), section 3.3, arXiv 2307.02191.

    Examples
    --------
    >>> expected_risk([[[0.5, 0.25, 0.25]]], [0, 2, 0]).tolist()
    [[0.5]]
    """
    return risk_plausibility(plausibilities, risks) @ jnp.arange(N_LEVELS, dtype=jnp.float32)


def risk_certainty(
    plausibilities: Float[ArrayLike, "draw case class"],
    risks: Int[ArrayLike, " class"],
    of: Literal["class", "level"] = "class",
    *,
    break_ties: BreakTies = "order",
    seed: int = 0,
) -> Float[Array, " case"]:
    """Largest share of draws in which a case has one and the same risk level.

    Parameters
    ----------
    plausibilities, risks
        As for :func:`risk_plausibility`.
    of
        Risk level of a draw: the level of the most plausible class (``"class"``), or the level whose classes together
        are most plausible (``"level"``).
    break_ties
        How to break ties between plausibilities of classes or of levels: by their order (``"order"``) or at random
        (``"random"``).
    seed
        Random seed for random ties.

    Returns
    -------
    Numbers from 1/3 (or 1/draws, if there are fewer than three draws) to 1.

    Raises
    ------
    ArgumentError
        As for :func:`risk_plausibility`, or if ``of`` is neither ``"class"`` nor ``"level"``.

    References
    ----------
    Stutz et al. (2025), section 3.3, arXiv 2307.02191.

    Examples
    --------
    >>> draws = [[[0.4, 0.35, 0.25]], [[0.3, 0.4, 0.3]]]
    >>> risk_certainty(draws, [0, 2, 2]).tolist(), risk_certainty(draws, [0, 2, 2], of="level").tolist()
    ([0.5], [1.0])
    """
    if of not in ("class", "level"):
        raise ArgumentError(f'of must be "class" or "level", but {of!r} was given: choose one of the two.')
    masses = risk_plausibility(plausibilities, risks)
    best = ranked(masses if of == "level" else plausibilities, 1, break_ties, seed, 1)[..., 0]
    level = best if of == "level" else jnp.asarray(risks, jnp.int32)[best]
    return jnp.max(jnp.mean(jax.nn.one_hot(level, N_LEVELS), axis=0), axis=-1)


def _check_risks(risks, n_classes):
    risks = as_array(risks)
    if risks.shape != (n_classes,):
        raise ArgumentError(
            f"risks must have one level for each of the {n_classes} classes, but the shape is {risks.shape}: give as "
            "many levels as there are classes."
        )
    if not isinstance(risks, jax.core.Tracer):
        wrong = np.asarray(risks)[~np.isin(np.asarray(risks), np.arange(N_LEVELS))]
        if len(wrong):
            raise ArgumentError(f"risks must be 0, 1 or 2, but {wrong[0]} was given: for low, medium or high risk.")
    return risks.astype(jnp.int32)
