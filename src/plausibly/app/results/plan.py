"""A plan of further labels: what it says."""

import json
from typing import Any

from plausibly.app.screen import About, Piece, Screen, Table
from plausibly.decisions.planning import Plan

_MOST = 10  # cases of the first table
_NAMES = "case", "annotator", "labels", "value", "information"  # columns


def screen(planned: Plan, task_data: Any = None) -> Screen:
    """The cases to annotate first, and the advice; tasks for Label Studio have the columns of `task_data` as well."""
    informative = planned.goal == "information"  # of which the value is the information itself
    first, *further = planned.advice
    frame = planned.chosen[[name for name in _NAMES if name in planned.chosen]].head(_MOST)
    frame = frame.astype({name: str for name in ("case", "annotator") if name in frame})
    value = "" if informative else "value: % by which one label narrows the interval; "
    table = Table.of(frame, ".3g", f"Cases to annotate first ({value}information: nats)")
    under = f"Planned under {planned.posterior_model}. " if planned.posterior_model else ""
    forecast = f"{under}Forecast by number of further labels"
    if not informative:
        decided = "; the band around the probability is its Monte Carlo interval" if planned.compare else ""
        forecast += (
            ". Bands around widths contain 90 % of the simulations; dashed lines show cases chosen at random" + decided
        )
    of = "the difference between the classifiers" if planned.goal == "better" else "the metric"
    value = f" Value: percentage by which one more label is expected to narrow the interval of {of}."
    listed = f"Cases to annotate first.{'' if informative else value} Information: expected information about the "
    listed += "plausibilities, in nats"
    shown = [name for name in ("place", *_NAMES) if name in planned.chosen and (name != "value" or not informative)]
    files = [
        Piece("plan.csv", planned.chosen, listed, planned.chosen[shown].head(2 * _MOST)),
        Piece("forecast.csv", planned.forecast),
        Piece("forecast.png", planned.plot, forecast),
        Piece("tasks.json", json.dumps(planned.tasks(task_data), ensure_ascii=False, indent=1) + "\n"),
    ]
    return Screen(first, table, further, "plan.csv", files=files, about=About("Where would more labels help?"))
