"""A reader study: what it says."""

import numpy as np

from plausibly.agreement import ReaderStudy
from plausibly.app import plots
from plausibly.app.screen import About, Piece, Screen, Table, percent, with_interval
from plausibly.metrics.words import metric_name

ASSUMED = (
    (
        "Readers",
        "These are a random sample of the readers whom the answer is about. Five or more tell how others differ.",
    ),
    ("Cases", "These are a random sample, in the same mix of positive and negative ones."),
    ("Margin", "It was chosen before anybody looked at the result."),
    ("Readers as the truth", "Without gold labels, what all readers get wrong counts as right."),
)
SOURCES = (
    "Obuchowski & Rockette (1995), Hypothesis testing of diagnostic accuracy for multiple readers and multiple tests, "
    "Communications in Statistics 24.",
    "Hillis (2007), A comparison of denominator degrees of freedom methods for multiple observer ROC analysis, "
    "Statistics in Medicine 26.",
    "Hillis & Obuchowski (2011), Power estimation for multireader ROC methods, Academic Radiology 18.",
    "Owen & Eckles (2012), Bootstrapping data arrays of arbitrary order, Annals of Applied Statistics 6.",
)


_ROC = "Readers as points (or thin lines, of scores) and models as lines; filled points are models at a threshold"
_PLANNED = "Size of the next study: width of the interval, and power to find, or to rule out, a difference of {:g}"


def screen(result: ReaderStudy) -> Screen:
    """A row for each comparison, or for each mean where nothing is compared; what they come to, and what limits it."""
    alone, rows, study = not result.comparisons[0].second, [], result.study
    for one, row in zip(result.comparisons, result.table.to_dict("records"), strict=True):
        effect = with_interval(row["effect"], row["lower"], row["upper"], form=" ({} to {})")
        sides = one.first if alone else f"{one.first} {row['first']:.3f}, {one.second} {row['second']:.3f}"
        cells = sides, effect, _p(row["p"]), _p(row["p_noninferior"])
        rows.append(cells[: 2 if alone else 4])
    name, width = metric_name(result.figure.name), f"({percent(result.ci_prob)})"
    several = (name, f"difference {width}", "p if equal", f"p if {result.margin:g} worse")
    columns = (name, f"mean {width}") if alone else several
    compared = "Comparisons: first minus second; mean square, error and covariance are what they vary by"
    files = [
        Piece("comparisons.csv", result.table, compared),
        Piece("means.csv", result.means_of_readers, "Means of readers"),
        Piece("by_reader.csv", result.by_reader, "Readers and models one by one"),
    ]
    if not any(one.effect.known for one in result.comparisons):
        files.append(Piece("plan.csv", result.plan, _PLANNED.format(result.margin)))
    if study.positive is not None:
        files.append(Piece("roc.png", lambda: plots.reader_study(result), _ROC))
    facts = {
        "readers": f"{len(study.readers):,}",
        "cases": f"{len(study.cases):,}, in {study.n_units:,} clusters",
        "metric": name,
        "margin": f"{result.margin:g}",
        "intervals": f"{percent(result.ci_prob)}, for other readers and other cases",
    }
    title = "Is it as good as the readers?" if study.models else "How good are the readers?"
    about = About(title, facts, ASSUMED, SOURCES, understood=result.understood)
    shown = Table(columns, rows)
    return Screen(result.verdict(), shown, result.notes, "comparisons.csv", files=files, about=about)


def _p(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}" if value >= 0.001 else "<0.001"
