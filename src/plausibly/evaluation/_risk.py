"""Risk of the cases: every class has one of a few levels, and a level's classes pool their plausibility."""

import numpy as np
from jaxtyping import Float, Int

from plausibly.compute import run
from plausibly.evaluation._program import level_plausibility
from plausibly.evaluation._ranges import Range
from plausibly.metrics._risk import N_LEVELS
from plausibly.posterior._gamma import coefficients


def risk_arrays(
    risks: Int[np.ndarray, " class"], rung: int, concentration: float | Float[np.ndarray, " class"]
) -> dict[str, np.ndarray]:
    """Levels of the classes, and polynomials by level for each number of named classes up to ``rung``."""
    if np.ndim(concentration):  # the program splits the remainder among all classes
        return {"risks": risks.astype(np.int32), "risk": coefficients(np.zeros((N_LEVELS, 1)))}
    n_of_level = np.bincount(risks, minlength=N_LEVELS)[:, None] - np.arange(rung + 1)
    return {"risks": risks.astype(np.int32), "risk": coefficients(concentration * np.maximum(n_of_level, 0))}


def level_plausibilities(cases: Range, risks: Int[np.ndarray, " class"]) -> Float[np.ndarray, "level case draw"]:
    """Sum of the plausibilities of the classes of each risk level, see :func:`level_plausibility`."""
    out = np.empty((N_LEVELS, len(cases), cases.n_draws), np.float32)
    blocks = cases.blocks(room=2 * cases.n_classes if np.ndim(cases.concentration) else 8, point=False)

    def inputs(part):
        return blocks.block(part), *risk_arrays(risks, part.rung, cases.concentration).values()

    for part, found in run((level_plausibility,), level_plausibility, blocks.parts, inputs):
        out[:, part.at] = found[:, : len(part.at)]
    return out
