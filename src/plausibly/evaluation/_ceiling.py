"""Agreement that is possible without having seen the annotations."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr

from plausibly.annotations import Annotations
from plausibly.evaluation.evidence import ERRORS, paired
from plausibly.evaluation.first_choices import first_choice_shares
from plausibly.evaluation.panel_tables import agreement

MOST = 20_000  #: cases of which the ceiling is computed; of more, these are drawn at random


def some_cases(annotations: Annotations, seed: int) -> tuple[Annotations, Int[np.ndarray, " case"]]:
    """Draw cases of which checks are made where there are very many, and their numbers."""
    at = np.arange(annotations.n_cases)
    if len(at) <= MOST:
        return annotations, at
    at = np.sort(np.random.default_rng([int(seed), 3]).choice(at, MOST, replace=False))
    return annotations.select(at), at


def above_ceiling(
    every: Annotations,
    names: Sequence[str],
    choice: Int[np.ndarray, "classifier case"],
    cluster: np.ndarray,
    seed: int,
) -> list[str]:
    """Names of the classifiers that agree with more annotations than is possible without having seen them."""
    annotations, at = some_cases(every.annotated, seed)
    at = np.flatnonzero(every.per_case)[at]
    observed = agreement(annotations, choice[:, at])["expert_agreement"].values
    return [row[0] for row in ceiling(annotations, list(names), observed, cluster[at]) if not row[6]]


def ceiling(
    annotations: Annotations, names: list[str], observed: Float[np.ndarray, "classifier case"], cluster: np.ndarray
) -> Iterator[tuple[Any, ...]]:
    """Compare agreement with its limit: a row of :func:`evidence_checks` for each classifier."""
    level = first_choice_shares(annotations)[1]
    several = ~np.isnan(level)
    human = level[several].mean() if several.any() else 0.0
    if human * annotations.n_classes <= 1:  # less than by chance
        return
    limit, slope = most_agreement(float(human), annotations.n_classes)
    above = slope * np.where(several, level - human, 0) / several.mean()
    difference, error = paired(observed - limit - above, cluster)
    for at, name in enumerate(names):
        passed = not difference[at] > ERRORS * error[at]
        found = 100 * observed[at].mean()
        meaning = f"{name} agrees with annotators in {found:.1f} %"
        meaning += (
            f", not more often than is possible for somebody who has not seen the annotations ({100 * limit:.1f} %)."
            if passed
            else f", but nobody who has not seen the annotations can in more than {100 * limit:.1f} % "
            f"(± {100 * error[at]:.1f}): {name} has seen them. Its accuracy is overestimated: collect fresh ones."
        )
        p = ndtr(-difference[at] / error[at])
        yield name, "ceiling", observed[at].mean(), limit, float(error[at]), p, passed, meaning


def most_agreement(human: float, n_classes: int) -> tuple[float, float]:
    r"""Compute the most that anyone can agree with fresh annotations, given how often two annotations agree.

    Two annotations of a case agree with probability :math:`h = \sum_k \lambda_k^2`. Given h, the greatest plausibility
    is at most :math:`\big(1 + \sqrt{(K - 1)(K h - 1)}\big) / K`, where all others are equal. This is concave in h, so
    it holds for means over cases, too, however plausibilities are distributed.
    """
    root = np.sqrt((n_classes - 1) * max(n_classes * human - 1, 1e-12))
    return float((1 + root) / n_classes), float((n_classes - 1) / (2 * root))
