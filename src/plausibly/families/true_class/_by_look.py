"""Sweeps of the Gibbs sampler where cases differ in difficulty: what a case looks like is drawn with its true class.

Given the look of a case, each label has a class that its annotator saw, and what annotators share is drawn from how
often they named each class that they saw, as it is from true classes where cases are alike. The same disagreement is
explained by annotators who do not name what they see, and by unclear cases. So the log odds of all annotators move
together, with looks summed out, by a slice along a line, of all classes in one sweep and of a single class in the next;
without it, chains hardly mix. In every second sweep the log odds of each annotator also move alone, given looks, with
what she saw summed out.
"""

from collections.abc import Callable, Iterator
from itertools import count
from math import exp, log
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from plausibly.case import LabelledCases, Looks, mixed, relative
from plausibly.families.true_class._coefficients import Coefficients
from plausibly.inference.draws import categorical, dirichlet, slice_draw, slice_one

if TYPE_CHECKING:
    from plausibly.families.true_class._family import TrueClass

_WIDTH = 0.3  # of the interval in which log odds move together
_WIDTH_ALONE = 2.0  # of those in which the log odds of each annotator move
_EXCHANGES = 10  # between two kinds of looks in a sweep
_SMALLEST = 1e-290

Weights = Float[np.ndarray, "group *class kind"]


