"""``plausibly discrepancy``: whether a model is closer to the annotators than they are to each other."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pandas as pd

from plausibly import plots
from plausibly.agreement import Discrepancy, Labels, discrepancy_ratio, threshold_curve
from plausibly.annotations._names import some
from plausibly.bootstrap import CI_PROB, REPLICATES
from plausibly.cli import _options as options
from plausibly.cli._app import example
from plausibly.cli._output import make_folder, print_table, say, write_figure, write_table
from plausibly.errors import ArgumentError
from plausibly.labels._case_columns import by_case


@example(
    """
    plausibly discrepancy labels.csv \\
        --predictions A=a.csv --predictions B=b.csv \\
        --groups patient --margin 0.1 --out results/
    """
)
def discrepancy(
    labels: options.LabelsFile,
    predictions: Annotated[
        list[str] | None, options.data(metavar="NAME=FILE", help="Labels of a model (case, label); once for each.")
    ] = None,
    scores: Annotated[
        list[str] | None,
        options.data(
            metavar="NAME=FILE",
            help="Scores of a model (case, score) for two labels; cut at the threshold that is best on other cases.",
        ),
    ] = None,
    positive: Annotated[str | None, options.data(help="Label that a high score stands for.")] = None,
    groups: Annotated[
        str | None, options.data(metavar="COLUMN", help="Groups to resample, such as patients; by default cases.")
    ] = None,
    strata: Annotated[str | None, options.data(metavar="COLUMN", help="Kinds of case, to compare one by one.")] = None,
    delta: Annotated[
        str,
        options.measure(
            metavar="NAME",
            help="Disagreement of two labels: nominal, squared, absolute, hinge, jaccard, or a distance.",
        ),
    ] = "nominal",
    tolerance: Annotated[
        float | None, options.measure(help="Difference of two numbers up to which hinge sees no disagreement.")
    ] = None,
    margin: Annotated[
        float | None, options.measure(help="Test whether a model is not inferior by more than this margin.")
    ] = None,
    replicates: Annotated[int, options.measure(help="Number of bootstrap replicates.")] = REPLICATES,
    ci_prob: options.IntervalWidth = CI_PROB,
    seed: options.Seed = 0,
    out: options.OptionalFolder = None,
    quiet: options.Quiet = False,
) -> None:
    """Compare models with annotators by the discrepancy ratio.

    The ratio Δ is below 1 for a model that is closer to the annotators than they are to each other. Prints it with its
    interval. With --out also writes discrepancy.csv (a row per model), annotators.csv (each taken out and treated as a
    model), cases.csv, strata.csv where there are any, and discrepancy.png.
    """
    given = options.parse_files(predictions)
    scored = options.parse_files(scores, "--scores")
    if not (given or scored):
        raise ArgumentError(
            "nothing to compare with the annotators: give --predictions NAME=FILE or --scores NAME=FILE."
        )
    if both := given.keys() & scored.keys():
        raise ArgumentError(f"the model {min(both)!r} has both --predictions and --scores: keep one.")
    read = Labels.of(labels, columns=[name for name in (groups, strata) if name is not None])
    if scored and delta != "nominal":
        raise ArgumentError(f"scores are cut to labels, which are compared as nominal, but --delta {delta} was given.")
    results: dict[str, Discrepancy] = {}
    for name, path in scored.items():
        curve = threshold_curve(read, path, groups, positive=_as_label(positive, read), progress=not quiet)
        results[name] = curve.cross_fitted(seed=seed)
    if given:
        compared = discrepancy_ratio(read, given, delta, groups, tolerance=tolerance, progress=not quiet)
    else:
        compared = next(iter(results.values()))
    known = None if strata is None else by_case(strata, read, "stratum")
    models = dict(compared.to_models) if given else {}
    models |= {name: result.to_models["model"] for name, result in results.items()}
    compared = replace(compared, to_models=models, single=False, strata=known)
    if out is not None:
        make_folder(out)
    frame = compared.to_frame(ci_prob, replicates, seed, progress=not quiet)
    if margin is not None:
        tested = compared.non_inferiority(margin, replicates=replicates, seed=seed)
        frame = frame.join(tested[["p_value", "non_inferior"]])
    if strata is not None:
        frame["mean_per_class"] = compared.mean_per_class
    if not quiet:
        _print(frame, ci_prob)
    if out is not None:
        written = _write(compared, frame, out, ci_prob, replicates, seed)
        if not quiet:
            say(f"Wrote {', '.join(sorted(written))} to {out}")
    say(_last_line(compared, read))


def _as_label(positive: str | None, labels: Labels) -> object:
    """Read a label that was given as text as the labels were."""
    if positive is None or not labels.is_numeric:
        return positive
    try:
        return float(positive)
    except ValueError:
        return positive


def _print(frame: pd.DataFrame, ci_prob: float) -> None:
    names = {"ratio": "Δ", "model_discrepancy": "model μ", "annotator_discrepancy": "annotators α"}
    names |= {"mean_per_class": "mean per class", "p_value": "p", "non_inferior": "not inferior"}
    shown = {name: header for name, header in names.items() if name in frame}
    rows = []
    for model, row in frame.iterrows():
        cells = {name: f"{row[name]:.3f}" for name in shown if name != "non_inferior"}
        if "lower" in frame:
            cells["ratio"] += f" ({row['lower']:.3f}–{row['upper']:.3f})"
        if "non_inferior" in frame:
            cells["non_inferior"] = "yes" if row["non_inferior"] else "no"
        rows.append((str(model), *(cells[name] for name in shown)))
    title = f"Discrepancy ratio ({options.percent(ci_prob)} interval)"
    print_table(title, ("model", *shown.values()), rows, left=("model",))


def _write(
    compared: Discrepancy, frame: pd.DataFrame, out: Path, ci_prob: float, replicates: int, seed: int
) -> list[str]:
    own = compared.annotators(ci_prob if compared.several_groups else None, replicates, seed)
    tables = {"discrepancy.csv": frame, "annotators.csv": own, "cases.csv": compared.by_case()}
    tables = {name: table.reset_index() for name, table in tables.items()}
    if compared.strata is not None:
        tables["strata.csv"] = compared.by_stratum()
    for name, table in tables.items():
        write_table(table, out / name)
    write_figure(plots.discrepancy_ratios(compared, ci_prob, replicates, seed), out / "discrepancy.png")
    return [*tables, "discrepancy.png"]


def _last_line(compared: Discrepancy, labels: Labels) -> str:
    words = f"{compared.n_cases:,} cases counted"
    if compared.excluded:
        words += f"; {len(compared.excluded):,} of fewer than two annotators did not: {some(compared.excluded)}"
    if labels.n_missing:
        words += f"; {labels.n_missing:,} rows had no label"
    return words + "."
