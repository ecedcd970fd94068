"""Tables, figures and sentences that the caller adds to the report, in any order and nesting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plausibly.errors import ArgumentError, show
from plausibly.report._results import contents
from plausibly.report._svg import draw_to_uri, to_uri

MOST_ROWS = 200  #: of a table


@dataclass(frozen=True)
class Extra:
    """One table, figure or sentence."""

    caption: str = ""
    text: str = ""  # a sentence, or
    panel: str = ""  # a figure as a data URI, or
    columns: tuple[str, ...] = ()  # a table: names,
    rows: tuple[tuple[str, ...], ...] = ()  # printed cells,
    numeric: tuple[bool, ...] = ()  # whether each column holds numbers,
    left_out: int = 0  # and the number of rows that are not shown


def extras(thing: Any, caption: str = "") -> list[Extra]:
    """Prepare something for the report, as :func:`plausibly.report` describes it; None adds nothing.

    `caption` is that of what has none of its own.
    """
    if thing is None:
        return []
    if isinstance(thing, str):
        return [Extra(caption, text=thing)]
    if of_result := contents(thing):
        return extras(of_result, caption)
    if isinstance(thing, partial):  # a figure that is not drawn yet
        return [Extra(caption, panel=draw_to_uri(thing))]
    if isinstance(thing, pd.DataFrame | pd.Series):
        return [_table(thing.to_frame() if isinstance(thing, pd.Series) else thing, caption)]
    if isinstance(thing, Axes | Figure):
        return [Extra(caption, panel=to_uri(thing.get_figure(root=True)))]
    if isinstance(thing, Mapping):
        return [extra for words, one in thing.items() for extra in extras(one, str(words))]
    if isinstance(thing, Sequence | np.ndarray):
        return [extra for one in thing for extra in extras(one, caption)]
    for name in ("table", "to_frame"):
        found = getattr(thing, name, None)
        found = found() if callable(found) else found
        if isinstance(found, pd.DataFrame):
            return [*_verdict(thing), _table(found, caption)]
    raise ArgumentError(
        f"the report takes sentences, data frames, figures, results with a table, and mappings or lists of these, but "
        f"{show(thing)} was given: give one of them."
    )


def _verdict(thing: Any) -> list[Extra]:
    verdict = getattr(thing, "verdict", None)
    verdict = verdict() if callable(verdict) else verdict
    return [Extra(text=verdict)] if isinstance(verdict, str) else []


def _table(frame: pd.DataFrame, caption: str) -> Extra:
    named = not isinstance(frame.index, pd.RangeIndex)
    shown = frame.head(MOST_ROWS)
    shown = pd.DataFrame(shown.reset_index() if named else shown)
    numeric = tuple(kind.kind in "iufc" for kind in shown.dtypes)
    rows = tuple(tuple(_cell(value) for value in row) for row in shown.itertuples(index=False, name=None))
    columns = tuple("" if name == "index" else str(name).replace("_", " ") for name in shown.columns)
    return Extra(caption, columns=columns, rows=rows, numeric=numeric, left_out=len(frame) - len(shown))


def _cell(value: Any) -> str:
    if value is None or (np.isscalar(value) and pd.isna(value)):
        return ""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if isinstance(value, float | np.floating):
        # Three decimals, or two significant digits if they would all be zero.
        return f"{value:,.3f}" if value == 0 or abs(value) >= 0.001 else f"{value:.2g}"
    if isinstance(value, list | tuple | set | np.ndarray):
        return ", ".join(map(str, value))
    return str(value)
