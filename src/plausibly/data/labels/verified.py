"""Whether cases with a gold label are a random part of all, and weights of theirs if they are not.

Biopsies are taken of what readers call suspicious. Among verified cases, a classifier's sensitivity is then too high,
and its specificity too low (verification bias). If, given the labels and the predictions of a case, it depends on
nothing else whether it is verified, a verified case stands for as many as one over the probability of that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from scipy.special import expit

from plausibly.base.errors import ArgumentError
from plausibly.data.annotations import Annotations
from plausibly.data.annotations.views import first_shares
from plausibly.data.labels.gold import Gold
from plausibly.data.rounds import LEVEL, dependence

_MOST = 10  # classes, or patterns of labels, that are looked at
_LEAST = 10  # cases of a pattern, or without any gold label
_ALONE = 0.1  # share of all cases from which on those least like verified ones have to have a gold label
_HEAVY, _FEW = 0.1, 30  # probability of a gold label below which a case stands for many; how many such cases are few
_RIDGE = 0.1  # precision of the prior of coefficients of standardised columns
_STEPS = 50


@dataclass(frozen=True)
class Selection:
    """A dependence of gold labels on what annotators and classifiers say of a case.

    Parameters
    ----------
    found
        What was found, as a sentence without its full stop.
    weights
        By how many cases each case with a gold label counts, in the order of the cases; None if no verified case stands
        for some of the others.
    cases
        Names of these cases.
    n_alone
        Number of the cases for which none stands, or those of `few` alone.
    few
        Number of verified cases that stand for many others each, if they are few.
    """

    found: str
    weights: Float[np.ndarray, " gold"] | None
    cases: np.ndarray
    n_alone: int = 0
    few: int = 0

    def by_case(self) -> pd.Series:
        """Weights by the names of the cases.

        Raises
        ------
        ArgumentError
            If there are none.
        """
        if self.weights is None:
            raise ArgumentError(f"weights of gold labels are needed, but there are none. {self.told}")
        return pd.Series(self.weights, index=self.cases)

    @property
    def told(self) -> str:
        """What was found, and what was done, as sentences."""
        if self.weights is None:
            return (
                f"{self.found}. None of the {self.n_alone:,} cases least like them has one, so numbers are of such "
                "cases alone, and those of all cannot be told: get gold labels of some others, drawn at random."
            )
        told = (
            f"{self.found}. Numbers are weighted to all cases (Begg & Greenes 1983), which is right if nothing but "
            "labels and predictions decided who has one."
        )
        if self.few:
            told += f" {self.few:,} of them stand for {self.n_alone:,} cases, so intervals may be too narrow."
        return told


def selection(
    shares: Float[np.ndarray, "case class"],
    scores: Mapping[str, Float[np.ndarray, "case class"]],
    gold: Int[np.ndarray, " gold"],
    classes: Any,
    cases: np.ndarray,
    seed: int = 0,
) -> Selection | None:
    """Find out whether gold labels are of a random part of the cases, and weigh these if they are not.

    It is tested by permutation whether annotators' labels or predictions of cases that have a gold label differ from
    those of others. The probability of a gold label is that of a logistic regression on patterns of labels, the
    class that each classifier names, and the ranks of its scores and their squares.

    Parameters
    ----------
    shares
        Shares of the labels of each case that name each class.
    scores
        Scores of each classifier.
    gold
        Cases with a gold label, increasing.
    classes, cases
        Names of the classes, and of the cases.
    seed
        Random seed of permutations.

    Returns
    -------
    None if nothing shows that they are no random part.

    References
    ----------
    Begg & Greenes (1983), Assessment of diagnostic tests when disease verification is subject to selection bias,
    Biometrics 39; Alonzo & Pepe (2005), Assessing accuracy of a continuous screening test in the presence of
    verification bias, Applied Statistics 54, section 3.2.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> suspicious = random.random(400)
    >>> gold = np.flatnonzero(random.random(400) < np.where(suspicious > 0.5, 0.8, 0.2))
    >>> shares = np.c_[1 - suspicious, suspicious]
    >>> found = selection(shares, {}, gold, ["benign", "malignant"], np.arange(400))
    >>> print(found.found)
    Cases with a gold label (206 of 400) are not a random part: 'malignant' makes up 69 % of their labels...
    >>> float(found.weights.sum().round(-1))
    400.0
    """
    verified = np.zeros(len(shares), bool)
    verified[gold] = True
    if verified.all() or not verified.any():
        return None
    places = np.argsort(-shares.sum(axis=0), kind="stable")[:_MOST]
    places = places[: 1 if shares.shape[1] == 2 else _MOST]
    sources = {"": shares, **scores}
    features = np.concatenate([of[:, places] for of in sources.values()], axis=1)
    if dependence(features, verified, np.random.default_rng([seed, 6])) > LEVEL:
        return None
    spread = features.std(axis=0)
    differ = features[verified].mean(axis=0) - features[~verified].mean(axis=0)
    at = int((np.abs(differ) / np.where(spread > 0, spread, np.inf)).argmax())
    name, place = list(sources)[at // len(places)], places[at % len(places)]
    if shares.shape[1] == 2:  # of two classes, say which is more frequent
        place = place if differ[at] > 0 else 1 - place
    own, others = (sources[name][which, place].mean() for which in (verified, ~verified))
    label = repr(str(classes[place]))
    more = f"{label} makes up {100 * own:.0f} % of their labels, and {100 * others:.0f} % of the others'"
    if name:
        more = f"{name} gives {label} {own:.2f} in them on average, and {others:.2f} in others"
    found = f"Cases with a gold label ({len(gold):,} of {len(shares):,}) are not a random part: {more}"
    probability = _probability(_design(shares, scores, places), verified)
    _, group = np.unique(probability.round(9), return_inverse=True)
    first = np.flatnonzero(np.bincount(group, verified))[0]
    n_alone = int((group < first).sum())
    if n_alone >= max(_LEAST, _ALONE * len(shares)):
        return Selection(found, None, cases[gold], n_alone)
    heavy, weights = probability < _HEAVY, 1 / probability[verified]
    n_few = int((heavy & verified).sum())
    rests = (int(heavy.sum()), n_few) if heavy.sum() >= _ALONE * len(shares) and n_few < _FEW else ()
    return Selection(found, weights * len(shares) / weights.sum(), cases[gold], *rests)


def selected(
    gold: Gold,
    annotations: Annotations,
    predictions: Mapping[str, Any] | None = None,
    *,
    positive: str | None = None,
    seed: int = 0,
) -> Selection | None:
    """Test whether the cases with gold labels are a random part of the annotated cases.

    Parameters
    ----------
    gold
        Gold labels, by :func:`plausibly.labels.read_gold`.
    annotations
        Annotations of all cases, of which some may have a gold label.
    predictions, positive
        Predictions of these cases by classifier, for :func:`plausibly.read_predictions`, and the class that a single
        column is of.
    seed
        Random seed of permutations.

    Returns
    -------
    What was found, for the argument ``weights`` of :func:`plausibly.evaluate` with the gold labels as annotations and
    ``truth="annotator"``; None if nothing shows that they are no random part.

    Raises
    ------
    PredictionError
        If predictions do not match the cases or classes.
    """
    from plausibly.data.predictions import line_up, named_predictions  # which import JAX; labels need none

    named = named_predictions(predictions or {})
    scores = {name: np.asarray(line_up(of, annotations, "ignore", positive), float) for name, of in named.items()}
    return selection(first_shares(annotations), scores, gold.case, annotations.classes, annotations.cases, seed)


def _design(
    shares: np.ndarray, scores: Mapping[str, np.ndarray], places: np.ndarray
) -> Float[np.ndarray, "case column"]:
    """Columns of the regression: patterns of labels, shares, choices, and ranks of scores with their squares."""
    _, which, size = np.unique(shares.round(6), axis=0, return_inverse=True, return_counts=True)
    frequent = np.argsort(-size, kind="stable")[:_MOST]
    columns = [(which.ravel() == pattern).astype(float) for pattern in frequent if size[pattern] >= _LEAST]
    columns += [of for place in places for of in (shares[:, place], shares[:, place] ** 2)]
    for of in scores.values():
        choice = of.argmax(axis=1)
        for place in places:
            _, at, size = np.unique(of[:, place], return_inverse=True, return_counts=True)
            rank = (np.cumsum(size) - size / 2)[at] / len(of) - 0.5
            columns += [rank, rank**2, (choice == place).astype(float)]
    return np.column_stack(columns)


def _probability(
    design: Float[np.ndarray, "case column"], verified: Bool[np.ndarray, " case"]
) -> Float[np.ndarray, " case"]:
    """Probability of a gold label by logistic regression with a weak normal prior (Newton's method)."""
    spread = design.std(axis=0)
    standard = (design - design.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    x = np.column_stack([np.ones(len(design)), standard])
    prior = np.full(x.shape[1], _RIDGE)
    prior[0] = 0
    beta = np.zeros(x.shape[1])
    beta[0] = np.log(verified.sum() / (~verified).sum())
    for _ in range(_STEPS):
        p = expit(x @ beta)
        curved = (x * (p * (1 - p) + 1e-9)[:, None]).T @ x + np.diag(prior)
        step = np.linalg.solve(curved, x.T @ (verified - p) - prior * beta)
        beta = beta + step / max(1.0, np.abs(step).max() / 4)
        if np.abs(step).max() < 1e-8:
            break
    return expit(x @ beta)
