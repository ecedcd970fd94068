r"""Experts other than these: how far readers differ, and what panels of them would decide under a posterior.

A posterior has shares :math:`\lambda_i` of *these* annotators. Other experts of the same kind are stricter or laxer
about some classes, and more or less sure of all. Expert e of a panel has, in every case, the shares

.. math:: \mathrm{softmax}\big(c\, e^{a_e} \log \lambda_i + s_e - \bar s\big), \quad s_e \sim N(0, \tau^2 C), \quad
    \bar s \sim N(0, \tau^2 C / J), \quad a_e \sim N(0, \tau_a^2), \quad C = I - 1 1^T / K,

where :math:`\bar s`, the mean of the J annotators, is unknown, and :math:`c = \sqrt{1 + \pi \tau^2 / 4}`: shares of
several annotators are less extreme than those of each of them, as the logistic curve is when it is averaged over a
normal variable of variance :math:`2 \tau^2` (Zeger, Liang & Albert 1988, Models for longitudinal data: a generalized
estimating equation approach, Biometrics 44).

Strictness, :math:`\tau`, follows from pairs of annotators who disagree about a case: which of the two named which
class depends on their strictness alone, and not on the case (Rasch 1960; Andersen 1970, Asymptotic properties of
conditional maximum likelihood estimators, Journal of the Royal Statistical Society B 32). The pairs of a case with m
labels weigh 2 / m each, as much as m − 1 independent ones. Skill, :math:`\tau_a`, follows from how much more often some
annotators agree with the others of the same cases than these agree among each other. Both are integrated out over a
grid, with Laplace's approximation for strictness, under half-normal priors whose scales fit twelve public sets of
annotations (``python -m validation.other_experts``).
"""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit, logsumexp

from plausibly.base.arviz import Posterior
from plausibly.base.errors import ArgumentError
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.views import some_labels
from plausibly.evaluation.truth import first_choice_shares
from plausibly.posterior import opened, reading
from plausibly.posterior.says import ORDERED, are_shares

STRICTNESS, SKILL = 0.75, 0.5  #: scales of the half-normal priors of τ and of τ_a, on log odds
GRID = np.arange(0.075, 2.4, 0.15)  #: values of τ, in the middle of intervals
SKILLS = np.arange(0.05, 1.6, 0.1)  #: the same of τ_a
MOST_EXPERTS = 101  #: of a panel that is drawn; more are what most experts would name
FEW_READERS = 5  #: annotators from which on other readers can be known from these
MOST_LEFT_OUT = 20  #: annotators, or groups of them, that are left out in turn
_DENSE = 600  # parameters of strictness whose whole matrix of second derivatives is looked at

Readers = Literal["others", "these"]


class Scale(NamedTuple):
    """A posterior of a scale, over the middles of intervals of equal width."""

    middle: Float[np.ndarray, " point"]
    probability: Float[np.ndarray, " point"]

    @property
    def median(self) -> float:
        """Its median, between two middles."""
        return float(np.interp(0.5, self.probability.cumsum(), self.middle))

    def draw(self, random: np.random.Generator, n: int) -> Float[np.ndarray, " n"]:
        """Draw values, anywhere in the intervals."""
        width = self.middle[1] - self.middle[0] if len(self.middle) > 1 else 0.0
        return random.choice(self.middle, n, p=self.probability) + width * (random.random(n) - 0.5)


class Differences(NamedTuple):
    """How far experts of a kind differ from each other."""

    strictness: Scale  #: of τ
    skill: Scale  #: of τ_a
    n_annotators: float  #: whose mean is known; those with few labels count less


SAME = Differences(Scale(np.zeros(1), np.ones(1)), Scale(np.zeros(1), np.ones(1)), 1.0)  #: experts like the average one


class Panels(NamedTuple):
    """Experts of a panel in every draw."""

    strictness: Float[np.ndarray, "expert class draw"]  #: added to log shares
    power: Float[np.ndarray, "expert draw"]  #: of shares


