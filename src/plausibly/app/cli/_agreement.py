"""``plausibly agreement``: how well annotators agree on labels of any type."""

from pathlib import Path
from typing import Annotated, Any

import typer

from plausibly import agreement as measured
from plausibly.app.cli import _options as options
from plausibly.app.cli._app import example
from plausibly.app.cli._folder import make_folder
from plausibly.app.results import of
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
            "categories, ordinal for grades, bleu for texts. To try all distances for a type of label, name it: "
            f"{', '.join(BY_TYPE)}.",
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
        opened = reading.opened(source, classes=classes)
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
    within = reading.repeats == "readings"
    output.publish(of(choice, ci_prob, replicates, seed, labels=read, within=within, progress=not output.quiet))
