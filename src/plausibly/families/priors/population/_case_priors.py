r"""The prior of every case given the shared parameters: a mixture over heads of Dirichlet distributions.

A case is laid out over the classes that it names, over further ones that its head makes likely, and over the remainder.
Given its head, the plausibilities of all classes that nobody named are, relative to each other, independent of the
annotations, so an engine samples named classes and one remainder with the shape of all others together; it is split
into slots of its own afterwards.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln, logsumexp

from plausibly.base.errors import AnnotationError
from plausibly.data.annotations import Annotations, Slots
from plausibly.data.annotations.by_case import check_annotated
from plausibly.families.priors._case_priors import CasePriors, with_likely
from plausibly.families.priors.population._sampler import NODE_WEIGHTS, NODES

if TYPE_CHECKING:
    from plausibly.families.priors.population._population import Population

HEADS = 32  #: heads of a case that are told apart; all of them where there are no more classes
HEADS_BY_CASE = 12  #: the same where each has five concentrations
LIKELY = 0.01  #: expected plausibility from which an unnamed class gets a slot of its own
LIKELIEST = 8  #: and how many of them at most

_CASES = 500  # looked at together
_LEAST = 1e-12


def rank_weight(block: Float[np.ndarray, "*entry"]) -> Float[np.ndarray, "*entry"]:
    """Probability that a block counts as a label: 1 for the first, then 1/4, 1/8, and so on."""
    return np.where(block == 0, 1.0, 0.5 ** (np.asarray(block, float) + 1))


def case_priors(population: "Population", annotations: Annotations) -> CasePriors:
    """Lay out the cases of annotations under a population.

    Examples
    --------
    >>> population = pb.priors.population.Population.of(["a", "b", "c"], [0.6, 0.3, 0.1], concentration=2.0)
    >>> annotations = pb.Annotations.from_labels([["a", "a"]], classes=["a", "b", "c"])
    >>> case_priors(population, annotations).slots.class_index.tolist()
    [0, 1, 2]
    """
    core = Slots.of(annotations)
    n, k = annotations.n_cases, annotations.n_classes
    n_heads = min(k, HEADS_BY_CASE if population.spread else HEADS)
    heads, likely = np.empty((n, n_heads), np.int64), []
    for part, log_p, expected, named, _ in expected_labels(population, annotations):
        # Ordered by class, so that equal weights do not depend on the sort.
        heads[part] = np.sort(np.argpartition(-log_p, n_heads - 1, axis=1)[:, :n_heads], axis=1)
        expected[named] = 0
        likeliest = np.argsort(-expected, axis=1, kind="stable")[:, :LIKELIEST]
        at, column = np.nonzero(np.take_along_axis(expected, likeliest, 1) >= LIKELY)
        likely.append(np.stack([at + part.start, likeliest[at, column]]))
    slots = with_likely(core, np.concatenate(likely, axis=1), k)
    nothing = np.empty((0, 0))
    return at_population(CasePriors(slots, core, heads, nothing, nothing, nothing), population)


def at_population(priors: CasePriors, population: "Population") -> CasePriors:
    """Return the same layout with the shapes and weights of a population, such as a draw of another one."""
    shares, logs = prior_shares(population), _log(population.prevalence)[priors.heads]
    factors, weights = nodes(population)
    logs = logs - logsumexp(logs, axis=1, keepdims=True)

    def at_nodes(slots: Slots) -> Float[np.ndarray, "component slot"]:
        shape = _shapes(shares, slots, priors.heads).T
        return np.concatenate([factor * shape for factor in factors])

    return replace(
        priors,
        log_weight=np.concatenate([logs + np.log(weight) for weight in weights], axis=1),
        shape=at_nodes(priors.slots),
        core_shape=at_nodes(priors.core),
    )


def nodes(population: "Population") -> tuple[Float[np.ndarray, " node"], Float[np.ndarray, " node"]]:
    """Factors of the concentration of a case, and their prior probabilities."""
    if not population.spread:
        return np.ones(1), np.ones(1)
    return np.exp(population.spread * NODES), NODE_WEIGHTS


def prior_shares(population: "Population") -> Float[np.ndarray, "head class"]:
    """Prior shapes of all classes by head."""
    return np.maximum(population.concentration * population.profiles, _LEAST)


def expected_labels(
    population: "Population", annotations: Annotations
) -> Iterator[tuple[slice, np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray], np.ndarray]]:
    """What the labels of cases say under a population, some hundred cases at a time.

    Yields
    ------
    The cases, the log posterior probabilities (case, head) of their heads, their expected plausibilities (case, class),
    the pairs of case and class that are named, and the number of labels of each.
    """
    check_annotated(annotations)
    if not np.array_equal(np.asarray(annotations.classes, str), np.asarray(population.classes, str)):
        raise AnnotationError(
            f"the population has {len(population.classes)} classes, which are not the {annotations.n_classes} of the "
            "annotations: estimate it from annotations of the same classes, in the same order."
        )
    n = annotations.n_cases
    of_case, label, count = _label_counts(annotations)
    start = np.searchsorted(of_case, np.arange(n + 1))
    total = np.bincount(of_case, count, n)
    shares, log_prevalence = prior_shares(population), _log(population.prevalence)
    for first in range(0, n, _CASES):
        part = slice(first, min(first + _CASES, n))
        own = slice(start[part.start], start[part.stop])
        a = shares.T[label[own]]
        terms = gammaln(a + count[own, None]) - gammaln(a)
        log_p = np.add.reduceat(terms, start[part.start : part.stop] - own.start, axis=0) + log_prevalence
        log_p -= logsumexp(log_p, axis=1, keepdims=True)
        named = of_case[own] - part.start, label[own]
        expected = np.exp(log_p) @ shares
        expected[named] += count[own]
        yield part, log_p, expected / (population.concentration + total[part, None]), named, count[own]


def _log(values: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(values)


def _label_counts(annotations: Annotations):
    """Weighted labels by case and class."""
    weight = rank_weight(annotations.entry_block) / np.repeat(annotations.block_sizes, annotations.block_sizes)
    keys, inverse = np.unique(
        annotations.entry_case * np.int64(annotations.n_classes) + annotations.entry_class, return_inverse=True
    )
    return keys // annotations.n_classes, keys % annotations.n_classes, np.bincount(inverse, weight)


def _shapes(shares: np.ndarray, slots: Slots, heads: np.ndarray) -> Float[np.ndarray, "slot head"]:
    of_slot = heads[slots.case]
    out = shares[of_slot, np.maximum(slots.class_index, 0)[:, None]]
    rest = slots.is_remainder
    out[rest] = 0
    own = np.add.reduceat(out, slots.start[:-1], axis=0)
    out[rest] = np.maximum(shares.sum(1)[of_slot[rest]] - own[slots.case[rest]], 1e-6)
    return out
