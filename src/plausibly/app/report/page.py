"""The page of a result: what its first screen says, with figures, and sections of tables, in one template and style."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import plausibly
from plausibly.app.report.tables import annotated_cases
from plausibly.app.screen import Part as Part
from plausibly.app.screen import Screen
from plausibly.data.annotations import Annotations


@dataclass(frozen=True)
class Page:
    """What stands on a page, in the order in which it is read."""

    title: str
    screen: Screen  #: what the terminal shows
    understood: str = ""  #: what was read
    decision: Sequence[str] = ()  #: whether each requirement is met
    converged: str = ""  #: verdict on chains, if there are any, and whether some
    failed: bool = False
    steps: Sequence[str] = ()  #: what to do next
    parts: Sequence[Part] = ()  #: sections; those without contents are left out

    @property
    def met(self) -> bool:
        """Whether all requirements are met."""
        return not any("not met" in one for one in self.decision)

    @property
    def decided(self) -> str:
        """The decision in a few words."""
        unmet, n = sum("not met" in one for one in self.decision), len(self.decision)
        return f"Not passed: {unmet} of {n} requirements not met" if unmet else "Passed: all requirements are met"


def data_facts(annotations: Annotations, classifiers: Sequence[str]) -> dict[str, str]:
    """Describe the data in a table."""
    per_case = annotations.annotated.per_case
    blocks = annotations.block_sizes
    named = len(np.unique(annotations.entry_class))
    return {
        "cases": f"{annotations.n_cases:,}{annotated_cases(annotations)}",
        "annotations": f"{annotations.n_annotations:,}, {per_case.min()} to {per_case.max()} per case, on average "
        f"{per_case.mean():.1f}",
        "annotators": "unknown: the data do not name them"
        if annotations.anonymous
        else f"{len(annotations.annotators):,}",
        "cases with a single annotation": f"{int((per_case == 1).sum()):,} ({100 * (per_case == 1).mean():.0f} %)",
        "classes": f"{annotations.n_classes:,}, of which annotators name {named:,}",
        "tied blocks": f"{int((blocks > 1).sum()):,} of {len(blocks):,}"
        + (f"; the largest has {blocks.max()} classes" if blocks.max() > 1 else ""),
        "classifiers": ", ".join(classifiers) or "none",
    }


def about(
    facts: Mapping[str, Any],
    sources: Mapping[str, str] | None,
    assumed: Sequence[tuple[str, str]] = (),
    references: Sequence[str | tuple[str, str]] = (),
) -> list[Part]:
    """Sections on the data and their files, on what is assumed, and on what to cite (for what, and the source)."""
    rows = [*facts.items(), *((f"file of {name}", str(file)) for name, file in (sources or {}).items())]
    cited = [("the method", one) if isinstance(one, str) else one for one in references]
    cited.append(("the software", f"plausibly {plausibly.__version__}"))
    data: list[Any] = [{"Data and settings": pd.DataFrame(rows, columns=["of", "value"])}]
    data += [{"Assumptions": pd.DataFrame(assumed, columns=["on", "assumed"])}] if assumed else []
    cite = {"Cite for each use its source": pd.DataFrame(cited, columns=["for", "source"])}
    return [Part("Data and assumptions", data, "data"), Part("What to cite", cite, "cite")]


def pieces(screen: Screen) -> list[list[Any]]:
    """Figures and tables of a screen, by their captions."""
    shown = [one for one in screen.files if one.caption]
    figures = [{one.caption: one.content} for one in shown if one.is_figure]
    tables = [{one.caption: one.made() if one.on_page is None else one.on_page} for one in shown if not one.is_figure]
    return [[screen.figures] if screen.figures else figures, tables]


def page_of(screen: Screen, sources: Mapping[str, str] | None = None, decision: Sequence[str] = ()) -> Page:
    """Lay out what a result says: its figures and first table, what limits it, all tables, data and assumptions."""
    figures, tables = pieces(screen)
    title, facts, assumed, cited, parts, understood = screen.about
    parts = [
        *(parts() if callable(parts) else parts),
        Part("All numbers", tables, "numbers"),
        *about(facts, sources, assumed, cited),
    ]
    return Page(title, screen._replace(figures=figures), understood, decision, parts=parts)
