"""Figures draw what the results say."""

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot

import plausibly as pb

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def test_thresholds_lie_on_the_guarantee_and_coverage_has_panels(small):
    found = pb.conformal(small.posterior, small.predictions, alpha=0.3, score="lac")
    ax = found.plot()
    markers = [line for line in ax.lines if line.get_marker() not in ("None", None, "")]
    assert [line.get_xdata()[0] for line in markers] == found.threshold.values.ravel().tolist()
    assert all(line.get_ydata()[0] >= 0.7 for line in markers)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["A", "B"]
    groups = pb.conformal(
        small.posterior, small.predictions, alpha=0.4, score="lac", loss="risk", risks=[0, 1, 2, 0, 1],
        by=np.arange(small.n) % 2,
    )  # fmt: skip
    assert len(groups.plot().get_legend().get_texts()) == 4
    found = pb.conformal_coverage(
        small.posterior, small.predictions, alpha=(0.2, 0.4), splits=3, score="lac", progress=False
    )
    figure = found.plot()
    assert len(figure.axes) == 4
    rows = figure.axes[0].get_yticklabels()
    assert rows[0].get_text() == "80 %, for plausibilities: A"
    assert len(rows) == len(found.table)
