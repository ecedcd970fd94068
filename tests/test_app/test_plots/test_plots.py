"""Figures: what their artists hold is what they were given."""

import dataclasses
import io
from itertools import pairwise

import matplotlib
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from plausibly.aggregation import run_label
from plausibly.aggregation.sweeps import Run, Sweep
from plausibly.app import plots
from plausibly.app.plots.style import COLOURS, spread
from plausibly.base.errors import AnnotationError, ArgumentError
from plausibly.data.annotations import Annotations, Slots
from plausibly.posterior import build_posterior


@pytest.fixture
def results():
    rng = np.random.default_rng(0)
    values = rng.integers(30, 60, (2, 200)) / 100
    return xr.Dataset(
        {
            "top1_accuracy": (("classifier", "draw"), values),
            "top1_accuracy_point": ("classifier", [0.5, 0.25]),
            "annotation_certainty_1": ("case", [0.9, 0.3, 0.6, 1.0]),
        },
        coords={"classifier": ["$x$ & <b>", "B"]},
    )


def test_certainty_is_sorted_and_ambiguity_has_a_dot_per_case(ax, results):
    other = xr.Dataset({"annotation_certainty_1": ("case", [0.2, 0.1])})
    assert plots.certainty_curve({"γ = 1": results, "γ = 3": other}, ax=ax) is ax
    first, second = ax.lines
    assert first.get_ydata().tolist() == [0.3, 0.3, 0.6, 0.9, 1.0]
    assert first.get_xdata().tolist() == [0, 25, 50, 75, 100]
    assert {line.get_drawstyle() for line in ax.lines} == {"steps-pre"}
    assert second.get_ydata().tolist() == [0.1, 0.1, 0.2]
    assert [text.get_text() for text in ax.texts] == ["γ = 1 (mean 0.70)", "γ = 3 (mean 0.15)"]
    assert [to_hex(text.get_color()) for text in ax.texts] == [to_hex(line.get_color()) for line in ax.lines]
    ax = Figure().subplots()
    plots.certainty_curve(xr.Dataset({"annotation_certainty_1": ("case", [0.7])}), ax=ax)
    assert ax.lines[0].get_xydata().tolist() == [[0, 0.7], [100, 0.7]]
    ax = Figure().subplots()
    columns = {
        "expected_entropy": ("case", [0.1, 1.4, 0.5, 0.4]),
        "mutual_information": ("case", [0.3, 0.01, 0.1, 0.05]),
    }
    found = xr.Dataset(columns, {"case": ["p $", "q", "r", "s"]})
    plots.ambiguity(found, names=1, ax=ax)
    assert ax.lines[0].get_xydata().tolist() == [[0.1, 0.3], [1.4, 0.01], [0.5, 0.1], [0.4, 0.05]]
    assert [text.get_text() for text in ax.texts] == ["p \\$", "q"]
    with pytest.raises(ArgumentError, match="the results have no 'mutual_information'"):
        plots.ambiguity(found.drop_vars("mutual_information"))
    assert plots.certainty_curve(results).figure.number in pyplot.get_fignums()


@pytest.fixture
def table():
    rows = []
    for classifier, shift in (("A", 0.0), ("B", 0.1)):
        for reliability, mean in ((30.0, 0.6), (10.0, 0.5)):
            row = {"classifier": classifier, "model": "prirn", "reliability": reliability, "metric": "top1_accuracy"}
            rows.append(row | {"mean": mean + shift, "lower": mean - 0.1, "upper": mean + 0.2, "point": 0.8 + shift})
        rows.append(rows[-1] | {"model": "irn", "reliability": np.nan, "mean": 0.8 + shift})
    return pd.DataFrame(rows)


