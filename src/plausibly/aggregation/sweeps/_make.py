"""What a run keeps of its posterior: results, convergence, and the draws of a few cases."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from plausibly.aggregation.sweeps.label_results import against_most_plausible, against_panels
from plausibly.aggregation.sweeps.runs import Run
from plausibly.base.arviz import Posterior
from plausibly.data.annotations import Annotations, Slots
from plausibly.evaluation import evaluate_draws
from plausibly.evaluation.measure import predicted_lists
from plausibly.families.ratings.tables import mean_ratings, severities
from plausibly.metrics.decisions import NO_ANSWER
from plausibly.posterior import build_posterior, case_names, slots_of
from plausibly.posterior.annotator_tables import annotator_accuracies, annotator_confusions
from plausibly.posterior.diagnostics import diagnose, shared_convergence
from plausibly.posterior.diagnostics.verdicts import worst

if TYPE_CHECKING:
    from plausibly.aggregation.sweeps._plan import Plan

KEPT_CASES = 6  #: the least certain cases of each run, whose draws are kept
KEPT_CHAINS = 3  #: the cases of each run whose chains are worst, whose draws are kept
DEPTH = 3  #: of the lists of the least certain cases


def make_run(plan: "Plan", number: int, posterior: Posterior, progress: bool, scheduler: Any) -> Run:
    """Evaluate and diagnose the posterior of a run."""
    step, leads = plan.steps[number], number == plan.leading
    options = {**plan.options, "seed": plan.seed, "progress": progress, "scheduler": scheduler}
    results = evaluate_draws(posterior, plan.predictions, **options).assign_attrs(ci_prob=plan.ci_prob)
    certainty = next(name for name in results.data_vars if str(name).startswith("annotation_certainty_"))
    order = np.argsort(results[certainty].values, kind="stable")[:KEPT_CASES]
    convergence = diagnose(posterior)
    cases = case_names(posterior)
    doubtful = [int(np.flatnonzero(cases == case)[0]) for case in worst(convergence, KEPT_CHAINS)]
    return Run(
        step.label,
        step.variant,
        step.reliability,
        results,
        convergence,
        _excerpt(plan.annotations, posterior, order),
        {str(key): np.asarray(value).item() for key, value in posterior.attrs.items()},
        worst=_excerpt(plan.annotations, posterior, np.array(doubtful)) if doubtful else None,
        choices=_choices(plan, order) if plan.predictions else None,
        shared=_shared(posterior, plan.ci_prob),
        shared_convergence=shared_convergence(posterior),
        of_labels=against_most_plausible(plan, posterior, scheduler) if leads and not plan.brief else None,
        of_panels=against_panels(plan, posterior, scheduler) if leads else None,
    )


def _shared(posterior: Posterior, ci_prob: float) -> dict[str, pd.DataFrame]:
    """Tabulate what cases share, where they share anything."""
    group, tables = posterior["posterior"], {}
    if "accuracy" in group:
        tables["annotators"] = annotator_accuracies(posterior, ci_prob)
    if "severity" in group:
        tables["severities"] = severities(posterior, ci_prob)
        tables["mean_ratings"] = mean_ratings(posterior, ci_prob=ci_prob)
    if "common_confusion" in group or "confusion" in group:
        tables["confusions"] = annotator_confusions(posterior, ci_prob)
    return tables


def _choices(plan: "Plan", cases: np.ndarray) -> xr.DataArray:
    depth = min(DEPTH, plan.annotations.n_classes)
    lists = np.array([predicted_lists(scores[cases], depth, None) for scores in plan.predictions.values()])
    return xr.DataArray(
        np.where(lists < 0, NO_ANSWER, plan.annotations.classes[lists]),
        dims=("classifier", "case", "place"),
        coords={"classifier": list(plan.predictions), "case": plan.annotations.cases[cases]},
    )


def _excerpt(annotations: Annotations, posterior: Posterior, positions: np.ndarray) -> Posterior:
    """Keep the draws of a few cases, in the order given."""
    slots = slots_of(posterior)
    kept = np.concatenate([np.arange(slots.start[at], slots.start[at + 1]) for at in positions])
    size = slots.start[positions + 1] - slots.start[positions]
    chosen = Slots(
        case=np.repeat(np.arange(len(positions)), size).astype(np.int32),
        class_index=slots.class_index[kept],
        n_classes=slots.n_classes[kept],
        start=np.concatenate([[0], np.cumsum(size)]),
    )
    return build_posterior(
        posterior["posterior"]["plausibility"].transpose("chain", "draw", "slot").isel(slot=kept).values,
        annotations.select(case_names(posterior)[positions]),
        chosen,
        point=posterior["constant_data"]["point_plausibility"].values[kept],
        concentration=float(posterior.attrs["concentration"]),
        attrs={name: posterior.attrs[name] for name in ("model", "assumes") if name in posterior.attrs},
    )
