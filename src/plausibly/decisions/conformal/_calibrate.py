"""What sets are to contain, and the losses of the calibration cases of one classifier, some cases at a time.

Weights are by slot, as plausibilities are: a case has one for each named class, and one for all unnamed classes
together, which share it equally or, under a prior that is learned, in proportion to it. They sum to one in every case.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from plausibly.base.arviz import Posterior
from plausibly.base.errors import ArgumentError
from plausibly.base.random_streams import Stream, case_keys, stream_words
from plausibly.data.annotations import Annotations, Slots
from plausibly.decisions.conformal._curve import Curve, CurveBuilder
from plausibly.decisions.conformal._scores import Score
from plausibly.posterior import case_names, remainder_concentration, slots_of
from plausibly.posterior.ranges import Ranges

_TIE = 1e-9


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of the slots of all cases; they sum to one in every case."""

    slots: Slots
    weight: Float[np.ndarray, " slot"]
    share: Float[np.ndarray, " class"] | None = None  #: by which unnamed classes share a remainder; None for equally

    def range(self, cases: slice) -> "Weights":
        """Weights of neighbouring cases, which count from 0."""
        slots = slice(int(self.slots.start[cases.start]), int(self.slots.start[cases.stop]))
        return Weights(self.slots.range(cases), self.weight[slots], self.share)

    def atoms(
        self, scores: Float[np.ndarray, "case class"], cost: Float[np.ndarray, " class"] | None = None
    ) -> "Atoms":
        """Atoms of every class with a weight; unnamed classes share that of the remainder.

        They are those of the named slots, in order, and then those of the remainders, case by case.
        """
        slot = np.flatnonzero(~self.slots.is_remainder & (self.weight > 0))
        case, at = self.slots.case[slot].astype(np.int64), self.slots.class_index[slot]
        weight = self.weight[slot] if cost is None else self.weight[slot] * cost[at]
        rest = np.flatnonzero(self.slots.is_remainder & (self.weight > 0))
        if not len(rest):
            return Atoms(slot, case, scores[case, at], weight)
        rows = self.slots.case[rest].astype(np.int64)
        row_of = np.full(len(scores), -1)
        row_of[rows] = np.arange(len(rows))
        unnamed = np.ones((len(rows), scores.shape[1]), bool)
        inside = ~self.slots.is_remainder & (row_of[self.slots.case] >= 0)
        unnamed[row_of[self.slots.case[inside]], self.slots.class_index[inside]] = False
        row, of_class = np.nonzero(unnamed)
        each = (self.weight[rest] / self.slots.n_classes[rest])[row]
        if self.share is not None:
            of_unnamed = self.share[of_class]
            each = self.weight[rest][row] * of_unnamed / np.bincount(row, of_unnamed)[row]
        each = each if cost is None else each * cost[of_class]
        return Atoms(
            np.concatenate([slot, rest[row]]),
            np.concatenate([case, rows[row]]),
            np.concatenate([scores[case, at], scores[rows[row], of_class]]),
            np.concatenate([weight, each]),
        )


class Atoms(NamedTuple):
    """Classes of cases: the slot of each, its case, its score, and its weight, times the cost of missing it."""

    slot: Int[np.ndarray, " atom"]
    case: Int[np.ndarray, " atom"]
    score: Float[np.ndarray, " atom"]
    weight: Float[np.ndarray, " atom"]


def weights_of(target: str, source: Posterior | Annotations, annotations: Annotations) -> Weights:
    """Weights of one of the targets "plausibility", "annotator" and "vote"."""
    if target == "plausibility":
        return of_plausibility(source)
    return of_annotators(annotations) if target == "annotator" else of_vote(annotations)


def of_plausibility(posterior: Posterior) -> Weights:
    """Posterior mean of the plausibilities, all draws of some cases at a time."""
    slots, weight = slots_of(posterior), np.concatenate([cases.means for cases in Ranges(posterior, 0)])
    for at in np.flatnonzero(~np.isfinite(weight))[:1]:
        name = str(case_names(posterior)[slots.case[at]])
        raise ArgumentError(
            f"the plausibilities of case {name!r} are not all numbers: aggregate again, or take the case out."
        )
    share = remainder_concentration(posterior)
    return Weights(
        slots,
        weight / np.add.reduceat(weight, slots.start[:-1])[slots.case],
        None if np.ndim(share) == 0 else np.asarray(share, float),
    )


def of_annotators(annotations: Annotations) -> Weights:
    """First blocks of the annotations: annotators of a case weigh the same, and so do the classes tied in a block.

    Where further annotations follow from the first ones, of as many as do not (:attr:`plausibly.Annotations.fair`).
    """
    return _shares(annotations.fair or annotations)


def _shares(annotations: Annotations) -> Weights:
    slots = Slots.of(annotations, remainder=False)
    first = annotations.entry_block == 0
    annotation = annotations.entry_annotation[first]
    tied = np.bincount(annotation, minlength=annotations.n_annotations)
    case = annotations.annotation_case[annotation]
    per_case = np.diff(annotations.case_start)
    share = 1 / (tied[annotation] * per_case[case])
    at = slots.find(case, annotations.entry_class[first])
    return Weights(slots, np.bincount(at, share, minlength=len(slots)))


