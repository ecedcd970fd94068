"""``freed_shape``: how far accuracy depends on a shape of disagreement that few labels cannot check."""

import json
from collections.abc import Hashable, Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

from plausibly.base.arviz import Posterior
from plausibly.base.bootstrap import CI_PROB, interval, width_of
from plausibly.base.errors import ArgumentError, PredictionError
from plausibly.data.annotations import Annotations
from plausibly.data.predictions import named_predictions, read_predictions
from plausibly.evaluation._evaluate import evaluate
from plausibly.evaluation.evidence import WITHHELD, known_predictions, spread, unknown_predictions
from plausibly.evaluation.panel_tables import first_choices
from plausibly.families.priors import Evidence
from plausibly.families.priors.freed import accuracies
from plausibly.posterior import annotations_of
from plausibly.posterior.says import has_shape

FAR = 0.02  #: distance of two accuracies from which the assumed shape matters
METRIC = "top1_accuracy"


def freed_shape(
    posterior: Posterior,
    predictions: Mapping[str, Any],
    *,
    break_ties: Literal["order", "random"] = "order",
    ci_prob: float = CI_PROB,
    seed: int = 0,
) -> pd.DataFrame:
    r"""Say between which values accuracies lie if the assumed shape of disagreement is freed.

    A posterior that knows predictions assumes that the plausibilities of a case follow a Dirichlet distribution. How
    often the most plausible class is a classifier's first choice depends on that, and two to five labels a case cannot
    check it. A second fit multiplies the density by :math:`\exp(\rho_j)` where the most plausible class is the first
    choice of classifier j, with :math:`\rho_j \sim \mathcal{N}(0, 0.5^2)`, and so frees the shape where it matters.

    Both shapes are fitted to the first choices of annotators (of a random sample, where there are more than 2,000 cases
    or 6,000 pairs of case and class). The ends of the posterior's own interval move by as much as those of the second
    fit differ from the first; for rankings, whose posterior is not a Dirichlet distribution, this is an approximation.

    Parameters
    ----------
    posterior
        Posterior from :func:`plausibly.aggregate` or :func:`plausibly.load` that knows predictions.
    predictions
        Predictions of each classifier by name, as for :func:`plausibly.evaluate`; at least those that the posterior
        knows.
    break_ties
        How to break ties between a classifier's scores, see :func:`plausibly.evaluate`.
    ci_prob
        Probability of the intervals.
    seed
        Random seed.

    Returns
    -------
    pandas.DataFrame
        One row per classifier that the posterior knows: ``mean``, ``lower`` and ``upper`` of its top-1 accuracy (its
        annotation interval, between 0 and 1); ``freed_mean``, ``freed_lower`` and ``freed_upper`` with the shape freed;
        ``union_lower`` and ``union_upper``, which contain both intervals; and ``meaning``, a sentence.

    Raises
    ------
    ArgumentError
        If the posterior knows no predictions, is of one true class, or most cases have one label and the posterior was
        made without ``prior_kappa``.
    PredictionError
        If predictions that the posterior knows are not given, or others by the same name.

    Examples
    --------
    >>> import plausibly as pb
    >>> random = np.random.default_rng(0)
    >>> truth = random.dirichlet([0.5, 0.5, 0.5], 100)
    >>> annotations = Annotations.from_counts(random.multinomial(3, truth))
    >>> predictions = {"A": truth ** 0.5 * random.lognormal(size=truth.shape)}
    >>> posterior = pb.aggregate(annotations, predictions=predictions, seed=0, progress=False)
    >>> table = freed_shape(posterior, predictions)
    >>> bool((table["union_upper"] - table["union_lower"] > table["upper"] - table["lower"]).item())
    True
    """
    named = named_predictions(predictions)
    attrs, annotations = posterior.attrs, annotations_of(posterior)
    known = known_predictions(attrs)
    if not known:
        raise ArgumentError(
            "freed_shape frees how first choices of classifiers go with the most plausible class, but the posterior "
            "knows no predictions: pass them to pb.aggregate."
        )
    if not has_shape(attrs):
        raise ArgumentError(
            "freed_shape frees the shape of a Dirichlet prior of shares of experts, but "
            f"{attrs.get('model')} has none: it is for models of independent cases."
        )
    if spread(attrs) == "unknown":
        raise ArgumentError(WITHHELD)
    missing = set(known) - set(named)
    if missing or set(known) & set(unknown_predictions(attrs, named, annotations)):
        raise PredictionError(
            f"the posterior knows the predictions of {', '.join(known)}, but freed_shape was given others, of "
            f"{', '.join(named)}: pass those that were passed to pb.aggregate."
        )
    own = {name: named[name] for name in known}
    options: dict[str, Any] = {"break_ties": break_ties, "ci_prob": ci_prob, "seed": seed}
    results = evaluate(posterior, own, metrics=METRIC, sizes=1, replicates=0, progress=False, **options)
    kappa = json.loads(attrs["arguments"]).get("prior_kappa")
    return freed_table(results, freed_shifts(annotations, own, **options, kappa=kappa))


