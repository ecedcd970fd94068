"""The figures of the report, each with a caption that says how to read it."""

import base64
import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plausibly import plots
from plausibly.aggregation import MODELS
from plausibly.plots._style import metric_name
from plausibly.posterior import case_names
from plausibly.report._tables import distinct_metrics, headline_metrics, sizes
from plausibly.sweeps import Run, Sweep

# Equal figures give equal bytes: no date, and identifiers from a fixed salt.
_SVG = {"svg.hashsalt": "plausibly", "svg.fonttype": "path", "font.size": 10}
_NO_DATE = {"Date": None, "Creator": None}
_PANEL = 4.8  # inches; two panels fill a page


@dataclass(frozen=True)
class Picture:
    """A figure of the report.

    Attributes
    ----------
    section
        Heading under which it stands; empty for that of the annotations' certainty.
    alt
        What it shows, for those who cannot see it.
    caption
        How to read it.
    panels
        The pictures themselves, as data URIs, which stand beside each other where there is room.
    folded
        Whether it is shown only on demand.
    """

    section: str
    alt: str
    caption: str
    panels: tuple[str, ...]
    folded: bool


def to_uri(figure: Figure) -> str:
    """Write a figure as SVG into a data URI."""
    buffer = io.BytesIO()
    with matplotlib.rc_context(_SVG):
        figure.savefig(buffer, format="svg", metadata=_NO_DATE)
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


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


