"""Simulated worlds for predictions as evidence: plausibilities, labels, and classifiers like those that users have.

In each world of :data:`HOLDS`, a classifier sees the plausibilities of a case through noisy logits ("A"), a second one
shares half of its errors and overstates its scores ("B"), a third is nearly a copy of the first, one is a further
expert, who names one class, and one knows nothing of the case. The worlds of :data:`FAILS`
break an assumption of :class:`plausibly.priors.PredictionsPrior`, each another one. In those of :data:`ONE_TRUE_CLASS`
each case has one true class, which annotators miss at times; :data:`NOT_TRUE_CLASS` breaks what such models assume.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import expit, softmax

FLOOR = 0.01  #: smallest plausibility that a classifier tells from 0


class Data(NamedTuple):
    """A simulated data set."""

    plausibility: np.ndarray  #: (case, class)
    counts: np.ndarray  #: (case, class)
    scores: dict[str, np.ndarray]  #: (case, class) of each classifier
    people: np.ndarray | None = None  #: who gave each label (case, label), where annotators differ
    labels: np.ndarray | None = None  #: and which class it names


def draw(shape: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Dirichlet variables, by logarithms, so that small shapes are not lost."""
    shape = np.maximum(shape, 1e-6)
    logs = np.log(random.standard_gamma(shape + 1)) - random.standard_exponential(shape.shape) / shape
    return softmax(logs, axis=-1)


def one_hot(index: np.ndarray, k: int) -> np.ndarray:
    """Scores that name one class."""
    return np.eye(k)[index]


