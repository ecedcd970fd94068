"""Figures of agreement: what their artists hold is what they were given."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from plausibly.agreement import agreement, choose_distance
from plausibly.app import plots

ROWS = {
    f"case {i}": {name: float(i + np.sin(3 * i + 5 * j)) for j, name in enumerate(("ann", "bob", "e$e"))}
    for i in range(12)
}


def test_histogram_of_shares(ax):
    found = agreement(ROWS, "interval")
    assert plots.agreement_histogram(found, bins=10, ax=ax) is ax
    heights = [patch.get_data().values for patch in ax.patches]
    for outline in heights:
        assert len(outline) == 10
        assert outline.sum() == pytest.approx(1)
    texts = [text.get_text() for text in ax.texts]
    assert texts[0] == f"same case (mean {float(found.observed):.3g})"
    assert f"alpha {found.alpha:.3f}" in texts[-1]
    ax = Figure().subplots()
    counts = {case: {who: round(value) % 3 for who, value in row.items()} for case, row in ROWS.items()}
    found = agreement(counts, lambda a, b: abs(a - b), progress=False)
    plots.agreement_histogram(found, ax=ax)
    n = len(found.observed.values)
    share = found.observed.weights / found.observed.weights.sum()
    assert [bar.get_height() for bar in ax.patches[:n]] == pytest.approx(share.tolist())
    centres = [bar.get_x() + bar.get_width() / 2 for bar in ax.patches[:n]]
    assert centres == pytest.approx((found.observed.values - 0.2).tolist())
    ax = Figure().subplots()
    counts = {case: {who: 7 * round(value) for who, value in row.items()} for case, row in ROWS.items()}
    wide = {**counts, "far": {"ann": 700, "bob": 700}}
    plots.agreement_histogram(agreement(wide, lambda a, b: abs(a - b), progress=False), ax=ax)
    edges = ax.patches[0].get_data().edges
    assert np.diff(edges) == pytest.approx(np.full(len(edges) - 1, 28))
    assert edges[0] == -3.5
    assert edges[-1] > 700
    ax = Figure().subplots()
    same = agreement({"p": {"a": 1, "b": 1}, "q": {"a": 1, "b": 1}})
    plots.agreement_histogram(same, ax=ax)
    assert [bar.get_height() for bar in ax.patches] == [1, 1]


def test_heatmap_of_measures_and_a_panel_to_a_distance(ax):
    choice = choose_distance(ROWS, ["interval", "nominal"])
    plots.agreement_heatmap(choice.results, ax=ax)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(choice.results)
    best = choice.results[choice.best]
    assert ax.images[0].get_array()[0].tolist() == [best.ks.superiority, best.ks.statistic, best.sigma, best.alpha]
    figure = plots.agreement_histograms(choose_distance(ROWS, ["interval", "nominal", "circular"]).results)
    assert len(figure.axes) == 3


def test_annotators_are_ordered_and_unmet_ones_left_empty(ax):
    rows = {**ROWS, "more": {"eve": 3.0, "ann": 9.0}}
    found = agreement(rows, "interval")
    plots.annotator_heatmap(found, ax=ax)
    table = found.annotators().set_index("annotator")
    assert "all 4 annotators" in ax.get_title("left")
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [name.replace("$", r"\$") for name in table.index]
    shown = ax.images[0].get_array()
    place = table.index.get_loc("eve"), table.index.get_loc("bob")
    assert np.ma.getmaskarray(np.ma.masked_invalid(shown))[place]
    assert len(ax.texts) == np.isfinite(np.ma.filled(shown, np.nan)).sum()
    many = agreement({f"{i}": {f"{j}": i + j % 5 for j in range(15)} for i in range(4)}, "interval")
    drawn = plots.annotator_heatmap(many, most=13, ax=Figure().subplots())
    assert len(drawn.get_yticklabels()) == 13
    assert "13 of 15 annotators: 0 who agree least, and those with most labels" in drawn.get_title("left")
