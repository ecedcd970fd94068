"""Models of one true class per case: what cases share, sampled, and the probability of each true class given it.

The Gibbs sampler alternates between the true classes of all cases and what the model declares of all else
(:class:`plausibly.TrueClass`). Where there are predictions, each case has a prevalence of its own, by a regression
(``plausibly.data.regression``); the prevalence among what cases share is then its mean over cases, and the accuracy of
an annotator is how often she is right in such cases. Plausibilities are computed from what cases share alone, so they
vary less than the true classes that were drawn. Every chain starts at the votes.

All arrays of a sweep have a leading axis of chains, which advance together: of few labels, a call of NumPy takes longer
than what it computes. So each goes on in two directions from where its warm-up ended, unless there are predictions,
whose moves would be compiled twice. Pairs of chains of more labels, and single ones of many, have seeds of their own,
may run anywhere and are kept as they end.

Its oracle is NumPyro's NUTS on the model's program, in which true classes are summed out; for small problems it is also
an engine.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import count, islice
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from plausibly.base.pools import small_products
from plausibly.data.case import LabelledCases, counted
from plausibly.families.true_class._by_look import SMALLEST, moves_classes, near_vote, sweeps_by_look
from plausibly.families.true_class._coefficients import Coefficients, shares_of
from plausibly.inference import nuts_of_all_cases
from plausibly.inference.chains import Chain, Sampler, abreast, doubled
from plausibly.inference.moves import Moves

if TYPE_CHECKING:
    from plausibly.families.true_class._family import TrueClass

PAIRS = 5_000  # labels up to which two chains together take little more than half the time
TARGET_ACCEPT = 0.9
START_WARMUP = 5  # sweeps after which NUTS starts
TUNED = 0.25, 0.6  # shares of the warm-up after which the coefficients of predictions have a new approximation
COEFFICIENTS = "coefficients"  #: site of how predictions tell the true class, if there are any
LOOKS = "looks"  #: site of how common each kind of look is, if cases differ in difficulty
DIVERGING = "diverging"  #: beside the sites of a chain of NUTS: which of its trajectories diverged

Shared = dict[str, Float[np.ndarray, "chain draw *shape"]]


def sampler_of(family: "TrueClass", labels: LabelledCases, *, draws: int, warmup: int, seed: int) -> Sampler:
    """Gibbs sampler of what cases share; its chains keep all of :func:`sites_of`."""
    together = abreast(len(labels.label), PAIRS)
    twice = together > 1 and labels.log_scores is None  # moves of coefficients are compiled for a number of chains
    sweeps = partial(_sweeps, family, labels, warmup=warmup)
    sizes = {"draws": draws, "warmup": warmup, "seed": seed, "thinning": sweeps_per_draw(family, labels)}
    return Sampler(sweeps, partial(_kept, family, labels), **sizes, abreast=together, twice=twice)


def _kept(family: "TrueClass", labels: LabelledCases, values: dict[str, Any], _: int) -> dict[str, np.ndarray]:
    if labels.looks is not None and "accuracy" in family.sites:
        of_chains = zip(family.confusion(values), values[LOOKS], values["prevalence"], strict=True)
        values["accuracy"] = np.stack(
            [labels.looks.right(each, looks, labels.group_of_annotator) @ share for each, looks, share in of_chains]
        )
    return {name: np.asarray(values[name], np.float32) for name in sites_of(family, labels)}


def sweeps_per_draw(sampler: "TrueClass", labels: LabelledCases) -> int:
    """Return how many sweeps there are for a kept draw: in these, each class is shifted alone at least twice."""
    sweeps = 3 * sampler.thinning // 2 if labels.n_groups > 1 else sampler.thinning
    alone = labels.looks is not None and moves_classes(sampler)
    return max(sweeps, 5 * labels.n_classes) if alone else sweeps


def sites_of(sampler: "TrueClass", labels: LabelledCases) -> dict[str, tuple[str, ...]]:
    """Sites of what cases share, with the dimensions of each: of the sampler, of looks, coefficients of predictions."""
    sites = dict(sampler.sites)
    if labels.looks is not None:
        of_class = ("true_class",) if labels.n_groups > 1 else ()
        sites[LOOKS] = ("annotator_group", *of_class, "look")
    return sites | ({} if labels.log_scores is None else {COEFFICIENTS: ("coefficient",)})


def _sweeps(
    sampler: "TrueClass",
    labels: LabelledCases,
    random: Moves,
    chains: int,
    double: int | None = None,
    warmup: int = START_WARMUP,
) -> Iterator[dict]:
    """Sweeps as :class:`Sampler` asks for."""
    tuned = [int(share * warmup) for share in TUNED]
    if labels.looks is not None:
        yield from sweeps_by_look(sampler, labels, random, chains, tuned, warmup, double)
    coefficients = None if labels.log_scores is None else Coefficients(labels, random, chains)
    truth = near_vote(labels, random, chains)
    values = sampler.start(labels.count(truth), random)
    for number in count():
        if number == double:
            truth, values = doubled((truth, values))
        values = sampler.move(values, labels.count(truth), counted(truth, labels.n_classes), random)
        confusion, prevalence = sampler.confusion(values), values["prevalence"]
        of_case = prevalence[:, None] if coefficients is None else coefficients.shares
        joint = labels.log_labels(confusion)[0] + np.log(np.maximum(of_case, SMALLEST)).swapaxes(1, 2)
        if coefficients is not None:
            of_case, joint = coefficients.move(joint, number in tuned)
            values |= {"prevalence": of_case.mean(1), COEFFICIENTS: coefficients.vector}
            if "accuracy" in sampler.sites:
                right = np.diagonal(confusion, axis1=-2, axis2=-1)
                values["accuracy"] = (right @ values["prevalence"][..., None])[..., 0]
        yield values
        truth = random.classes("truth", np.moveaxis(np.exp(joint - joint.max(1, keepdims=True)), 1, 0))


def sample_by_nuts(
    program: Callable[..., None],
    sampler: "TrueClass",
    labels: LabelledCases,
    *,
    draws: int,
    chains: int,
    warmup: int,
    seed: int,
) -> list[Chain]:
    """Draws of each chain of NumPyro's NUTS on the program, and which trajectories diverged."""
    *_, values = islice(_sweeps(sampler, labels, Moves.of(seed), 1), START_WARMUP)
    values = {name: value[0] for name, value in values.items()}
    settings = {"draws": draws, "chains": chains, "warmup": warmup, "seed": seed, "target_accept": TARGET_ACCEPT}
    given = program, (labels,), sites_of(sampler, labels)
    found, statistics = nuts_of_all_cases(*given, start=_inside(values), **settings)
    found[DIVERGING] = statistics["diverging"]
    return [{name: values[chain] for name, values in found.items()} for chain in range(chains)]