def representative(runs: Sequence[Run]) -> Run:
    """Choose the run of a model that stands for all: its default reliability, or else the middle one."""
    ordered = sorted(runs, key=lambda run: run.reliability)
    model = MODELS.get(runs[0].model)
    usual = model.arguments.get("reliability") if model else None
    return next((run for run in ordered if run.reliability == usual), ordered[(len(ordered) - 1) // 2])


def _panels(n: int, draw: Callable[[int, Axes], None], height: float) -> tuple[str, ...]:
    """Draw each panel as a picture of its own, so that a narrow screen shows them one below the other."""
    panels = []
    with matplotlib.rc_context(_SVG), warnings.catch_warnings():
        # Letters that the font lacks become boxes, which readers see without a warning for each.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        for at in range(n):
            figure = Figure(figsize=(_PANEL, height), layout="constrained")
            draw(at, figure.subplots())
            panels.append(to_uri(figure))
    return tuple(panels)


def _picture(panels: tuple[str, ...], section: str, alt: str, caption: str, folded: bool = False) -> Picture:
    return Picture(section, alt, caption, panels, folded)


def _sampled(swept: Sweep) -> dict[str, list[Run]]:
    """Runs of the models that have draws: a point estimate is drawn beside those of others."""
    return {name: runs for name, runs in swept.models.items() if any(run.results.sizes["draw"] > 1 for run in runs)}


def _certainty(swept: Sweep) -> Iterator[Picture]:
    models = list(_sampled(swept).items())
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
            "",
            f"Top-{size} annotation certainty over sorted cases",
            "Cases from the least to the most certain. The height is the share of draws that agree on the most "
            f"plausible {what}: at 1 the annotations settle it, at 0.5 half of what they allow says something else. "
            "The further right a curve rises, the more cases have no single right answer; more reliability moves it to "
            "the left.",
            folded=size > 1,
        )


def _by_reliability(swept: Sweep) -> Iterator[Picture]:
    models = list(_sampled(swept)) or list(swept.models)
    table = swept.metrics
    main = headline_metrics(swept.runs[0])
    longest = main[-1].split("_")[0]
    for metric in distinct_metrics(sizes(swept.runs[0])):
        own = table[table["metric"] == metric]
        low, high = own[["lower", "point"]].min(axis=None), own[["upper", "point"]].max(axis=None)
        margin = 0.08 * (high - low) or 0.01

        def draw(at: int, ax: Axes, own: pd.DataFrame = own, limits=(low - margin, high + margin)) -> None:
            ax.set_ylim(limits)
            plots.metric_by_reliability(own, own["metric"].iloc[0], models[at], ax=ax)

        yield _picture(
            _panels(len(models), draw, 3.4),
            "Classifiers against reliability",
            f"{metric_name(metric).capitalize()} of each classifier against reliability",
            f"{metric_name(metric).capitalize()} of each classifier: the mean over draws, with a band that holds 94 % "
            "of them. Hollow markers at the right are the value at the point estimate, which takes the annotations at "
            "their word; the distance to them is what a single reference label hides.",
            folded=metric not in main and not metric.startswith(f"{longest}_"),
        )


def _rankings(swept: Sweep) -> Iterator[Picture]:
    models = [name for name, runs in _sampled(swept).items() if not np.isnan(runs[0].reliability)]
    if not models:
        return
    for metric in headline_metrics(swept.runs[0]):

        def draw(at: int, ax: Axes, metric: str = metric) -> None:
            plots.ranking_by_reliability(swept, metric, models[at], ax=ax)

        yield _picture(
            _panels(len(models), draw, 1.4 + 0.5 * len(swept.classifiers)),
            "Classifiers against reliability",
            f"Place of each classifier by {metric_name(metric)} against reliability",
            f"Place of each classifier by its mean {metric_name(metric)}; hollow markers are by the point estimate. "
            "The larger a marker, the more draws give the classifier that place. The ranking changes where a step is "
            "shaded: there, which classifier is better depends on how far the annotators are trusted.",
        )


def _histograms(swept: Sweep) -> Iterator[Picture]:
    runs = [representative(found) for found in _sampled(swept).values()]
    if not runs:
        return
    for metric in headline_metrics(runs[0]):

        def draw(at: int, ax: Axes, metric: str = metric) -> None:
            plots.metric_histogram(runs[at].results, metric, ax=ax)
            ax.set_title(runs[at].label)

        yield _picture(
            _panels(len(runs), draw, 1.2 + 0.55 * len(swept.classifiers)),
            "The metric's own uncertainty",
            f"Histogram over draws of the {metric_name(metric)} of each classifier",
            f"Every draw is one version of the truth that the annotations allow, and gives each classifier one "
            f"{metric_name(metric)}; its histogram is a row. Diamonds are the values at the point estimate. Rows may "
            "overlap although one classifier is better in nearly every draw: see the next figures.",
        )


def _better(swept: Sweep) -> Iterator[Picture]:
    runs = [representative(found) for found in _sampled(swept).values()]
    if not runs:
        return
    for metric in headline_metrics(runs[0]):

        def draw(at: int, ax: Axes, metric: str = metric) -> None:
            plots.better_matrix(runs[at].results, metric, ax=ax)
            ax.set_title(f"{runs[at].label}, {metric_name(metric)}")

        yield _picture(
            _panels(len(runs), draw, 1.4 + 0.5 * len(swept.classifiers)),
            "Which classifier is better",
            f"Probability that one classifier has the greater {metric_name(metric)} than another",
            f"Share of the draws in which the classifier of the row has the greater {metric_name(metric)} on these "
            "cases than that of the column, ties counting half. Near 1 or 0 the annotations settle which is better; "
            "near 0.5 they do not. It says nothing of other cases than these.",
        )


def _plausibilities(swept: Sweep) -> Iterator[Picture]:
    for found in _sampled(swept).values():
        run = representative(found)
        cases = case_names(run.excerpt)

        def draw(at: int, ax: Axes, run: Run = run, cases: np.ndarray = cases) -> None:
            plots.plausibilities(run.excerpt, cases[at], draws=60, ax=ax)

        yield _picture(
            _panels(len(cases), draw, 2.7),
            "The least certain cases",
            f"Draws of the plausibilities of the least certain cases under {run.label}",
            f"{run.label}: the cases whose most plausible class the annotations leave most open. Each dot is a draw, "
            "the bar their mean, the diamond the point estimate. Where dots of several classes reach equally far, any "
            "of them may be the most plausible one, whatever the point estimate says. Grey: all classes that nobody "
            "named, together.",
        )