class Answers(NamedTuple):
    """Labels of the annotators of each case, in a random order; arrays of NumPy or JAX."""

    number: Any  #: Of labels (case,)
    size: Any  #: Of each label (label, case): how many classes tie for it
    named: Any  #: These classes (label, place, case)

    def of_cases(self, at: Int[np.ndarray, " chosen"] | slice) -> "Answers":
        """Take those of some cases."""
        return Answers(*(of[..., at] for of in self))


def check_readers(readers: str | None, annotations: Annotations, *, grades: bool = False) -> Readers:
    """Say which readers an interval is about, by default others where annotators have names.

    Panels that are drawn of `grades` are of these: strictness about each grade by itself would make neighbours of a
    grade as far as any other.

    Raises
    ------
    ArgumentError
        If there is no such choice, or annotators without names cannot tell of others.
    """
    if readers not in (None, "others", "these"):
        raise ArgumentError(f"readers must be 'others' or 'these', but {readers!r} was given: choose one.")
    if readers == "others" and annotations.anonymous:
        raise ArgumentError(
            "readers='others' needs annotators by name, since how far they differ tells how far others would: name "
            "them, or leave it out."
        )
    if readers == "others" and grades:
        raise ArgumentError(
            "readers='others' knows strictness about classes, not about grades: leave it out, for panels of these "
            "annotators."
        )
    return readers or ("these" if annotations.anonymous or grades else "others")  # type: ignore[return-value]


def of_others(readers: str | None, annotations: Annotations) -> bool:
    """Whether intervals without a model allow for other readers: by default where there are five with names.

    Raises
    ------
    ArgumentError
        If there is no such choice, or fewer annotators than can tell.
    """
    whom = check_readers(readers, annotations)
    n = len(np.unique(annotations.annotation_annotator))
    if readers == "others" and n < 3:
        raise ArgumentError(
            f"readers='others' needs three annotators or more without a model, but there {'is' if n == 1 else 'are'} "
            f"{n}: leave it out, or aggregate the annotations first."
        )
    return whom == "others" and (readers is not None or n >= FEW_READERS) and annotations.fair is not None


def labels_suffice(
    posterior: Posterior | str | PathLike, annotations: Annotations, panel: int, readers: Any, *, ordered: bool = False
) -> bool:
    """Whether panels are those of the labels: of these annotators, enough in every case, or of a true class."""
    with opened(posterior) if isinstance(posterior, str | PathLike) else reading(posterior) as source:
        grades = ordered or bool(source.attrs.get(ORDERED))
        return not are_shares(source.attrs) or enough_labels(annotations, panel, readers, ordered=grades)


def enough_labels(annotations: Annotations, panel: int, readers: str | None, *, ordered: bool) -> bool:
    """Whether panels are of these annotators, of whom enough have labelled every case."""
    return check_readers(readers, annotations, grades=ordered) == "these" and bool(
        (annotations.per_case >= panel).all()
    )


def differences(annotations: Annotations, seed: int = 0) -> Differences:
    """Infer how far annotators differ in strictness and in skill.

    Parameters
    ----------
    annotations
        Labels, counts or rankings by named annotators; first choices count, of tied ones a random one.
    seed
        Random seed of ties.
    """
    annotations = (annotations.fair or annotations).annotated
    share = np.bincount(annotations.annotation_annotator, 1 / annotations.per_case[annotations.annotation_case])
    strictness, skill = evidence(annotations, seed)
    strictness, skill = strictness - 0.5 * (GRID / STRICTNESS) ** 2, skill - 0.5 * (SKILLS / SKILL) ** 2
    n_annotators = float(share.sum() ** 2 / (share**2).sum())
    return Differences(_scale(GRID, strictness), _scale(SKILLS, skill), n_annotators)


