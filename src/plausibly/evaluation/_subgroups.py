"""Subgroups whose members are uncertain: how much each case belongs to one, in every draw."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from plausibly._arviz import Posterior
from plausibly.annotations import read_risks
from plausibly.compute import run
from plausibly.errors import ArgumentError
from plausibly.evaluation.measure import risk_arrays
from plausibly.evaluation.program import level_plausibility
from plausibly.evaluation.ranges import Range, Ranges
from plausibly.metrics.inputs import check_break_ties
from plausibly.metrics.risk import N_LEVELS
from plausibly.posterior import annotations_of


def risk_weights(
    posterior: Posterior,
    risks: Any,
    level: int,
    of: Literal["class", "level", "plausibility"] = "class",
    *,
    break_ties: Literal["order", "random"] = "order",
    seed: int = 0,
) -> Float[np.ndarray, "draw case"]:
    """Compute the membership of the cases in the subgroup of a risk level, draw by draw.

    Whether a case has a high risk is as uncertain as its plausibilities. Passed as ``weights`` to
    :func:`plausibly.evaluate`, the subgroup differs from draw to draw, so that the spread of a metric over draws
    includes this uncertainty. Use the same ``seed`` and ``break_ties`` there.

    Parameters
    ----------
    posterior
        Posterior from :func:`plausibly.aggregate` or :func:`plausibly.load`.
    risks
        Risk level of each class, in any form that :func:`plausibly.read_risks` understands.
    level
        0 (low), 1 or 2 (high).
    of
        A case belongs to the level of its most plausible class (``"class"``), to the level whose classes together are
        most plausible (``"level"``), or to every level by its plausibility (``"plausibility"``).
    break_ties
        How to break ties between plausibilities: by class order (``"order"``) or at random (``"random"``).
    seed
        Random seed of the split of the remainder, and of random ties.

    Returns
    -------
    Zeros and ones, or plausibilities; over the three levels they sum to one.

    Raises
    ------
    ArgumentError
        If ``level``, ``of`` or ``break_ties`` has another value.
    AnnotationError
        If ``risks`` do not fit the classes.

    References
    ----------
    Stutz et al. (2025), section 3.3, arXiv 2307.02191.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["wart", "wart", "melanoma"]])
    >>> posterior = pb.aggregate(annotations, "dirichlet-categorical", draws=500, seed=0, progress=False)
    >>> high = risk_weights(posterior, {"wart": 0, "melanoma": 2}, level=2)
    >>> high.shape, bool(0.2 < high.mean() < 0.5)
    ((2000, 1), True)
    """
    check_break_ties(break_ties)
    if isinstance(level, bool) or level not in range(N_LEVELS):
        raise ArgumentError(f"level must be 0, 1 or 2, but {level!r} was given: for low, medium or high risk.")
    if of not in ("class", "level", "plausibility"):
        raise ArgumentError(
            f'of must be "class", "level" or "plausibility", but {of!r} was given: choose one of the three.'
        )
    levels = np.asarray(read_risks(risks, annotations_of(posterior, every=False).classes))

    def member(cases: Range) -> Float[np.ndarray, "case draw"]:
        if of == "class":
            return levels[cases.lists(1, break_ties)[0]] == level
        masses = level_plausibilities(cases, levels)
        return masses[level] if of == "plausibility" else masses.argmax(axis=0) == level

    return _by_draw(posterior, seed, member)


def class_weights(
    posterior: Posterior,
    classes: Any,
    *,
    break_ties: Literal["order", "random"] = "order",
    seed: int = 0,
) -> Float[np.ndarray, "draw case"]:
    """Say whether the most plausible class of each case is among given classes, draw by draw.

    Parameters
    ----------
    posterior
        Posterior from :func:`plausibly.aggregate` or :func:`plausibly.load`.
    classes
        Names of classes.
    break_ties, seed
        As for :func:`risk_weights`.

    Returns
    -------
    Zeros and ones; see :func:`risk_weights` for their use.

    Raises
    ------
    ArgumentError
        If ``break_ties`` is unknown, or there is no such class.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["wart", "wart", "melanoma"]])
    >>> posterior = pb.aggregate(annotations, "majority-vote", progress=False)
    >>> class_weights(posterior, ["wart"]).tolist()
    [[1.0]]
    """
    check_break_ties(break_ties)
    names = annotations_of(posterior, every=False).classes
    wanted = np.asarray([classes] if isinstance(classes, str) else list(classes), dtype=str)
    unknown = [str(name) for name in wanted if name not in names]
    if unknown or not len(wanted):
        what = repr(unknown[0]) if unknown else "none at all"
        raise ArgumentError(f"classes must be names of this posterior's classes, but {what} was given: choose some.")
    member = np.isin(names, wanted)
    return _by_draw(posterior, seed, lambda cases: member[cases.lists(1, break_ties)[0]])


def level_plausibilities(cases: Range, risks: Int[np.ndarray, " class"]) -> Float[np.ndarray, "level case draw"]:
    """Sum of the plausibilities of the classes of each risk level, see :func:`level_plausibility`."""
    out = np.empty((N_LEVELS, len(cases), cases.n_draws), np.float32)
    blocks = cases.blocks(room=2 * cases.n_classes if np.ndim(cases.concentration) else 8, point=False)

    def inputs(part):
        return blocks.block(part), *risk_arrays(risks, part.rung, cases.concentration).values()

    for part, found in run((level_plausibility,), level_plausibility, blocks.parts, inputs):
        out[:, part.at] = found[:, : len(part.at)]
    return out


def _by_draw(
    posterior: Posterior, seed: int, member: Callable[[Range], Float[np.ndarray, "case draw"]]
) -> Float[np.ndarray, "draw case"]:
    ranges = Ranges(posterior, seed)
    out = np.empty((ranges.n_draws, ranges.n_cases), np.float32)
    for cases in ranges:
        out[:, cases.cases] = member(cases).T
    return out
