"""``plausibly agreement``: how well annotators agree on labels of any type."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from plausibly import agreement as measured
from plausibly.app import plots
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.screen import Screen, Table, with_interval
from plausibly.base.bootstrap import CI_PROB, check_probability
from plausibly.base.errors import ArgumentError
from plausibly.data.labels.formats import OF_LINES, Kind
from plausibly.distances import BY_TYPE, find_distance


@example(
    """
    plausibly agreement boxes.csv --distance box_giou --distance box_iou \\
        --out results/
    plausibly agreement ann=ann.json bob=bob.json \\
        --kind boxes --distance boxes
    """
)
@options.of(measured.agreement, "preset weighting processes")
def agreement(
    labels: options.LabelsFile,
    more: list[str] | None = None,
    kind: Kind = "literal",
    classes: Path | None = None,
    distance: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Distance between two labels; repeat to rank several. By default by their type, such as nominal for "
            f"categories, bleu for texts. To try all distances for a type of label, name it: {', '.join(BY_TYPE)}.",
        ),
    ] = None,
    cross: Annotated[str, typer.Option(metavar="auto|all|sample|N")] = "",
    same_annotator: bool = False,
    replicates: int = 200,
    ci_prob: float = CI_PROB,
    seed: int = 0,
    *,
    reading: options.Reading,
    output: options.Output,
    **asked: Any,
) -> None:
    """Measure how well annotators agree on labels of any type: categories, boxes, spans, rankings, text, trees.

    Prints alpha and superiority for each distance, best first, with warnings about unsuitable distances.
    Superiority (called KS by Braylan et al. 2022) is the probability that labels of different cases are farther apart
    than labels of the same case; ties count against it and have their own column. Also names annotators who agree no
    better than chance or copy another annotator, and those who name a label more often, or rate higher, than others of
    the same cases. Beside alpha stand Fleiss' kappa and Gwet's AC1 or AC2, and intraclass correlations of numbers. With
    --out, also writes agreement.csv, coefficients.csv, cases.csv, annotators.csv (under the best distance, most
    suspicious first) and figures.

    Options
    -------
    more NAME=FILE --labels
        File of another annotator. Repeat for each.
    kind
        Type of the labels; literal reads JSON or Python values.
    replicates
        Number of bootstrap replicates for intervals; 0 for none.
    """
    source = options.one_or_each([*labels, *(more or [])], "--labels")
    opened = None
    if kind != "literal" or isinstance(source, dict) or source.suffix.lower() in OF_LINES:
        read = measured.read_labels(source, kind, **reading.roles, **reading.asked)
        read = read.without(options.texts_of(reading.missing))
    else:
        opened = reading.opened(source)
        read = measured.Labels.of(opened)
    read = options.checked(read, opened, classes, quiet=output.quiet)
    if replicates < 0 or replicates == 1:
        raise ArgumentError(f"--replicates must be 0, or 2 or more, but {replicates} was given: write 200.")
    check_probability("--ci-prob", ci_prob)
    distance = distance or [options.distance_of(read, None, quiet=output.quiet)]
    make_folder(output.out, [source])
    choice = measured.choose_distance(
        read,
        [*{name if name in BY_TYPE else find_distance(name).name: name for name in distance}.values()],
        cross=int(cross) if cross.isdecimal() else cross or None,
        same_annotator=same_annotator or None,
        seed=seed,
        progress=not output.quiet,
        **asked,
    )
    table = _measures(choice, ci_prob, replicates, seed, not output.quiet)
    best = choice.results[choice.best]
    annotators = best.annotators(ci_prob, seed)
    further = best.coefficients(ci_prob, replicates, seed)
    notes, n_labels = [], np.diff(read.start)
    if best.rounds is None and (n_labels == 1).any():
        notes.append(
            f"This is of the {int((n_labels > 1).sum()):,} cases with several labels, and holds for the other "
            f"{int((n_labels == 1).sum()):,} if these were drawn at random."
        )
    if choice.best == "nominal" and read.is_numeric and len(np.unique(read.values)) > 2:
        notes.append(
            "The labels are numbers, but any two different ones count as equally far apart: if they are grades, add "
            "--distance ordinal; if they are amounts, --distance squared."
        )
    for name, result in choice.results.items():
        notes += [f"{name}: {sentence}." for sentence in result.warnings[result.n_told :]]
    notes.insert(1, measured.annotators_in_words(annotators))
    if reading.repeats == "readings":
        notes.insert(0, _within(read, choice.best, float(best.expected)))
    value = "not defined" if np.isnan(best.alpha) else f"{best.alpha:.3f}, where 0 is chance and 1 perfect agreement"
    told = (
        f"By {choice.best}: {best.alpha_name} {value}. Labels of one case are closer than labels of different cases "
        f"with probability {best.ks.superiority:.3f} (superiority; ties count against it)."
    )
    headline = " ".join(filter(None, (choice.headline, told)))
    output.publish(
        Screen(headline, _table(choice, table, further, ci_prob), notes, "agreement.csv"),
        _files(choice, table, annotators, further),
        written=f"agreement.csv, {'coefficients.csv, ' * bool(len(further))}cases.csv, annotators.csv and figures",
    )


def _within(labels: measured.Labels, distance: str, expected: float) -> str:
    """Say how well annotators agree with their own further readings of a case, beyond labels of different cases."""
    found = measured.agreement(labels, distance, same_annotator=True, progress=False).annotator_distances()
    n = np.diag(found.pairs)
    if not n.any():
        return "No annotator read a case twice, so agreement within annotators is not known."
    distances = np.nansum(np.diag(found.mean) * n) / n.sum()
    value = "not defined" if not expected else f"{1 - distances / expected:.4f}"
    return f"Within annotators: alpha {value}, of {int(n.sum()):,} pairs of readings by one annotator of one case."


def _measures(
    choice: measured.DistanceChoice, ci_prob: float, replicates: int, seed: int, progress: bool
) -> pd.DataFrame:
    """Put measures, their intervals and their Monte Carlo errors into one table."""
    rows = []
    for name, found in choice.results.items():
        row = found.to_frame().assign(distance=name)
        if replicates:
            interval = found.interval(ci_prob, replicates, seed, progress=progress)
            for measure, numbers in interval.iterrows():
                row[f"{measure}_lower"], row[f"{measure}_upper"] = numbers["lower"], numbers["upper"]
        for measure, error in found.monte_carlo_error.items():
            row[f"{measure}_monte_carlo_error"] = error
        rows.append(row.assign(warnings="; ".join(found.warnings)))
    return pd.concat(rows, ignore_index=True)


def _table(choice: measured.DistanceChoice, table: pd.DataFrame, further: pd.DataFrame, ci_prob: float) -> Table:
    """A row for each distance, then one for each coefficient that stands beside alpha."""
    intervals = "alpha_lower" in table
    best, ends = choice.results[choice.best], ["", *(["_lower", "_upper"] if intervals else [])]
    rows = []
    for row in table.to_dict("records"):
        values = ([row[measure + end] for end in ends] for measure in ("alpha", "ks_superiority"))
        cells = [with_interval(*value, missing="not given") for value in values]
        rows.append((str(row["distance"]), *cells, f"{row['ks_ties']:.3f}"))
    for name, values in further[["value", "lower", "upper"] if intervals else ["value"]].iterrows():
        rows.append((str(name), with_interval(*values, missing="not given"), "", ""))
    title = f"{options.percent(ci_prob)} intervals" if intervals else ""
    title += f"{'; ' if title else ''}further coefficients are by {choice.best}" if len(further) else ""
    return Table(("distance", best.alpha_name, "superiority", "ties"), rows, title.capitalize())


def _files(
    choice: measured.DistanceChoice, table: pd.DataFrame, annotators: pd.DataFrame, further: pd.DataFrame
) -> Iterator[tuple[str, Any]]:
    cases = {name: result.by_case() for name, result in choice.results.items()}
    yield "agreement.csv", table
    if len(further):
        yield "coefficients.csv", further.rename_axis("coefficient").reset_index()
    yield "cases.csv", pd.concat(cases, names=["distance_name", None]).reset_index("distance_name")
    yield "annotators.csv", annotators
    yield "histograms.png", plots.agreement_histograms(choice.results)
    yield "heatmap.png", plots.agreement_heatmap(choice.results)
    yield "annotators.png", plots.annotator_heatmap(choice.results[choice.best])
