"""A reader study: the first screen, and the page."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from plausibly.agreement import ReaderStudy
from plausibly.app.report.page import Page, Part, about
from plausibly.app.screen import Screen, Table
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


def readers_screen(result: ReaderStudy) -> Screen:
    """A row for each comparison, or for each mean where nothing is compared; what they come to, and what limits it."""
    alone, rows = not result.comparisons[0].second, []
    for one, row in zip(result.comparisons, result.table.to_dict("records"), strict=True):
        ends = "" if np.isnan(row["lower"]) else f" ({row['lower']:z.3f} to {row['upper']:z.3f})"
        sides = one.first if alone else f"{one.first} {row['first']:.3f}, {one.second} {row['second']:.3f}"
        cells = sides, f"{row['effect']:z.3f}{ends}", _p(row["p"]), _p(row["p_noninferior"])
        rows.append(cells[: 2 if alone else 4])
    name, width = metric_name(result.figure.name), f"({100 * result.ci_prob:g} %)"
    several = (name, f"difference {width}", "p if equal", f"p if {result.margin:g} worse")
    columns = (name, f"mean {width}") if alone else several
    return Screen(result.verdict(), Table(columns, rows), result.notes, "comparisons.csv")


def _p(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}" if value >= 0.001 else "<0.001"


def readers_page(result: ReaderStudy, sources: Mapping[str, str] | None = None, decision: Sequence[str] = ()) -> Page:
    """Lay out a result of :func:`plausibly.agreement.reader_study`; `decision` says whether requirements are met."""
    from plausibly.app import plots

    study = result.study
    roc = "Readers as points (or thin lines, of scores) and models as lines; filled points are models at a threshold"
    planned = "Size of the next study: width of the interval, and power to find, or to rule out, a difference of "
    tables = {
        "Comparisons: first minus second; mean square, error and covariance are what they vary by": result.table,
        "Means of readers": result.means_of_readers,
        "Readers and models one by one": result.by_reader,
    }
    if all(not one.effect.known for one in result.comparisons):
        tables[f"{planned}{result.margin:g}"] = result.plan()
    facts = {
        "readers": f"{len(study.readers):,}",
        "cases": f"{len(study.cases):,}, in {study.n_units:,} clusters",
        "metric": metric_name(result.figure.name),
        "margin": f"{result.margin:g}",
        "intervals": f"{100 * result.ci_prob:g} %, for other readers and other cases",
    }
    figures = {roc: partial(plots.reader_study, result)} if study.positive is not None else {}
    return Page(
        "Is it as good as the readers?" if study.models else "How good are the readers?",
        readers_screen(result)._replace(figures=figures),
        result.understood,
        decision,
        parts=[Part("All numbers", tables, "numbers"), *about(facts, sources, ASSUMED, SOURCES)],
    )
