"""Aggregation models compared, checked, and under other priors: what the results say."""

from collections.abc import Mapping
from functools import partial

import pandas as pd

from plausibly.aggregation.model_comparison import Comparison, PredictiveCheck, Sensitivity
from plausibly.app import plots
from plausibly.app.screen import About, Piece, Screen, Table, cell, percent, with_interval
from plausibly.metrics.words import capitalised, metric_name

_LEFT_OUT = "Expected log predictive density of left-out annotations, and its difference from the best model"
_REPLICATES = "Observed statistics compared with those of replicates, each on its own scale"
_SENSITIVE = ("annotation_certainty_1", "top1_accuracy", "top3_accuracy")  # metrics of figures


def screen(result: Comparison | PredictiveCheck | Sensitivity, metric: str = "") -> Screen:
    """Models, statistics of annotations, or what choices of priors do to a metric, a row each."""
    if isinstance(result, Comparison):
        return _of_comparison(result)
    return of_checks({result.model: result}) if isinstance(result, PredictiveCheck) else _of_priors(result, metric)


def _of_comparison(result: Comparison) -> Screen:
    what = "first block" if result.pointwise.attrs["observation"] == "first" else "ranking"
    title = f"Log probability of the {what} of left-out annotations ± standard error by case"
    rows = []
    for name, row in result.table.iterrows():
        behind = "" if name == result.table.index[0] else _with_error(row["elpd_diff"], row["dse"])
        rows.append((name, _with_error(row["elpd"], row["se"]), behind, cell(row["weight"], ".2f"), row["verdict"]))
    columns = ("model", "log probability", "behind the first", "weight", "verdict")
    files = [
        Piece("models.csv", result.table.reset_index(), "Models, the best first"),
        Piece("left-out.csv", lambda: result.pointwise.to_dataframe().reset_index()),
        Piece("models.png", lambda: plots.model_comparison(result), _LEFT_OUT),
    ]
    about = About("Which aggregation model?")
    return Screen(result.headline, Table(columns, rows, title), result.notes, "models.csv", files=files, about=about)


def _with_error(value: float, error: float) -> str:
    value, error = cell(value, ",.1f"), cell(error, ",.1f")
    return f"{value} ± {error}" if error else value


def of_checks(checks: Mapping[str, PredictiveCheck]) -> Screen:
    """Statistics of annotations beside those of replicates, under one or more models."""
    table = pd.concat([checked.table.assign(model=name) for name, checked in checks.items()], ignore_index=True)
    table.insert(0, "model", table.pop("model"))
    rows, ci_prob = [], next(iter(checks.values())).ci_prob
    for row in table.to_dict("records"):
        replicated = with_interval(row["mean"], row["lower"], row["upper"])
        named = f"{row['model']}: " if len(checks) > 1 else ""
        rows.append((f"{named}{row['description']}", cell(row["observed"]), replicated, row["status"]))
    columns = ("mean over cases of", "observed", "replicated", "status")
    title = f"Annotations, and replicates under the model ({percent(ci_prob)} intervals)"
    cases = {name: check.by_case for name, check in checks.items()}
    files = [
        Piece("checks.csv", table, "Statistics of the annotations, and of replicates"),
        Piece("checks-by-case.csv", partial(_by_case, cases)),
        Piece("checks.png", lambda: plots.predictive_checks(checks), _REPLICATES),
    ]
    headline = " ".join(checked.verdict() for checked in checks.values())
    about = About("Does the model reproduce the annotations?")
    return Screen(headline, Table(columns, rows, title, left=(0, 3)), (), "checks.csv", files=files, about=about)


def _by_case(cases: Mapping) -> pd.DataFrame:
    tables = [of.to_dataframe().reset_index().assign(model=name) for name, of in cases.items()]
    return pd.concat(tables, ignore_index=True)


def _of_priors(result: Sensitivity, metric: str) -> Screen:
    """A row for each choice, the largest shift first."""
    shown = [name for name in _SENSITIVE if name in result.metrics] or result.metrics[:1]
    metric = metric or shown[:2][-1]  # accuracy, if there are classifiers
    largest, name = result.largest(metric), metric_name(metric)
    whose = f" of {largest['classifier']}" if largest["classifier"] else ""
    choice = f"{largest['choice']} {largest['value']}".rstrip()
    told = f"{capitalised(name)}{whose} shifts most with {choice}: by {largest['shift']:+.3f} ({largest['model']})."
    told = told if largest["shift"] else f"{capitalised(name)} is the same under every choice that was tried."
    table, rows = result.of(metric).assign(size=lambda rows: rows["shift"].abs()), []
    for row in table.sort_values("size", ascending=False, kind="stable").to_dict("records"):
        mean = with_interval(row["mean"], row["lower"], row["upper"])
        changed = f"{row['choice']} {row['value']}".strip()
        rows.append((row["model"], changed, row["classifier"], mean, f"{row['shift']:+.3f}"))
    columns = ("model", "choice", "classifier", "mean", "shift")
    title = f"{name}, with {percent(result.ci_prob)} intervals"
    notes = [] if result.table["converged"].all() else ["Not all chains converged: raise --warmup or --draws."]
    figures = {
        f"{capitalised(metric_name(one))} under {model}, one choice changed at a time": lambda one=one, model=model: (
            plots.prior_sensitivity(result, one, model)
        )
        for model in dict.fromkeys(result.table["model"])
        for one in shown
    }
    of_shown = result.table[result.table["metric"].isin(shown)]
    files = [
        Piece("sensitivity.csv", result.table, "Choices of priors and conventions", of_shown),
        Piece("sensitivity.svg", lambda: plots.prior_sensitivities(result)),
    ]
    about = About("Do priors and conventions matter?")
    return Screen(told, Table(columns, rows, title, n_left=3), notes, "sensitivity.csv", figures, files, about)
