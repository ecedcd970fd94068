"""Systems by the outcomes of people and judges."""

import numpy as np
from matplotlib.axes import Axes

from plausibly.app.plots.style import COLOURS, GREY, draw_rows, finish_rows, new_axes, plain
from plausibly.base.errors import ArgumentError
from plausibly.systems import NAMES, Systems

_SHOWN = {"people": (GREY, "o"), "judge": (COLOURS[1], "s"), "ppi++": (COLOURS[0], "D"), "model": (COLOURS[2], "^")}
_SHOWN |= dict.fromkeys(("strengths", "adjusted"), (COLOURS[3], "v"))  # of which there is one at most
_STEP = 0.22  # between the estimators of a system


def systems(result: Systems, judge: str | None = None, *, most: int = 40, ax: Axes | None = None) -> Axes:
    """Draw the mean outcome of each system by people, a judge, and corrected (such as PPI++), the best at the top.

    Parameters
    ----------
    result
        Result of :func:`plausibly.systems`.
    judge
        Name of the judge; by default the one that ranks the systems.
    most
        Largest number of systems; the last ones are left out.

    Raises
    ------
    ArgumentError
        If there is no such judge.
    """
    judges = result.judges["judge"].tolist()
    judge = result.judge if judge is None else judge
    if judge not in (*judges, result.judge):
        raise ArgumentError(f"there is no judge {judge!r}: choose from {', '.join(map(repr, judges))}.")
    names = result.ranking["system"].tolist()[:most]
    ax = new_axes(ax, height=1.6 + 0.42 * len(names))
    table = result.table.set_index("system")
    shown = [one for one in _SHOWN if (table["estimator"] == one).any()]
    for number, estimator in enumerate(shown):
        colour, marker = _SHOWN[estimator]
        rows = table[(table["estimator"] == estimator) & table["judge"].isin(["", judge])]
        if not len(rows) or (estimator == "judge" and judge in result.other_scales):
            continue
        rows, places = rows.loc[names], np.arange(len(names)) + _STEP * (number - (len(shown) - 1) / 2)
        label = plain(judge, 24) + " alone" if estimator == "judge" else NAMES[estimator]
        draw_rows(ax, places, rows, colour, marker, label=label)
    left_out = len(result.ranking) - len(names)
    more = f"; {left_out} more left out" if left_out else ""
    finish_rows(ax, names, f"{result.outcomes.quantity} ({100 * result.ci_prob:g} % intervals{more})")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False, fontsize="small")
    return ax
