"""From scores and a threshold to a posterior over the plausibilities of two classes."""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Array, Float, Key
from scipy.special import ndtr

from plausibly._arviz import Posterior
from plausibly._progress import Progress
from plausibly.annotations import Annotations, Scores, Slots
from plausibly.annotations._names import _show
from plausibly.annotations._scores import GREATEST
from plausibly.case import NormalInverseGamma
from plausibly.diagnostics import convergence
from plausibly.errors import ArgumentError
from plausibly.inference import (
    MAX_TREE_DEPTH,
    THINNING,
    Program,
    Sums,
    bucket_scores,
    draw_scores,
    estimate_prior,
    nuts,
)
from plausibly.models.normal_scores import posterior as conjugate
from plausibly.models.normal_scores import probability_below
from plausibly.posterior import build_posterior


def check_prior(prior: object) -> list[float]:
    """Refuse what is no prior of means and variances.

    Parameters
    ----------
    prior
        Four numbers, see :class:`plausibly.case.NormalInverseGamma`.

    Raises
    ------
    ArgumentError
        If there are not four, or one is out of range; the last three must be positive.

    Examples
    --------
    >>> check_prior((0, 1, 2, 1))
    [0.0, 1.0, 2.0, 1.0]
    """
    values = list(prior) if isinstance(prior, Sequence | np.ndarray) and not isinstance(prior, str) else []
    numbers = all(isinstance(value, Real | np.number) and not isinstance(value, bool) for value in values)
    # What lies beyond leaves single precision.
    good = len(values) == 4 and numbers and abs(values[0]) <= GREATEST and all(1e-30 <= v <= 1e30 for v in values[1:])
    if not good:
        raise ArgumentError(
            f"prior must be four numbers, the mean, of a size of at most {GREATEST:g}, and, between 1e-30 and 1e30, "
            f"its strength, and the shape and scale of the variance, but {_show(prior)} was given: write for example "
            "prior=(0, 1, 2, 1), or leave it out to estimate it from the scores."
        )
    return [float(value) for value in values]


def two_slots(n_cases: int) -> Slots:
    """Slots of both classes for every case, whether or not a score falls into each.

    Examples
    --------
    >>> two_slots(2).class_index.tolist()
    [0, 1, 0, 1]
    """
    return Slots(
        case=np.repeat(np.arange(n_cases), 2).astype(np.int32),
        class_index=np.tile(np.arange(2, dtype=np.int32), n_cases),
        n_classes=np.ones(2 * n_cases, np.int32),
        start=2 * np.arange(n_cases + 1),
    )


def aggregate_scores(
    scores: Scores,
    program: Program,
    engine: str,
    arguments: Mapping[str, Any],
    keys: Key[Array, " case"],
    described: dict[str, Any],
    progress: Progress,
) -> Posterior:
    """Infer the plausibilities of the two classes; see :func:`plausibly.aggregate`, whose arguments are checked.

    Parameters
    ----------
    scores
        N cases.
    program, engine
        A program of scores, and ``"exact"`` for :func:`plausibly.models.normal_scores` or ``"nuts"`` for any.
    arguments
        All of them, with their defaults.
    keys
        One key per case.
    described
        Attributes of the posterior.
    progress
        Where to report.
    """
    threshold = arguments["threshold"]
    labels, slots = scores.split(threshold), two_slots(scores.n_cases)
    prior = arguments["prior"]
    prior = estimate_prior(scores) if prior is None else NormalInverseGamma(*prior)
    described |= {"prior": [float(value) for value in prior], "prior_from": "given" if arguments["prior"] else "scores"}
    reliability = arguments.get("reliability", 1.0)
    if engine == "exact":
        sums = Sums.of(scores)
        found = conjugate(prior, *sums, reliability)
        numbers = {key: arguments[key] for key in ("chains", "draws")}
        plausibility, by_case = draw_scores(found, threshold, keys, **numbers)
        below = probability_below(found, threshold)
        return build_posterior(
            plausibility,
            labels,
            slots,
            point=_at_the_scores(sums, threshold),
            concentration=0.0,
            log_likelihood=_log_likelihood(scores, by_case),
            by_case=by_case,
            scores=scores,
            certainty=np.maximum(below, 1 - below),
            attrs=described,
        )
    settings = {key: arguments[key] for key in ("chains", "warmup", "draws")}
    plausibility, statistics = nuts(
        labels,
        slots,
        program,
        {"reliability": reliability} if "reliability" in arguments else {},
        np.ones(len(slots)),
        keys,
        buckets=bucket_scores(scores, slots, threshold, prior),
        progress=progress,
        **settings,
    )
    diagnosed: xr.Dataset = convergence(
        plausibility, slots, statistics.get("diverging"), statistics=statistics, progress=progress
    )
    described |= {"thinning": list(THINNING), "max_tree_depth": MAX_TREE_DEPTH}
    described["converged"] = f"{int(diagnosed['converged'].sum())} of {scores.n_cases} cases"
    mean = plausibility.mean((0, 1))
    return build_posterior(
        plausibility,
        labels,
        slots,
        point=mean,  # of a program nothing is known but its draws
        concentration=0.0,
        sample_stats=statistics,
        convergence=diagnosed,
        scores=scores,
        certainty=mean.reshape(-1, 2).max(axis=1),
        attrs=described,
    )


def _at_the_scores(sums: Sums, threshold: float) -> Float[np.ndarray, " slot"]:
    """Plausibilities at the mean and the variance of the scores themselves.

    There the posterior ends up as scores count ever more. Where all are equal, the class they are in has it all.
    """
    sd = np.sqrt(sums.squares / sums.n)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(sd > 0, (threshold - sums.mean) / sd, np.where(sums.mean <= threshold, np.inf, -np.inf))
    return np.stack([ndtr(z), ndtr(-z)], axis=1).ravel()


def _log_likelihood(
    scores: Scores, by_case: Mapping[str, Float[np.ndarray, "chain draw case"]]
) -> Float[np.ndarray, "chain draw annotation"]:
    """Log density of every score at every draw."""
    mean, variance = (by_case[name][..., scores.annotation_case] for name in ("mean", "variance"))
    # Differences in double precision: scores may lie far from zero and close together.
    return -((scores.score - mean) ** 2 / variance + np.log(2 * np.pi * variance)) / 2


def refuse_other_kind(name: str, takes_scores: bool, annotations: Annotations | Scores) -> str | None:
    """Say what is wrong if a model is asked for annotations of the other kind."""
    if isinstance(annotations, Scores) and not takes_scores:
        return (
            f"{name} takes partial rankings, but scores were given: use the model normal-scores with a threshold, or "
            "make labels of them by Scores.split(threshold)."
        )
    if takes_scores and not isinstance(annotations, Scores):
        return (
            f"{name} takes scores, but partial rankings of {annotations.n_classes} classes were given: read scores "
            "from a table with the columns case, annotator and score, or choose a model of rankings, such as "
            "plackett-luce."
        )
    return None
