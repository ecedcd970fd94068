"""Scores and losses of the calibration cases of one classifier, some cases at a time."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from plausibly.base.arviz import Posterior
from plausibly.base.random_streams import Stream, case_keys, stream_words
from plausibly.decisions.conformal._curve import Curve, CurveBuilder
from plausibly.decisions.conformal._scores import Score
from plausibly.decisions.conformal._targets import Weights, ranges_of
from plausibly.posterior.ranges import Ranges

_BINS = 2048  # candidates for the thresholds by draw
_NEAR = 0.75  # share of them between half and twice the risk asked for


@dataclass(frozen=True, eq=False)
class Calibrated:
    """A classifier on the calibration cases."""

    values: Float[np.ndarray, "case class"]  #: predictions; perhaps mapped to memory
    score: Score
    group: Int[np.ndarray, " case"]
    n_groups: int
    shares: Float[np.ndarray, " case"] | None  #: uniform random numbers, if the score is randomised

    def scores(self, cases: slice) -> Float[np.ndarray, "chosen class"]:
        """Scores of some cases."""
        values = np.asarray(self.values[cases], np.float64)
        return self.score.of(values, None if self.shares is None else self.shares[cases])

    def curves(self, weights: Weights, cost: Float[np.ndarray, " class"] | None, bound: float) -> list[Curve]:
        """Sum of the losses of the cases of each group."""
        builders = [CurveBuilder(bound) for _ in range(self.n_groups)]
        for cases in ranges_of(*self.values.shape):
            _, case, score, weight = weights.range(cases).atoms(self.scores(cases), cost)
            group = self.group[cases]
            for number, builder in enumerate(builders):
                inside = group[case] == number
                builder.add(int((group == number).sum()), score[inside], weight[inside])
        return [builder.curve() for builder in builders]

    def mean_sizes(self, thresholds: Float[np.ndarray, " group"]) -> Float[np.ndarray, " group"]:
        """Mean size of the sets of the calibration cases of each group; NaN where there are none."""
        sizes = np.zeros(self.n_groups)
        for cases in ranges_of(*self.values.shape):
            group = self.group[cases]
            size = (self.scores(cases) >= thresholds[group][:, None]).sum(axis=1)
            sizes += np.bincount(group, size, minlength=self.n_groups)
        counts = np.bincount(self.group, minlength=self.n_groups)
        return np.where(counts > 0, sizes / np.maximum(counts, 1), np.nan)

    def thresholds_by_draw(
        self,
        posterior: Posterior,
        curves: list[Curve],
        share: Float[np.ndarray, " class"] | None,
        cost: Float[np.ndarray, " class"] | None,
        alpha: float,
        seed: int,
    ) -> Float[np.ndarray, "group draw"]:
        """Threshold of every draw of the plausibilities, whose remainders are split by `share`.

        Thresholds are among a few thousand candidates, steps of the mean curve, the lower one where they lie between
        two: exact where there are no more steps, otherwise too low by less than 0.0002 in risk near ``alpha``.
        """
        candidates = [_candidates(curve, alpha) for curve in curves]
        ranges = Ranges(posterior, seed)
        lost = [np.zeros((len(scores) + 1, ranges.n_draws)) for scores in candidates]
        for cases in ranges:
            scores, group = self.scores(cases.cases), self.group[cases.cases]
            slots = cases.slots
            slot, case, score, weight = Weights(slots, np.ones(len(slots)), share).atoms(scores, cost)
            for number in np.unique(group):
                # Lost at the first threshold above the score, and at all beyond it.
                at = np.searchsorted(candidates[number], score, side="right")
                keep = group[case] == number
                shape = (len(candidates[number]) + 1, len(slots))
                lost[number] += csr_array((weight[keep], (at[keep], slot[keep])), shape=shape) @ cases.draws
        thresholds = np.empty((len(curves), ranges.n_draws))
        for number, (curve, scores) in enumerate(zip(curves, candidates, strict=True)):
            below = np.cumsum(lost[number], axis=0)  # row j: lost at threshold j; the last row: everything
            most = alpha * (curve.n + 1) - curve.bound + 1e-6 * (curve.n + 1)  # draws are in single precision
            within = (below <= most).sum(axis=0)
            thresholds[number] = np.concatenate([[-np.inf], scores, [np.inf]])[within]
        return thresholds


def _candidates(curve: Curve, alpha: float) -> Float[np.ndarray, " candidate"]:
    """Some of the steps of a curve, most of them near a risk of `alpha`."""
    if len(curve.scores) <= _BINS:
        return curve.scores
    risk = np.cumsum(curve.weights) / (curve.n + 1)
    near = np.linspace(alpha / 2, 2 * alpha, int(_NEAR * _BINS))
    far = np.linspace(0, risk[-1], _BINS - len(near))
    at = np.searchsorted(risk, np.concatenate([near, far]))
    return curve.scores[np.unique(np.clip(at, 0, len(risk) - 1))]


def shares_of(names: np.ndarray, seed: int, stream: Stream) -> Float[np.ndarray, " case"]:
    """Uniform random numbers of cases by their names."""
    words = stream_words(case_keys(seed, names.tolist()))[stream].astype(np.uint64)
    return ((words[:, 0] << np.uint64(21)) ^ (words[:, 1] >> np.uint64(11))) / 2.0**53
