"""Scores and losses of the calibration cases of one classifier, some cases at a time."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

from plausibly._arviz import Posterior
from plausibly.conformal._curve import Curve, CurveBuilder
from plausibly.conformal._scores import Score
from plausibly.conformal._targets import Weights, ranges_of
from plausibly.evaluation._ranges import Ranges
from plausibly.posterior import remainder_concentration
from plausibly.random_streams import Stream, case_keys, stream_words

_BINS = 2048  # candidates for the thresholds by draw
_NEAR = 0.75  # share of them between half and twice the risk asked for


@dataclass(frozen=True, eq=False)
class Calibrated:
    """A classifier on the calibration cases.

    Attributes
    ----------
    values
        What it says of every case and class; perhaps mapped to memory.
    score
        Score with its parameters.
    group
        Group of each case; −1 leaves the case out.
    n_groups
        Number of groups.
    shares
        Uniform random numbers by case, if the score is randomised.
    """

    values: Float[np.ndarray, "case class"]
    score: Score
    group: Int[np.ndarray, " case"]
    n_groups: int
    shares: Float[np.ndarray, " case"] | None

    def scores(self, cases: slice) -> Float[np.ndarray, "chosen class"]:
        """Scores of some cases."""
        values = np.asarray(self.values[cases], np.float64)
        return self.score.of(values, None if self.shares is None else self.shares[cases])

    def curves(self, weights: Weights, cost: Float[np.ndarray, " class"] | None, bound: float) -> list[Curve]:
        """Sum of the losses of the cases of each group."""
        builders = [CurveBuilder(bound) for _ in range(self.n_groups)]
        for cases in ranges_of(*self.values.shape):
            case, score, weight = weights.range(cases).atoms(self.scores(cases), cost)
            group = self.group[cases]
            for at, builder in enumerate(builders):
                own = group[case] == at
                whole = own.all()
                builder.add(int((group == at).sum()), score if whole else score[own], weight if whole else weight[own])
        return [builder.curve() for builder in builders]

    def mean_sizes(self, thresholds: Float[np.ndarray, " group"]) -> Float[np.ndarray, " group"]:
        """Mean size of the sets of the calibration cases of each group; NaN where there are none."""
        sizes, counts = np.zeros(self.n_groups), np.zeros(self.n_groups)
        for cases in ranges_of(*self.values.shape):
            group = self.group[cases]
            inside = group >= 0
            size = (self.scores(cases) >= thresholds[group][:, None]).sum(axis=1)
            sizes += np.bincount(group[inside], size[inside], minlength=self.n_groups)
            counts += np.bincount(group[inside], minlength=self.n_groups)
        return np.where(counts > 0, sizes / np.maximum(counts, 1), np.nan)

    def thresholds_by_draw(
        self,
        posterior: Posterior,
        curves: list[Curve],
        cost: Float[np.ndarray, " class"] | None,
        alpha: float,
        seed: int,
    ) -> Float[np.ndarray, "group draw"]:
        """Threshold of every draw of the plausibilities.

        Thresholds are among a few thousand candidates, steps of the mean curve, the lower one where they lie between
        two: exact where there are no more steps, otherwise too low by less than 0.0002 in risk near ``alpha``.
        """
        candidates = [candidate_scores(curve, alpha) for curve in curves]
        ranges = Ranges(posterior, seed)
        concentration = remainder_concentration(posterior)
        share = None if np.ndim(concentration) == 0 else np.asarray(concentration, float)
        lost = [np.zeros((len(scores) + 1, ranges.n_draws)) for scores in candidates]
        for cases in ranges:
            slots = cases.slots
            scores = self.scores(cases.cases)
            of_slot = Weights(slots, np.ones(len(slots)), share)
            group = self.group[cases.cases]
            for at, thresholds in enumerate(candidates):
                if not (group == at).any():
                    continue
                which = group[slots.case] == at
                lost[at] += _binned(of_slot, scores, thresholds, which, cost) @ cases.draws
        found = np.empty((len(curves), ranges.n_draws))
        for at, (curve, thresholds) in enumerate(zip(curves, candidates, strict=True)):
            below = np.cumsum(lost[at], axis=0)  # row j: lost at threshold j; the last row: everything
            most = alpha * (curve.n + 1) - curve.bound + 1e-6 * (curve.n + 1)  # draws are in single precision
            within = (below <= most).sum(axis=0)
            found[at] = np.concatenate([[-np.inf], thresholds, [np.inf]])[within]
        return found


def candidate_scores(curve: Curve, alpha: float) -> Float[np.ndarray, " candidate"]:
    """Choose some of the steps of a curve as candidates for thresholds, most of them near a risk of `alpha`."""
    if len(curve.scores) <= _BINS:
        return curve.scores
    risk = np.cumsum(curve.weights) / (curve.n + 1)
    near = np.linspace(alpha / 2, 2 * alpha, int(_NEAR * _BINS))
    far = np.linspace(0, risk[-1], _BINS - len(near))
    at = np.searchsorted(risk, np.concatenate([near, far]))
    return curve.scores[np.unique(np.clip(at, 0, len(risk) - 1))]


def _binned(
    of_slot: Weights,
    scores: Float[np.ndarray, "case class"],
    thresholds: Float[np.ndarray, " candidate"],
    which: Bool[np.ndarray, " slot"],
    cost: Float[np.ndarray, " class"] | None,
) -> csr_array:
    """Sparse (candidate + 1, slot): by how much a slot's weight is lost from each candidate threshold on."""
    _, score, weight = of_slot.atoms(scores, cost)
    slots = of_slot.slots
    # Atoms are those of the named slots, in order, and then those of the remainders, case by case.
    named = np.flatnonzero(~slots.is_remainder)
    rest = np.flatnonzero(slots.is_remainder)
    slot = np.concatenate([named, np.repeat(rest, slots.n_classes[rest])])
    # Lost at the first threshold above the score, and at all beyond it.
    at = np.searchsorted(thresholds, score, side="right")
    keep = which[slot]
    return csr_array((weight[keep], (at[keep], slot[keep])), shape=(len(thresholds) + 1, len(slots)))


def shares_of(names: np.ndarray, seed: int, stream: Stream) -> Float[np.ndarray, " case"]:
    """Uniform random numbers of cases by their names.

    Examples
    --------
    >>> a, b = shares_of(np.array(["p", "q"]), 0, Stream.NEW_SHARES), shares_of(np.array(["q"]), 0, Stream.NEW_SHARES)
    >>> bool(a[1] == b[0]), bool((0 <= a).all() and (a < 1).all())
    (True, True)
    """
    words = stream_words(case_keys(seed, names.tolist()))[stream].astype(np.uint64)
    return ((words[:, 0] << np.uint64(21)) ^ (words[:, 1] >> np.uint64(11))) / 2.0**53
