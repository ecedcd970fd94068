"""The figures of the report, each with a caption that says how to read it."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plausibly import plots
from plausibly.plots._convergence import shown_statistics
from plausibly.plots._style import metric_name
from plausibly.posterior import case_names
from plausibly.report._svg import SVG, to_uri
from plausibly.report._tables import distinct_metrics, headline_metrics, representative, sampled, sizes
from plausibly.sweeps import Run, Sweep

SECTIONS = ("certainty", "cases", "reliability", "better", "noise", "chains")
_PANEL = 4.8  # inches; two panels fill a page
MANY = 8  #: classifiers, beyond which figures take the whole width
_MOST_RUNS = 3  # whose chains are shown


@dataclass(frozen=True)
class Picture:
    """A figure of the report.

    Attributes
    ----------
    section
        Under which it stands, one of :data:`SECTIONS`.
    alt
        What it shows, for those who cannot see it.
    caption
        How to read it.
    panels
        The pictures themselves, as data URIs, which stand beside each other where there is room.
    folded
        Whether it is shown only on demand.
    wide
        Whether each panel takes the whole width.
    """

    section: str
    alt: str
    caption: str
    panels: tuple[str, ...]
    folded: bool
    wide: bool = False


def pictures(swept: Sweep) -> Iterator[Picture]:
    """Draw all figures of a report, in the order in which they stand in it."""
    yield from _certainty(swept)
    if swept.classifiers:
        yield from _by_reliability(swept)
        if len(swept.classifiers) > 1:
            yield from _rankings(swept)
        yield from _histograms(swept)
        if len(swept.classifiers) > 1:
            yield from _better(swept)
    yield from _plausibilities(swept)
    yield from _chains(swept)


def _panels(n: int, draw: Callable[[int, Axes], None], height: float, wide: bool = False) -> tuple[str, ...]:
    """Draw each panel as a picture of its own, so that a narrow screen shows them one below the other."""
    panels = []
    with matplotlib.rc_context(SVG), warnings.catch_warnings():
        # Letters that the font lacks become boxes, which readers see without a warning for each.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        for at in range(n):
            figure = Figure(figsize=(2 * _PANEL if wide else _PANEL, height), layout="constrained")
            draw(at, figure.subplots())
            panels.append(to_uri(figure))
    return tuple(panels)


def _picture(
    panels: tuple[str, ...], section: str, alt: str, caption: str, folded: bool = False, wide: bool = False
) -> Picture:
    return Picture(section, alt, caption, panels, folded, wide)


def _certainty(swept: Sweep) -> Iterator[Picture]:
    models = list(sampled(swept).items())
    if not models:
        return
    found = [int(str(name)[-1]) for name in swept.runs[0].results if str(name).startswith("annotation_certainty_")]
    for size in found:

        def draw(at: int, ax: Axes, size: int = size) -> None:
            name, runs = models[at]
            runs = sorted(runs, key=lambda run: run.reliability)
            labels = ["" if np.isnan(run.reliability) else f"reliability {run.reliability:g}" for run in runs]
            plots.certainty_curve(dict(zip(labels, (run.results for run in runs), strict=True)), size, ax=ax)
            ax.set_title(name)

        what = "class" if size == 1 else f"set of the {size} most plausible classes"
        yield _picture(
            _panels(len(models), draw, 3.4),
            "certainty",
            f"Top-{size} annotation certainty over sorted cases",
            "Cases from the least to the most certain. The height is the share of draws that agree on the most "
            f"plausible {what}: at 1 the annotations settle it, at 0.5 half of what they allow says something else. "
            "The further right a curve rises, the more cases have no single right answer; more reliability moves it to "
            "the left.",
            folded=size > 1,
        )


def _by_reliability(swept: Sweep) -> Iterator[Picture]:
    models = list(sampled(swept)) or list(swept.models)
    table = swept.metrics
    main = headline_metrics(swept.runs[0])
    wide = len(swept.classifiers) > MANY
    for metric in distinct_metrics(sizes(swept.runs[0])):
        own = table[table["metric"] == metric]
        low, high = own[["lower", "point"]].min(axis=None), own[["upper", "point"]].max(axis=None)
        margin = 0.08 * (high - low) or 0.01

        def draw(at: int, ax: Axes, own: pd.DataFrame = own, limits=(low - margin, high + margin)) -> None:
            ax.set_ylim(limits)
            plots.metric_by_reliability(own, own["metric"].iloc[0], models[at], ax=ax)

        yield _picture(
            _panels(len(models), draw, max(3.4, 1 + 0.2 * len(swept.classifiers)), wide=wide),
            "reliability",
            f"{metric_name(metric).capitalize()} of each classifier against reliability",
            f"{metric_name(metric).capitalize()} of each classifier: the mean over draws, with a band that holds 94 % "
            "of them. Hollow markers at the right are the value at the point estimate, which takes the annotations at "
            "their word; the distance to them is what a single reference label hides.",
            folded=metric not in main,
            wide=wide,
        )


def _rankings(swept: Sweep) -> Iterator[Picture]:
    models = [name for name, runs in sampled(swept).items() if not np.isnan(runs[0].reliability)]
    if not models:
        return
    for metric in headline_metrics(swept.runs[0]):

        def draw(at: int, ax: Axes, metric: str = metric) -> None:
            plots.ranking_by_reliability(swept, metric, models[at], ax=ax)

        yield _picture(
            _panels(len(models), draw, 1.4 + _row(swept) * len(swept.classifiers)),
            "reliability",
            f"Place of each classifier by {metric_name(metric)} against reliability",
            f"Place of each classifier by its mean {metric_name(metric)}; hollow markers are by the point estimate. "
            "The larger a marker, the more draws give the classifier that place. The ranking changes where a step is "
            "shaded: there, which classifier is better depends on how far the annotators are trusted.",
        )


def _histograms(swept: Sweep) -> Iterator[Picture]:
    runs = [representative(found) for found in sampled(swept).values()]
    if not runs:
        return
    overlap = " Rows may overlap although one classifier is better in nearly every draw: see the figures above."
    overlap = overlap if len(swept.classifiers) > 1 else ""
    for metric in headline_metrics(runs[0]):

        def draw(at: int, ax: Axes, metric: str = metric) -> None:
            plots.metric_histogram(runs[at].results, metric, ax=ax)
            ax.set_title(runs[at].label)

        yield _picture(
            _panels(len(runs), draw, 1.2 + 1.1 * _row(swept) * len(swept.classifiers)),
            "noise",
            f"Histogram over draws of the {metric_name(metric)} of each classifier",
            f"Every draw is one version of the truth that the annotations allow, and gives each classifier one "
            f"{metric_name(metric)}; its histogram is a row. Diamonds are the values at the point estimate.{overlap}",
        )


def _better(swept: Sweep) -> Iterator[Picture]:
    runs = [representative(found) for found in sampled(swept).values()]
    if not runs:
        return
    wide = len(swept.classifiers) > MANY
    for metric in headline_metrics(runs[0]):

        def draw(at: int, ax: Axes, metric: str = metric) -> None:
            plots.better_matrix(runs[at].results, metric, ax=ax)
            ax.set_title(f"{runs[at].label}, {metric_name(metric)}")

        yield _picture(
            _panels(len(runs), draw, 1.4 + _row(swept) * len(swept.classifiers), wide=wide),
            "better",
            f"Probability that one classifier has the greater {metric_name(metric)} than another",
            f"Share of the draws in which the classifier of the row has the greater {metric_name(metric)} on these "
            "cases than that of the column, ties counting half. Near 1 or 0 the annotations settle which is better; "
            "near 0.5 they do not. It says nothing of other cases than these.",
            wide=wide,
        )


def _plausibilities(swept: Sweep) -> Iterator[Picture]:
    for found in sampled(swept).values():
        run = representative(found)
        cases = case_names(run.excerpt)

        def draw(at: int, ax: Axes, run: Run = run, cases: np.ndarray = cases) -> None:
            plots.plausibilities(run.excerpt, cases[at], draws=60, ax=ax)

        yield _picture(
            _panels(len(cases), draw, 2.7),
            "cases",
            f"Draws of the plausibilities of the least certain cases under {run.label}",
            f"{run.label}: the cases whose most plausible class the annotations leave most open. Each dot is a draw, "
            "the bar their mean, the diamond the point estimate. Where dots of several classes reach equally far, any "
            "of them may be the most plausible one, whatever the point estimate says. Grey: all classes that nobody "
            "named, together.",
        )


def _row(swept: Sweep) -> float:
    """Height of a classifier's row in inches."""
    return 0.5 if len(swept.classifiers) <= MANY else 0.32