def of_vote(annotations: Annotations) -> Weights:
    """Majority vote over first blocks; classes that tie share it."""
    votes = _shares(annotations)
    start = votes.slots.start[:-1]
    won = votes.weight >= np.maximum.reduceat(votes.weight, start)[votes.slots.case] - _TIE
    return Weights(votes.slots, won / np.add.reduceat(won, start, dtype=float)[votes.slots.case])


def sampled(weights: Weights, samples: int, n_classes: int, seed: int) -> Weights:
    """Shares of classes among `samples` labels drawn for each case by its weights.

    Stutz, Roy, Matejovicova, Strachan, Cemgil & Doucet (2023), Conformal prediction under ambiguous ground truth,
    algorithm 1.
    """
    random = np.random.default_rng([seed, 0x636F6E66])
    slots = weights.slots
    n_cases = len(slots.start) - 1
    upto = np.cumsum(weights.weight)
    before = np.concatenate([[0.0], upto])[slots.start]
    case = np.repeat(np.arange(n_cases), samples)
    place = before[case] + random.random(len(case)) * (before[case + 1] - before[case])
    at = np.clip(np.searchsorted(upto, place, side="right"), slots.start[case], slots.start[case + 1] - 1)
    label = slots.class_index[at].astype(np.int64)
    rest = np.flatnonzero(label < 0)
    if len(rest):
        label[rest] = _unnamed_labels(weights, case[rest], n_classes, random)
    pairs, counts = np.unique(case * n_classes + label, return_counts=True)
    of_case, of_class = np.divmod(pairs, n_classes)
    chosen = Slots(
        case=of_case.astype(np.int32),
        class_index=of_class.astype(np.int32),
        n_classes=np.ones(len(pairs), np.int32),
        start=np.searchsorted(of_case, np.arange(n_cases + 1)).astype(np.int64),
    )
    return Weights(chosen, counts / samples)


def _unnamed_labels(
    weights: Weights, case: Int[np.ndarray, " label"], n_classes: int, random: np.random.Generator
) -> Int[np.ndarray, " label"]:
    """Draw classes of the remainders of cases, some thousand labels at a time."""
    slots, out = weights.slots, np.empty(len(case), np.int64)
    share = np.ones(n_classes) if weights.share is None else weights.share
    for part in ranges_of(len(case), n_classes):
        cases = case[part]
        of_class = np.repeat(share[None], len(cases), axis=0)
        first, n_named = slots.start[cases], slots.start[cases + 1] - slots.start[cases] - 1
        for place in range(int(n_named.max(initial=0))):
            rows = np.flatnonzero(place < n_named)
            of_class[rows, slots.class_index[first[rows] + place]] = 0
        upto = np.cumsum(of_class, axis=1)
        out[part] = (upto <= random.random((len(cases), 1)) * upto[:, -1:]).sum(axis=1)
    return out


def ranges_of(n_cases: int, n_classes: int, most: int = 2**21) -> Iterator[slice]:
    """Cut cases into runs of at most so many scores."""
    size = max(1, most // n_classes)
    for first in range(0, n_cases, size):
        yield slice(first, min(first + size, n_cases))


class Prior(NamedTuple):
    """What a prior adds to the plausibilities, and to sets."""

    share: float  #: mean share of the prior in the plausibilities of a case
    #: mean size that sets have at least if they miss no more than they may of this share, whatever the annotations
    least: float
    n_classes: int

    @property
    def told(self) -> str:
        """A sentence where the prior forces more than one class into the sets of a case; else empty."""
        if self.least <= 1:
            return ""
        return (
            f"The prior makes sets large: it spreads {100 * self.share:.0f} % of the plausibility over all classes, so "
            f"whatever is annotated, sets hold at least {self.least:.1f} of {self.n_classes} classes on average. "
            'Calibrate with target="annotator" (--target annotator), which has no prior, or learn the prior from other '
            "cases (in Python, class_prior=…)."
        )


def prior_of(posterior: Posterior, alpha: float) -> Prior | None:
    """Share of the prior, and the fewest classes that miss at most `alpha` of it; None if it is unknown.

    Classes of all cases are left out of the sets in ascending order of what the prior gives them, as long as these sum
    to at most `alpha` per case. Of an equal weight for each of K classes and a share s, :math:`K (1 − α / s)` are left.
    """
    constants = posterior["constant_data"]
    if "prior_share" not in constants:
        return None
    slots, share = slots_of(posterior), np.asarray(constants["prior_share"].values, float)
    n_cases = len(slots.start) - 1
    order = np.argsort(share / slots.n_classes)
    count, upto = np.cumsum(slots.n_classes[order]), np.cumsum(share[order])
    dropped = np.interp(alpha * n_cases, np.append(0.0, upto), np.append(0.0, count))
    n_classes = int(posterior.attrs["n_classes"])
    return Prior(share.sum() / n_cases, (count[-1] - dropped) / n_cases, n_classes)


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