def sweeps_by_look(
    sampler: "TrueClass", labels: LabelledCases, random: np.random.Generator, tuned: set[int]
) -> Iterator[dict[str, Any]]:
    """Sweeps of one chain, without end; after those in ``tuned``, coefficients are approximated again."""
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
    for number in count():
        values = sampler.move(values, labels.count_seen(seen), np.bincount(truth, minlength=k), random)
        prevalence = values["prevalence"]
        if alone:
            prevalence = looks.expected(weights)[0]
        elif coefficients is not None:
            prevalence = coefficients.move(truth)
            values["coefficients"] = coefficients.vector
        values |= {"prevalence": prevalence if prevalence.ndim == 1 else prevalence.mean(0), "looks": weights}
        given_class = looks.given_class(weights).astype(np.float32)
        log_prevalence = np.log(np.maximum(prevalence, _SMALLEST)).reshape(-1, k).T
        shift, classes = sampler.shift, np.ones(k)
        if number % 2:
            shift, classes = shift if moves_classes(sampler) else None, np.eye(k)[number // 2 % k]
        values, of_looks, joint = _shifted(sampler, shift, classes, labels, values, log_prevalence, given_class, random)
        if alone:
            weights = _exchanged(looks, weights, of_looks[0][0], random)
            given_class, prevalence = looks.given_class(weights).astype(np.float32), looks.expected(weights)[0]
            joint = np.log(np.maximum(prevalence, _SMALLEST))[:, None] + mixed(*of_looks[0], given_class[0])
            values |= {"prevalence": prevalence, "looks": weights}
        yield values
        chance = np.exp(joint - joint.max(0))
        if coefficients is not None and number in tuned:
            coefficients.tune((chance / chance.sum(0)).T)
        truth = categorical(chance, random)
        kinds, look = np.zeros_like(weights), np.empty(len(labels.label), int)
        for group, ((of_look, _), given) in enumerate(zip(of_looks, given_class, strict=True)):
            of_case = categorical(of_look * np.take(given, truth, axis=1), random)
            cell = looks.kind[of_case] if weights.ndim == 2 else truth * kinds.shape[-1] + looks.kind[of_case]
            kinds[group] = np.bincount(cell, minlength=kinds[group].size).reshape(kinds[group].shape)
            own = slice(None) if labels.n_groups == 1 else labels.group_of_label == group
            look[own] = of_case[labels.case[own]]
        if sampler.shift_each is not None and number % 2:
            values = _each_shifted(sampler, sampler.shift_each, labels, values, look, random)
        named = sampler.confusion(values).transpose(1, 0, 2).reshape(k, -1)
        seen = categorical(np.take(looks.shares.T, look, axis=1) * np.take(named, pair, axis=1), random)
        if coefficients is not None and labels.n_groups == 1:
            weights = _draw_with_predictions(looks, weights, kinds[0], np.bincount(truth, minlength=k), random)
        else:
            weights = np.where(prior > 0, dirichlet(prior + kinds, random), 0)


def moves_classes(sampler: "TrueClass") -> bool:
    """Whether the log odds of each class are shifted alone in turn: if annotators have a row of their own for each."""
    return sampler.shift is not None and "confusion" in sampler.sites


def _shifted(
    sampler: "TrueClass",
    shift: Callable[..., tuple[dict[str, Any], float]] | None,
    classes: Float[np.ndarray, " class"],
    labels: LabelledCases,
    values: dict[str, Any],
    log_prevalence: Float[np.ndarray, "class #case"],
    given_class: Float[np.ndarray, "group look class"],
    random: np.random.Generator,
) -> tuple[dict[str, Any], list[tuple[np.ndarray, np.ndarray]], Float[np.ndarray, "class case"]]:
    """Move the log odds of all annotators in ``classes`` together, by a ``shift``, if there is one.

    True classes and looks are summed out. Returns the values, the relative probabilities of labels by look and the
    logarithm of the largest for each group, and the joint log probabilities with true classes.
    """
    found: dict[float, tuple[dict[str, Any], list[tuple[np.ndarray, np.ndarray]], np.ndarray]] = {}

    def at(by, values) -> float:
        of_looks = [relative(logs) for logs in labels.log_labels(sampler.confusion(values))]
        joint = log_prevalence + sum(mixed(*of, given) for of, given in zip(of_looks, given_class, strict=True))
        found[by] = values, of_looks, joint
        largest = joint.max(0)
        return float((np.log(np.exp(joint - largest).sum(0)) + largest).sum())

    def log_density(by) -> float:
        assert shift is not None
        moved, of_values = shift(values, by * classes)
        return of_values + at(by, moved) if np.isfinite(of_values) else -np.inf

    if shift is None:
        at(0.0, values)
        return found[0.0]
    return found[slice_one(0.0, _WIDTH, log_density, random)]


def _each_shifted(
    sampler: "TrueClass",
    shift: Callable[..., tuple[dict[str, Any], np.ndarray]],
    labels: LabelledCases,
    values: dict[str, Any],
    look: Int[np.ndarray, " label"],
    random: np.random.Generator,
) -> dict[str, Any]:
    """Move the log odds of each annotator by a number of her own, given what the cases that she labelled look like."""
    looks, n, k = labels.looks, labels.n_annotators, labels.n_classes
    assert looks is not None
    cell = (labels.annotator.astype(np.int64) * len(looks.shares) + look) * k + labels.label
    counts = np.bincount(cell, minlength=n * len(looks.shares) * k).reshape(n, -1, k)

    def log_density(by: Float[np.ndarray, " annotator"]) -> Float[np.ndarray, " annotator"]:
        moved, of_values = shift(values, np.repeat(by[:, None], k, axis=1))
        of_labels = counts * np.log(np.maximum(looks.seen(sampler.confusion(moved)), _SMALLEST))
        return of_values + of_labels.sum((1, 2))

    by = slice_draw(np.zeros(n), _WIDTH_ALONE, log_density, random)
    return shift(values, np.repeat(by[:, None], k, axis=1))[0]


def _exchanged(
    looks: Looks, weights: Weights, of_looks: Float[np.ndarray, "look case"], random: np.random.Generator
) -> Weights:
    """Redraw how much more common one kind of look is than another, for some pairs that are alike.

    Looks are summed out; ``of_looks`` is how probable the labels of each case are, up to a factor for the case. A clear
    case and one that nearly is look alike, as do two unclear ones, so their numbers would change slowly given looks.
    """
    weights, prior = weights.copy(), looks.prior
    of_kind = looks.means @ of_looks
    total = weights[0] @ of_kind
    for pair in random.permutation(looks.alike)[:_EXCHANGES]:
        both = weights[0, pair].sum()
        rest = total - weights[0, pair] @ of_kind[pair]
        first, change = rest + both * of_kind[pair[1]], both * (of_kind[pair[0]] - of_kind[pair[1]])

        def log_density(x, pair=pair, first=first, change=change) -> float:
            share = _logistic(x)
            of_cases = np.log(np.maximum(first + share * change, 1e-30)).sum(dtype=np.float64)
            return float(of_cases + prior[pair[0]] * log(share) + prior[pair[1]] * log(1 - share))

        share = min(max(weights[0, pair[0]] / both, 1e-12), 1 - 1e-12)
        share = _logistic(slice_one(log(share / (1 - share)), 2.0, log_density, random))
        weights[0, pair] = both * share, both * (1 - share)
        total = first + share * change
    return weights


def _logistic(x: float) -> float:
    return min(max(1 / (1 + exp(-max(x, -700))), 1e-12), 1 - 1e-12)


def _draw_with_predictions(
    looks: Looks,
    weights: Weights,
    kinds: Float[np.ndarray, " kind"],
    truth: Int[np.ndarray, " class"],
    random: np.random.Generator,
) -> Weights:
    r"""Draw how common each kind of look is, given the looks of cases and their true classes, which predictions tell.

    The probability of a look given the class, :math:`\gamma_p \lambda_{pk} / \sum_q \gamma_q \lambda_{qk}`, does not
    depend on the scale of :math:`\gamma`, which therefore are independent gamma variables. Given a gamma variable for
    each class, in place of its denominator, they are so again.
    """
    of_class = looks.of_class
    total = random.standard_gamma(looks.prior.sum())
    rates = random.standard_gamma(np.maximum(truth, _SMALLEST)) / np.maximum(total * (weights[0] @ of_class), _SMALLEST)
    gammas = np.maximum(random.standard_gamma(looks.prior + kinds) / (1 + of_class @ rates), _SMALLEST)
    return gammas[None] / gammas.sum()


def near_vote(labels: LabelledCases, random: np.random.Generator) -> Int[np.ndarray, " case"]:
    """Class that most labels of each case name; ties are broken at random."""
    return (labels.votes + 0.5 * random.random(labels.votes.shape)).argmax(1)