def evidence(
    annotations: Annotations, seed: int = 0
) -> tuple[Float[np.ndarray, " point"], Float[np.ndarray, " point"]]:
    """Log likelihoods of strictness and of skill on their grids, up to constants, all cases having annotations."""
    case, who = annotations.annotation_case, annotations.annotation_annotator
    first = annotations.entry_block == 0
    size = np.bincount(annotations.entry_annotation[first], minlength=len(case))
    chosen = np.random.default_rng([seed, 11]).integers(size)
    label = annotations.entry_class[annotations.annotation_start[:-1] + chosen]
    strictness, likeliest = evidence_of_strictness(case, who, label, annotations.n_classes)
    return strictness, evidence_of_skill(case, who, label, annotations, likeliest)


def _scale(middle: np.ndarray, logs: np.ndarray) -> Scale:
    return Scale(middle, np.exp(logs - logsumexp(logs)))


def evidence_of_strictness(
    case: Int[np.ndarray, " label"], who: Int[np.ndarray, " label"], label: Int[np.ndarray, " label"], n_classes: int
) -> tuple[Float[np.ndarray, " point"], Float[np.ndarray, "annotator class"]]:
    """Log marginal likelihood of each value of τ on the grid, up to a constant, and strictness at the likeliest."""
    columns, weight = _pairs(case, who, label, n_classes)
    strictness = np.zeros((int(who.max()) + 1, n_classes))
    if not len(weight):
        return np.zeros(len(GRID)), strictness
    rows = np.repeat(np.arange(len(weight)), 4)
    signs = np.tile([1.0, -1.0, -1.0, 1.0], len(weight))
    design = csr_array((signs, (rows, columns.ravel())), (len(weight), strictness.size))
    used = np.flatnonzero(abs(design).sum(axis=0))
    design = design[:, used]
    found, at, most = np.empty(len(GRID)), np.zeros(len(used)), -np.inf

    def loss(of: np.ndarray, precision: float) -> tuple[float, np.ndarray]:
        odds = design @ of
        value = weight @ np.logaddexp(0, -odds) + 0.5 * precision * of @ of
        return value, precision * of - design.T @ (weight * expit(-odds))

    for number, scale in enumerate(GRID):
        best = minimize(loss, at, (scale**-2,), "L-BFGS-B", jac=True)
        at = best.x
        likely = expit(design @ at)
        curvature = weight * likely * (1 - likely)
        if len(used) <= _DENSE:
            second = (design.T @ (design * curvature[:, None])).toarray()
            volume = np.linalg.slogdet(np.eye(len(used)) + scale**2 * second)[1]
        else:
            volume = np.log1p(scale**2 * (design.power(2).T @ curvature)).sum()
        found[number] = -best.fun - 0.5 * volume
        if found[number] > most:
            most, strictness.flat[used] = found[number], at
    return found, strictness


def _pairs(case, who, label, n_classes) -> tuple[Int[np.ndarray, "pair 4"], Float[np.ndarray, " pair"]]:
    """Columns of strictness of each kind of disagreement, (i, a), (i, b), (j, a) and (j, b), and how much it weighs."""
    order = np.argsort(case, kind="stable")
    case, own = case[order], who[order].astype(np.int64) * n_classes + label[order]
    count = np.bincount(case)
    kinds, weights = [], []
    for gap in range(1, int(count.max(initial=0))):
        one, other = own[:-gap], own[gap:]
        pair = (case[:-gap] == case[gap:]) & (one % n_classes != other % n_classes)
        kinds.append(np.sort(np.stack([one[pair], other[pair]], axis=1), axis=1))
        weights.append(2 / count[case[:-gap][pair]])
    if not kinds:
        return np.empty((0, 4), int), np.empty(0)
    pairs, which = np.unique(np.concatenate(kinds), axis=0, return_inverse=True)
    (i, a), (j, b) = (np.divmod(of, n_classes) for of in pairs.T)
    columns = np.stack([i * n_classes + a, i * n_classes + b, j * n_classes + a, j * n_classes + b], axis=1)
    return columns, np.bincount(which.ravel(), np.concatenate(weights))


