"""Classifiers compared by a metric: what it says."""

import numpy as np
import xarray as xr

from plausibly.app.screen import About, Piece, Screen, Table, percent, with_interval
from plausibly.base.bootstrap import width_of
from plausibly.evaluation import verdict
from plausibly.evaluation.comparison import differences, rankings, variance_split
from plausibly.evaluation.summaries import goodness
from plausibly.evaluation.verdicts import SURE, for_whom
from plausibly.metrics.words import metric_name


def screen(results: xr.Dataset, metric: str) -> Screen:
    """A row for each pair of classifiers, which ranking is most probable, and whether labels or cases would help."""
    total, ranked, split = (of(results, metric) for of in (differences, rankings, variance_split))
    best, whom = ranked.iloc[0], for_whom(results.attrs)
    probable = (
        "" if np.isnan(best["probability"]) else f" (probability {best['probability']:.2f} on these cases, {whom})"
    )
    first = "" if not probable or best["probability"] >= SURE else "No ranking is settled. "
    means = goodness(results[metric].mean("draw").values, results[metric].attrs)
    names = [str(results["classifier"].values[at]) for at in np.argsort(-means, kind="stable")[:2]]
    name = metric_name(metric)
    told = (
        f"{first}{'Most probable ranking' if probable else 'Ranking'} by {name}: {best['ranking']}{probable}. "
        f"{verdict(results, metric, *names)}"
    )
    rows = []
    for row in total.to_dict("records"):
        here, new = ([row[f"{of}{end}"] for end in ("lower", "upper")] for of in ("", "total_"))
        share = "" if np.isnan(row["total_better"]) else f"{row['total_better']:.2f}"
        apart = with_interval(row["mean"], *here), with_interval(row["mean"], *new), share
        rows.append((row["classifier"], row["versus"], *apart))
    columns = ("classifier", "versus", "on these cases", "on new cases", "P(better) on new cases")
    title = f"Differences in {name}, with {percent(width_of(results))} intervals"
    notes, of_pair = [], split[split["versus"] != ""].iloc[0]
    if not np.isnan(of_pair["annotation_sd"]):
        labels = of_pair["annotation_sd"] > of_pair["sampling_sd"]
        notes.append(
            f"In the difference between {of_pair['classifier']} and {of_pair['versus']}, the annotations leave a "
            f"standard deviation of {of_pair['annotation_sd']:.4f}, the choice of cases {of_pair['sampling_sd']:.4f}: "
            f"more {'labels' if labels else 'cases'} would help more than more {'cases' if labels else 'labels'}."
        )
    files = [
        Piece("differences.csv", total, f"Differences in {name}"),
        Piece("rankings.csv", ranked, "Rankings, the most probable first"),
        Piece("variances.csv", split, "What the uncertainty comes from"),
    ]
    about = About(f"Which classifier has the best {name}?")
    return Screen(told, Table(columns, rows, title, n_left=2), notes, "differences.csv", files=files, about=about)
