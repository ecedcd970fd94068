"""A posterior: whether its chains converged, what it says of annotators, and what it assumes."""

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from plausibly.agreement import odd_annotators
from plausibly.agreement.annotators import (
    annotator_accuracies,
    annotator_confusions,
    annotator_reliabilities,
    group_sentences,
    severities,
    severity_sentences,
)
from plausibly.app import plots
from plausibly.app.screen import Piece, Screen, Table, percent, with_interval
from plausibly.base.arviz import Posterior, to_groups
from plausibly.base.bootstrap import CI_PROB, interval, median_and_ends
from plausibly.posterior import REMAINDER_NAME, annotations_of, case_names, check_posterior, model_of, reading, slots_of
from plausibly.posterior.diagnostics import shared_convergence
from plausibly.posterior.diagnostics.verdicts import STATISTICS, checks, table, verdict, worst
from plausibly.posterior.says import assumption

_PART = 20_000  # slots at a time
_NAMED = 3  # quantities that all cases share and that did not converge
_DIGITS = {"r_hat": ".3f", "ess_bulk": ",.0f", "ess_tail": ",.0f", "n_diverging": ",.0f"}
_DIGITS |= {"e_bfmi": ".2f", "at_max_depth": ".0%"}
_FORMATS = {words: _DIGITS[name] for name, words in STATISTICS.items()}


#: Sites of a posterior that are of annotators: column of values, table, sentences on it, further column, and file.
_ANNOTATORS: dict[str, tuple[str, Callable[..., pd.DataFrame], Callable[[pd.DataFrame], list[str]], str, str]] = {
    "annotator_reliability": ("reliability", annotator_reliabilities, lambda of: [], "shrinkage", ""),
    "accuracy": ("accuracy", annotator_accuracies, group_sentences, "group", "annotators.csv"),
    "severity": ("severity", severities, severity_sentences, "errs_with", "severities.csv"),
}


def screen(posterior: Posterior, diagnostics: xr.Dataset, label: str = "", ci_prob: float = CI_PROB) -> Screen:
    """Whether chains converged, with the annotators, and what the model assumes; `label` names the model."""
    sites, attrs = posterior["posterior"], posterior.attrs
    told = [verdict({label or model_of(posterior) or "posterior": diagnostics})]
    shared = shared_convergence(posterior)
    # Where cases did not converge, what helps has been said.
    if shared is not None and diagnostics["converged"].values.all() and not shared["converged"].values.all():
        told.append(verdict({"what all cases share": shared}, _NAMED))
    if "reliability" in sites:
        ends = median_and_ends("median", np.ravel(sites["reliability"]), ci_prob)
        numbers = "Reliability {median:.2f}, between {lower:.2f} and {upper:.2f}".format(**ends)
        told.insert(0, f"{numbers} with {percent(ci_prob)} probability.")
    notes, shown = [attrs.get("err_together", "")], None
    notes += odd_annotators(annotations_of(posterior, every=False), leaning="severity" not in sites)
    for site, (value, tabulate, sentences, more, _) in _ANNOTATORS.items():
        if site in sites:
            frame = tabulate(posterior, ci_prob)
            notes += sentences(frame)
            values = [with_interval(*row, digits=2) for row in frame[[value, "lower", "upper"]].to_numpy(float)]
            columns = ["annotator", frame.columns[1], value, *[more] * (more in frame)]
            title = f"Annotators, with {percent(ci_prob)} intervals"
            shown = Table.of(frame.assign(**{value: values})[columns], ".2f", title)._replace(n_left=1)
    if "assumes" in attrs:
        alike = ", all cases equally hard: if some are unclear, probabilities of classes are too near 0 and 1"
        alike = alike if attrs.get("difficulty") == "same" else ""
        notes.append(f"{label} assumes {assumption(attrs).rstrip('.')}{alike}.")
    return Screen(" ".join(told), shown, [*filter(None, notes)])


