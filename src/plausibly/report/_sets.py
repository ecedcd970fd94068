"""Sets of answers: what they contain, for whom, and whether the aggregation model fits the annotators."""

from typing import Any

import matplotlib
from matplotlib import pyplot

from plausibly.conformal import Coverage
from plausibly.report._svg import SVG

_FIT = (
    "Coverage of the plausibilities minus coverage of the annotators' choices, for the same sets. A negative "
    "difference means that the model gives plausibility to classes that annotators do not choose first"
)


def sets_of_answers(found: Any) -> Any:
    """Arrange what :func:`plausibly.conformal_coverage` found for the report; leave anything else as it is."""
    if not isinstance(found, Coverage):
        return found
    what = "Expected risk level that sets miss" if found.loss else "Share of answers that sets contain"
    caption = (
        f"{what} in test cases (mean over repeated splits), where the answer is the majority vote, the next "
        "annotator's choice, or a class drawn from the plausibilities. Target: the answer that the sets were "
        "calibrated on"
    )
    table = found.table[found.table["group"] == "all"]
    columns = ["alpha", "classifier", "target", *found.measures, "size"]
    with matplotlib.rc_context(SVG):
        figure = found.plot()
    pyplot.close(figure)
    groups = found.table.loc[found.table["group"] != "all"]
    return [
        found.verdict(),
        {f"{caption} (filled points). Lines are intervals over splits": figure},
        {caption: table.loc[:, columns].reset_index(drop=True)},
        {f"{caption}, by group": groups.loc[:, ["group", "n", *columns]].reset_index(drop=True)}
        if len(groups)
        else None,
        None if found.fit is None else {_FIT: found.fit},
    ]
