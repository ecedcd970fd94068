"""A plan of further labels for the report of ``plausibly evaluate``, under the run that stands for the sweep."""

from plausibly.cli._sets_of_answers import kept_posterior
from plausibly.planning import Plan, can_plan
from plausibly.planning import plan as make_plan
from plausibly.posterior import opened
from plausibly.report._tables import checks_failed, headline_metrics, lead
from plausibly.sweeps import Folder, Sweep
from plausibly.sweeps import Plan as Runs

BUDGET = 100
MOST = 20_000  #: cases up to which the report has a plan


def plan_labels(plan: Runs, swept: Sweep, folder: Folder, *, progress: bool) -> Plan | None:
    """Plan a hundred labels; None where it cannot be known what they are worth.

    That is without classifiers, with one that must have seen the labels, for many or unannotated cases, and for some
    models.
    """
    seen = checks_failed(swept, "ceiling")
    if seen or not plan.predictions or plan.annotations.n_cases > MOST or not plan.annotations.per_case.all():
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