def test_metrics_by_reliability_show_means_bands_and_the_limit(ax, table):
    plots.metric_by_reliability(table, "top1_accuracy", "prirn", ax=ax)
    lines = {line.get_label(): line for line in ax.lines}
    # Marks of two classifiers stand 0.08 steps apart, around the place of the reliability.
    np.testing.assert_allclose(lines["A"].get_xydata(), [[-0.04, 0.5], [0.96, 0.6]])
    np.testing.assert_allclose(lines["B"].get_xydata(), [[0.04, 0.6], [1.04, 0.7]])
    corners = ax.collections[0].get_paths()[0].vertices.tolist()
    for corner in ([-0.04, 0.4], [0.96, 0.5], [-0.04, 0.7], [0.96, 0.8]):
        assert any(np.allclose(corner, other) for other in corners)
    ends = [line.get_xydata().tolist() for line in ax.lines if len(line.get_xdata()) == 1]
    np.testing.assert_allclose(ends, [[[1.96, 0.8]], [[2.04, 0.9]]])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["10", "30", "point\nestimate"]
    assert [text.get_text() for text in ax.texts] == ["A", "B"]
    ax = Figure().subplots()
    plots.metric_by_reliability(table, "top1_accuracy", "irn", ax=ax)
    ends = [line.get_xydata().tolist() for line in ax.lines if len(line.get_xdata()) == 1]
    np.testing.assert_allclose(ends, [[[-0.04, 0.8]], [[0.04, 0.9]]])
    ax = Figure().subplots()
    other = table.assign(
        metric="top2_overlap", **{name: 10 * table[name] for name in ("mean", "lower", "upper", "point")}
    )
    both = pd.concat([table, other])
    plots.metrics_by_reliability(both, ["top2_overlap", "top1_accuracy"], "prirn", ax=ax)
    lines = {line.get_label(): line.get_xydata() for line in ax.lines}
    # From the least lower end, 0.4, to the greatest value, 0.9, a row has a height of 0.8.
    gap, left = [[np.nan] * 2], [-0.04, 0.96]
    rows = [[*zip(left, heights, strict=True)] for heights in ((1.16, 1.32), (0.16, 0.32))]
    np.testing.assert_allclose(lines["A"], [*rows[0], *gap, *rows[1], *gap])
    ends = [line.get_xydata() for line in ax.lines if min(line.get_xdata()) > 1.5 and line.get_linestyle() == "None"]
    np.testing.assert_allclose(ends, [[[1.96, 1.64], [1.96, 0.64]], [[2.04, 1.8], [2.04, 0.8]]])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [
        "top-2 overlap\n4.00 to 9.00",
        "top-1 accuracy\n0.40 to 0.90",
    ]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["A", "B"]
    corners = ax.collections[0].get_paths()[1].vertices
    np.testing.assert_allclose(corners[:4], [[-0.04, 0], [0.96, 0.16], [0.96, 0.64], [-0.04, 0.48]], atol=1e-12)


def test_histograms_hold_every_draw_once(ax, results):
    plots.metric_histogram(results, "top1_accuracy", bins=10, ax=ax)
    values = results["top1_accuracy"].values
    for position, colour in enumerate(COLOURS[:2]):
        (bars,) = (bars.get_data() for bars in ax.patches if to_hex(bars.get_facecolor()) == colour.lower())
        heights, edges = bars.values - bars.baseline, bars.edges
        counts = [((values[position] >= low) & (values[position] < high)).sum() for low, high in pairwise(edges)]
        assert sum(counts) == 200
        np.testing.assert_allclose(heights / heights.sum(), np.array(counts) / 200, atol=1e-12)
        # Bins of whole steps of 1/100: none is emptied by rounding.
        np.testing.assert_allclose(np.diff(edges), 0.03)
    diamonds = [line for line in ax.lines if line.get_marker() == "D"]
    assert [line.get_xdata()[0] for line in diamonds] == [0.5, 0.25]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["B", r"\$x\$ & <b>"]
    ax = Figure().subplots()
    results["top1_accuracy"][:] = 0.5
    plots.metric_histogram(results, "top1_accuracy", ax=ax)
    assert len(ax.patches) == 2


