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
    columns = [
        name for name in ("place", "case", "labels", "annotator", "value", "information") if name in found.chosen
    ]
    return f"Where would {found.budget:,.0f} more labels help?", [
        under + found.verdict(),
        {
            "Forecast by number of further labels. Bands contain 90 % of the simulations; dashed lines show cases "
            "chosen at random": figure
        },
        {
            "Cases to annotate first. Value: percentage by which one more label is expected to narrow the interval of "
            "the metric. Information: expected information about the plausibilities, in nats": found.chosen[
                columns
            ].head(_MOST)
        },
    ]
