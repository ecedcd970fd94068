"""Whether a classifier has seen the annotations, since it agrees with them as nobody else can.

Who has not seen the labels of a case agrees with each of them by chance alone. Two things limit that:

* *The ceiling.* Agreement with fresh labels is at most that of always naming the most plausible class, which how often
  two labels agree limits in turn, see :func:`most_agreement`.
* *The few.* Who repeats the vote never agrees with the few. Given that another annotator agrees with a classifier, let
  annotator k disagree with it with probability :math:`d_k`. Two disagree, then, with probability at least
  :math:`d_k d_l`, since cases that are hard for one are hard for the other (for labels drawn from one plausibility,
  Jensen's inequality). So where the first two labels differ, further ones side against the classifier at least as often
  as independent ones with :math:`d_k` would. It takes three labels of some cases.

Where a case has a second label because of the first one, the first label disagrees with the classifier at least as
often as it agrees and the second one does not: both orders are equally likely, and the second is not always asked for.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr

from plausibly.data.annotations import Annotations
from plausibly.evaluation.evidence import paired
from plausibly.evaluation.truth import first_choice_shares

CEILING = 2.5  #: standard errors from which a classifier has seen labels: 3 of 500 by chance
_PEOPLE, _PAIRS = 50, 50  # of whom it is looked at how they differ; labels of others that tell
_PRIOR = 20  # labels of all annotators that count beside those of each one
_MOST = 8  # labels of cases in which it is counted who is against a classifier
MOST_CASES = 20_000  #: cases of which the ceiling is computed; of more, these are drawn at random


def some_cases(annotations: Annotations, seed: int) -> tuple[Annotations, Int[np.ndarray, " case"]]:
    """Draw cases of which checks are made where there are very many, and their numbers."""
    at = np.arange(annotations.n_cases)
    if len(at) <= MOST_CASES:
        return annotations, at
    at = np.sort(np.random.default_rng([int(seed), 3]).choice(at, MOST_CASES, replace=False))
    return annotations.select(at), at


def above_ceiling(
    every: Annotations,
    names: Sequence[str],
    choice: Int[np.ndarray, "classifier case"],
    cluster: np.ndarray,
    seed: int,
) -> list[str]:
    """Names of the classifiers that agree with annotations as only somebody can who has seen them."""
    annotations, at = some_cases(every.annotated, seed)
    at = np.flatnonzero(every.per_case)[at]
    return [row[0] for row in ceiling(annotations, list(names), choice[:, at], cluster[at]) if not row[6]]


def ceiling(
    annotations: Annotations, names: list[str], choice: Int[np.ndarray, "classifier case"], cluster: np.ndarray
) -> Iterator[tuple[Any, ...]]:
    """Compare agreement with its limit: a row of :func:`evidence_checks` for each classifier.

    Both are of all labels of the cases that several annotators labelled. Annotators who differ agree with each other
    less often than with themselves, so the limit is higher than if they were alike, see :func:`unlike`. Below it, a
    classifier still fails if too few labels side against it, see :func:`against`.
    """
    shares, level = first_choice_shares(annotations)
    several = np.flatnonzero(~np.isnan(level))
    if not len(several):
        return
    observed = shares.of_choices(choice, annotations.n_classes)[:, several]
    level = level[several]
    human = float(level.mean())
    if human * annotations.n_classes <= 1:  # less than by chance
        return
    limit, slope = most_agreement(human, annotations.n_classes)
    difference, error = paired(observed - limit - slope * (level - human), cluster[several])
    error = np.hypot(error, 0.5 / len(np.unique(cluster[several])))  # half an unseen case, which it is wrong about
    allowed = most_agreement(human + unlike(annotations.select(several)), annotations.n_classes)[0]
    for at, name in enumerate(names):
        above = difference[at] - (allowed - limit)
        found = 100 * observed[at].mean()
        meaning = f"In {len(several):,} cases that several labelled, {name} agrees with annotators in {found:.1f} %, "
        most = f"{100 * allowed:.1f} ± {100 * CEILING * error[at]:.1f} %"
        passed, p = not above > CEILING * error[at], ndtr(-above / error[at])
        sides = against(annotations, choice[at], cluster) if passed else None
        if sides is not None and sides[1] - sides[0] > CEILING * sides[2]:
            passed, p = False, ndtr((sides[0] - sides[1]) / sides[2])
            meaning = (
                f"Where annotators differ, most of them are against {name} in {sides[0]:.0f} cases. If it had not seen "
                f"their labels, they would be in at least {sides[1]:.0f} ± {CEILING * sides[2]:.0f}: {name} has seen "
                "them. Its accuracy is overestimated: collect fresh ones."
            )
        elif passed:
            meaning += f"no more often than somebody can who has not seen the annotations (up to {most})."
        else:
            meaning += (
                f"but nobody who has not seen the annotations can in more than {most}: {name} has seen them. Its "
                "accuracy is overestimated: collect fresh ones."
            )
        yield name, "ceiling", observed[at].mean(), allowed, float(error[at]), p, passed, meaning


def against(
    annotations: Annotations, choice: Int[np.ndarray, " case"], cluster: np.ndarray
) -> tuple[float, float, float] | None:
    """Number of times that most labels of a case are against a classifier, least number expected, and standard error.

    Counted are labels that agree with the classifier while most labels of their case do not; where the number of labels
    follows from the first two, those of cases in which these differ. None if the labels do not tell.
    """
    rounds, case = annotations.rounds, annotations.annotation_case
    label = annotations.entry_class[annotations.annotation_start[:-1]]
    agrees = label == choice[case]
    m = annotations.per_case
    if rounds is None:
        first = np.ones(len(case), bool)
    elif rounds.kept is None or rounds.first > 2:
        return None
    else:
        first = rounds.kept
    n_first, s_first = (np.bincount(case, one, len(m)) for one in (first, first & agrees))
    if rounds is not None and rounds.first == 1:
        further = np.bincount(case, ~first & ~agrees, len(m)) / np.maximum(m - 1, 1)
        return _compared(n_first - s_first, s_first * further, cluster)
    # How often each annotator disagrees with the classifier where another one of the first labels agrees with it.
    others = np.where(first, s_first[case] - agrees, 0.0)
    who = np.zeros(len(case), np.int64) if annotations.anonymous else annotations.annotation_annotator
    n_others, apart = np.bincount(who, others), np.bincount(who, others * ~agrees)
    mean = apart.sum() / max(n_others.sum(), 1)
    known = n_others >= _PAIRS
    if rounds is not None:  # who is asked where others differ may be another kind of annotator
        alone = m == n_first
        ends = [np.bincount(who, first & at[case], len(known)) for at in (alone, ~alone)]
        known &= ends[0] * ends[1].sum() >= ends[1] * ends[0].sum() / 2
    disagrees = ((apart + _PRIOR * mean) / (n_others + _PRIOR))[who]
    counts = (m > 2) & (m <= _MOST) & (np.bincount(case, ~known[who], len(m)) == 0)
    if rounds is not None:
        counts &= (s_first == 1) & (n_first == 2)
    if not counts.any():
        return None
    most = int(m[counts].max())
    place = np.arange(len(case)) - np.repeat(np.cumsum(m) - m, m)
    of = np.cumsum(counts) - 1
    there = counts[case]
    d, x, asked = np.ones((3, int(counts.sum()), most))  # as if further ones, who are against it, had been there
    for padded, values in ((d, disagrees), (x, agrees), (asked, ~first if rounds is not None else first)):
        padded[:] = padded is d
        padded[of[case[there]], place[there]] = values[there]
    few = np.ceil(m[counts] / 2).astype(int) - 2  # others that may agree with it, while most are against it
    if rounds is not None:
        expected = _at_most(few, np.where(asked > 0, d, 1.0))
        observed = (x.sum(axis=1) < m[counts] / 2).astype(float)
    else:
        tails = [_at_most(few, np.delete(d, j, axis=1)) for j in range(most)]
        expected = (x * np.column_stack(tails)).sum(axis=1)
        observed = np.where(x.sum(axis=1) < m[counts] / 2, x.sum(axis=1), 0.0)
    return _compared(observed, expected, cluster[counts], expected * (1 - np.minimum(expected, 1)))


def _at_most(most: Int[np.ndarray, " case"], against: Float[np.ndarray, "case label"]) -> Float[np.ndarray, " case"]:
    """Probability that at most so many of independent labels agree, each of which disagrees with a probability."""
    n_agree = np.zeros((len(against), against.shape[1] + 1))
    n_agree[:, 0] = 1.0
    for d in against.T:
        n_agree[:, 1:] = n_agree[:, 1:] * d[:, None] + n_agree[:, :-1] * (1 - d)[:, None]
        n_agree[:, 0] *= d
    return np.where(np.arange(n_agree.shape[1]) <= most[:, None], n_agree, 0.0).sum(axis=1)


def _compared(
    observed: Float[np.ndarray, " case"],
    expected: Float[np.ndarray, " case"],
    cluster: np.ndarray,
    variance: Float[np.ndarray, " case"] | None = None,
) -> tuple[float, float, float]:
    """Sums over cases and the standard error of their difference, with labels of a cluster taken to go together."""
    of = np.unique(cluster, return_inverse=True)[1]
    spread = np.bincount(of, expected - observed if variance is None else np.sqrt(variance))
    return float(observed.sum()), float(expected.sum()), float(np.sqrt(max((spread**2).sum(), 1.0)))


def unlike(annotations: Annotations) -> float:
    """By how much a class's mean plausibility squares to more than two annotators agree, since they are not alike.

    Of J annotators with plausibilities of their own, that is half the mean squared difference of two of them over J,
    summed over classes. Two kinds of difference show in the labels that both gave:

    * One names a class more often than the other. The squared difference in a case is taken for twice the square of the
      mean difference (logistic curves of readers who differ in strictness have 1.5 to 2).
    * One agrees with all others more often. In two classes an annotator is right with probability (1 + s)/2, agrees
      with another by (1 + s s')/2, and with J − 1 others by a mean that grows by s̄ (J − 2)/(2 (J − 1)) with s.

    Annotators without names are taken for alike.
    """
    if annotations.anonymous or (n_people := len(annotations.annotators)) < 2:
        return 0.0
    labels = np.full((n_people, annotations.n_cases), -1)
    at = annotations.annotation_annotator, annotations.annotation_case
    labels[at] = annotations.entry_class[annotations.annotation_start[:-1]]
    labels = labels[:_PEOPLE]
    strict = pairs = 0.0
    agreed, shared = np.zeros((2, len(labels), len(labels)))
    for one, other in combinations(range(len(labels)), 2):
        a, b = labels[:, (labels[one] >= 0) & (labels[other] >= 0)][[one, other]]
        if (n := len(a)) < 2:
            continue
        agreed[one, other], shared[one, other] = (a == b).sum(), n
        for k in np.unique([a, b]):
            difference = (a == k).astype(float) - (b == k)
            strict += n * difference.mean() ** 2 - difference.var()
        pairs += n
    found = max(strict, 0.0) / max(pairs, 1.0) / n_people
    agreed, shared = (agreed + agreed.T).sum(axis=1), (shared + shared.T).sum(axis=1)
    many = shared >= _PAIRS
    skill = (annotations.n_classes * agreed[many].sum() / max(shared[many].sum(), 1) - 1) / (annotations.n_classes - 1)
    if (n := int(many.sum())) > 2 and skill > 0:
        own = agreed[many] / shared[many]
        n_cases = (labels[many] >= 0).sum(axis=1)  # pairs of one case go together
        varies = max(own.var() - np.mean(own * (1 - own) / np.minimum(n_cases, shared[many])), 0.0)
        found += varies / skill / ((n - 2) / (2 * (n - 1))) ** 2 / (2 * (n - 1))
    return found


def most_agreement(human: float, n_classes: int) -> tuple[float, float]:
    r"""Compute the most that anyone can agree with fresh annotations, given how often two annotations agree.

    Two annotations of a case agree with probability :math:`h = \sum_k \lambda_k^2`. Given h, the greatest plausibility
    is at most :math:`\big(1 + \sqrt{(K - 1)(K h - 1)}\big) / K`, where all others are equal. This is concave in h, so
    it holds for means over cases, too, however plausibilities are distributed.
    """
    root = np.sqrt((n_classes - 1) * max(n_classes * human - 1, 1e-12))
    return float((1 + root) / n_classes), float((n_classes - 1) / (2 * root))
