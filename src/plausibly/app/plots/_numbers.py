"""Numbers of a first screen with their intervals."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from plausibly.app.plots.style import COLOURS, GREY, draw_rows, finish_rows, new_figure

if TYPE_CHECKING:
    from plausibly.app.report.panels import Column

_WIDTH, _HEAD, _ROW = 9.6, 0.9, 0.3  # inches


def draw_numbers(columns: "Sequence[Column]", names: Sequence[str]) -> Figure:
    """Draw columns of numbers side by side: a row for each classifier, dashed the number of another expert."""
    figure, axes = new_figure(_WIDTH, _HEAD + _ROW * len(names), 1, len(columns))
    for at, (ax, column) in enumerate(zip(axes[0], columns, strict=True)):
        scale = 100 if column.share else 1
        rows = scale * pd.DataFrame([column.numbers[name] for name in names])
        draw_rows(ax, range(len(names)), rows, COLOURS[0])
        if column.expert is not None and not np.isnan(column.expert.mean):
            ax.axvspan(scale * column.expert.lower, scale * column.expert.upper, color=GREY, alpha=0.15, lw=0)
            ax.axvline(scale * column.expert.mean, color=GREY, ls="--", lw=1.2)
        ax.spines[["top", "right"]].set_visible(False)
        finish_rows(ax, names if at == 0 else [""] * len(names), column.heading + (", %" if column.share else ""))
    return figure