def label(plausibility: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """One label of each case."""
    below = plausibility.cumsum(axis=1) < random.random((len(plausibility), 1))
    return np.minimum(below.sum(axis=1), plausibility.shape[1] - 1)


def five(plausibility: np.ndarray, random: np.random.Generator, scale: float = 0.0) -> dict[str, np.ndarray]:
    """Scores of the five classifiers; with a scale, the confidence of "A" and "B" in a case says little."""
    n, k = plausibility.shape
    seen, common = np.log(plausibility + FLOOR), 0.6 * random.normal(size=(n, k))
    heat = np.exp(scale * random.normal(size=(2, n, 1)))
    first = seen + common + 0.5 * random.normal(size=(n, k))
    second = seen + common + 1.0 * random.normal(size=(n, k))
    return {
        "A": softmax(heat[0] * first, axis=1),
        "B": softmax(3 * heat[1] * second, axis=1),
        "copy of A": softmax(heat[0] * (first + 0.05 * random.normal(size=(n, k))), axis=1),
        "expert": one_hot(label(plausibility, random), k),
        "useless": random.dirichlet(np.ones(k), n),
    }


def two(seen: np.ndarray, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Scores of two classifiers that see logits through noise of their own."""
    return {name: softmax(seen + sd * random.normal(size=seen.shape), axis=1) for name, sd in (("A", 0.7), ("B", 1.2))}


def dirichlet(
    random: np.random.Generator,
    n: int = 600,
    k: int = 4,
    m: int = 3,
    ratio: float = 1.0,
    scale: float = 0.0,
    annotated: int | None = None,
) -> Data:
    """Plausibilities from one Dirichlet; each class is ``ratio`` times as common as the one before it.

    Only the first ``annotated`` cases have labels, or all.
    """
    share = ratio ** np.arange(k)
    plausibility = draw(np.broadcast_to(1.6 * share / share.sum(), (n, k)), random)
    counts = random.multinomial(m, plausibility)
    if annotated is not None:
        counts[annotated:] = 0
    return Data(plausibility, counts, five(plausibility, random, scale))


def label_noise(
    random: np.random.Generator,
    noise: float,
    n: int = 1000,
    k: int = 4,
    m: int = 3,
    ratio: float = 1.0,
    common: float = 0.0,
    useless: bool = False,
) -> Data:
    """One true class; annotators name another one, any, with probability ``noise``.

    Each class is ``ratio`` times as common as the one before it. Errors of the logits of both classifiers have a part
    in common, of this standard deviation; a third classifier may know nothing.
    """
    share = ratio ** np.arange(k)
    true = one_hot(random.choice(k, size=n, p=share / share.sum()), k)
    plausibility = (1 - noise) * true + noise * (1 - true) / (k - 1)
    scores = two(2 * true + common * random.normal(size=(n, k)), random)
    if useless:
        scores["useless"] = random.dirichlet(np.ones(k), n)
    return Data(plausibility, random.multinomial(m, plausibility), scores)


def lookalikes(random: np.random.Generator, noise: float, n: int = 1000, k: int = 4, m: int = 3) -> Data:
    """One true class, and one that it is mistaken for, by annotators with probability ``noise`` and by classifiers."""
    true, step = random.integers(k, size=n), random.integers(1, k, size=n)
    right, wrong = one_hot(true, k), one_hot((true + step) % k, k)
    plausibility = (1 - noise) * right + noise * wrong
    return Data(plausibility, random.multinomial(m, plausibility), two(2 * right + wrong, random))


def unequal_people(random: np.random.Generator, noise: float, n: int = 1000, k: int = 4, m: int = 3) -> Data:
    """One true class; a dozen annotators err more or less often, about as often as ``noise``, one at random."""
    data = label_noise(random, noise, n, k, m, useless=True)
    true = data.plausibility.argmax(axis=1)
    right = expit(np.log(1 / noise - 1) + 0.8 * random.normal(size=12))
    right[0] = 1 / k
    people = np.argsort(random.random((n, 12)), axis=1)[:, :m]
    wrong = (true[:, None] + random.integers(1, k, size=(n, m))) % k
    labels = np.where(random.random((n, m)) < right[people], true[:, None], wrong)
    noise = 1 - right.mean()
    plausibility = np.where(one_hot(true, k), 1 - noise, noise / (k - 1))
    return Data(plausibility, np.eye(k, dtype=int)[labels].sum(axis=1), data.scores, people, labels)


def confident(random: np.random.Generator, n: int = 1000, k: int = 4, m: int = 3) -> Data:
    """Cases that classifiers are sure of have plausibilities that are closer to what they say."""
    logits = 1.5 * random.normal(size=(n, k))
    mean = softmax(logits, axis=1)
    plausibility = draw(np.exp(4 * mean.max(axis=1, keepdims=True) - 1) * mean, random)
    return Data(plausibility, random.multinomial(m, plausibility), two(logits, random))


def near_ties(random: np.random.Generator, known: bool = False, n: int = 1000, k: int = 4, m: int = 3) -> Data:
    """Two classes of half of the cases are nearly as plausible; "A" may know all the same which is ahead."""
    plausibility = draw(np.full((n, k), 0.4), random)
    tied = np.argsort(random.random((n // 2, k)), axis=1)
    lead = random.uniform(0, 0.04, n // 2)
    tails = np.full(n // 2, 0.2 / (k - 2))
    values = np.stack([0.4 + lead, 0.4 - lead, *[tails] * (k - 2)], axis=1)
    np.put_along_axis(plausibility[: n // 2], tied, values, axis=1)
    seen = np.log(plausibility + FLOOR)
    scores = two(seen, random)
    if known:
        scores["A"] = softmax(seen + 3 * one_hot(plausibility.argmax(axis=1), k) + random.normal(size=(n, k)), axis=1)
    return Data(plausibility, random.multinomial(m, plausibility), scores)


def same_people(random: np.random.Generator, n: int = 1000, k: int = 4, m: int = 3) -> Data:
    """The same people label every case, each with a preference for some classes; truth is the mean over people."""
    seen = np.log(draw(np.full((n, k), 0.4), random) + FLOOR)
    preferences = 0.8 * random.normal(size=(400, k))
    plausibility = np.mean([softmax(seen + one, axis=1) for one in preferences], axis=0)
    named = [label(softmax(seen + one, axis=1), random) for one in preferences[:m]]
    counts = np.sum([one_hot(one, k) for one in named], axis=0).astype(int)
    return Data(plausibility, counts, two(seen, random))


def copying(random: np.random.Generator, share: float, n: int = 1000, k: int = 4, m: int = 3) -> Data:
    """In a share of the cases, "A" repeats the vote of the very labels that it is evaluated with."""
    plausibility = draw(np.full((n, k), 0.4), random)
    counts = random.multinomial(m, plausibility)
    scores = two(np.log(plausibility + FLOOR), random)
    vote = softmax(np.log(counts + 0.2) + 0.1 * random.random((n, k)), axis=1)
    scores["A"] = np.where(random.random((n, 1)) < share, vote, scores["A"])
    return Data(plausibility, counts, scores)


World = Callable[[np.random.Generator], Data]

HOLDS: dict[str, World] = {
    "4 classes, 3 labels, 600 cases": dirichlet,
    "4 classes, 2 labels, 600 cases": partial(dirichlet, m=2),
    "4 classes, 5 labels, 60 cases": partial(dirichlet, n=60, m=5),
    "4 classes, 10 labels, 200 cases": partial(dirichlet, n=200, m=10),
    "2 classes, 3 labels, 2000 cases": partial(dirichlet, n=2000, k=2),
    "6 % positive, 3 labels, 1000 cases": partial(dirichlet, n=1000, k=2, ratio=0.1),
    "11 % positive, 3 labels, 400 cases": partial(dirichlet, n=400, k=2, ratio=0.2),
    "10 classes, 3 labels, 600 cases": partial(dirichlet, k=10),
    "10 uneven classes, 5 labels, 600 cases": partial(dirichlet, k=10, m=5, ratio=0.7),
    "4 classes, confidence says little": partial(dirichlet, scale=1.0),
    "4 classes, 3 labels, 150 of 1500 cases": partial(dirichlet, n=1500, annotated=150),
    "2 uneven classes, 3 labels, 150 of 1500 cases": partial(dirichlet, n=1500, k=2, ratio=0.2, annotated=150),
}
ONE_TRUE_CLASS: dict[str, World] = {
    **{f"{share:.0%} of labels wrong": partial(label_noise, noise=share, useless=True) for share in (0.05, 0.1, 0.2)},
    "5% of labels wrong, 200 cases": partial(label_noise, noise=0.05, n=200, useless=True),
    "20% of labels wrong, 200 cases": partial(label_noise, noise=0.2, n=200, useless=True),
    "20% of labels wrong, classifiers share errors": partial(label_noise, noise=0.2, common=1.0, useless=True),
    "20% of labels wrong, uneven classes": partial(label_noise, noise=0.2, ratio=0.5, useless=True),
    "10% of labels wrong, 2 classes, 10% positive": partial(label_noise, noise=0.1, k=2, ratio=1 / 9, useless=True),
    "a dozen people, about 5% of labels wrong": partial(unequal_people, noise=0.05),
    "a dozen people, about 20% of labels wrong": partial(unequal_people, noise=0.2),
    "a dozen people, about 20% of labels wrong, 200 cases": partial(unequal_people, noise=0.2, n=200),
}
NOT_TRUE_CLASS: dict[str, World] = {
    "no true class: Dirichlet, 600 cases": dirichlet,
    "20% of labels wrong, classifiers mistake the same": partial(lookalikes, noise=0.2),
}
FAILS: dict[str, World] = {
    "one true class, 5 % of labels wrong": partial(label_noise, noise=0.05),
    "one true class, 10 % of labels wrong": partial(label_noise, noise=0.1),
    "one true class, 20 % of labels wrong": partial(label_noise, noise=0.2),
    "concentration rises with confidence": confident,
    "half of the cases nearly tied": near_ties,
    "nearly tied, and A knows which is ahead": partial(near_ties, known=True),
    "the same three people on every case": same_people,
    "419 uneven classes, 4 labels, 400 cases": partial(dirichlet, n=400, k=419, m=4, ratio=0.985),
    "A copies the vote in 25 % of cases": partial(copying, share=0.25),
    "A copies the vote in 50 % of cases": partial(copying, share=0.5),
    "A copies the vote in all cases": partial(copying, share=1.0),
}
