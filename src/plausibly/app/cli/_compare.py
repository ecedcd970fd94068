"""``plausibly compare``: classifiers under a posterior."""

from pathlib import Path
from typing import Literal

from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._groups import read_column
from plausibly.app.results.comparison import screen
from plausibly.base.bootstrap import CI_PROB, REPLICATES
from plausibly.base.errors import ArgumentError
from plausibly.data.annotations import read_risks
from plausibly.evaluation import evaluate
from plausibly.evaluation.metrics import LISTS, read_metrics
from plausibly.evaluation.verdicts import OF_CUT_OFFS
from plausibly.posterior import annotations_of, opened


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
    models compare.

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
    output.publish(screen(results, metric))
