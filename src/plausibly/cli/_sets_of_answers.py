"""Sets of answers for the report of ``plausibly evaluate``: measured on the cases at hand, under one run."""

from pathlib import Path

from plausibly.conformal import Coverage, conformal_coverage
from plausibly.report._tables import lead
from plausibly.sweeps import Folder, Plan, Sweep, posterior_name

ALPHA, SPLITS = 0.1, 20
LEAST, MOST = 40, 2**24  #: cases, and scores of a classifier, between which sets are measured


def measure_sets(plan: Plan, swept: Sweep, folder: Folder, *, progress: bool) -> Coverage | None:
    """Measure sets under the run that stands for the sweep; None where they are too few, or some are not annotated."""
    n_cases, n_classes = plan.annotations.n_cases, plan.annotations.n_classes
    if not plan.predictions or n_cases < LEAST or n_cases * n_classes > MOST or not plan.annotations.per_case.all():
        return None
    run = lead(swept)
    source = kept_posterior(folder, run.label)
    if source is None:
        return None
    return conformal_coverage(
        source,
        plan.predictions,
        alpha=ALPHA,
        splits=SPLITS,
        seed=plan.seed,
        progress=progress,
    )


def kept_posterior(folder: Folder, label: str) -> Path | None:
    """Where the posterior of a run is kept, if it is."""
    paths = [folder.path / posterior_name(label, in_shards=in_shards) for in_shards in (False, True)]
    return next((path for path in paths if path.exists()), None)
