"""A reader study on one page."""

import os
from collections.abc import Mapping

import plausibly
from plausibly.agreement import ReaderStudy
from plausibly.app.report._environment import template, write_page
from plausibly.app.report._extras import extras
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


def readers_report(result: ReaderStudy, path: str | os.PathLike, sources: Mapping[str, str] | None = None) -> None:
    """Write a reader study as one self-contained HTML page.

    Parameters
    ----------
    result
        Result of :func:`plausibly.agreement.reader_study`.
    path
        Path of the file; an existing file is replaced.
    sources
        Sources of the data, such as ``{"readers": "readers.csv"}``.

    Raises
    ------
    FileError
        If the file cannot be written.
    """
    study = result.study
    page = template("result.html.j2").render(
        title="Reader study",
        question="Is it as good as the readers?" if study.models else "How good are the readers?",
        headline=result.verdict(),
        cautions=[],
        sentences=[result.understood, *result.notes],
        extras=extras(result),
        facts={
            "readers": f"{len(study.readers):,}",
            "cases": f"{len(study.cases):,}, in {study.n_units:,} clusters",
            "metric": metric_name(result.figure.name),
            "margin": f"{result.margin:g}",
            "intervals": f"{100 * result.ci_prob:g} %, for other readers and other cases",
        },
        sources=dict(sources or {}),
        assumed=ASSUMED,
        references=SOURCES,
        version=plausibly.__version__,
    )
    write_page(page, path)
