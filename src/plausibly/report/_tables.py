"""The tables of the report, which the command line prints too."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from plausibly.comparison import probability_better
from plausibly.evaluation import METRICS
from plausibly.sweeps import STATISTICS, Run, Sweep

CERTAINTIES = ("annotation_certainty", "score_certainty", "risk_certainty", "risk_level_certainty")
MOST_ROWS = 200  #: of cases that did not converge; certainty.csv has all


def sizes(run: Run) -> list[int]:
    """Lengths of the lists that a run was evaluated with.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "b"]])
    >>> swept = pb.sweep(annotations, {}, {"majority-vote": None}, progress=False)
    >>> sizes(swept.runs[0])
    [1, 2]
    """
    names = [str(name) for name in run.results.data_vars]
    return [
        int(name[3:].split("_")[0])
        for name in names
        if name.startswith("top") and name.endswith("_accuracy_point") and not name.endswith("set_accuracy_point")
    ]


def headline_metrics(run: Run) -> list[str]:
    """Name the metrics of the main table: accuracy of the first choice and of the longest list but at most three."""
    found = sizes(run)
    longest = max([size for size in found if size <= 3], default=max(found))
    return [f"top{size}_accuracy" for size in dict.fromkeys([min(found), longest])]


def headline(swept: Sweep) -> pd.DataFrame:
    """Tabulate the main result: classifiers of every run, the best by its first metric first.

    Parameters
    ----------
    swept
        From :func:`plausibly.sweep`.

    Returns
    -------
    pandas.DataFrame
        Columns ``run``, ``certainty`` (mean annotation certainty of the most plausible class), ``classifier``, for each
        metric its ``_mean``, ``_lower``, ``_upper`` and ``_point``, and ``beats_next``, the probability that the
        classifier beats the next one by the first metric (NaN for the last). Without classifiers a run has one row.

    Examples
    --------
    >>> annotations = pb.Annotations.from_labels([["a", "a", "b"]])
    >>> swept = pb.sweep(annotations, {"A": [[0.2, 0.8]], "B": [[0.9, 0.1]]}, {"majority-vote": None}, progress=False)
    >>> headline(swept)[["classifier", "top1_accuracy_mean", "beats_next"]].values.tolist()
    [['B', 1.0, 1.0], ['A', 0.0, nan]]
    """
    rows: list[dict[str, Any]] = []
    for run in swept.runs:
        certainty = float(run.results["annotation_certainty_1"].mean())
        if not swept.classifiers:
            rows.append({"run": run.label, "certainty": certainty})
            continue
        metrics = headline_metrics(run)
        table = run.metrics().set_index(["classifier", "metric"])
        means = [table.loc[(name, metrics[0]), "mean"] for name in swept.classifiers]
        order = [swept.classifiers[at] for at in np.argsort(np.negative(means), kind="stable")]
        for name, following in zip(order, [*order[1:], None], strict=True):
            row: dict[str, Any] = {"run": run.label, "certainty": certainty, "classifier": name}
            for metric in metrics:
                found = table.loc[(name, metric)]
                row |= {f"{metric}_{column}": float(found[column]) for column in ("mean", "lower", "upper", "point")}
            row["beats_next"] = probability_better(run.results, metrics[0], name, following) if following else np.nan
            rows.append(row)
    return pd.DataFrame(rows)


def certainty_table(runs: Sequence[Run]) -> pd.DataFrame:
    """Tabulate the means over cases of everything that is known of the annotations themselves."""
    rows = []
    for run in runs:
        row: dict[str, Any] = {"run": run.label}
        for name, variable in run.results.data_vars.items():
            if variable.dims == ("case",) and str(name).startswith(CERTAINTIES):
                row[str(name)] = float(variable.mean())
        rows.append(row)
    return pd.DataFrame(rows)


def convergence_table(runs: Sequence[Run]) -> pd.DataFrame:
    """Tabulate the worst values of each run that has chains."""
    rows = []
    for run in runs:
        if run.has_chains:
            found = run.convergence
            rows.append(
                {
                    "run": run.label,
                    "r_hat": float(found["r_hat"].max()),
                    "ess_bulk": float(found["ess_bulk"].min()),
                    "ess_tail": float(found["ess_tail"].min()),
                    "n_diverging": int(found["n_diverging"].sum()),
                    "not_converged": len(run.not_converged()),
                }
            )
    return pd.DataFrame(rows)


def not_converged_table(runs: Sequence[Run]) -> pd.DataFrame:
    """List the cases that did not converge, by run."""
    tables = []
    for run in runs:
        if run.has_chains:
            found = run.convergence.isel(case=np.flatnonzero(~run.convergence["converged"].values))
            columns = {"run": run.label, "case": found["case"].values.astype(str)}
            tables.append(pd.DataFrame(columns | {name: found[name].values for name in STATISTICS}))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def distinct_metrics(found: Sequence[int]) -> list[str]:
    """Name all metrics, leaving out those that are the same at lists of length one.

    Examples
    --------
    >>> distinct_metrics([1, 2])
    ['top1_accuracy', 'top1_coverage',
     'top2_accuracy', 'top2_set_accuracy', 'top2_overlap', 'top2_average_overlap',
     'top2_coverage', 'top2_kendall_tau', 'top2_spearman_footrule']
    """
    return [f"top{size}_{metric}" for size in found for metric in (METRICS if size > 1 else ("accuracy", "coverage"))]
