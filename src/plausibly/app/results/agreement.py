"""Agreement under one or more distances: what it says."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd

from plausibly import agreement
from plausibly.agreement import DistanceChoice, Labels, annotators_in_words
from plausibly.app import plots
from plausibly.app.screen import About, Piece, Screen, Table, percent, with_interval
from plausibly.base.bootstrap import CI_PROB
from plausibly.data.labels.types import may_be_names


def screen(
    choice: DistanceChoice | agreement.Agreement,
    ci_prob: float = CI_PROB,
    replicates: int = 200,
    seed: int = 0,
    *,
    labels: Labels | None = None,
    within: bool = False,
    progress: bool = False,
) -> Screen:
    """Distances, coefficients beside alpha, and annotators; of `labels`, with agreement `within` annotators if asked.

    Without replicates, values have no intervals.
    """
    choice = choice if isinstance(choice, DistanceChoice) else DistanceChoice({choice.distance: choice})
    best = choice.results[choice.best]
    labels = best.labels if labels is None else labels
    table = _measures(choice, ci_prob, replicates, seed, progress)
    annotators, further = best.annotators(ci_prob, seed), best.coefficients(ci_prob, replicates, seed)
    value = "not defined" if np.isnan(best.alpha) else f"{best.alpha:.3f}, where 0 is chance and 1 perfect agreement"
    told = (
        f"By {choice.best}: {best.alpha_name} {value}. Labels of one case are closer than labels of different cases "
        f"with probability {best.ks.superiority:.3f} (superiority; ties count against it)."
    )
    notes = list(_notes(choice, labels))
    notes.insert(1, annotators_in_words(annotators))
    notes = [_within(labels, choice.best, float(best.expected)), *notes] if within else notes
    coefficients = further.rename_axis("coefficient").reset_index()
    files = [
        Piece("agreement.csv", table, "Agreement by distance, best first"),
        *[Piece("coefficients.csv", coefficients, f"Further coefficients, by {choice.best}")] * bool(len(further)),
        Piece("cases.csv", partial(_by_case, choice), "By case"),
        Piece("annotators.csv", annotators, f"Annotators, by {choice.best}, the most suspicious first"),
        Piece("histograms.png", lambda: plots.agreement_histograms(choice.results), _HISTOGRAMS),
        Piece("heatmap.png", lambda: plots.agreement_heatmap(choice.results)),
        Piece("annotators.png", lambda: plots.annotator_heatmap(best), "Mean distances between annotators"),
    ]
    headline = " ".join(filter(None, (choice.headline, told)))
    about = About("How well do annotators agree?", {"labels": str(labels), "distance": choice.best})
    return Screen(headline, _table(choice, table, further, ci_prob), notes, "agreement.csv", files=files, about=about)


_HISTOGRAMS = "Distances between labels of one case, and between those of different cases, as chance would give them"


def _notes(choice: DistanceChoice, labels: Labels) -> Iterator[str]:
    """Say of which cases this is, and what is wrong with distances."""
    n_labels = np.diff(labels.start)
    if choice.results[choice.best].rounds is None and (n_labels == 1).any():
        yield (
            f"This is of the {int((n_labels > 1).sum()):,} cases with several labels, and holds for the other "
            f"{int((n_labels == 1).sum()):,} if these were drawn at random."
        )
    if told := may_be_names(labels, choice.best):
        yield f"{told}."
    for name, result in choice.results.items():
        yield from (f"{name}: {sentence}." for sentence in result.warnings[result.n_told :])


def _by_case(choice: DistanceChoice) -> pd.DataFrame:
    cases = {name: result.by_case() for name, result in choice.results.items()}
    return pd.concat(cases, names=["distance_name", None]).reset_index("distance_name")


def _within(labels: Labels, distance: str, expected: float) -> str:
    """Say how well annotators agree with their own further readings of a case, beyond labels of different cases."""
    found = agreement.agreement(labels, distance, same_annotator=True, progress=False).annotator_distances()
    n = np.diag(found.pairs)
    if not n.any():
        return "No annotator read a case twice, so agreement within annotators is not known."
    distances = np.nansum(np.diag(found.mean) * n) / n.sum()
    value = "not defined" if not expected else f"{1 - distances / expected:.4f}"
    return f"Within annotators: alpha {value}, of {int(n.sum()):,} pairs of readings by one annotator of one case."


def _measures(choice: DistanceChoice, ci_prob: float, replicates: int, seed: int, progress: bool) -> pd.DataFrame:
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


def _table(choice: DistanceChoice, table: pd.DataFrame, further: pd.DataFrame, ci_prob: float) -> Table:
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
    title = f"{percent(ci_prob)} intervals" if intervals else ""
    title += f"{'; ' if title else ''}further coefficients are by {choice.best}" if len(further) else ""
    return Table(("distance", best.alpha_name, "superiority", "ties"), rows, title.capitalize())
