"""``plausibly discrepancy``: whether a model is closer to the annotators than they are to each other."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
import typer

from plausibly.agreement import MARGIN, Discrepancy, discrepancy_ratio, threshold_curve
from plausibly.app import plots
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._output import answer_sentences, check_answers
from plausibly.app.screen import Screen, Table, cell, over_groups, with_interval
from plausibly.base.bootstrap import CI_PROB, REPLICATES
from plausibly.base.errors import ArgumentError
from plausibly.base.names import many, some
from plausibly.data.labels.container import by_case


@example(
    """
    plausibly discrepancy labels.csv \\
        --predictions A=a.csv --predictions B=b.csv \\
        --clusters patient --margin 0.1 --out results/
    """
)
def discrepancy(
    data: options.LabelledData,
    predictions: list[str] | None = None,
    scores: list[str] | None = None,
    positive: str | None = None,
    classes: Path | None = None,
    clusters: str | None = None,
    by: Annotated[str | None, typer.Option(metavar="COLUMN")] = None,
    distance: str | None = None,
    tolerance: float | None = None,
    margin: float = MARGIN,
    require: Literal["non-inferior"] | None = None,
    replicates: int = REPLICATES,
    ci_prob: float = CI_PROB,
    seed: int = 0,
    *,
    output: options.Output,
) -> None:
    """Compare models with annotators by the discrepancy ratio.

    The ratio Δ is below 1 if the model is closer to the annotators than they are to each other. Prints Δ with its
    interval beside Δ of answers that look at no case, whether the model is non-inferior within the margin (where such
    answers are, too, these annotators cannot tell), and what Δ depends on: where annotators stand on its scale, and the
    one whom it depends on most. With --out, also writes discrepancy.csv (one row per model), annotators.csv
    (each annotator treated as a model), without_annotators.csv (Δ without each annotator), cases.csv, groups.csv (with
    --by), and discrepancy.png. Exit status: 0, or 3 if --require is not met, 2 for invalid input.

    Options
    -------
    scores NAME=FILE
        Name of a model and table of its scores (case, score); only if there are exactly two possible labels. Scores of
        each case are cut at the threshold that is best on all other cases.
    positive
        Label that a high score stands for.
    margin
        Margin of non-inferiority: how far Δ may exceed 1. Choose it before you see the results, and no larger than you
        would accept from another annotator.
    require
        Exit with status 3 unless every model is non-inferior.
    """
    labelled = options.parse_files(predictions)
    scored = options.parse_files(scores, "--scores")
    if not (labelled or scored):
        raise ArgumentError(
            "nothing to compare with the annotators: give --predictions NAME=FILE or --scores NAME=FILE."
        )
    if both := labelled.keys() & scored.keys():
        raise ArgumentError(f"the model {min(both)!r} has both --predictions and --scores: keep one.")
    columns = [name for name in (clusters, by) if name is not None]
    read = data.read(columns, classes=classes, quiet=output.quiet)
    if scored and distance not in (None, "nominal"):
        raise ArgumentError(
            f"scores are cut to labels, which are compared as nominal, but --distance {distance} was given."
        )
    distance = options.distance_of(read, "nominal" if scored else distance, quiet=output.quiet)
    results: dict[str, Discrepancy] = {}
    label = positive if positive is None or not read.is_numeric else options.number_or_text(positive)
    for name, path in scored.items():
        curve = threshold_curve(read, path, clusters, positive=label, progress=not output.quiet)
        results[name] = curve.cross_fitted(seed=seed)
    if labelled:
        compared = discrepancy_ratio(read, labelled, distance, clusters, tolerance=tolerance, progress=not output.quiet)
    else:
        compared = next(iter(results.values()))
    groups = None if by is None else by_case(by, read, "group")
    models = dict(compared.to_sets) if labelled else {}
    models |= {name: result.to_sets["model"] for name, result in results.items()}
    said = {name: result.compared.models["model"] for name, result in results.items()}
    own = replace(compared.compared, models=dict(compared.compared.models) | said if labelled else said)
    compared = replace(compared, to_sets=models, single=False, by=groups, compared=own)
    make_folder(output.out, [data.labels])
    frame = compared.to_frame(ci_prob, replicates, seed, progress=not output.quiet)
    frame = frame.join(compared.baselines(ci_prob, replicates, seed))
    if compared.several_clusters:
        tested = compared.non_inferiority(margin, replicates=replicates, seed=seed)
        frame = frame.join(tested[["p_value", "non_inferior", "answer", "why"]])
    if by is not None:
        frame["mean_per_class"] = compared.mean_per_class
    whole = len(compared.labels) == len(read)  # else further labels follow from the first, and are left out
    answers = frame["answer"] if "answer" in frame else pd.Series("not shown", frame.index)
    told, notes = [], []
    for model in frame.index:
        if answers[model] == "cannot tell":
            told.append(f"These annotators cannot tell whether {model} is as close to them as they are to each other.")
            notes += [f"{compared.beside_constant(replicates, seed)[model]}.", f"{frame.loc[model, 'why']}."]
    told += _headline(frame, answers, margin)
    few = f"{many(len(compared.excluded), 'case')} with fewer than two annotators ({some(compared.excluded)})"
    left_out = [
        *[few] * bool(compared.excluded),
        *[f"{many(read.n_missing, 'row')} without a label"] * bool(read.n_missing),
    ]
    notes += [*_notes(compared, frame, whole=whole), *_over_groups(compared)]
    notes += [f"Left out: {' and '.join(left_out)}."] * bool(left_out)
    screen = Screen(" ".join(told), _table(frame, ci_prob), notes, "discrepancy.csv")
    kept = 2 * len(frame) if require is not None else 0
    output.publish(screen, _files(compared, frame, ci_prob, replicates, seed), kept=kept)
    if require is not None:
        allowed = f"if the annotators are right, allowing Δ up to {1 + margin:g}"
        asked = ((str(model), "non-inferior", answer, allowed) for model, answer in answers.items())
        check_answers(answer_sentences(asked))


def _headline(frame: pd.DataFrame, answers: pd.Series, margin: float) -> Iterator[str]:
    """State the ratio of the best models, and whether they are non-inferior."""
    for model in frame.index[frame["ratio"].argsort()][:2]:
        row = frame.loc[model]
        value = with_interval(row["ratio"], row.get("lower", float("nan")), row.get("upper", float("nan")))
        level = f"below {1 + margin:g} at the 5 % level"
        verdict = {"yes": f", {level}: non-inferior, if the annotators are right"}
        verdict |= {"not shown": f", not {level}: not shown to be non-inferior"}
        yield f"{model} is at Δ = {value}{verdict.get(str(answers[model]), '')}."


def _table(frame: pd.DataFrame, ci_prob: float) -> Table:
    """A row for each model, with the ratios of answers that look at no case."""
    names = {"constant_ratio": "best constant answer", "shuffled_ratio": "shuffled predictions"}
    names |= {"mean_per_class": "mean per class"} if "mean_per_class" in frame else {}
    rows = []
    for model, row in frame.iterrows():
        ends = [row[end] for end in ("lower", "upper")] if "lower" in frame else []
        cells = [cell(row[name]) for name in names if name in frame]
        rows.append((str(model), with_interval(row["ratio"], *ends), *cells, str(row.get("answer", ""))))
    title = f"Δ: distance to annotators, relative to that between two ({options.percent(ci_prob)} intervals)"
    return Table(("model", "Δ", *(names[name] for name in names if name in frame), "non-inferior"), rows, title)


def _notes(compared: Discrepancy, frame: pd.DataFrame, *, whole: bool) -> Iterator[str]:
    """Say how well annotators agree, where they stand themselves, and on whom a ratio depends most."""
    one = frame.iloc[0]
    relative = compared.annotators()["relative"].dropna().sort_values()
    if len(relative) > 2 and whole:
        yield (
            f"Annotators themselves have Δ from {relative.iloc[0]:.2f} ({relative.index[0]}) to "
            f"{relative.iloc[-1]:.2f} ({relative.index[-1]})."
        )
        first = compared.without_annotators().iloc[0]
        if abs(first["change"]) >= 0.0005:  # which three digits show
            yield (
                f"Δ depends most on {first['annotator']}: without {first['annotator']}, {first['model']} is at "
                f"{first['ratio']:.3f} instead of {frame.loc[first['model'], 'ratio']:.3f}."
            )
    if not pd.isna(one["agreement"]):
        ends = f" ({one['agreement_lower']:z.2f} to {one['agreement_upper']:z.2f})" if "lower" in frame else ""
        yield (
            f"Annotators agree beyond chance by {one['agreement']:z.2f}{ends}. Answers at random would have Δ = "
            f"{one['chance_ratio']:.2f}, and {one['constant']} as the answer to every case {one['constant_ratio']:.2f}."
        )


def _over_groups(compared: Discrepancy) -> Iterator[str]:
    """Say between which values Δ of the first model lies over the groups."""
    if compared.by is not None:
        table = compared.by_group()
        own = table[table["model"] == table["model"].iloc[0]] if "model" in table and len(table) else table
        yield from over_groups("group", "Δ", own, "ratio")


def _files(
    compared: Discrepancy, frame: pd.DataFrame, ci_prob: float, replicates: int, seed: int
) -> Iterator[tuple[str, Any]]:
    width = ci_prob if compared.several_clusters else None
    yield "annotators.csv", compared.annotators(width, replicates, seed).reset_index()
    yield "cases.csv", compared.by_case().reset_index()
    yield "discrepancy.csv", frame.reset_index()
    yield "discrepancy.png", plots.discrepancy_ratios(compared, ci_prob, replicates, seed)
    if compared.by is not None:
        yield "groups.csv", compared.by_group()
    yield "without_annotators.csv", compared.without_annotators()