def test_better_matrix_prints_what_it_colours_and_no_mathematics(ax, results):
    plots.better_matrix(results, "top1_accuracy", ax=ax)
    a, b = results["top1_accuracy"].values
    share = np.mean(a > b) + np.mean(a == b) / 2
    np.testing.assert_allclose(ax.images[0].get_array(), [[0.5, share], [1 - share, 0.5]])
    equal = f"\n= {np.mean(a == b):.2f}" if (a == b).any() else ""
    assert [text.get_text() for text in ax.texts] == [f"{np.mean(a > b):.2f}{equal}", f"{np.mean(a < b):.2f}{equal}"]
    assert [text.get_position() for text in ax.texts] == [(1, 0), (0, 1)]
    ax = Figure().subplots()
    plots.better_matrix(results.assign_coords(classifier=["$\\frac$", "B"]), "top1_accuracy", ax=ax)
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        ax.figure.savefig(buffer, format="svg")
    assert r">$\frac$</text>" in buffer.getvalue()


@pytest.fixture
def posterior():
    annotations = Annotations.from_rankings(
        {"classes": ["(x)", "b", "c", "d"], "cases": {"7": {"p": [["(x)"], ["b"]]}, "q": {"p": [["d"]]}}}
    )
    slots = Slots.of(annotations)
    draws = np.random.default_rng(1).dirichlet([2, 5, 1], 50)
    draws = np.concatenate([draws, draws[:, [0, 2]] / draws[:, [0, 2]].sum(1, keepdims=True)], axis=1)
    point = np.array([0.2, 0.7, 0.1, 1, 0])
    return build_posterior(draws.reshape(2, 25, 5), annotations, slots, point=point, concentration=1.0)


def test_plausibilities_are_the_most_plausible_in_order_of_their_means(ax, posterior):
    plots.plausibilities(posterior, "7", draws=50, ax=ax)
    draws = posterior["posterior"]["plausibility"].values.reshape(50, 5)
    named, rest = [line for line in ax.lines if line.get_marker() == "o"]
    np.testing.assert_array_equal(named.get_xdata(), draws[:, [1, 0]].T.ravel())
    np.testing.assert_array_equal(rest.get_xdata(), draws[:, 2])
    (points,) = [line for line in ax.lines if line.get_marker() == "D"]
    np.testing.assert_allclose(points.get_xdata(), [0.7, 0.2, 0.1], rtol=1e-6)
    (bars,) = [segments[:, 0, 0] for segments in (np.array(bars.get_segments()) for bars in ax.collections)]
    np.testing.assert_allclose(bars, draws[:, [1, 0, 2]].mean(0), rtol=1e-6)
    # Rows stand in the order of the labels, and only the remainder is grey.
    assert [label.get_text() for label in ax.get_yticklabels()] == ["(2 others)", "(x)", "b"]
    heights = [*np.split(named.get_ydata(), 2), rest.get_ydata()]
    assert [round(height.mean(), 1) for height in heights] == [2, 1, 0]
    assert points.get_ydata().tolist() == [2, 1, 0]
    assert [line.get_color() for line in (named, rest)] == [COLOURS[0], "#777777"]
    assert ax.get_title() == "case 7"
    assert ax.get_xlabel() == "plausibility\n(| mean, ◇ point estimate)"
    ax = Figure().subplots()
    plots.plausibilities(posterior, "7", draws=10, classes=2, ax=ax)
    rows = [line for line in ax.lines if line.get_marker() == "o"]
    assert [len(row.get_xdata()) for row in rows] == [20]
    ax = Figure().subplots()
    annotations = Annotations.from_labels([["a", "b"]], classes=["a", "b", "c"])
    draws = np.full((1, 2, 3), 1 / 3)
    posterior = build_posterior(draws, annotations, Slots.of(annotations), point=draws[0, 0], concentration=1.0)
    plots.plausibilities(posterior, "0", ax=ax)
    assert "(1 other)" in [label.get_text() for label in ax.get_yticklabels()]


@pytest.mark.parametrize("values", [[0.5, 0.5, 0.5], [0.1, 0.9, 0.11], [0.3, 0.2, 0.1]])
def test_spread_labels_keep_their_order_and_distance(values):
    placed = np.array(spread(values, gap=0.05))
    order = np.argsort(values, kind="stable")
    assert (np.diff(placed[order]) >= 0.05 - 1e-12).all()
    assert np.mean(placed) == pytest.approx(np.mean(values))


