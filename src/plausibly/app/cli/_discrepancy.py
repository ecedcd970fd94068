"""``plausibly discrepancy``: whether a model is closer to the annotators than they are to each other."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal

import pandas as pd

from plausibly.agreement import MARGIN, Discrepancy, discrepancy_ratio, threshold_curve
from plausibly.app import plots
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.cli._output import ScreenTable, check_answers, say, with_interval
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
    predictions: options.LabelPredictions = None,
    scores: Annotated[
        list[str] | None,
        options.data(
            metavar="NAME=FILE",
            help="Name of a model and table of its scores (case, score); only if there are exactly two possible "
            "labels. Scores of each case are cut at the threshold that is best on all other cases.",
        ),
    ] = None,
    positive: Annotated[str | None, options.data(help="Label that a high score stands for.")] = None,
    classes: options.OrderFile = None,
    clusters: options.LabelClusters = None,
    by: Annotated[
        str | None,
        options.data(
            metavar="COLUMN", help="Column that groups the cases, such as diagnosis; Δ is also computed for each group."
        ),
    ] = None,
    distance: Annotated[
        str | None,
        options.measure(
            metavar="NAME",
            help="Distance between two labels: nominal, squared, absolute, hinge, jaccard, or any that plausibly "
            "agreement takes. By default by their type, such as nominal for categories and bleu for texts.",
        ),
    ] = None,
    tolerance: options.Tolerance = None,
    margin: Annotated[
        float,
        options.measure(
            help="Margin of non-inferiority: how far Δ may exceed 1. Choose it before you see the results, and no "
            "larger than you would accept from another annotator."
        ),
    ] = MARGIN,
    require: Annotated[
        Literal["non-inferior"] | None,
        options.measure(help="Exit with status 3 unless every model is non-inferior."),
    ] = None,
    replicates: options.MeasureReplicates = REPLICATES,
    ci_prob: options.IntervalWidth = CI_PROB,
    seed: options.Seed = 0,
    *,
    output: options.Output,
) -> None:
    """Compare models with annotators by the discrepancy ratio.

    The ratio Δ is below 1 if the model is closer to the annotators than they are to each other. Prints Δ with its
    interval beside Δ of answers that look at no case, whether the model is non-inferior within the margin (where such
    answers are, too, these annotators cannot tell), the range of Δ if each annotator in turn is treated as a model, and
    the annotator on whom Δ depends most. With --out, also writes discrepancy.csv (one row per model), annotators.csv
    (each annotator treated as a model), without_annotators.csv (Δ without each annotator), cases.csv, groups.csv (with
    --by), and discrepancy.png. Exit status: 0, or 3 if --require is not met, 2 for invalid input.
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
    output.publish(
        _shown(compared, frame, ci_prob, margin, whole=whole), _files(compared, frame, ci_prob, replicates, seed)
    )
    words = f"{many(compared.n_cases, 'case')} used"
    if compared.excluded:
        words += f"; {len(compared.excluded):,} with fewer than two annotators left out: {some(compared.excluded)}"
    if read.n_missing:
        words += f"; {many(read.n_missing, 'row')} without a label"
    say(f"{words}.")
    answers = frame["answer"] if "answer" in frame else pd.Series("not shown", frame.index)
    for model in frame.index[answers == "cannot tell"]:
        beside = compared.beside_constant(replicates, seed)[model]
        say(f"{beside}. These annotators cannot tell whether {model} is as close as they are.")
        say(f"{frame.loc[model, 'why']}.")
    if require is not None:
        allowed = f"if the annotators are right, allowing Δ up to {1 + margin:g}"
        check_answers((str(model), "non-inferior", answer, allowed) for model, answer in answers.items())


def _shown(
    compared: Discrepancy, frame: pd.DataFrame, ci_prob: float, margin: float, *, whole: bool
) -> Iterator[ScreenTable | str]:
    names = {"ratio": "Δ", "constant_ratio": "constant", "shuffled_ratio": "shuffled"}
    names |= {"chance_ratio": "chance", "mean_per_class": "mean per class", "p_value": "p", "answer": "non-inferior"}
    shown = {name: header for name, header in names.items() if name in frame}
    rows = []
    for model, row in frame.iterrows():
        cells = {name: f"{row[name]:.3f}" for name in shown if name != "answer"}
        if "lower" in frame:
            cells["ratio"] = with_interval(row["ratio"], row["lower"], row["upper"], missing="nan")
        if "answer" in frame:
            cells["answer"] = row["answer"]
        rows.append((str(model), *(cells[name] for name in shown)))
    title = f"Δ: distance to annotators, relative to that between two ({options.percent(ci_prob)} interval)"
    yield ScreenTable(title, ("model", *shown.values()), rows, left=("model",))
    one = frame.iloc[0]
    agreement = f"{one['agreement']:z.2f}"
    ends = f" ({one['agreement_lower']:z.2f} to {one['agreement_upper']:z.2f})" if "lower" in frame else ""
    yield f"Constant: the best single answer to every case ({one['constant']}). Shuffled: predictions in another order."
    if not pd.isna(one["agreement"]):
        yield f"Chance: 1 / (1 − {agreement}), where {agreement}{ends} is how well annotators agree beyond chance."
    # The margin, annotators on the models' scale, and the one on whom a ratio depends most.
    if "answer" in frame:
        yield (
            f"Non-inferior: Δ is below {1 + margin:g} at the 5 % level, which means no worse if the annotators are "
            "right. Choose this margin before you see the results."
        )
    relative = compared.annotators()["relative"].dropna().sort_values()
    if len(relative) > 2 and whole:
        yield (
            f"On the same scale, annotators range from {relative.iloc[0]:.2f} ({relative.index[0]}) to "
            f"{relative.iloc[-1]:.2f} ({relative.index[-1]})."
        )
        first = compared.without_annotators().iloc[0]
        if abs(first["change"]) >= 0.0005:  # which three digits show
            whole = frame.loc[first["model"], "ratio"]
            yield (
                f"Leaving out {first['annotator']} changes the results most: Δ of {first['model']} goes from "
                f"{whole:.3f} to {first['ratio']:.3f}."
            )


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
