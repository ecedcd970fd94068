"""Sweeps of the Gibbs sampler where cases differ in difficulty: what a case looks like is drawn with its true class.

Given the look of a case, each label has a class that its annotator saw, and what annotators share is drawn from how
often they named each class that they saw, as it is from true classes where cases are alike. The same disagreement is
explained by annotators who do not name what they see, and by unclear cases. So the log odds of all annotators move
together, with looks summed out, by a slice along a line; without it, chains hardly mix. In one sweep the log odds that
cases are unclear rise with them, so that about as many labels differ as before, in the next those of a single class
move.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from math import exp, log
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit, logit

from plausibly.data.case import LabelledCases, Looks, mixed, relative
from plausibly.families.true_class._coefficients import Coefficients
from plausibly.inference.moves import Moves

if TYPE_CHECKING:
    from plausibly.families.true_class._family import TrueClass

_WIDTH = 0.3  # of the interval in which log odds move together
_WIDTH_OF_UNCLEAR = 2.0  # of that of the log odds that cases are unclear
_STEEPEST = 0.05  # share of wrong labels; with fewer, log odds move as with so many
_EXCHANGES = 10  # between two kinds of looks in a sweep
_SMALLEST = 1e-290

Weights = Float[np.ndarray, "group *class kind"]
Relative = tuple[np.ndarray, np.ndarray]


def sweeps_by_look(
    sampler: "TrueClass", labels: LabelledCases, random: Moves, tuned: Sequence[int], warmup: int
) -> Iterator[dict[str, Any]]:
    """Sweeps of one chain, without end; after those in ``tuned``, coefficients are approximated again.

    From the first of these to the end of the warm-up, the chain learns in what direction log odds move.
    """
    looks = labels.looks
    assert looks is not None
    k, alone = labels.n_classes, labels.n_groups == 1 and labels.log_scores is None
    coefficients = None if labels.log_scores is None else Coefficients(labels, random)
    truth = near_vote(labels, random)
    seen, pair = truth[labels.case], labels.annotator * k + labels.label
    values = sampler.start(labels.count_seen(seen), random)
    prior = looks.prior[None] if labels.n_groups == 1 else np.stack(list(map(looks.prior_by_class, labels.together)))
    kinds = prior.copy()
    if labels.n_groups == 1:
        kinds[0, :k] += np.bincount(truth, minlength=k)
    weights = kinds / kinds.sum(-1, keepdims=True)
    line, learning = _Line(labels, prior), range(tuned[0], max(warmup, tuned[0] + 1))
    for number in count():
        values = sampler.move(values, labels.count_seen(seen), np.bincount(truth, minlength=k), random)
        prevalence = values["prevalence"] if coefficients is None else coefficients.shares
        direction, group = np.ones((1, k)), None
        if sampler.shift is None or number % 2:
            direction = np.eye(k)[[number // 2 % k]] if moves_classes(sampler) else None
        elif number >= learning.stop:
            group = number // 2 % labels.n_groups
            direction = line.of_group(group)
        values, weights, of_looks, joint = line.moved(sampler, direction, group, values, weights, prevalence, random)
        if number in learning:
            line.learn(sampler.confusion(values), weights)
        if alone:
            weights = _exchanged(looks, weights, of_looks[0][0], random)
            joint = line.joint(weights, prevalence, of_looks)
            prevalence = looks.expected(weights)[0]
        if coefficients is not None:
            prevalence, joint = coefficients.move(joint, number in tuned)
            values["coefficients"] = coefficients.vector
        values |= {"prevalence": prevalence if prevalence.ndim == 1 else prevalence.mean(0), "looks": weights}
        yield values
        truth = random.classes("truth", np.exp(joint - joint.max(0)))
        kinds, look = np.zeros_like(weights), np.empty(len(labels.label), int)
        given_class = looks.given_class(weights).astype(np.float32)
        for at, ((of_look, _), given) in enumerate(zip(of_looks, given_class, strict=True)):
            of_case = random.classes(f"look, group {at}", of_look * np.take(given, truth, axis=1))
            cell = looks.kind[of_case] if weights.ndim == 2 else truth * kinds.shape[-1] + looks.kind[of_case]
            kinds[at] = np.bincount(cell, minlength=kinds[at].size).reshape(kinds[at].shape)
            own = slice(None) if labels.n_groups == 1 else labels.group_of_label == at
            look[own] = of_case[labels.case[own]]
        named = sampler.confusion(values).transpose(1, 0, 2).reshape(k, -1)
        seen = random.classes("seen", np.take(looks.shares.T, look, axis=1) * np.take(named, pair, axis=1))
        if coefficients is not None and labels.n_groups == 1:
            weights = _draw_with_predictions(looks, weights, kinds[0], np.bincount(truth, minlength=k), random)
        else:
            weights = np.where(prior > 0, random.rows("looks", prior + kinds), 0)


def moves_classes(sampler: "TrueClass") -> bool:
    """Whether the log odds of each class are shifted alone in turn: if annotators have a row of their own for each."""
    return sampler.shift is not None and "confusion" in sampler.sites


class _Line:
    """Lines along which the log odds of annotators move, with true classes and looks summed out."""

    def __init__(self, labels: LabelledCases, prior: Weights):
        assert labels.looks is not None
        self._labels, self._looks, self._k = labels, labels.looks, labels.n_classes
        self._alone = labels.n_groups == 1 and labels.log_scores is None
        self._shapes = prior[..., self._k :].sum(-1), prior[..., : self._k].sum(-1)
        self._right, self._unclear, self._seen = 0.0, 0.0, 0

    def learn(self, confusion: Float[np.ndarray, "annotator class named"], weights: Weights) -> None:
        """Add to the means of how often annotators name what they see, and of how common unclear looks are."""
        self._right = self._right + np.diagonal(confusion, axis1=-2, axis2=-1)
        self._unclear = self._unclear + weights[..., self._k :].sum(-1).reshape(len(weights), -1).mean(1)
        self._seen += 1

    def of_group(self, group: int) -> Float[np.ndarray, "annotator class"]:
        """Return by how much log odds rise with the log odds that cases look unclear to a group.

        As many labels then differ as before: of an unclear case, a label is of another class than the most probable
        one with probability q, and the product of an annotator's share of right labels and 1 - q u stays the same.
        """
        of_unclear = self._looks.means[self._k :].mean(0)
        q = float(of_unclear @ (1 - self._looks.shares.max(1)))
        right, u = self._right / self._seen, float(self._unclear[group] / self._seen)
        steep = q * u * (1 - u) / (1 - q * u) / np.maximum(1 - right, _STEEPEST)
        return np.where(self._labels.group_of_annotator[:, None] == group, steep, 0)

    def moved(
        self,
        sampler: "TrueClass",
        direction: Float[np.ndarray, "#annotator class"] | None,
        group: int | None,
        values: dict[str, Any],
        weights: Weights,
        prevalence: Float[np.ndarray, "*case class"],
        random: Moves,
    ) -> tuple[dict[str, Any], Weights, list[Relative], Float[np.ndarray, "class case"]]:
        """Move log odds in a direction, if there is one, and those that cases look unclear to a group, if any.

        Returns the values, how common looks are, the relative probabilities of labels by look and the logarithm of the
        largest for each group, and the joint log probabilities with true classes.
        """
        found: dict[float, tuple[dict[str, Any], Weights, list[Relative], np.ndarray]] = {}

        def at(by: float, values: dict[str, Any], weights: Weights) -> float:
            of_looks = [relative(logs) for logs in self._labels.log_labels(sampler.confusion(values))]
            joint = self.joint(weights, prevalence, of_looks)
            found[by] = values, weights, of_looks, joint
            largest = joint.max(0)
            return float((np.log(np.exp(joint - largest).sum(0)) + largest).sum())

        def log_density(by: float) -> float:
            assert sampler.shift is not None
            of_weights, to = self._turned(weights, group, by) if group is not None else (0.0, weights)
            moved, of_values = sampler.shift(values, by * direction)
            return of_values + of_weights + at(by, moved, to) if np.isfinite(of_values) else -np.inf

        if direction is None:
            at(0.0, values, weights)
            return found[0.0]
        width = _WIDTH if group is None else _WIDTH_OF_UNCLEAR
        by = random.slice("log odds", 0.0, width, log_density, lambda by: found[by][0] | {"looks": found[by][1]})
        return found[by]

    def _turned(self, weights: Weights, group: int, by: float) -> tuple[Float[np.ndarray, ""], Weights]:
        """Add to the log odds that cases look unclear to a group; return the log density, and how common looks are."""
        before = np.clip(weights[group][..., self._k :].sum(-1), 1e-12, 1 - 1e-12)
        to = np.clip(expit(logit(before) + by), 1e-12, 1 - 1e-12)
        weights = weights.copy()
        weights[group][..., : self._k] *= ((1 - to) / (1 - before))[..., None]
        weights[group][..., self._k :] *= (to / before)[..., None]
        return (self._shapes[0][group] * np.log(to) + self._shapes[1][group] * np.log1p(-to)).sum(), weights

    def joint(
        self, weights: Weights, prevalence: Float[np.ndarray, "*case class"], of_looks: list[Relative]
    ) -> Float[np.ndarray, "class case"]:
        """Joint log probabilities of labels and true classes; how common these are, looks tell, or the prevalence."""
        given_class = self._looks.given_class(weights).astype(np.float32)
        prevalence = self._looks.expected(weights)[0] if self._alone else prevalence
        log_prevalence = np.log(np.maximum(prevalence, _SMALLEST)).reshape(-1, self._k).T
        return log_prevalence + sum(mixed(*of, given) for of, given in zip(of_looks, given_class, strict=True))


def _exchanged(looks: Looks, weights: Weights, of_looks: Float[np.ndarray, "look case"], random: Moves) -> Weights:
    """Redraw how much more common one kind of look is than another, for some pairs that are alike.

    Looks are summed out; ``of_looks`` is how probable the labels of each case are, up to a factor for the case. A clear
    case and one that nearly is look alike, as do two unclear ones, so their numbers would change slowly given looks.
    """
    prior, of_kind = looks.prior.tolist(), looks.means @ of_looks
    total, weight = weights[0] @ of_kind, weights[0].tolist()
    for one, other in looks.alike[random.permutation(len(looks.alike))[:_EXCHANGES]].tolist():
        both, difference = weight[one] + weight[other], of_kind[one] - of_kind[other]
        first, change = total - weight[one] * difference, both * difference

        def log_density(x, one=one, other=other, first=first, change=change) -> float:
            share = _logistic(x)
            of_cases = float(np.log(np.maximum(first + share * change, 1e-30)).sum(dtype=np.float64))
            return of_cases + prior[one] * log(share) + prior[other] * log(1 - share)

        def to(x: float, one=one, other=other, both=both) -> dict[str, Any]:
            moved = weight.copy()
            moved[one], moved[other] = both * _logistic(x), both * (1 - _logistic(x))
            return {"looks": np.array([moved])}

        share = min(max(weight[one] / both, 1e-12), 1 - 1e-12)
        share = _logistic(random.slice("exchange of looks", log(share / (1 - share)), 2.0, log_density, to))
        weight[one], weight[other] = both * share, both * (1 - share)
        total = first + share * change
    return np.array([weight])


def _logistic(x: float) -> float:
    return min(max(1 / (1 + exp(-max(x, -700))), 1e-12), 1 - 1e-12)


def _draw_with_predictions(
    looks: Looks,
    weights: Weights,
    kinds: Float[np.ndarray, " kind"],
    truth: Int[np.ndarray, " class"],
    random: Moves,
) -> Weights:
    r"""Draw how common each kind of look is, given the looks of cases and their true classes, which predictions tell.

    The probability of a look given the class, :math:`\gamma_p \lambda_{pk} / \sum_q \gamma_q \lambda_{qk}`, does not
    depend on the scale of :math:`\gamma`, which therefore are independent gamma variables. Given a gamma variable for
    each class, in place of its denominator, they are so again.
    """
    of_class = looks.of_class
    total = random.gammas("total", looks.prior.sum(), 1.0)
    rates = random.gammas("rates", np.maximum(truth, _SMALLEST), np.maximum(total * (weights[0] @ of_class), _SMALLEST))
    shape, rate = looks.prior + kinds, 1 + of_class @ rates
    gammas = random.gammas("gammas", shape, rate, lambda x: {"gammas": x, "looks": x[None] / x.sum()})
    return gammas[None] / gammas.sum()


def near_vote(labels: LabelledCases, random: Moves) -> Int[np.ndarray, " case"]:
    """Class that most labels of each case name; ties are broken at random."""
    return (labels.votes + 0.5 * random.random(labels.votes.shape)).argmax(1)