def by_slot(posterior: Posterior, ci_prob: float | None = None) -> pd.DataFrame:
    """Tabulate the mean, standard deviation and, of several draws, interval of each plausibility."""
    check_posterior(posterior)
    ci_prob = CI_PROB if ci_prob is None else ci_prob
    slots, names = slots_of(posterior), posterior["constant_data"]["class_names"].values
    columns = {"case": case_names(posterior)[slots.case].astype(object)}
    columns["class_name"] = np.where(slots.is_remainder, REMAINDER_NAME, names[slots.class_index]).astype(object)
    parts = []
    with reading(posterior):
        draws = posterior["posterior"]["plausibility"].transpose("chain", "draw", "slot")
        for first in range(0, len(slots.case), _PART):
            values = draws[..., first : first + _PART].values
            values = values.reshape(-1, values.shape[-1])
            parts.append([values.mean(0), values.std(0), *interval(values, ci_prob)])
    numbers = dict(zip(("mean", "sd", "lower", "upper"), np.concatenate(parts, axis=1), strict=True))
    return pd.DataFrame(columns | numbers)


def of_chains(posterior: Posterior, diagnostics: xr.Dataset, most: int) -> Screen:
    """The worst value of every diagnostic beside the required one, and at `most` so many cases, the worst first."""
    shared = shared_convergence(posterior)
    shared = None if shared is None else shared.load()
    named = worst(diagnostics, most)
    told = verdict({model_of(posterior) or "posterior": diagnostics})
    files = [Piece(*one) for one in _files(posterior, diagnostics, named, shared)]
    notes = list(_notes(diagnostics, named, shared))
    found = {"cases": diagnostics} if named else {}
    shown = worst_values(found if shared is None else found | {"shared": shared})
    return Screen(told, shown, notes, "diagnostics.csv", files=files)


def worst_values(found: Mapping[str, xr.Dataset]) -> Table | None:
    """The worst value of every diagnostic, beside what is required, of one or more sets of chains by name."""
    rows = []
    for whose, one in found.items():
        for statistic, value, name, required, failed in checks(one).itertuples(index=False):
            # Where there are none, no case is the worst.
            none = value == 0 and statistic in (STATISTICS["n_diverging"], STATISTICS["at_max_depth"])
            fail = "" if math.isnan(failed) else f"{failed:,.0f}"
            words = f"{statistic}, {whose}" if len(found) > 1 else statistic
            at = format(value, _FORMATS[statistic]) + ("" if none else f" ({name})")
            rows.append((words, at, required, fail))
    columns = ("diagnostic", "worst value, and where", "required", "fail")
    return Table(columns, rows, left=(0, 1, 2)) if rows else None


def _notes(diagnostics: xr.Dataset, named: list[str], shared: xr.Dataset | None) -> Iterator[str]:
    """Name the worst cases, and say whether what all cases share converged."""
    if shared is not None and not shared["converged"].values.all():
        yield verdict({"what all cases share": shared}, _NAMED)
    if not named:
        return
    rows = table(diagnostics, named)
    every = rows["converged"].all()
    worst_first = [
        f"{row[rows.columns[0]]} (R-hat {row['r_hat']:.3f}{'' if every else ', ' + str(row['failed'])})"
        for row in rows.to_dict("records")
    ]
    yield f"{'Worst cases, though converged' if every else 'Worst cases'}: {'; '.join(worst_first)}."


def _files(
    source: Posterior, diagnostics: xr.Dataset, named: list[str], shared: xr.Dataset | None
) -> Iterator[tuple[str, Any]]:
    yield "diagnostics.csv", lambda: table(diagnostics)
    if named:
        yield "convergence.png", lambda: plots.convergence_overview(diagnostics)
        yield "chains.png", lambda: plots.worst_chains(source, named)
    if shared is not None:
        yield (
            "reliabilities.csv" if "reliability_convergence" in to_groups(source) else "shared.csv",
            lambda: table(shared),
        )
    sites = source["posterior"]
    for site, (_, tabulate, *_, file) in _ANNOTATORS.items():
        if site in sites and file:
            yield file, partial(tabulate, source)
    if "confusion" in sites:
        yield "confusions.csv", lambda: annotator_confusions(source)