def freed_shifts(
    annotations: Annotations,
    predictions: Mapping[str, Any],
    *,
    break_ties: Literal["order", "random"],
    seed: int,
    kappa: float | None,
    ci_prob: float = CI_PROB,
) -> pd.DataFrame:
    """By how much freeing the shape moves the mean accuracy and the ends of its annotation interval, by classifier."""
    scores = [read_predictions(source, annotations) for source in predictions.values()]
    choice = first_choices(scores, annotations.cases, break_ties, seed)
    evidence = Evidence.of(predictions, annotations)
    by_main, by_freed = (
        [(values.mean(), *interval(values, ci_prob)) for values in found]
        for found in accuracies(annotations, evidence, choice, seed=seed, kappa=kappa)
    )
    shifts = np.subtract(by_freed, by_main)
    return pd.DataFrame(shifts, pd.Index(list(predictions), name="classifier"), ["mean", "lower", "upper"])


def freed_table(results: xr.Dataset, shifts: pd.DataFrame) -> pd.DataFrame:
    """Tabulate :func:`freed_shape` from results and shifts; with replicates, also for new cases like these."""
    rows = []
    for name, mean, *by in shifts.itertuples(name=None):
        ends = {}
        for noise in ("", "_total"):
            if f"{METRIC}{noise}" in results:
                values = results[f"{METRIC}{noise}"].sel(classifier=name).values
                ends[noise] = values.mean(), *interval(values, width_of(results))
        row = dict(zip(("classifier", "mean", "lower", "upper"), (name, *ends[""]), strict=True))
        moved = np.clip(np.add(ends[""], (mean, *by)), 0, 1)
        row |= dict(zip(("freed_mean", "freed_lower", "freed_upper"), moved, strict=True))
        for noise, prefix in (("", "union_"), ("_total", "total_")):
            if noise in ends:
                row[f"{prefix}lower"] = max(ends[noise][1] + min(by[0], 0.0), 0.0)
                row[f"{prefix}upper"] = min(ends[noise][2] + max(by[1], 0.0), 1.0)
        rows.append(row | {"meaning": _meaning(row)})
    return pd.DataFrame(rows)


def too_far(row: Mapping[Hashable, Any]) -> str:
    """Say that freeing the shape changes an accuracy, if it does by more than two points."""
    points = 100 * (row["freed_mean"] - row["mean"])
    if abs(points) <= 100 * FAR:
        return ""
    return (
        f"If experts disagree in another way than is assumed, {row['classifier']}'s accuracy is "
        f"{abs(points):.1f} points {'lower' if points < 0 else 'higher'}; these labels cannot tell which is right."
    )


def _meaning(row: Mapping[Hashable, Any]) -> str:
    """Say what a row means."""
    mean, *ends = (100 * row[of] for of in ("mean", "lower", "upper", "union_lower", "union_upper"))
    lower, upper, least, greatest = (f"{end:.0f}" for end in ends)
    told = (
        f"{row['classifier']}'s first choice is the class that most experts would name in {mean:.0f} % [{lower}, "
        f"{upper}] of these cases ([{least}, {greatest}] if experts may disagree in other ways)."
    )
    return " ".join(filter(None, (told, too_far(row))))