def evidence_of_skill(
    case: Int[np.ndarray, " label"],
    who: Int[np.ndarray, " label"],
    label: Int[np.ndarray, " label"],
    annotations: Annotations,
    strictness: Float[np.ndarray, "annotator class"],
) -> Float[np.ndarray, " point"]:
    r"""Log likelihood of each value of τ_a on the grid, up to a constant.

    An annotator of skill a agrees with the others of a case of m labels by about
    :math:`b_i (m - 2) / (m - 1)\, (a - \bar a)` more often than these agree on average, where b is by how much the
    agreement with shares :math:`\lambda_i` changes with skill; strictness takes away from agreement, too.
    """
    shares, level = first_choice_shares(annotations)
    several = annotations.per_case > 2
    if not several.any():
        return np.zeros(len(SKILLS))
    n, n_classes = annotations.per_case[case], annotations.n_classes
    votes = shares.of(case.astype(np.int64) * n_classes + label) * n
    of_case, _ = np.divmod(shares.key, n_classes)
    # Half a label more, as no class is impossible.
    smooth = (shares.value * annotations.per_case[of_case] + 0.5 / n_classes) / (annotations.per_case[of_case] + 0.5)
    logs = np.log(smooth)
    mean = np.bincount(of_case, smooth * logs, annotations.n_cases)
    slope = np.bincount(of_case, smooth**2 * (logs - mean[of_case]), annotations.n_cases)
    above = (votes - 1) / np.maximum(n - 1, 1) - np.nan_to_num(level)[case]
    above -= _less_by_strictness(case, who, of_case, shares.key % n_classes, smooth, strictness)
    slope *= np.where(several, (annotations.per_case - 2) / np.maximum(annotations.per_case - 1, 1), 0)
    inside = several[case]
    number = np.maximum(np.bincount(who[inside], minlength=who.max() + 1), 1)
    average = np.bincount(who[inside], above[inside], len(number)) / number
    steep = np.bincount(who[inside], slope[case][inside], len(number)) / number
    noise = np.bincount(who[inside], (above - average[who])[inside] ** 2, len(number)) / number**2
    known = (number > 1) & (noise > 0)
    variance = noise[known] + np.outer(SKILLS**2, steep[known] ** 2)
    return -0.5 * (np.log(variance) + average[known] ** 2 / variance).sum(axis=1)


def _less_by_strictness(case, who, of_case, class_index, share, strictness) -> Float[np.ndarray, " label"]:
    """By how much each label's annotator is expected to agree more with shares than these among each other."""
    first, count = np.searchsorted(of_case, case), np.bincount(of_case)[case]
    label = np.repeat(np.arange(len(case)), count)
    entry = first[label] + np.arange(len(label)) - np.repeat(np.cumsum(count) - count, count)
    own = share[entry] * np.exp(strictness[who[label], class_index[entry]])
    own /= np.bincount(label, own)[label]
    found = np.bincount(label, (own - share[entry]) * share[entry])
    return found - (np.bincount(case, found) / np.bincount(case))[case]


def draw_panels(of: Differences, size: int, n_classes: int, n_draws: int, seed: int) -> Panels:
    """Draw the experts of a panel in every draw, and one more for the point estimate, which nobody looks at."""
    random = np.random.default_rng([seed, 12])
    strictness, skill = (scale.draw(random, n_draws + 1) for scale in (of.strictness, of.skill))
    own = random.standard_normal((size, n_classes, n_draws + 1)) * strictness
    these = random.standard_normal((n_classes, n_draws + 1)) * strictness / np.sqrt(of.n_annotators)
    own = own - these
    power = sharpness(strictness) * np.exp(skill * random.standard_normal((size, n_draws + 1)))
    return Panels((own - own.mean(axis=1, keepdims=True)).astype(np.float32), power.astype(np.float32))


