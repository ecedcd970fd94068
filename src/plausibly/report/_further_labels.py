"""Further labels: advice, the forecast, and the cases to annotate first."""

from typing import Any

import matplotlib
from matplotlib import pyplot

from plausibly.planning import Plan
from plausibly.report._svg import SVG

_MOST = 20  # cases
_TITLE = "Where would more labels help?"


def further_labels(found: Any) -> tuple[str, Any]:
    """Title of the section, and what :func:`plausibly.plan` found as the report shows it; leave all else as it is."""
    if not isinstance(found, Plan):
        return _TITLE, found
    with matplotlib.rc_context(SVG):
        figure = found.plot()
    pyplot.close(figure)
    under = f"Planned under {found.posterior_model}. " if found.posterior_model else ""
    names = ["place", "case", "labels", "annotator", "value", "information"]
    of = "the difference between the classifiers" if found.goal == "better" else "the metric"
    value = f" Value: percentage by which one more label is expected to narrow the interval of {of}."
    if found.goal == "information":  # of which the value is the information itself
        names.remove("value")
        value = ""
    columns = [name for name in names if name in found.chosen]
    listed = f"Cases to annotate first.{value} Information: expected information about the plausibilities, in nats"
    return f"Where would {found.budget:,.0f} more labels help?", [
        under + found.verdict(),
        {_forecast_caption(found): figure},
        {listed: found.chosen[columns].head(_MOST)},
    ]


def _forecast_caption(found: Plan) -> str:
    if found.goal == "information":
        return "Forecast by number of further labels"
    bands = "Bands around widths contain 90 % of the simulations; dashed lines show cases chosen at random"
    decided = "; the band around the probability is its Monte Carlo interval" if found.compare else ""
    return f"Forecast by number of further labels. {bands}{decided}"
