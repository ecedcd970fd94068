"""The page that a run leaves: one HTML file that needs nothing else."""

from collections.abc import Iterator
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import jax
import jinja2
import matplotlib
import numpy as np
from matplotlib.figure import Figure

from plausibly.app.plots.style import COLOURS, GREY
from plausibly.app.report._exhibits import to_uri
from validation._ranks import band
from validation._result import RATE, Result, Settings, Verdict

TITLES = {
    "goodness": "Samples against probabilities",
    "calibration": "Calibration in numbers",
    "agreement": "Two samplers of one posterior",
    "reliability": "Reliability inferred",
}
NOTES = {
    "goodness": "Rankings counted among samples, against their probabilities by a likelihood of its own in double "
    "precision; log_prob has to agree with the same likelihood.",
    "calibration": "Shift: the places of the truth are uniform. Spread: so are their distances from the middle, which "
    "draws that lie too close together or too far apart change most. Kolmogorov–Smirnov tests, exact. An effective "
    "number below 1 says that draws of a chain still resemble each other; much below 0.9 it would move the tests.",
    "agreement": "Differences of averages over draws by their Monte Carlo standard errors, for one class of each case, "
    "against the normal distribution; certainties by the two-sample test.",
    "reliability": "A reliability from its prior, annotations from it: its place among the draws is uniform, and its "
    "interval covers it as often as it says.",
}
GRID = np.linspace(0, 1, 201)
EDGE = "#333333"


def panels(results: list[Result]) -> dict[tuple[str, str], dict[tuple[str, str], list[Result]]]:
    """Results of calibration by figure (sampler, mode) and panel (reliability, unranked)."""
    out: dict = {}
    for result in results:
        sampler, mode, reliability, unranked = result.what.split(", ")
        out.setdefault((sampler, mode), {}).setdefault((reliability, unranked), []).append(result)
    return out


def draw(by_panel: dict[tuple[str, str], list[Result]], level: float) -> Figure:
    """Draw how far the distributions of places are from uniform, a panel for each condition."""
    rows = list(dict.fromkeys(row for row, _ in by_panel))
    columns = list(dict.fromkeys(column for _, column in by_panel))
    with matplotlib.rc_context({"font.size": 9}):
        figure = Figure(figsize=(3.2 * max(len(columns), 3) + 0.4, 1.9 * len(rows) + 0.9), layout="constrained")
        axes = figure.subplots(len(rows), max(len(columns), 3), sharex=True, sharey=True, squeeze=False)
        for ax in axes.flat:
            ax.set_visible(False)
        lines = {}
        for (row, column), results in by_panel.items():
            ax = axes[rows.index(row), columns.index(column)]
            ax.set_visible(True)
            ax.spines[["top", "right"]].set_visible(False)
            ax.set_title(f"{column}, {row}", fontsize=9)
            n = results[0].n
            ax.axhspan(-band(n, level), band(n, level), color="#e9edf2", lw=0)
            ax.axhspan(-band(n, 0.05), band(n, 0.05), color="#d5dce5", lw=0)
            ax.axhline(0, color=GREY, lw=0.6)
            for result, colour in zip(results, COLOURS, strict=False):
                share = np.searchsorted(np.sort(result.places), GRID, side="right") / n
                lines[result.quantity] = ax.plot(GRID, share - GRID, color=colour, lw=1.1)[0]
        figure.supxlabel("place of the truth among the draws", fontsize=9)
        figure.supylabel("share of cases up to it, minus expected", fontsize=9)
        figure.legend(lines.values(), lines, loc="outside upper center", ncols=len(lines), frameon=False)
    return figure


def _figures(verdict: Verdict) -> Iterator[dict[str, str]]:
    with_places = [r for r in verdict.results if r.group == "calibration" and r.places is not None]
    for (sampler, mode), by_panel in panels(with_places).items():
        n = next(iter(by_panel.values()))[0].n
        yield {
            "alt": f"Calibration of {sampler}, {mode}",
            "uri": to_uri(draw(by_panel, verdict.threshold)),
            "caption": f"{sampler}, {mode}; about {n:,} cases to a panel. A curve outside of the light band is an "
            f"alarm; outside of the dark band are 5 % of all curves if nothing is wrong. Below zero: draws are too "
            "small, above: too large. Above on the left and below on the right: they lie too close together.",
        }


def render(verdict: Verdict, settings: Settings, *, seconds: float, broken: str = "") -> str:
    """Write the page."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    groups: dict[str, list[Result]] = {}
    for result in verdict.results:
        groups.setdefault(result.group, []).append(result)
    names: dict[str, Any] = {
        group: list(dict.fromkeys(name for row in rows for name in row.p_values)) for group, rows in groups.items()
    }
    device = jax.devices()[0]
    return environment.get_template("report.html.j2").render(
        style=(files("plausibly.app.report") / "style.css").read_text(encoding="utf-8"),
        verdict=verdict,
        verdict_text=str(verdict)[0].upper() + str(verdict)[1:],
        rate=f"{RATE:g}",
        settings=settings,
        seconds=seconds,
        broken=broken,
        groups=groups,
        names=names,
        titles={group: TITLES.get(group, group.capitalize()) for group in groups},
        notes={group: NOTES.get(group, "") for group in groups},
        figures=list(_figures(verdict)),
        device=f"{device.platform} ({device.device_kind})",
        versions=", ".join(f"{p} {version(p)}" for p in ("plausibly", "jax", "numpyro", "arviz", "scipy")),
    )


def write(verdict: Verdict, folder: Path, settings: Settings, *, seconds: float, broken: str = "") -> Path:
    """Write the page into a folder, which is made; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "report.html"
    path.write_text(render(verdict, settings, seconds=seconds, broken=broken), encoding="utf-8", newline="\n")
    return path
