"""Systems judged by people and models: what a ranking of them says."""

import pandas as pd

from plausibly.app import plots
from plausibly.app.screen import About, Piece, Screen, Table, cell, percent, with_interval
from plausibly.base.arviz import to_groups
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


_AGAINST_EACH_OTHER = "People against each other: a person's mean outcome minus that of the others on the same cases"
_PLANNED = (
    "What more outcomes by people would bring: width of the interval, and probability of telling a system from the "
    "first one, if they differ as estimated"
)


def screen(result: Systems) -> Screen:
    """The ranking, what it comes to, and what limits it."""
    rows, read, by = [], result.outcomes, result.by
    for row in result.ranking.to_dict("records"):
        low, high = row["rank_lower"], row["rank_upper"]
        value = with_interval(row["mean"], row["lower"], row["upper"])
        ranks = "" if pd.isna(low) else f"{low:.0f}" if low == high else f"{low:.0f}–{high:.0f}"
        rows.append((str(row["system"]), value, cell(row["p_best"], ".2f"), ranks))
    title = f"{capitalised(result.quantity)}, by {by} ({percent(result.ci_prob)} intervals for new cases)"
    table = Table(("system", read.quantity, "P(best)", "rank"), rows, title)
    limits = result.notes[len(result.cautions) :]
    further = [words for words in result.summary if words not in (*result.cautions, result.headline)]
    biased = [words for words in further if "do not rank by it alone" in words]
    agrees = [words for words in further if " agrees with people in " in words]
    notes = [*result.cautions, *limits[:2], *biased[:1], *agrees[:1], *result.advice[:1], *further]
    notes = list(dict.fromkeys(notes))
    return Screen(result.headline, table, notes, "systems.html", files=_files(result), about=_about(result))


def _files(result: Systems) -> list[Piece]:
    """Tables, and the figure; those of the judge, and of people, only where there are some."""
    drawn = ["people alone", *([f"{result.judge} alone", "corrected (PPI++)"] if result.judge else [])]
    drawn += [NAMES[result.main]] if result.main in ("strengths", "adjusted") else []
    modelled = result.posterior is not None
    drawn += ["by the model of all outcomes"] if modelled else []
    figure = f"{capitalised(result.outcomes.quantity)}: {', '.join(drawn)}"
    captions = {
        "systems": "Every estimator",
        "ranking": f"Ranking by {result.by}, with P(best) and the interval of the rank",
        "differences": f"Differences, by {result.by}, paired by case",
        "bias": "Judges against people: their mean outcome minus that of people on the same cases",
        "judges": "Judges; worth: outputs that people would have to rate without it",
        "plan": _PLANNED,
        "people": _AGAINST_EACH_OTHER,
        "drift": "Bias of judges by period, differences between systems taken out",
    }
    tables = {name: result.table if name == "systems" else getattr(result, name) for name in captions}
    ends = [name for name in result.judges if name.endswith(("_lower", "_upper"))]  # which the sentences have
    shown = {
        "systems": result.table.drop(columns="meant").assign(estimator=result.table["estimator"].map(NAMES)),
        "bias": result.bias.dropna(subset=["bias"]),
        "judges": result.judges.drop(columns=ends).dropna(axis=1, how="all"),
    }
    files = [
        Piece(f"{name}.csv", table, captions[name] if len(shown.get(name, table)) else "", shown.get(name))
        for name, table in tables.items()
        if len(table) or name not in ("people", "drift")
    ]
    if modelled:
        files.append(Piece("checks.csv", result.checks, "Checks of the model by replicates"))
        convergence = to_groups(result.posterior)["convergence"].to_dataframe().reset_index()
        files.append(Piece("convergence.csv", convergence))
    return [*files, Piece("systems.png", lambda: plots.systems(result), figure)]


def _about(result: Systems) -> About:
    read, n, judges = result.outcomes, len(result.outcomes.value), len(result.outcomes.judges)
    facts = {
        "systems": f"{len(read.systems):,}",
        "cases": f"{len(read.cases):,}, in {int(read.cluster.max()) + 1:,} clusters",
        "outcomes": f"{n:,}, {read.n_human:,} by {len(read.people):,} people, {n - read.n_human:,} by "
        f"{judges:,} judge{'s' * (judges != 1)}",
        "ranking": result.by,
        "intervals": f"{percent(result.ci_prob)}; ranks from {result.replicates:,} draws",
    }
    modelled = result.posterior is not None
    assumed, sources = (of + more * modelled for of, more in ((ASSUMED, MODEL_ASSUMED), (SOURCES, MODEL_SOURCES)))
    return About(f"Which system has the highest {read.quantity}?", facts, assumed, sources)
