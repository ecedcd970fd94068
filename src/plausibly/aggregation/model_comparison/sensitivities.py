"""How much results depend on choices that data do not settle: the prior, unranked classes, the weight of ties.

Every choice is changed by itself, all others staying as they are, so that a shift belongs to one choice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from plausibly.aggregation._variants import Variants, read_variants
from plausibly.aggregation.registry import accepted, find_model
from plausibly.aggregation.sweeps import Plan, Run
from plausibly.base.bootstrap import CI_PROB
from plausibly.base.errors import ArgumentError, show
from plausibly.base.shown import Shown
from plausibly.data.annotations import Annotations
from plausibly.families.priors import KAPPA

BASELINE = "baseline"
FACTORS = (0.1, 10.0)  #: of the usual concentration, or of the usual median of one that is learned
OF_UNIFORM = ("concentration", "unranked")  #: choices that a prior has no more once it is learned
DEFAULT: Variants = {"plackett-luce": (3,), "prirn": (30,)}


@dataclass(frozen=True, repr=False)
class Sensitivity(Shown, kind="models"):
    """Results under every choice of a prior or a convention.

    Attributes
    ----------
    table
        One row per model, choice, classifier and metric: ``model`` (with its reliability), ``choice`` (``"baseline"``,
        ``"concentration"``, ``"prior_kappa"``, ``"unranked"`` or ``"ties"``), its ``value`` as text, ``classifier``
        (empty for certainties of the annotations), ``metric``, ``mean``, ``sd``, ``lower`` and ``upper``, the ends of
        the interval over draws (NaN for certainties), ``point``, ``shift``, the mean's difference from the
        baseline's, and ``converged``.
    baselines
        By model, the value of each choice in the baseline.
    ci_prob
        Probability of the intervals.
    """

    table: pd.DataFrame
    baselines: Mapping[str, Mapping[str, str]]
    ci_prob: float = CI_PROB

    @property
    def metrics(self) -> list[str]:
        """Names of all metrics."""
        return list(dict.fromkeys(self.table["metric"]))

    def largest(self, metric: str) -> pd.Series:
        """Return the row with the largest shift in a metric."""
        own = self.of(metric).reset_index(drop=True)
        return own.loc[own["shift"].abs().idxmax()]

    def of(self, metric: str) -> pd.DataFrame:
        """Return the rows for a metric.

        Raises
        ------
        ArgumentError
            If there is no such metric.
        """
        if metric not in self.metrics:
            raise ArgumentError(f"there is no metric {metric!r} here: choose from {', '.join(self.metrics)}.")
        return self.table.loc[self.table["metric"] == metric]


def prior_sensitivity(
    annotations: Annotations,
    predictions: Mapping[str, Any],
    models: Variants | None = None,
    *,
    concentration: Sequence[float] | None = None,
    prior_kappa: Sequence[float] | None = None,
    unranked: Sequence[str] = ("lumped", "exact", "ignore"),
    ties: Sequence[str] = ("split", "full"),
    k: int | Sequence[int] | None = None,
    draws: int | None = None,
    chains: int | None = None,
    warmup: int | None = None,
    ci_prob: float = CI_PROB,
    seed: int = 0,
    progress: bool = True,
) -> Sensitivity:
    """Evaluate again under other priors and conventions, changing one choice at a time.

    Parameters
    ----------
    annotations
        N cases over K classes.
    predictions
        Predictions of each classifier by name, as for :func:`plausibly.evaluate`; ``{}`` for certainties alone.
    models
        Models, as for :func:`plausibly.sweep`. By default Plackett-Luce at 3 and PrIRN at 30. The baseline of each
        model has the default of every argument.
    concentration
        Prior concentrations to try. By default one tenth and ten times the model's default. A prior that is learned
        (``class_prior``) has none to try: its concentration is inferred.
    prior_kappa
        Prior medians of the concentration to try, for models with ``class_prior="learned"`` or ``"predictions"``. By
        default one tenth and ten times the model's, which is e unless it has another. Where labels say how far experts
        agree, results hardly depend on it.
    unranked
        Treatments of unnamed classes to try, for Plackett-Luce whose prior is not learned.
    ties
        Weights of tied classes to try, for PrIRN and IRN.
    k, draws, chains, warmup, ci_prob, seed, progress
        As for :func:`plausibly.sweep`. All runs use the same seed.

    Returns
    -------
    Sensitivity
        Its ``table`` is tidy; :func:`plausibly.plots.prior_sensitivity` draws it.

    Raises
    ------
    ArgumentError
        If an argument is out of range, or no model has a choice to make.
    PlausiblyError
        If annotations or predictions break a rule.

    Examples
    --------
    >>> annotations = Annotations.from_rankings([[[["a"], ["b", "c"]], [["b"]]], [[["a"]], [["a"]]]])
    >>> scores = {"A": np.array([[0.9, 0.1, 0.0], [0.8, 0.2, 0.0]])}
    >>> found = prior_sensitivity(annotations, scores, {"prirn": (30,)}, k=1, draws=50, progress=False)
    >>> own = found.table[found.table["metric"] == "top1_accuracy"]
    >>> own[["choice", "value"]].values.tolist()
    [['baseline', ''], ['concentration', '0.001'], ['concentration', '0.1'], ['ties', 'full']]
    """
    variants = read_variants(DEFAULT if models is None else models)
    settings = {"draws": draws, "chains": chains, "warmup": warmup}
    common = {"ci_prob": ci_prob, "seed": seed, "replicates": 0}
    plans: list[tuple[str, str, Plan]] = []
    baselines: dict[str, dict[str, str]] = {}
    for variant in variants:
        taken = accepted(find_model(variant.model)) | dict(variant.arguments)
        own = {name: value for name, value in settings.items() if value is not None and name in taken}

        def planned(variant=variant, own=own, **choice: Any) -> Plan:
            changed = replace(variant, arguments={**variant.arguments, **choice})
            return Plan.of(annotations, predictions, [changed], metrics={}, k=k, **own, **common)

        plans.append((BASELINE, "", planned()))
        settled = plans[-1][2].steps[0].settled
        if settled.borrows:
            taken = {name: value for name, value in taken.items() if name not in OF_UNIFORM}
            if settled.evidence is not None:
                taken["prior_kappa"] = settled.arguments.get("prior_kappa", float(f"{KAPPA:.3g}"))
        base = {name: _text(taken[name]) for name in (*OF_UNIFORM, "prior_kappa", "ties") if name in taken}
        baselines |= dict.fromkeys(plans[-1][2].labels, base)
        tried = {"concentration": concentration, "prior_kappa": prior_kappa, "unranked": unranked, "ties": ties}
        for name in {"concentration", "prior_kappa"} & base.keys():
            if tried[name] is None:
                tried[name] = [float(f"{factor * taken[name]:.12g}") for factor in FACTORS]
        for name in base:
            values = tried[name]
            if isinstance(values, str) or np.ndim(values) != 1:
                raise ArgumentError(
                    f"{name} must list the values to try, but {show(values)} was given: write a tuple of them."
                )
            for value in values:
                if _text(value) != base[name]:
                    plans.append((name, _text(value), planned(**{name: value})))
    if len(plans) == len(variants):
        names = ", ".join(variant.label for variant in variants) or "none"
        raise ArgumentError(
            f"none of the models has a choice to make, but {names} was given: add one that has a prior, or "
            "other values of its arguments."
        )
    rows = []
    for choice, value, plan in plans:
        for run in plan.runs(progress=progress):
            rows += _rows(run, choice, value)
    table = pd.DataFrame(rows)
    keys = ["model", "classifier", "metric"]
    base_means = table[table["choice"] == BASELINE].set_index(keys)["mean"]
    table["shift"] = table["mean"].to_numpy() - base_means.loc[pd.MultiIndex.from_frame(table[keys])].to_numpy()
    order = ["model", "choice", "value", *keys[1:], "mean", "sd", "lower", "upper", "point", "shift", "converged"]
    return Sensitivity(table.reindex(columns=order), baselines, ci_prob)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.12g}" if isinstance(value, int | float) else str(value)


def _rows(run: Run, choice: str, value: str) -> list[dict[str, Any]]:
    of_run = {"model": run.label, "choice": choice, "value": value, "converged": not run.not_converged()}
    columns = ["classifier", "metric", "mean", "sd", "lower", "upper", "point"]
    certainties = [name for name in map(str, run.results.data_vars) if name.startswith("annotation_certainty_")]
    means = [{"classifier": "", "metric": name, "mean": float(run.results[name].mean())} for name in certainties]
    return [of_run | row for row in run.metrics()[columns].to_dict("records") + means]
