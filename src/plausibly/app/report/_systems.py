"""Systems judged by people and models: the first screen, and the page."""

from collections.abc import Mapping
from functools import partial

import pandas as pd

from plausibly.app.report.page import Page, Part, about
from plausibly.app.screen import Screen, Table, cell, with_interval
from plausibly.metrics.words import capitalised
from plausibly.systems import NAMES, Systems

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


def systems_screen(result: Systems) -> Screen:
    """The ranking, what it comes to, and what limits it."""
    rows = []
    for row in result.ranking.to_dict("records"):
        low, high = row["rank_lower"], row["rank_upper"]
        value = with_interval(row["mean"], row["lower"], row["upper"])
        ranks = "" if pd.isna(low) else f"{low:.0f}" if low == high else f"{low:.0f}–{high:.0f}"
        rows.append((str(row["system"]), value, cell(row["p_best"], ".2f"), ranks))
    title = f"{capitalised(result.quantity)}, by {result.by} ({100 * result.ci_prob:g} % intervals for new cases)"
    table = Table(("system", result.outcomes.quantity, "P(best)", "rank"), rows, title)
    limits = result.notes[len(result.cautions) :]  # the cautions are said as warnings
    further = [words for words in result.summary if words not in (*result.cautions, result.headline)]
    biased = [words for words in further if "do not rank by it alone" in words]
    agrees = [words for words in further if " agrees with people in " in words]
    notes = [*limits[:2], *biased[:1], *agrees[:1], *result.advice[:1], *further]
    return Screen(result.headline, table, list(dict.fromkeys(notes)), "systems.html")


def systems_page(result: Systems, sources: Mapping[str, str] | None = None) -> Page:
    """Lay out a result of :func:`plausibly.systems`; `sources` are files, such as ``{"outcomes": "outcomes.csv"}``."""
    from plausibly.app import plots

    read, by = result.outcomes, result.by
    n, judges = len(read.value), len(read.judges)
    drawn = ["people alone", *([f"{result.judge} alone", "corrected (PPI++)"] if result.judge else [])]
    drawn += [NAMES[result.main]] if result.main in ("strengths", "adjusted") else []
    drawn += ["by the model of all outcomes"] if result.posterior is not None else []
    shown = {f"{capitalised(read.quantity)}: {', '.join(drawn)}": partial(plots.systems, result)}
    estimates = result.table.drop(columns="meant").assign(estimator=result.table["estimator"].map(NAMES))
    ends = [name for name in result.judges if name.endswith(("_lower", "_upper"))]  # which the sentences have
    tables = {
        f"Ranking by {by}, with P(best) and the interval of the rank": result.ranking,
        "Every estimator": estimates,
        "Checks of the model by replicates": result.checks,
        f"Differences, by {by}, paired by case": result.differences,
        "Judges against people: their mean outcome minus that of people on the same cases": result.bias.dropna(
            subset=["bias"]
        ),
        "People against each other: a person's mean outcome minus that of the others on the same cases": result.people,
        "Judges; worth: outputs that people would have to rate without it": result.judges.drop(columns=ends).dropna(
            axis=1, how="all"
        ),
        "Bias of judges by period, differences between systems taken out": result.drift,
        "What more outcomes by people would bring: width of the interval, and probability of telling a system from "
        "the first one, if they differ as estimated": result.plan,
    }
    facts = {
        "systems": f"{len(read.systems):,}",
        "cases": f"{len(read.cases):,}, in {int(read.cluster.max()) + 1:,} clusters",
        "outcomes": f"{n:,}, {read.n_human:,} by {len(read.people):,} people, {n - read.n_human:,} by "
        f"{judges:,} judge{'s' * (judges != 1)}",
        "ranking": by,
        "intervals": f"{100 * result.ci_prob:g} %; ranks from {result.replicates:,} draws",
    }
    modelled = result.posterior is not None
    assumed = ASSUMED + (MODEL_ASSUMED if modelled else ())
    references = SOURCES + (MODEL_SOURCES if modelled else ())
    screen = systems_screen(result)
    return Page(
        f"Which system has the highest {read.quantity}?",
        screen._replace(notes=[*result.cautions, *screen.notes], figures=shown),
        parts=[
            Part("All numbers", {words: table for words, table in tables.items() if len(table)}, "numbers"),
            *about(facts, sources, assumed, references),
        ],
    )
