"""What others made for the report: tables, figures and sentences, in any order and nesting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plausibly import plots
from plausibly.annotations._names import _show
from plausibly.errors import ArgumentError
from plausibly.model_comparison import Comparison, PredictiveCheck, Sensitivity
from plausibly.plots._style import metric_name
from plausibly.report._svg import SVG, to_uri

_OF_PRIORS = ("annotation_certainty_1", "top1_accuracy", "top3_accuracy")  # shown of a sensitivity
MOST_ROWS = 200  #: of a table, of which more would not be read


@dataclass(frozen=True)
class Exhibit:
    """One table, figure or sentence.

    Attributes
    ----------
    caption
        What it shows; may be empty.
    text, panel
        A sentence, or a figure as a data URI; one of them, or ``columns``, is there.
    columns, rows
        Of a table: names, and cells as they are to be printed.
    numeric
        Which columns are numbers.
    left_out
        How many rows are not shown.
    """

    caption: str = ""
    text: str = ""
    panel: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    numeric: tuple[bool, ...] = ()
    left_out: int = 0


def exhibits(thing: Any, caption: str = "") -> list[Exhibit]:
    """Turn into exhibits what somebody wants in the report.

    Parameters
    ----------
    thing
        A sentence, a data frame, a figure or axes of Matplotlib; what :func:`plausibly.compare`,
        :func:`plausibly.predictive_check` and :func:`plausibly.prior_sensitivity` return, with their figures; another
        result that has a ``table`` or a method ``to_frame``, and perhaps a ``verdict``; a mapping from captions to such
        things, or a sequence of them. None is nothing.
    caption
        Of what has none of its own.

    Raises
    ------
    ArgumentError
        If it is none of these.

    Examples
    --------
    >>> table = pd.DataFrame({"model": ["a", "b"], "elpd": [-1.25, -2.0]})
    >>> [exhibit.rows or exhibit.text for exhibit in exhibits(["Better is better.", {"Scores": table}])]
    ['Better is better.', (('a', '-1.250'), ('b', '-2.000'))]
    """
    if thing is None:
        return []
    if isinstance(thing, str):
        return [Exhibit(caption, text=thing)]
    if isinstance(thing, Comparison | PredictiveCheck | Sensitivity):
        return _result(thing, caption)
    if isinstance(thing, pd.DataFrame | pd.Series):
        frame = thing.to_frame() if isinstance(thing, pd.Series) else thing
        return [*_verdict(thing), _table(frame, caption)]
    if isinstance(thing, Axes | Figure):
        figure = thing.get_figure(root=True) if isinstance(thing, Axes) else thing
        with matplotlib.rc_context(SVG):
            return [Exhibit(caption, panel=to_uri(figure))]
    if isinstance(thing, Mapping):
        return [exhibit for words, one in thing.items() for exhibit in exhibits(one, str(words))]
    if isinstance(thing, Sequence | np.ndarray):
        return [exhibit for one in thing for exhibit in exhibits(one, caption)]
    for name in ("table", "to_frame"):
        made = getattr(thing, name, None)
        made = made() if callable(made) else made
        if isinstance(made, pd.DataFrame):
            return [*_verdict(thing), _table(made, caption)]
    raise ArgumentError(
        f"the report takes sentences, data frames, figures, results with a table, and mappings or lists of these, but "
        f"{_show(thing)} was given: give one of them."
    )


def _result(thing: Comparison | PredictiveCheck | Sensitivity, caption: str) -> list[Exhibit]:
    """Show a result of this package as it likes to be seen: in words, drawn, and as a table."""
    if isinstance(thing, Comparison):
        how = "Expected log predictive density of annotations that are left out, and what each model lacks of the best"
        drawn, table = {how: lambda: plots.model_comparison(thing)}, pd.DataFrame(thing)
    elif isinstance(thing, PredictiveCheck):
        how = "What was observed among replicates of the annotations, each statistic on a scale of its own"
        drawn, table = {how: lambda: plots.predictive_checks(thing)}, thing.table
    else:
        metrics = [name for name in _OF_PRIORS if name in thing.metrics] or thing.metrics[:1]
        table = thing.table[thing.table["metric"].isin(metrics)]
        models = list(dict.fromkeys(table["model"]))
        drawn = {
            f"{metric_name(metric).capitalize()} under {model}, one choice changed at a time": (
                lambda metric=metric, model=model: plots.prior_sensitivity(thing, metric, model)
            )
            for model in models
            for metric in metrics
        }
    figures = []
    for how, draw in drawn.items():
        with matplotlib.rc_context(SVG):
            figure = draw().get_figure(root=True)
            figures.append(Exhibit(how, panel=to_uri(figure)))
        pyplot.close(figure)
    return [*_verdict(thing), *figures, _table(table, caption)]


def _verdict(thing: Any) -> list[Exhibit]:
    # A data frame answers to the names of its columns, too.
    found = getattr(type(thing), "verdict", None)
    if found is None:
        return []
    said = thing.verdict() if callable(found) else thing.verdict
    return [Exhibit(text=said)] if isinstance(said, str) else []


def _table(frame: pd.DataFrame, caption: str) -> Exhibit:
    named = not isinstance(frame.index, pd.RangeIndex)
    shown = frame.head(MOST_ROWS)
    shown = pd.DataFrame(shown.reset_index() if named else shown)
    numeric = tuple(kind.kind in "iufc" for kind in shown.dtypes)
    rows = tuple(tuple(_cell(value) for value in row) for row in shown.itertuples(index=False, name=None))
    columns = tuple("" if name == "index" else str(name).replace("_", " ") for name in shown.columns)
    return Exhibit(caption, columns=columns, rows=rows, numeric=numeric, left_out=len(frame) - len(shown))


def _cell(value: Any) -> str:
    if value is None or (np.isscalar(value) and pd.isna(value)):
        return ""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if isinstance(value, float | np.floating):
        # Three decimals, or as many digits where that would show nothing.
        return f"{value:,.3f}" if value == 0 or abs(value) >= 0.001 else f"{value:.2g}"
    if isinstance(value, list | tuple | set | np.ndarray):
        return ", ".join(map(str, value))
    return str(value)
