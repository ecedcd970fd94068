"""The curve of accuracy against panels: what its artists hold is what was measured."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from plausibly.app import plots
from plausibly.app.plots.style import COLOURS
from plausibly.base.errors import ArgumentError
from plausibly.data.annotations import Annotations
from plausibly.evaluation import panels

LABELS = [["a", "a", "b"], ["b", "b", "b"], ["a", "b", "c"], ["c", "c", "a"]] * 3
SCORES = {"A": np.eye(3)[[0, 1, 2, 2] * 3], "$B$": np.eye(3)[[1, 1, 0, 2] * 3]}


@pytest.fixture(scope="module")
def results():
    return panels(Annotations.from_labels(LABELS), SCORES, replicates=50)


def test_lines_are_values_and_bands_are_intervals(ax, results):
    plots.panel_curve(results, ax=ax)
    expected = [*results["panel_accuracy"].values, results["human_panel"].values]
    for line, values in zip(ax.lines, expected, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), [1, 2, 3])
        np.testing.assert_array_equal(line.get_ydata(), values)
    lower, upper = results["panel_accuracy_total"].quantile([0.03, 0.97], "replicate").values[:, 0]
    heights = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert {*lower.round(9), *upper.round(9)} <= {*heights.round(9)}
    assert [text.get_text() for text in ax.texts] == ["A", r"\$B\$", "a further expert"]
    assert [to_hex(text.get_color()) for text in ax.texts[:2]] == [shade.lower() for shade in COLOURS[:2]]
    assert ax.get_xticks().tolist() == [1, 2, 3]
    ax = Figure().subplots()
    alone = panels(Annotations.from_labels([["a"], ["b"]]), {"A": [[1, 0], [1, 0]]}, replicates=0)
    plots.panel_curve(alone, ax=ax)
    assert [text.get_text() for text in ax.texts] == ["A"]


@pytest.mark.parametrize("replicates", [0, 20])
def test_the_limit_stands_at_the_right_with_its_interval(ax, results, replicates):
    random = np.random.default_rng(0)
    variables = {"top1_accuracy": (("classifier", "draw"), random.random((2, 40)))}
    if replicates:
        variables["top1_accuracy_total"] = ("classifier", "replicate"), random.random((2, replicates))
    limit = xr.Dataset(variables, {"classifier": ["$B$", "A"]})
    plots.panel_curve(results.drop_vars("panel_accuracy_total"), limit, ax=ax)
    points = [line.get_xydata()[0] for line in ax.lines if len(line.get_xdata()) == 1]
    assert [y for _, y in points] == limit["top1_accuracy"].mean("draw").values[::-1].tolist()
    assert all(3.5 < x < 4.5 for x, _ in points)
    which, along = ("top1_accuracy_total", "replicate") if replicates else ("top1_accuracy", "draw")
    ends = limit[which].quantile([0.03, 0.97], along).values[:, ::-1]
    bars = [line.get_ydata() for line in ax.lines if len(set(line.get_xdata())) == 1 and line.get_linewidth() == 2]
    np.testing.assert_allclose(np.array(bars)[:2].T, ends)
    assert ax.get_xticklabels()[-1].get_text() == "most\nplausible"


def test_other_results_are_refused(results):
    with pytest.raises(ArgumentError, match=r"results must be those of pb\.evaluation\.panels"):
        plots.panel_curve(xr.Dataset())
    limit = xr.Dataset({"top1_accuracy": (("classifier", "draw"), [[0.5]])}, {"classifier": ["A"]})
    with pytest.raises(ArgumentError, match="there is no classifier '\\$B\\$' in limit"):
        plots.panel_curve(results, limit)