def _chains(swept: Sweep) -> Iterator[Picture]:
    """Diagnostics of the runs that did not converge, or else of one of each model that has chains."""
    failing = [run for run in swept.runs if run.has_chains and run.not_converged()]
    usual = [representative(runs) for runs in swept.models.values()]
    for run in (failing or [run for run in usual if run.has_chains])[:_MOST_RUNS]:
        shown = shown_statistics(run.convergence)

        def draw(at: int, ax: Axes, run: Run = run, shown: list[str] = shown) -> None:
            plots.convergence(run.convergence, shown[at], ax=ax)

        yield _picture(
            _panels(len(shown), draw, 2.8),
            "chains",
            f"Diagnostics of all cases under {run.label}, the worst first",
            f"{run.label}: every diagnostic over all cases, the worst case first; dotted lines are what is asked. An "
            "R-hat near 1 means that chains agree; effective sample sizes (ESS) say how many independent draws the "
            "draws are worth, in the middle (bulk) and at the ends (tail) of a distribution; E-BFMI is low where the "
            "sampler has trouble with the tails. R-hat may exceed its line by as much as chance explains.",
            folded=not failing,
        )
        if run.worst is None:
            continue
        worst, names = run.worst, case_names(run.worst)

        def draw_chains(at: int, ax: Axes, worst=worst, names: np.ndarray = names) -> None:
            (plots.rank if at % 2 else plots.trace)(worst, str(names[at // 2]), ax=ax)

        yield _picture(
            _panels(2 * len(names), draw_chains, 2.3),
            "chains",
            f"Trace and rank plots of the cases whose chains are worst under {run.label}",
            f"{run.label}: the chains of the cases that give most cause for concern, each in the class that is worst. "
            "At the left the draws, a line per chain: chains that converged look alike, noise around one level. At the "
            "right how they rank among the draws of all chains: flat where chains agree, leaning to a side where one "
            "lies elsewhere.",
            folded=not failing,
        )