def answers(annotations: Annotations, seed: int) -> Answers | None:
    """Labels with which panels of these annotators begin; None if they say more than a fair sample of them would.

    Arrays have powers of two as sizes, so that programs serve further data.
    """
    fair = annotations.fair
    if fair is None:
        return None
    case, first = fair.annotation_case, fair.entry_block == 0
    order = np.lexsort((np.random.default_rng([seed, 14]).random(len(case)), case))
    number, label = fair.per_case.astype(np.int32), fair.entry_annotation[first]
    at = np.empty(len(case), np.int64)
    at[order] = np.arange(len(case)) - np.repeat(np.cumsum(number) - number, number)
    n_tied = np.bincount(label, minlength=len(case))
    place = np.arange(len(label)) - (np.cumsum(n_tied) - n_tied)[label]
    n_labels, n_places = (1 << (int(of.max(initial=1)) - 1).bit_length() for of in (number, n_tied))
    size = np.zeros((n_labels, fair.n_cases), np.min_scalar_type(n_places))
    named = np.zeros((n_labels, n_places, fair.n_cases), np.min_scalar_type(fair.n_classes))
    size[at, case] = n_tied
    named[at[label], place, case[label]] = fair.entry_class[first]
    return Answers(number, size, named)


def sharpness(strictness: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """By how much the log odds of one expert exceed those of several."""
    return np.sqrt(1 + np.pi * strictness**2 / 4)


def reader_noise(
    annotations: Annotations,
    measure: Callable[[Annotations, Bool[np.ndarray, "part case"]], Mapping[str, Float[np.ndarray, "..."]]],
    cluster: np.ndarray,
    members: Sequence[Float[np.ndarray, " case"]],
    replicates: int,
    seed: int,
) -> dict[str, Float[np.ndarray, "group *shape replicate"]]:
    r"""Draw by how much what is measured against annotators would differ if other readers had labelled the cases.

    Annotators, or groups of them, are left out in turn. With :math:`\theta_{(-j)}` the value without one of J of them,
    :math:`(J - 1) (\bar\theta - \theta_{(-j)})` is about what annotator j adds, whose variance over J is that of
    readers (Quenouille 1956; Obuchowski & Rockette 1995). That of the labels by themselves is part of the noise of
    cases already, so the variance is that which two halves of the cases have in common. Replicates are of a t
    distribution with J − 1 degrees of freedom, the same for all values, which so remain paired.

    Parameters
    ----------
    annotations
        Labels by named annotators.
    measure
        Values, by name, of some cases each, given the labels that are left and the cases of each part.
    cluster
        Cluster of each case, which is in one of the halves.
    members
        Cases of each group, of which all cases are the first.
    """
    random = np.random.default_rng([seed, 13])
    who = np.unique(annotations.annotation_annotator)
    group = np.full(len(annotations.annotators), -1)
    n = min(len(who), MOST_LEFT_OUT)
    group[random.permutation(who)] = np.arange(len(who)) % n
    code = np.unique(cluster, return_inverse=True)[1]
    first = random.permutation(int(code.max()) + 1)[code] % 2 == 0
    parts = np.concatenate([[(np.asarray(of) > 0) & first, (np.asarray(of) > 0) & ~first] for of in members])
    left = []
    for at in range(n):
        others = some_labels(annotations, group[annotations.annotation_annotator] != at)
        others.__dict__["rounds"] = None  # known of all labels
        left.append(measure(others, parts))
    spread = np.sqrt((n - 1) / random.chisquare(n - 1, replicates))
    multipliers = spread * random.standard_normal((n, replicates)) / np.sqrt(n * (n - 1))
    found = {}
    for name in left[0]:
        values = np.stack([one[name] for one in left]).astype(float)
        added = (n - 1) * (values.mean(axis=0) - values)
        halves = added.reshape(n, len(members), 2, *added.shape[2:])
        both = halves.mean(axis=2)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (halves[:, :, 0] * halves[:, :, 1]).mean(axis=0) / (both**2).mean(axis=0)
        share = np.clip(np.nan_to_num(share, nan=0.0, posinf=0.0, neginf=0.0), 0, 1)
        found[name] = np.einsum("g...,gr->...r", np.nan_to_num(both) * np.sqrt(share), multipliers)
    return found
