"""The two parameters of RAPS, chosen on cases that are then not calibrated on."""

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from plausibly.conformal._calibrate import Calibrated
from plausibly.conformal._scores import Score
from plausibly.conformal._targets import Weights
from plausibly.errors import ArgumentError

PENALTIES = (0.001, 0.01, 0.1, 0.2, 0.5)
MOST = 5000  #: cases to tune on


def check_tuning(tuning: Any, score: Score) -> None:
    """Refuse a share that is out of range, or a score without parameters to tune."""
    number = isinstance(tuning, int | float | np.integer | np.floating) and not isinstance(tuning, bool)
    if not number or not 0 <= tuning < 1:
        raise ArgumentError(
            f"tuning must be a share from 0 to below 1, but {tuning!r} was given: write for example 0.2."
        )
    if tuning and score.name != "raps":
        raise ArgumentError('tuning chooses the parameters of score="raps" alone: leave it out, or choose "raps".')


def tuned(
    score: Score,
    values: Float[np.ndarray, "case class"],
    group: Int[np.ndarray, " case"],
    weights: Weights,
    alpha: float,
    share: float,
    shares: Float[np.ndarray, " case"] | None,
    seed: int,
) -> tuple[Score, Int[np.ndarray, " case"]]:
    """Choose the parameters that give the smallest sets, as Angelopoulos et al. (2021), appendix E, do.

    Candidates for ``free_ranks`` are 1, 2 and the rank down to which the answer is found in a share 1 − α of the cases.

    Returns
    -------
    The score with its parameters, and the groups of the cases, −1 for those that were used.

    Raises
    ------
    ArgumentError
        If no case is left on one of the sides.
    """
    n = len(values)
    n_tuning = min(round(share * n), MOST)
    if not 1 <= n_tuning < n:
        raise ArgumentError(
            f"tuning={share:g} takes {n_tuning} of {n} cases, which leaves none for tuning or none for calibration: "
            "change the share."
        )
    chosen = np.sort(np.random.default_rng([seed, 0x72617073]).permutation(n)[:n_tuning])
    own_group = np.full(n, -1)
    own_group[chosen] = 0

    def calibrated(candidate: Score) -> Calibrated:
        return Calibrated(values, candidate, own_group, 1, shares)

    # Down to which rank: the threshold of top-k without its finite-sample term.
    ranks = calibrated(replace(score, name="top-k", randomised=False)).curves(weights, None, 1.0)[0]
    found = np.searchsorted(np.cumsum(ranks.weights), alpha * n_tuning, side="right")
    down = int(-ranks.scores[min(found, len(ranks.scores) - 1)])
    best: tuple[float, Score] | None = None
    for free in sorted({1, 2, down}):
        for penalty in PENALTIES:
            one = replace(score, penalty=penalty, free_ranks=free)
            with_one = calibrated(one)
            threshold = with_one.curves(weights, None, 1.0)[0].threshold(alpha)[0]
            size = float(with_one.mean_sizes(np.array([threshold]))[0])
            if best is None or size < best[0]:
                best = size, one
    assert best is not None
    rest = group.copy()
    rest[chosen] = -1
    return best[1], rest
