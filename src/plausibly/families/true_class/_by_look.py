"""Sweeps of the Gibbs sampler where cases differ in difficulty: what a case looks like is drawn with its true class.

Given the look of a case, each label has a class that its annotator saw, and what annotators share is drawn from how
often they named each class that they saw, as it is from true classes where cases are alike. The same disagreement is
explained by annotators who do not name what they see, and by unclear cases. So the log odds of all annotators move
together, with looks summed out, by a slice along a line; without it, chains hardly mix. In one sweep the log odds that
cases are unclear rise with them, so that about as many labels differ as before, in the next those of a single class
move. Where all annotators see the same look, and no predictions tell true classes, every second sweep is without.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit, logit

from plausibly.data.case import LabelledCases, Looks, counted, mixed
from plausibly.families.true_class._coefficients import Coefficients
from plausibly.inference.chains import doubled
from plausibly.inference.draws import simplexes
from plausibly.inference.moves import AHEAD, Moves

if TYPE_CHECKING:
    from plausibly.families.true_class._family import TrueClass

_WIDTH = 0.3  # of the interval in which log odds move together
_WIDTH_OF_UNCLEAR = 2.0  # of that of the log odds that cases are unclear
_STEEPEST = 0.05  # share of wrong labels; with fewer, log odds move as with so many
_FEW = 4_000  # labels of all chains; with more, points of a slice are looked at one by one
_STEPS = 16  # of a trajectory of how common looks are, about
_LIGHTEST = 0.5  # mass of a kind of look that no case has
SMALLEST = 1e-290

Weights = Float[np.ndarray, "chain group *class kind"]
OfLooks = tuple[np.ndarray, np.ndarray]


def sweeps_by_look(
    sampler: "TrueClass",
    labels: LabelledCases,
    random: Moves,
    chains: int,
    tuned: Sequence[int],
    warmup: int,
    double: int | None = None,
) -> Iterator[dict[str, Any]]:
    """Sweeps of chains, without end; after those in ``tuned``, coefficients are approximated again.

    From the first of these to the end of the warm-up, each chain learns in what direction log odds move.
    """
    looks = labels.looks
    assert looks is not None
    k, alone = labels.n_classes, labels.n_groups == 1 and labels.log_scores is None
    coefficients = None if labels.log_scores is None else Coefficients(labels, random, chains)
    truth = near_vote(labels, random, chains)
    seen, pair = truth[:, labels.case], labels.annotator * k + labels.label
    values = sampler.start(labels.count_seen(seen), random)
    prior = looks.prior[None] if labels.n_groups == 1 else np.stack(list(map(looks.prior_by_class, labels.together)))
    kinds = np.repeat(prior[None], chains, 0)
    if labels.n_groups == 1:
        kinds[:, 0, :k] += counted(truth, k)
    weights = kinds / kinds.sum(-1, keepdims=True)
    line, learning = _Line(labels, prior, weights), range(tuned[0], max(warmup, tuned[0] + 1))
    for number in count():
        if number == double:
            truth, seen, values, weights = doubled((truth, seen, values, weights))
            line.double()
            chains *= 2
        values = sampler.move(values, labels.count_seen(seen), counted(truth, k), random)
        prevalence = values["prevalence"] if coefficients is None else coefficients.shares
        direction, group = None, None
        turn, between = divmod(number, 2) if alone and moves_classes(sampler) else (number, 0)
        if turn % 2 and not between:
            direction = np.eye(k)[[turn // 2 % k]] if moves_classes(sampler) else None
        elif sampler.shift is not None and not between:
            group = turn // 2 % labels.n_groups if number >= learning.stop else None
            direction = np.ones((1, k)) if group is None else line.of_group(group)
        values, weights, of_looks = line.moved(sampler, direction, group, values, weights, prevalence, random)
        if number in learning:
            line.learn(sampler.confusion(values), weights)
        if alone:
            weights = _draw_with_cases(looks, weights, line.mass, of_looks[0][0], random)
            prevalence = looks.expected(weights)[:, 0]
        else:
            joint = line.joint(weights, prevalence, of_looks)
        if coefficients is not None:
            prevalence, joint = coefficients.move(joint, number in tuned)
            values["coefficients"] = coefficients.vector
        values |= {"prevalence": prevalence if prevalence.ndim == 2 else prevalence.mean(1), "looks": weights}
        yield values
        kinds = np.zeros_like(weights)
        if alone:
            of_case = of_looks[0][0] * (weights @ looks.of_kind).astype(np.float32)
            look = random.classes("look, group 0", np.moveaxis(of_case, 2, 0))
            truth = random.classes("truth", looks.shares.T[:, look])
            kinds[:, 0], look = counted(looks.kind[look], kinds.shape[-1]), look[:, labels.case]
        else:
            truth = random.classes("truth", np.moveaxis(np.exp(joint - joint.max(1, keepdims=True)), 1, 0))
            look, given_class = np.empty((chains, len(labels.label)), int), line.given_class(weights)
            for at, (of_look, _) in enumerate(of_looks):
                given = np.stack([own[at].T[classes] for own, classes in zip(given_class, truth, strict=True)])
                of_case = random.classes(f"look, group {at}", np.moveaxis(of_look * given, 2, 0))
                cell = looks.kind[of_case] if weights.ndim == 3 else truth * kinds.shape[-1] + looks.kind[of_case]
                kinds[:, at] = counted(cell, kinds[0, at].size).reshape(kinds[:, at].shape)
                own = slice(None) if labels.n_groups == 1 else labels.group_of_label == at
                look[:, own] = of_case[:, labels.case[own]]
        named = np.moveaxis(sampler.confusion(values), 2, 0).reshape(k, chains, -1)
        seen = random.classes("seen", np.take(looks.shares.T, look, axis=1) * np.take(named, pair, axis=2))
        if coefficients is not None and labels.n_groups == 1:
            weights = _draw_with_predictions(looks, weights[:, 0], kinds[:, 0], counted(truth, k), random)
        else:
            weights = np.where(prior > 0, random.rows("looks", prior + kinds), 0)


def moves_classes(sampler: "TrueClass") -> bool:
    """Whether the log odds of each class are shifted alone in turn: if annotators have a row of their own for each."""
    return sampler.shift is not None and "confusion" in sampler.sites


class _Line:
    """Lines along which the log odds of annotators move, with true classes and looks summed out."""

    def __init__(self, labels: LabelledCases, prior: Float[np.ndarray, "group *class kind"], weights: Weights):
        assert labels.looks is not None
        self._labels, self._looks, self._k = labels, labels.looks, labels.n_classes
        self._alone = labels.n_groups == 1 and labels.log_scores is None
        self._shapes = prior[..., self._k :].sum(-1), prior[..., : self._k].sum(-1)
        self._right, self._unclear, self._seen = 0.0, 0.0, 0
        self._prior, self._weights = prior, weights

    def learn(self, confusion: Float[np.ndarray, "chain annotator class named"], weights: Weights) -> None:
        """Add to the means of how often annotators name what they see, and of how common unclear looks are."""
        self._right = self._right + np.diagonal(confusion, axis1=-2, axis2=-1)
        self._unclear = self._unclear + weights[..., self._k :].sum(-1).reshape(*weights.shape[:2], -1).mean(2)
        self._seen += 1
        self._weights = self._weights + (weights - self._weights) / self._seen

    @property
    def mass(self) -> Float[np.ndarray, "chain kind"]:
        """How well the logarithm of how common each kind of look is is known: by how many cases, and the prior."""
        return (self._prior + self._labels.n_cases * self._weights + _LIGHTEST).reshape(len(self._weights), -1)

    def double(self) -> None:
        """Add the means of copies of the chains."""
        self._weights = doubled(self._weights)
        if self._seen:
            self._right, self._unclear = doubled((self._right, self._unclear))

    def of_group(self, group: int) -> Float[np.ndarray, "chain annotator class"]:
        """Return by how much log odds rise with the log odds that cases look unclear to a group.

        As many labels then differ as before: of an unclear case, a label is of another class than the most probable
        one with probability q, and the product of an annotator's share of right labels and 1 - q u stays the same.
        """
        of_unclear = self._looks.means[self._k :].mean(0)
        q = float(of_unclear @ (1 - self._looks.shares.max(1)))
        right, u = self._right / self._seen, (self._unclear[:, group] / self._seen)[:, None, None]
        steep = q * u * (1 - u) / (1 - q * u) / np.maximum(1 - right, _STEEPEST)
        return np.where(self._labels.group_of_annotator[:, None] == group, steep, 0)

    def moved(
        self,
        sampler: "TrueClass",
        direction: Float[np.ndarray, "*chain #annotator class"] | None,
        group: int | None,
        values: dict[str, Any],
        weights: Weights,
        prevalence: Float[np.ndarray, "chain *case class"],
        random: Moves,
    ) -> tuple[dict[str, Any], Weights, list[OfLooks]]:
        """Move log odds in a direction, if there is one, and those that cases look unclear to a group, if any.

        Returns the values, how common looks are, and the probabilities of labels by look for each group.
        """
        if direction is None:
            return values, weights, self._labels.of_looks(sampler.confusion(values))
        shift, found = sampler.shift, []
        assert shift is not None

        def log_density(by: np.ndarray) -> np.ndarray:
            of_weights, to = self._turned(weights, group, by) if group is not None else (0.0, weights)
            moved, of_values = shift(values, by[..., None, None] * direction)
            of_looks = self._labels.of_looks(sampler.confusion(moved))
            changed = {name: value for name, value in moved.items() if value is not values.get(name)}
            found.append((by, changed, {} if group is None else {"looks": to}, of_looks))
            total = self._of_cases(to, prevalence, of_looks).sum(-1)
            return np.where(np.isfinite(of_values), of_values + of_weights + total, -np.inf)

        def sites(by: np.ndarray) -> dict[str, Any]:
            _, changed, to, _ = _of_chains(found, by)
            return values | {"looks": weights} | changed | to

        few = len(weights) * len(self._labels.label) <= _FEW
        width = _WIDTH if group is None else _WIDTH_OF_UNCLEAR
        by = random.slices("log odds", np.zeros(len(weights)), width, log_density, sites, AHEAD if few else 1)
        _, changed, to, of_looks = _of_chains(found, by)
        return values | changed, to.get("looks", weights), of_looks

    def _turned(
        self, weights: Weights, group: int, by: Float[np.ndarray, "point chain"]
    ) -> tuple[Float[np.ndarray, "point chain"], Weights]:
        """Add to the log odds that cases look unclear to a group; return the log density, and how common looks are."""
        k, by = self._k, by.reshape(*by.shape, *[1] * (weights.ndim - 3))
        before = np.clip(weights[:, group, ..., k:].sum(-1), 1e-12, 1 - 1e-12)
        to = np.clip(expit(logit(before) + by), 1e-12, 1 - 1e-12)
        turned = np.repeat(weights[None], len(by), 0)
        turned[:, :, group, ..., :k] *= ((1 - to) / (1 - before))[..., None]
        turned[:, :, group, ..., k:] *= (to / before)[..., None]
        of_weights = self._shapes[0][group] * np.log(to) + self._shapes[1][group] * np.log1p(-to)
        return of_weights.reshape(*by.shape[:2], -1).sum(-1), turned

    def _of_cases(
        self,
        weights: Float[np.ndarray, "*point_and_group kind"],
        prevalence: Float[np.ndarray, "chain *case class"],
        of_looks: list[OfLooks],
    ) -> Float[np.ndarray, "*point case"]:
        """Log probability of the labels of each case, true classes summed out."""
        if self._alone:
            [(product, log_unit)], shares = of_looks, weights[..., 0, :] @ self._looks.of_kind
            return np.log((product @ shares.astype(np.float32)[..., None])[..., 0]) + log_unit
        joint = self.joint(weights, prevalence, of_looks)
        largest = joint.max(-2)
        return np.log(np.exp(joint - largest[..., None, :]).sum(-2)) + largest

    def given_class(self, weights: Float[np.ndarray, "*point_and_group kind"]) -> np.ndarray:
        """Probability of each look given the true class, (…, group, look, class)."""
        own = 2 if self._labels.n_groups == 1 else 3
        found = self._looks.given_class(weights.reshape(-1, *weights.shape[1 - own :]))
        return found.astype(np.float32).reshape(*weights.shape[: 1 - own], *found.shape[1:])

    def joint(
        self,
        weights: Float[np.ndarray, "*point_and_group kind"],
        prevalence: Float[np.ndarray, "chain *case class"],
        of_looks: list[OfLooks],
    ) -> Float[np.ndarray, "*point class case"]:
        """Joint log probabilities of labels and true classes, where looks do not tell how common these are."""
        given_class, prevalence = self.given_class(weights), prevalence[:, None] if prevalence.ndim == 2 else prevalence
        log_prevalence = np.log(np.maximum(prevalence, SMALLEST)).swapaxes(-1, -2)
        return log_prevalence + sum(mixed(*of, given_class[..., at, :, :]) for at, of in enumerate(of_looks))


def _of_chains(found: Sequence[tuple], by: Float[np.ndarray, " chain"]) -> Any:
    """Return what was found for a point of each chain, of tuples of points (point, chain) and other arrays of these."""
    sizes = [len(points) for points, *_ in found]
    at = (np.concatenate([points for points, *_ in found]) == by).argmax(0)
    part = np.repeat(np.arange(len(found)), sizes)[at]
    at, chains = at - np.cumsum([0, *sizes])[part], np.arange(len(by))

    def chosen(*parts: Any) -> Any:
        if isinstance(parts[0], dict):
            return {name: chosen(*(part[name] for part in parts)) for name in parts[0]}
        if isinstance(parts[0], list | tuple):
            return [chosen(*own) for own in zip(*parts, strict=True)]
        if len(parts) == 1:
            return parts[0][at, chains]
        return np.stack([parts[of][one, chain] for of, one, chain in zip(part, at, chains, strict=True)])

    return chosen(*found)


def _draw_with_cases(
    looks: Looks,
    weights: Weights,
    mass: Float[np.ndarray, "chain kind"],
    of_looks: Float[np.ndarray, "chain case look"],
    random: Moves,
) -> Weights:
    """Move how common kinds of looks are along a trajectory of their logarithms, with looks summed out.

    ``of_looks`` is how probable the labels of each case are, up to a factor for the case. A clear case and one that
    nearly is look alike, as do two unclear ones, so that numbers of looks change slowly given each other.
    """
    of_kind, prior = looks.means @ of_looks.swapaxes(1, 2), looks.prior
    n = of_looks.shape[1] + prior.sum()  # cases, and those that the prior is worth

    def log_density(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = x - x.max(1, keepdims=True)
        sizes = np.exp(x)
        total, size = sizes.astype(np.float32)[:, None] @ of_kind, sizes.sum(1, keepdims=True)
        slope = prior + sizes * ((of_kind @ (1 / total).swapaxes(1, 2))[..., 0] - n / size)
        return np.log(total).sum((1, 2), dtype=float) + x @ prior - n * np.log(size)[:, 0], slope

    def to(x: np.ndarray) -> dict[str, Any]:
        return {"looks": np.maximum(simplexes(x)[0], SMALLEST)[:, None]}

    x = np.log(np.maximum(weights[:, 0], SMALLEST))
    return to(random.trajectory("looks, summed out", x, mass, _STEPS, log_density, to))["looks"]


def _draw_with_predictions(
    looks: Looks,
    weights: Float[np.ndarray, "chain kind"],
    kinds: Float[np.ndarray, "chain kind"],
    truth: Int[np.ndarray, "chain class"],
    random: Moves,
) -> Weights:
    r"""Draw how common each kind of look is, given the looks of cases and their true classes, which predictions tell.

    The probability of a look given the class, :math:`\gamma_p \lambda_{pk} / \sum_q \gamma_q \lambda_{qk}`, does not
    depend on the scale of :math:`\gamma`, which therefore are independent gamma variables. Given a gamma variable for
    each class, in place of its denominator, they are so again.
    """
    of_class = looks.of_class
    total = random.gammas("total", np.full(len(weights), looks.prior.sum()), 1.0)
    rate = np.maximum(total[:, None] * (weights @ of_class), SMALLEST)
    rates = random.gammas("rates", np.maximum(truth, SMALLEST), rate)
    shape, rate = looks.prior + kinds, 1 + rates @ of_class.T

    def to(x: np.ndarray) -> dict[str, Any]:
        return {"gammas": x, "looks": (x / x.sum(-1, keepdims=True))[:, None]}

    return to(random.gammas("gammas", shape, rate, to))["looks"]


def near_vote(labels: LabelledCases, random: Moves, chains: int) -> Int[np.ndarray, "chain case"]:
    """Class that most labels of each case name; ties are broken at random."""
    return (labels.votes + 0.5 * random.random((chains, *labels.votes.shape))).argmax(-1)
