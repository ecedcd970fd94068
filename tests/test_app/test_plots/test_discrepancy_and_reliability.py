"""Figures of discrepancy and reliability: what their artists hold is what they were given."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from plausibly.agreement import discrepancy_ratio, threshold_curve, weighted_reliability
from plausibly.app import plots
from plausibly.base.errors import ArgumentError
from plausibly.data.datasets import simulate_label_noise
from tests.test_app.test_plots.conftest import drawn_rows


@pytest.fixture(scope="module")
def compared():
    noise = simulate_label_noise(80, 4, swap=0.3, models=(0.9, 0.6), n_classes=3)
    return discrepancy_ratio(noise.labels, noise.predictions, "nominal")


def test_ratios_and_intervals_of_models_and_annotators(ax, compared):
    plots.discrepancy_ratios(compared, replicates=100, ax=ax)
    frame = compared.to_frame(replicates=100, progress=False)
    own = compared.annotators(0.94, 100).sort_values("relative")
    assert [text.get_text() for text in ax.get_yticklabels()] == ["0.9", "0.6", *own.index]
    points, _, bars = drawn_rows(ax)
    assert points[:, 0].tolist() == pytest.approx([*frame["ratio"], *own["relative"]])
    np.testing.assert_allclose(bars[0], frame.loc["0.9", ["lower", "upper"]].astype(float))
    assert len(bars) == 6
    assert ax.get_xlim()[1] > max(frame["upper"].max(), own["relative_upper"].max())
    ax = Figure().subplots()
    result = discrepancy_ratio({"p": {"a": 1, "b": 1}}, {"A": {"p": 0}})
    plots.discrepancy_ratios(result, ax=ax)
    assert [text.get_text() for text in ax.texts] == ["∞"]
    words = "disagreement, relative to two annotators' (α = 0); best constant answer (dashed) 1.00"
    assert ax.get_xlabel().replace("\n", " ") == words


@pytest.mark.parametrize("log", [True, False])
def test_curves(ax, log):
    table = pd.DataFrame({"A": [1.5, 1.0, 0.9], "B": [0.5, 0.7, 0.9]}, index=pd.Index([3, 5, 9], name="annotators"))
    plots.discrepancy_curves(table, log=log, ax=ax)
    drawn = [line.get_ydata().tolist() for line in ax.lines if line.get_linewidth() == 1.8]
    assert drawn == [[1.5, 1.0, 0.9], [0.5, 0.7, 0.9]]
    low, high = (text.xy[1] for text in ax.texts)
    assert low != high
    assert (ax.get_xlabel(), ax.get_yscale()) == ("annotators", "log" if log else "linear")


def test_thresholds(ax):
    labels = {str(i): {"a": int(i > 3), "b": int(i > 5)} for i in range(10)}
    curve = threshold_curve(labels, {str(i): i / 10 for i in range(10)})
    plots.discrepancy_by_threshold(curve, ax=ax)
    assert ax.lines[0].get_ydata().tolist() == curve.ratio.tolist()
    assert ax.lines[1].get_xydata().tolist() == [[curve.best, curve.ratio.min()]]
    assert f"Δ = {curve.ratio.min():.2f}" in ax.texts[0].get_text()


def test_reliability_by_case_is_sorted_and_abilities_need_a_rasch_model(ax):
    labels = {"p": {"a": 1, "b": 1, "c": 1}, "q": {"a": 1, "b": 1, "c": 0}, "r": {"a": 0, "b": 1}}
    result = weighted_reliability(labels, competence=0.9)
    plots.reliability_by_case(result, ax=ax)
    agreed, right = (line.get_ydata().tolist() for line in ax.lines)
    assert agreed == pytest.approx([0, 1 / 3, 1])
    assert right == pytest.approx([0, 0.81 / 0.82 / 3, 0.81 / 0.82])
    ax = Figure().subplots()
    result = weighted_reliability({"p": {"a": 1, "b": 1}}, competence=0.9)
    with pytest.raises(ArgumentError, match="abilities are those of a Rasch model, but competence is 'given'"):
        plots.annotator_abilities(result, ax=ax)


@pytest.mark.parametrize("annotators", [1, 3, 9])
def test_a_line_across_the_nomogram_is_straight_and_ends_on_its_ticks(ax, annotators):
    plots.nomogram(0.95, 0.64, annotators, ax=ax)
    line = next(line for line in ax.lines if len(line.get_xdata()) == 3)
    left, middle, right = line.get_ydata()
    assert middle == pytest.approx((left + right) / 2)
    heights = {text.get_text(): text.get_position() for text in ax.texts if text.get_position()[0] == -0.06}
    assert heights["0.95"][1] == pytest.approx(left)
    truth = np.exp(right)
    assert f"actual {0.95 * truth:.2f}" in [text.get_text() for text in ax.texts]


@pytest.mark.parametrize(("measured", "reliability"), [(0.98, 0.04), (0.4, 0.81), (0.98, 0.0)])
def test_a_nomogram_says_what_its_scales_do_not_reach(ax, measured, reliability):
    plots.nomogram(measured, reliability, ax=ax)
    assert not [line for line in ax.lines if len(line.get_xdata()) == 3]
    truth = reliability**0.5
    words = f"actual {measured * truth:.2f} = measured {measured:.2f} × labels {truth:.2f}, off the scales"
    assert words in [text.get_text() for text in ax.texts]
