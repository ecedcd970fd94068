"""``plausibly compare``: classifiers under a posterior."""

from pathlib import Path
from typing import Literal

import numpy as np

from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._groups import read_column
from plausibly.app.screen import Screen, Table, with_interval
from plausibly.base.bootstrap import CI_PROB, REPLICATES
from plausibly.base.errors import ArgumentError
from plausibly.data.annotations import read_risks
from plausibly.evaluation import evaluate, verdict
from plausibly.evaluation.comparison import differences, rankings, variance_split
from plausibly.evaluation.metrics import LISTS, read_metrics
from plausibly.evaluation.summaries import goodness
from plausibly.evaluation.verdicts import OF_CUT_OFFS, SURE, for_whom
from plausibly.metrics.words import metric_name
from plausibly.posterior import annotations_of, opened

DIFFERENCES, RANKINGS, VARIANCES = "differences.csv", "rankings.csv", "variances.csv"


@example(
    """
    plausibly compare posterior.nc --predictions A=a.csv --predictions B=b.npy
    plausibly compare posterior.nc --predictions A=a.csv --predictions B=b.npy \\
        --metric top3_accuracy
    """
)
def compare(
    posterior: options.PosteriorFile,
    predictions: list[str] | None = None,
    logits: list[str] | None = None,
    metric: str = "top1_accuracy",
    k: str | None = None,
    risks: Path | None = None,
    ci_prob: float = CI_PROB,
    clusters: options.Clusters = None,
    replicates: options.Replicates = None,
    break_ties: Literal["order", "random"] = "order",
    seed: int = 0,
    *,
    output: options.Output,
) -> None:
    """Compare classifiers: which one is better, by how much, and with what probability.

    Also ranks them and says where the uncertainty comes from: the annotations, the sampling of cases, or the number of
    draws. With --out, also writes differences.csv, rankings.csv and variances.csv. To compare aggregation models, use
    compare-models.

    Options
    -------
    metric METRIC
        Metric to compare by, such as top3_average_overlap or auroc.
    """
    files = options.parse_files(predictions)
    if len(files) < 2:
        raise ArgumentError(
            f"a comparison needs two classifiers, but {len(files) or 'none'} was given: write --predictions "
            "NAME=FILE for each."
        )
    make_folder(output.out, [posterior])
    given = {"break_ties": break_ties, "ci_prob": ci_prob, "seed": seed}
    with opened(posterior) as draws:
        lengths = options.parse_numbers(k, *options.LENGTHS) or [
            n for n in (1, 2, 3) if n <= int(draws.attrs["n_classes"])
        ]
        classes = annotations_of(draws, every=False).classes
        of_classes = None if risks is None else read_risks(risks, classes)
        further = [*OF_CUT_OFFS] if len(classes) == 2 and metric in ("accuracy", "top1_accuracy") else []
        asked = read_metrics([LISTS, metric, *further], lengths, len(classes), risks=of_classes)
        given |= {"clusters": read_column(clusters), "replicates": REPLICATES if replicates is None else replicates}
        given |= {"logits": options.parse_logits(logits)}
        results = evaluate(draws, files, metrics=asked, **given, progress=not output.quiet)
    tables = {
        DIFFERENCES: differences(results, metric),
        RANKINGS: rankings(results, metric),
        VARIANCES: variance_split(results, metric),
    }
    best, whom = tables[RANKINGS].iloc[0], for_whom(results.attrs)
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
    total, split = tables[DIFFERENCES].set_index(["classifier", "versus"]), tables[VARIANCES]
    rows = []
    for (one, other), row in total.iterrows():
        here, new = ([row[f"{of}{end}"] for end in ("lower", "upper")] for of in ("", "total_"))
        share = "" if np.isnan(row["total_better"]) else f"{row['total_better']:.2f}"
        rows.append((one, other, with_interval(row["mean"], *here), with_interval(row["mean"], *new), share))
    columns = ("classifier", "versus", "on these cases", "on new cases", "P(better) on new cases")
    title = f"Differences in {name}, with {100 * ci_prob:g} % intervals"
    notes = []
    of_pair = split[split["versus"] != ""].iloc[0]
    if not np.isnan(of_pair["annotation_sd"]):
        labels = of_pair["annotation_sd"] > of_pair["sampling_sd"]
        notes.append(
            f"In the difference between {of_pair['classifier']} and {of_pair['versus']}, the annotations leave a "
            f"standard deviation of {of_pair['annotation_sd']:.4f}, the choice of cases {of_pair['sampling_sd']:.4f}: "
            f"more {'labels' if labels else 'cases'} would help more than more {'cases' if labels else 'labels'}."
        )
    output.publish(Screen(told, Table(columns, rows, title, n_left=2), notes, DIFFERENCES), tables.items())
