"""Tables, figures and sentences that the caller adds to the report, in any order and nesting, or as results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, singledispatch
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plausibly.aggregation.model_comparison import Comparison, PredictiveCheck, Sensitivity
from plausibly.agreement import ReaderStudy
from plausibly.app import plots
from plausibly.app.report._environment import draw_to_uri, to_uri
from plausibly.base.errors import ArgumentError, show
from plausibly.decisions.conformal import Coverage
from plausibly.decisions.planning import Plan
from plausibly.metrics.words import capitalised, metric_name
from plausibly.systems import NAMES, Systems

MOST_ROWS = 200  #: of a table
_SENSITIVE = ("annotation_certainty_1", "top1_accuracy", "top3_accuracy")  # metrics shown of a sensitivity
_MOST = 20  # cases of a plan
_FIT = (
    "Coverage of the plausibilities minus coverage of the annotators' choices, for the same sets. A negative "
    "difference means that the model gives plausibility to classes that annotators do not choose first"
)


@dataclass(frozen=True)
class Extra:
    """One table, figure or sentence."""

    caption: str = ""
    text: str = ""  # a sentence, or
    panel: str = ""  # a figure as a data URI, or
    columns: tuple[str, ...] = ()  # a table: names,
    rows: tuple[tuple[str, ...], ...] = ()  # printed cells,
    numeric: tuple[bool, ...] = ()  # whether each column holds numbers,
    left_out: int = 0  # and the number of rows that are not shown


def extras(thing: Any, caption: str = "") -> list[Extra]:
    """Prepare something for the report, as :func:`plausibly.report` describes it; None adds nothing.

    `caption` is that of what has none of its own.
    """
    if thing is None:
        return []
    if isinstance(thing, str):
        return [Extra(caption, text=thing)]
    if of_result := contents(thing):
        return extras(of_result, caption)
    if isinstance(thing, partial):  # a figure that is not drawn yet
        return [Extra(caption, panel=draw_to_uri(thing))]
    if isinstance(thing, pd.DataFrame | pd.Series):
        return [_table(thing.to_frame() if isinstance(thing, pd.Series) else thing, caption)]
    if isinstance(thing, Axes | Figure):
        return [Extra(caption, panel=to_uri(thing.get_figure(root=True)))]
    if isinstance(thing, Mapping):
        return [extra for words, one in thing.items() for extra in extras(one, str(words))]
    if isinstance(thing, Sequence | np.ndarray):
        return [extra for one in thing for extra in extras(one, caption)]
    for name in ("table", "to_frame"):
        found = getattr(thing, name, None)
        found = found() if callable(found) else found
        if isinstance(found, pd.DataFrame):
            return [*_verdict(thing), _table(found, caption)]
    raise ArgumentError(
        f"the report takes sentences, data frames, figures, results with a table, and mappings or lists of these, but "
        f"{show(thing)} was given: give one of them."
    )


def _verdict(thing: Any) -> list[Extra]:
    verdict = getattr(thing, "verdict", None)
    verdict = verdict() if callable(verdict) else verdict
    return [Extra(text=verdict)] if isinstance(verdict, str) else []


def _table(frame: pd.DataFrame, caption: str) -> Extra:
    named = not isinstance(frame.index, pd.RangeIndex)
    shown = frame.head(MOST_ROWS)
    shown = pd.DataFrame(shown.reset_index() if named else shown)
    numeric = tuple(kind.kind in "iufc" for kind in shown.dtypes)
    rows = tuple(tuple(_cell(value) for value in row) for row in shown.itertuples(index=False, name=None))
    columns = tuple("" if name == "index" else str(name).replace("_", " ") for name in shown.columns)
    return Extra(caption, columns=columns, rows=rows, numeric=numeric, left_out=len(frame) - len(shown))


def _cell(value: Any) -> str:
    if value is None or (np.isscalar(value) and pd.isna(value)):
        return ""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if isinstance(value, float | np.floating):
        # Three decimals, or two significant digits if they would all be zero.
        return f"{value:,.3f}" if value == 0 or abs(value) >= 0.001 else f"{value:.2g}"
    if isinstance(value, list | tuple | set | np.ndarray):
        return ", ".join(map(str, value))
    return str(value)


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
def _(result: Systems) -> list[Any]:
    read = result.outcomes
    drawn = ["people alone", *([f"{result.judge} alone", "corrected (PPI++)"] if result.judge else [])]
    drawn += [NAMES[result.main]] if result.main in ("strengths", "adjusted") else []
    drawn += ["by the model of all outcomes"] if result.posterior is not None else []
    shown, by = f"{capitalised(read.quantity)}: {', '.join(drawn)}", result.by
    estimates = result.table.drop(columns="meant").assign(estimator=result.table["estimator"].map(NAMES))
    ends = [name for name in result.judges if name.endswith(("_lower", "_upper"))]  # which the sentences have
    judges = result.judges.drop(columns=ends)
    compared = result.bias.dropna(subset=["bias"])
    return [
        {shown: partial(plots.systems, result)},
        {f"Ranking by {by}, with P(best) and the interval of the rank": result.ranking},
        {"Every estimator": estimates},
        {"Checks of the model by replicates": result.checks} if len(result.checks) else None,
        {f"Differences, by {by}, paired by case": result.differences} if len(result.differences) else None,
        {"Judges against people: their mean outcome minus that of people on the same cases": compared}
        if len(compared)
        else None,
        {"People against each other: a person's mean outcome minus that of the others on the same cases": result.people}
        if len(result.people)
        else None,
        {"Judges; worth: outputs that people would have to rate without it": judges.dropna(axis=1, how="all")}
        if len(judges)
        else None,
        {"Bias of judges by period, differences between systems taken out": result.drift}
        if len(result.drift)
        else None,
        {
            "What more outcomes by people would bring: width of the interval, and probability of telling a system from "
            "the first one, if they differ as estimated": result.plan
        }
        if len(result.plan)
        else None,
    ]


@contents.register
def _(result: ReaderStudy) -> list[Any]:
    roc = "Readers as points (or thin lines, of scores) and models as lines; filled points are models at a threshold"
    planned = "Size of the next study: width of the interval, and power to find, or to rule out, a difference of "
    crossed = all(not one.effect.known for one in result.comparisons)
    return [
        {roc: partial(plots.reader_study, result)} if result.study.positive is not None else None,
        {"Comparisons: first minus second; mean square, error and covariance are what they vary by": result.table},
        {"Means of readers": result.means_of_readers},
        {"Readers and models one by one": result.by_reader},
        {f"{planned}{result.margin:g}": result.plan()} if crossed else None,
    ]


@contents.register
def _(result: Plan) -> list[Any]:
    under = f"Planned under {result.posterior_model}. " if result.posterior_model else ""
    names = ["place", "case", "labels", "annotator", "value", "information"]
    of = "the difference between the classifiers" if result.goal == "better" else "the metric"
    value = f" Value: percentage by which one more label is expected to narrow the interval of {of}."
    bands = "Bands around widths contain 90 % of the simulations; dashed lines show cases chosen at random"
    decided = "; the band around the probability is its Monte Carlo interval" if result.compare else ""
    forecast = f"Forecast by number of further labels. {bands}{decided}"
    if result.goal == "information":  # of which the value is the information itself
        names.remove("value")
        value, forecast = "", "Forecast by number of further labels"
    listed = f"Cases to annotate first.{value} Information: expected information about the plausibilities, in nats"
    return [
        under + result.verdict(),
        {forecast: partial(result.plot)},
        {listed: result.chosen[[name for name in names if name in result.chosen]].head(_MOST)},
    ]