@pytest.fixture(scope="module")
def swept():
    """B overtakes A from reliability 1 to 100, where both are equal in a quarter of the draws."""
    classifier = {"classifier": ["A", "B"]}

    def run(model, reliability, draws):
        values = xr.DataArray(draws, dims=("classifier", "draw"), coords=classifier)
        results = xr.Dataset({"top1_accuracy": values, "top1_accuracy_point": ("classifier", [0.5, 0.75])})
        return Run(run_label(model, reliability), model, reliability, results, None, None, {})

    low, high = [[0.6, 0.6, 0.6, 0.2], [0.4, 0.4, 0.4, 0.6]], [[0.5, 0.5, 0.5, 0.5], [0.75, 0.75, 0.75, 0.5]]
    runs = run("prirn", 100.0, high), run("prirn", 1.0, low), run("irn", np.nan, [[0.5], [0.75]])
    return Sweep(Annotations.from_labels([["a", "b"]]), runs)


def test_places_are_those_of_the_means_and_changes_shaded(ax, swept):
    plots.ranking_by_reliability(swept, "top1_accuracy", "prirn", ax=ax)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "100", "point\nestimate"]
    lines = [line for line in ax.lines if line.get_linestyle() == "-" and len(line.get_xdata()) == 2]
    assert [line.get_ydata().tolist() for line in lines] == [[1, 2], [2, 1]]
    marks = [line for line in ax.lines if len(line.get_xdata()) == 1]
    assert [tuple(mark.get_xydata()[0]) for mark in marks] == [(0, 1), (1, 2), (2, 2), (0, 2), (1, 1), (2, 1)]
    # Classifiers that are equal in a draw share their places equally.
    assert [mark.get_markersize() ** 2 / 225 for mark in marks[:2]] == pytest.approx([0.75, 0.875])
    assert ax.get_ylim()[0] > ax.get_ylim()[1]
    ax = Figure().subplots()
    plots.ranking_by_reliability(swept, "top1_accuracy", "prirn", ax=ax)
    assert [text.get_text() for text in ax.texts] == ["changes", "B", "A"]
    assert [patch.get_x() + patch.get_width() / 2 for patch in ax.patches] == pytest.approx([0.5])
    ax = Figure().subplots()
    plots.ranking_by_reliability(swept, "top1_accuracy", "irn", ax=ax)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["point\nestimate"]


def test_what_is_not_there_is_refused(ax, results, table, posterior, swept):
    refused = [
        ("annotation_certainty_2", plots.certainty_curve, (results, 2)),
        ("no metric 'annotation_certainty_1' by draw", plots.metric_histogram, (results, "annotation_certainty_1")),
        ("2 models, but none was chosen", plots.metric_by_reliability, (table, "top1_accuracy")),
        ("no 'top9_accuracy' of 'irn'", plots.metric_by_reliability, (table, "top9_accuracy", "irn")),
        ("no 'top9_accuracy' of 'irn'", plots.metrics_by_reliability, (table, ["top9_accuracy"], "irn")),
        ("no model 'x' here: choose from prirn, irn", plots.ranking_by_reliability, (swept, "top1_accuracy", "x")),
        ("no metric 'top9_accuracy'", plots.ranking_by_reliability, (swept, "top9_accuracy", "prirn")),
        ("nobody", plots.plausibilities, (posterior, "nobody")),
    ]
    for message, draw, arguments in refused:
        with pytest.raises((ArgumentError, AnnotationError), match=message):
            draw(*arguments, ax=ax)
    ax = Figure().subplots()
    none = [dataclasses.replace(run, results=run.results.isel(classifier=[])) for run in swept.runs[2:]]
    with pytest.raises(ArgumentError, match="no classifier to rank"):
        plots.ranking_by_reliability(Sweep(swept.annotations, tuple(none)), "top1_accuracy", ax=ax)