def _inside(values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Distributions that are nowhere nearly zero, where a chain would hardly move, and all else as it is."""
    inside = {}
    for name, value in values.items():
        array = np.asarray(value, np.float32)
        if array.ndim and np.allclose(array.sum(-1), 1, atol=1e-4) and (array >= 0).all():
            array = 0.9 * array + 0.1 / array.shape[-1]
        inside[name] = array
    return inside


def prevalence_of(labels: LabelledCases, values: Mapping[str, np.ndarray]) -> Float[np.ndarray, "*case class"]:
    """Probability of each true class before the labels are known: in each case, if there are predictions, or in all."""
    return values["prevalence"] if labels.log_scores is None else shares_of(values[COEFFICIENTS], labels)


@small_products()
def class_probabilities(
    sampler: "TrueClass", labels: LabelledCases, shared: Mapping[str, Float[np.ndarray, "chain draw *shape"]]
) -> tuple[Float[np.ndarray, "chain draw case class"], Float[np.ndarray, "chain draw case"]]:
    """Probability of each true class given the labels of a case, and log probability of these labels, by draw.

    The cases need not be those that the draws of the shared quantities were conditioned on.
    """
    by_chain = shared["prevalence"].shape[:2]
    n, k = labels.n_cases, labels.n_classes
    plausibility = np.empty((*by_chain, n, k), np.float32)
    total = np.empty((*by_chain, n), np.float32)
    for at in np.ndindex(by_chain):
        values = {name: np.asarray(draws[at], float) for name, draws in shared.items()}
        log_joint = labels.log_joint(prevalence_of(labels, values), sampler.confusion(values), values.get("looks"))
        largest = log_joint.max(1, keepdims=True)
        weights = np.exp(log_joint - largest)
        sums = weights.sum(1, keepdims=True)
        plausibility[at], total[at] = weights / sums, (largest + np.log(sums))[:, 0]
    return plausibility, total
