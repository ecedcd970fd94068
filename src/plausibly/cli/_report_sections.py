"""Sets of answers, and a plan of further labels, for the report of ``plausibly evaluate``."""

from pathlib import Path

from plausibly.conformal import Coverage, conformal_coverage
from plausibly.planning import Plan, can_plan
from plausibly.planning import plan as make_plan
from plausibly.posterior import opened
from plausibly.report._tables import checks_failed, headline_metrics, lead
from plausibly.sweeps import Folder, Sweep, posterior_name
from plausibly.sweeps import Plan as Runs

ALPHA, SPLITS = 0.1, 20
LEAST, MOST = 40, 2**24  #: cases, and scores of a classifier, between which sets are measured
BUDGET = 100
MOST_PLANNED = 20_000  #: cases up to which the report has a plan


def measure_sets(plan: Runs, swept: Sweep, folder: Folder, *, progress: bool) -> Coverage | None:
    """Measure sets under the run that stands for the sweep; None where they are too few, or some are not annotated."""
    n_cases, n_classes = plan.annotations.n_cases, plan.annotations.n_classes
    if not plan.predictions or n_cases < LEAST or n_cases * n_classes > MOST or not plan.annotations.per_case.all():
        return None
    run = lead(swept)
    source = kept_posterior(folder, run.label)
    if source is None:
        return None
    options = {"alpha": ALPHA, "splits": SPLITS, "seed": plan.seed, "progress": progress}
    return conformal_coverage(source, plan.predictions, **options)


def plan_labels(plan: Runs, swept: Sweep, folder: Folder, *, progress: bool) -> Plan | None:
    """Plan a hundred labels; None where it cannot be known what they are worth.

    That is without classifiers, with one that must have seen the labels, for many or unannotated cases, and for some
    models.
    """
    seen = checks_failed(swept, "ceiling")
    if seen or not plan.predictions or plan.annotations.n_cases > MOST_PLANNED or not plan.annotations.per_case.all():
        return None
    runs = [lead(swept), *swept.runs]
    sources = [source for run in runs if (source := kept_posterior(folder, run.label)) is not None]
    for source in sources:
        with opened(source) as posterior:
            if can_plan(posterior):
                metric = headline_metrics(swept)[0]
                return make_plan(
                    posterior, plan.predictions, metric=metric, budget=BUDGET, seed=plan.seed, progress=progress
                )
    return None


def kept_posterior(folder: Folder, label: str) -> Path | None:
    """Where the posterior of a run is kept, if it is."""
    paths = [folder.path / posterior_name(label, in_shards=in_shards) for in_shards in (False, True)]
    return next((path for path in paths if path.exists()), None)
