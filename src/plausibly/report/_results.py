"""Results of this package as the report shows them: in words, as figures that are yet to be drawn, and as tables."""

from functools import partial, singledispatch
from typing import Any

from plausibly import plots
from plausibly.conformal import Coverage
from plausibly.model_comparison import Comparison, PredictiveCheck, Sensitivity
from plausibly.planning import Plan
from plausibly.plots._words import capitalised, metric_name

_SENSITIVE = ("annotation_certainty_1", "top1_accuracy", "top3_accuracy")  # metrics shown of a sensitivity
_MOST = 20  # cases of a plan
_FIT = (
    "Coverage of the plausibilities minus coverage of the annotators' choices, for the same sets. A negative "
    "difference means that the model gives plausibility to classes that annotators do not choose first"
)


@singledispatch
def contents(result: Any) -> list[Any]:
    """Sentences, figures and tables of a result, as :func:`plausibly.report` takes them; none of anything else."""
    return []


@contents.register
def _(result: Comparison) -> list[Any]:
    words = "Expected log predictive density of left-out annotations, and its difference from the best model"
    return [result.verdict(), {words: partial(plots.model_comparison, result)}, result.table]


@contents.register
def _(result: PredictiveCheck) -> list[Any]:
    words = "Observed statistics compared with those of replicates, each on its own scale"
    return [result.verdict(), {words: partial(plots.predictive_checks, result)}, result.table]


@contents.register
def _(result: Sensitivity) -> list[Any]:
    metrics = [name for name in _SENSITIVE if name in result.metrics] or result.metrics[:1]
    figures = {
        f"{capitalised(metric_name(metric))} under {model}, one choice changed at a time": partial(
            plots.prior_sensitivity, result, metric, model
        )
        for model in dict.fromkeys(result.table["model"])
        for metric in metrics
    }
    return [figures, result.table[result.table["metric"].isin(metrics)]]


@contents.register
def _(result: Coverage) -> list[Any]:
    what = "Expected risk level that sets miss" if result.loss else "Share of answers that sets contain"
    caption = (
        f"{what} in test cases (mean over repeated splits), where the answer is the majority vote, the next "
        "annotator's choice, or a class drawn from the plausibilities. Target: the answer that the sets were "
        "calibrated on"
    )
    columns = ["alpha", "classifier", "target", *result.measures, "size"]
    of_all = result.table["group"] == "all"
    groups = result.table.loc[~of_all, ["group", "n", *columns]].reset_index(drop=True)
    return [
        result.verdict(),
        {f"{caption} (filled points). Lines are intervals over splits": partial(result.plot)},
        {caption: result.table.loc[of_all, columns].reset_index(drop=True)},
        {f"{caption}, by group": groups} if len(groups) else None,
        None if result.fit is None else {_FIT: result.fit},
    ]


@contents.register
def _(result: Plan) -> list[Any]:
    under = f"Planned under {result.posterior_model}. " if result.posterior_model else ""
    names = ["place", "case", "labels", "annotator", "value", "information"]
    of = "the difference between the classifiers" if result.goal == "better" else "the metric"
    value = f" Value: percentage by which one more label is expected to narrow the interval of {of}."
    if result.goal == "information":  # of which the value is the information itself
        names.remove("value")
        value = ""
    listed = f"Cases to annotate first.{value} Information: expected information about the plausibilities, in nats"
    return [
        under + result.verdict(),
        {_forecast_caption(result): partial(result.plot)},
        {listed: result.chosen[[name for name in names if name in result.chosen]].head(_MOST)},
    ]


def _forecast_caption(plan: Plan) -> str:
    if plan.goal == "information":
        return "Forecast by number of further labels"
    bands = "Bands around widths contain 90 % of the simulations; dashed lines show cases chosen at random"
    decided = "; the band around the probability is its Monte Carlo interval" if plan.compare else ""
    return f"Forecast by number of further labels. {bands}{decided}"
