"""Panels of experts, agreement with one, and how far classifiers are apart: numbers of cells and of sentences."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from plausibly.app.screen import with_interval
from plausibly.base.bootstrap import CI_PROB, PANEL, holding, interval, width_in_words, width_of
from plausibly.base.names import listed, probability_in_words
from plausibly.data.annotations import Annotations
from plausibly.evaluation.summaries import summary
from plausibly.evaluation.verdicts import SURE, what_narrows

_APART = 0.01  # by which agreement of fewer cases differs from that of all, if it is said
_WIDE = 5  # points from which on a width needs no further digit
_CLOSE = 0.05  # width of an interval below which a further digit says something


class Number(NamedTuple):
    """A value with the ends of its interval, NaN if there is none."""

    mean: float
    lower: float = np.nan
    upper: float = np.nan


class Column(NamedTuple):
    """What a column says of every classifier, and of a further expert; with replicates, from which differences are."""

    heading: str
    numbers: Mapping[str, Number]
    expert: Number | None = None
    replicates: Mapping[str, np.ndarray] = {}
    share: bool = True
    better: Any = "greater"
    ci_prob: float = CI_PROB
    people: str = ""  #: Of a panel, who decides
    drawn: bool = False  #: Whether panels are drawn under a posterior, of all cases

    @property
    def by(self) -> str:
        """By what classifiers are compared, in a sentence."""
        return "panels" if self.people else "one expert" if "an expert" in self.heading else self.heading


def percent(number: Number, to: str = "–") -> str:
    """Write a share in percent with its interval.

    Examples
    --------
    >>> percent(Number(0.7712, 0.688, 0.83)), percent(Number(0.99, 0.98, 1.0)), percent(Number(float("nan")))
    ('77.1 (69–83)', '99.0 (98.0–100.0)', '')
    """
    if np.isnan(number.mean):
        return ""
    digits = 0 if number.upper - number.lower >= _CLOSE else 1
    ends = f" ({100 * number.lower:.{digits}f}{to}{100 * number.upper:.{digits}f})"
    return f"{100 * number.mean:.1f}{'' if np.isnan(number.lower) else ends}"


def in_percent(number: Number, of: str = "") -> str:
    """Write a share, and of what, with its interval in a sentence."""
    ends = "" if np.isnan(number.lower) else f" ({percent(number, ' to ').partition('(')[2]}"
    return f"{100 * number.mean:.1f} %{of}{ends}"


def plain(number: Number, to: str = "–") -> str:
    """Write a value with its interval, to as many digits as tell something."""
    return with_interval(*number, digits=3 if number.upper - number.lower < _CLOSE else 2, form=f" ({{}}{to}{{}})")


def points(number: Number) -> str:
    """Write a difference of shares in points."""
    if np.isnan(number.mean):
        return ""
    digits = 0 if number.upper - number.lower >= _CLOSE else 1
    ends = "" if np.isnan(number.lower) else f" ({100 * number.lower:z.{digits}f} to {100 * number.upper:z.{digits}f})"
    return f"{100 * number.mean:+.1f}{ends}".replace("-", "\u2212")


def of_panels(panels: xr.Dataset, names: Sequence[str]) -> list[Column]:
    """Columns of panels of five experts, or of as many as most cases have labels, and of one expert."""
    size = max(n for n in panels["n"].values.tolist() if n <= PANEL and n % 2)
    level = panels["human_level"]
    columns = [column_of(panels, "expert_agreement", names, "agrees with an expert", "human_level")]
    if size > 1:
        panel = column_of(panels.sel(n=size), "panel_accuracy", names, f"as {size} experts decide", "human_panel")
        columns.insert(0, panel._replace(people=f"{size} experts"))
    return columns if not np.isnan(float(level)) else [one._replace(expert=None) for one in columns]


def drawn_panels(results: xr.Dataset, names: Sequence[str]) -> Column:
    """Column of panels that were drawn under a posterior, of other experts or of these."""
    people = f"{results.attrs['panel']} {'other ' if results.attrs['readers'] == 'others' else ''}experts"
    rows = summary(results[["accuracy", "accuracy_point", "accuracy_total"]]).set_index("classifier")
    numbers = {name: Number(*rows.loc[name, ["mean", "total_lower", "total_upper"]]) for name in names}
    replicates = {name: results["accuracy_total"].sel(classifier=name).values for name in names}
    return Column(
        f"as {people} decide", numbers, replicates=replicates, people=people, drawn=True, ci_prob=width_of(results)
    )


def column_of(panels: xr.Dataset, metric: str, names: Sequence[str], heading: str, expert: str) -> Column:
    """Column of a metric of panels of one size, or of agreement with an expert."""

    def number(of: xr.Dataset, variable: str) -> tuple[Number, np.ndarray]:
        mean = float(of[variable])
        drawn = of[f"{variable}_total"].values.ravel() if f"{variable}_total" in of else np.full(1, np.nan)
        ends = (np.nan, np.nan) if np.isnan(drawn).any() else holding(mean, interval(drawn, width_of(panels)))
        return Number(mean, *map(float, ends)), drawn

    found = {name: number(panels.sel(classifier=name), metric) for name in names}
    own = {name: values for name, (values, _) in found.items()}
    drawn = {name: of for name, (_, of) in found.items()}
    return Column(heading, own, number(panels, expert)[0], drawn, ci_prob=width_of(panels))


def behind(column: Column, first: str, second: str) -> tuple[Number, float]:
    """How far a classifier is ahead of another, and with which probability."""
    apart = column.numbers[first].mean - column.numbers[second].mean
    drawn = [column.replicates.get(name, np.full(1, np.nan)) for name in (first, second)]
    between = drawn[0] - drawn[1]
    if np.isnan(between).any():
        return Number(apart), np.nan
    ends = holding(apart, interval(between, column.ci_prob))
    return Number(apart, *map(float, ends)), float((between > 0).mean() + (between == 0).mean() / 2)


def about_panels(panels: xr.Dataset, columns: Sequence[Column]) -> str:
    """Say what intervals are for, and of which cases panels are."""
    n, of_all = (panels[name].attrs["n_cases"] for name in ("panel_accuracy", "expert_agreement"))
    of_labels = len(columns) > 1 and not columns[0].drawn
    few = f"; panels: of {n:,} of {of_all:,} cases" if n < of_all and of_labels else ""
    others = "; those of panels also for other experts" if "other " in columns[0].people else ""
    others = " and other experts" if panels.attrs.get("readers") == "others" else others
    return f"{width_in_words(panels)} intervals for new cases{others}{few}"


def agreement_sentence(
    panels: xr.Dataset, columns: Sequence[Column], name: str, agrees: str = " agrees", of: str = " of cases"
) -> str:
    """State panels first, then one expert beside how experts agree."""
    expert, told = columns[-1], f"{name}{agrees} with an expert in"
    if len(columns) > 1:
        n, of_all = (panels[one].attrs["n_cases"] for one in ("panel_accuracy", "expert_agreement"))
        size, of_labels = columns[0].people, not columns[0].drawn
        which = f" of the {n:,} cases with {panels.sizes['n']} labels or more" if n < of_all and of_labels else of
        number = in_percent(columns[0].numbers[name], which)
        how = ", and agrees" if agrees == " agrees" else "; its first choice agrees"
        told, of = f"{name} decides as {size} together would in {number}{how} with one expert in", ""
    told += f" {in_percent(expert.numbers[name], of)}"
    if expert.expert is None:
        return f"{told}."
    read, of_all = (panels[one].attrs["n_cases"] for one in ("expert_agreement_paired", "expert_agreement"))
    level = f"experts agree with each other in {in_percent(Number(expert.expert.mean))}"
    if read < of_all:
        paired = float(panels["expert_agreement_paired"].sel(classifier=name))
        level += f" of the {read:,} that several have read"
        if abs(paired - expert.numbers[name].mean) >= _APART:
            level += f" ({name} there: {in_percent(Number(paired))})"
    return f"{told}; {level}."


def ahead_sentence(apart: Number, share: float, first: str, second: str, by: str) -> str:
    """State the difference to the next classifier, and `by` what."""
    if apart.mean == 0:
        return f"By {by}, {first} and {second} are level."
    told = f"By {by}, {first} is ahead of {second} by {points(Number(abs(apart.mean)))[1:]} points"
    if np.isnan(share):
        return f"{told}."
    told += points(apart)[len(points(Number(apart.mean))) :]
    sure = f"with probability {probability_in_words(share)}"
    return f"{told}, better {sure}." if share >= SURE else f"{told}: which is better is open (better {sure})."


def narrower_sentence(panels: xr.Dataset, annotations: Annotations, column: Column, name: str) -> str:
    """Say how wide an interval would be with more annotators, cases or labels; empty if that is unknown."""
    number = column.numbers[name]
    if "of_these_sd" not in panels or not (factors := what_narrows(panels, annotations, name)):
        return ""
    wide = 100 * (number.upper - number.lower)
    digits = 0 if wide >= _WIDE else 1
    would = [
        f"{wide * factor:.{digits}f} with {what}"
        for what, factor in factors.items()
        if f"{wide * factor:.{digits}f}" != f"{wide:.{digits}f}"
    ]
    if not would:
        return ""
    return f"{name}'s interval is {wide:.{digits}f} points wide; it would be about {listed(would)}."


def constant_in_words(panels: xr.Dataset) -> str:
    """Say that a single answer agrees with experts as often as they do; nothing if none does."""
    constant = panels["human_level"].attrs.get("constant_agreement", np.nan)
    if not constant >= float(panels["human_level"]):
        return ""
    return (
        f"Always naming {panels['human_level'].attrs['constant']!r} agrees with an expert in {100 * constant:.1f} %, "
        "so to agree as often as experts do tells nothing here."
    )
