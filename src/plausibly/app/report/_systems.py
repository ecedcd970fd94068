"""Systems judged by people and models, on one page."""

import os
from collections.abc import Mapping

import plausibly
from plausibly.app.report._environment import template, write_page
from plausibly.app.report._extras import extras
from plausibly.systems import Systems

ASSUMED = (
    (
        "Cases",
        "Those that people rated are a random sample of all. If people were asked about cases that looked hard, "
        "nothing here corrects it.",
    ),
    (
        "People",
        "The aim is the mean outcome that these people would give on new cases like these. For these cases alone, "
        "intervals are conservative. Other people may differ; intervals do not allow for it.",
    ),
    (
        "Judges",
        "Nothing is assumed about their errors, except for Rogan–Gladen: its error rates are the same for all cases of "
        "a system. The judge must have worked in the same way on all cases.",
    ),
    ("Ranking", "Estimates are taken as normally distributed, with the covariance that shared cases give them."),
)
SOURCES = (
    "Angelopoulos, Bates, Fannjiang, Jordan & Zrnic (2023), Prediction-powered inference, Science 382.",
    "Angelopoulos, Duchi & Zrnic (2023), PPI++: efficient prediction-powered inference, arXiv 2311.01453.",
    "Rogan & Gladen (1978), Estimating prevalence from the results of a screening test, American Journal of "
    "Epidemiology 107.",
    "Lang & Reiczigel (2014), Confidence limits for prevalence of disease adjusted for estimated sensitivity and "
    "specificity, Preventive Veterinary Medicine 113.",
)

MODEL_ASSUMED = (
    (
        "Model",
        "Qualities of outputs vary normally around that of their system; how raters differ is normal, too; judges err "
        "by a bias for each system, by lapses, and by errors that they share. Checks by replicates are in the notes.",
    ),
)
MODEL_SOURCES = (
    "Davidson (1970), On extending the Bradley–Terry model to accommodate ties in paired comparison experiments, "
    "Journal of the American Statistical Association 65.",
    "Linacre (1989), Many-facet Rasch measurement.",
)


def systems_report(result: Systems, path: str | os.PathLike, sources: Mapping[str, str] | None = None) -> None:
    """Write a result as one self-contained HTML page.

    Parameters
    ----------
    result
        Result of :func:`plausibly.systems`.
    path
        Path of the file; an existing file is replaced.
    sources
        Sources of the data, such as ``{"outcomes": "outcomes.csv"}``.

    Raises
    ------
    FileError
        If the file cannot be written.
    """
    read = result.outcomes
    n, judges = len(read.value), len(read.judges)
    page = template("result.html.j2").render(
        title="Which system is best?",
        question=f"Which system has the highest {read.quantity}?",
        headline=result.headline,
        cautions=result.cautions,
        sentences=result.summary[len(result.cautions) + 1 :],
        extras=extras(result),
        facts={
            "systems": f"{len(read.systems):,}",
            "cases": f"{len(read.cases):,}, in {int(read.cluster.max()) + 1:,} clusters",
            "outcomes": f"{n:,}, {read.n_human:,} by {len(read.people):,} people, {n - read.n_human:,} by "
            f"{judges:,} judge{'s' * (judges != 1)}",
            "ranking": result.by,
            "intervals": f"{100 * result.ci_prob:g} %; ranks from {result.replicates:,} draws",
        },
        sources=dict(sources or {}),
        assumed=ASSUMED + (MODEL_ASSUMED if result.posterior is not None else ()),
        references=SOURCES + (MODEL_SOURCES if result.posterior is not None else ()),
        version=plausibly.__version__,
    )
    write_page(page, path)
