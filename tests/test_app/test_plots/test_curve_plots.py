"""Curves and confusion matrices: what the artists hold is what was measured."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

import plausibly as pb
from plausibly.app import plots
from plausibly.base.errors import ArgumentError
from tests import worlds

N = 60
CURVES = {
    "roc_curve": lambda results: 1 - results["at_specificity"].values,
    "precision_recall_curve": lambda results: results["recall"].values,
    "decision_curve": lambda results: results["threshold"].values,
}


@pytest.fixture
def two():
    return worlds.curves_of_two().assign_coords(classifier=["A", "$B$"])


@pytest.fixture
def three():
    return worlds.curves_of_three().assign_coords(classifier=["A", "$B$"])


def lines(ax, of):
    return [one for one in ax.lines if len(one.get_xdata()) >= of]


@pytest.mark.parametrize("name", CURVES)
def test_lines_are_means_and_bands_are_intervals(ax, two, name):
    assert getattr(plots, name)(two, ax=ax) is ax
    x, drawn = CURVES[name](two), [one for one in lines(ax, 99) if one.get_linestyle() == "-"]
    bands = [one.get_paths()[0].vertices[:, 1] for one in ax.collections]
    for at, line in enumerate(drawn):
        np.testing.assert_array_equal(line.get_xdata()[: len(x)], x)
        np.testing.assert_allclose(line.get_ydata()[: len(x)], two[name][at].mean("draw"))
        for band, of in zip(bands[2 * at : 2 * at + 2], (two[f"{name}_total"], two[name]), strict=True):
            ends = np.nanquantile(of[at].values, [0.03, 0.97], axis=-1).ravel()
            assert np.abs(ends[:, None] - band).min(axis=1).max() < 2e-5
    assert len(drawn) == 2
    said = [text.get_text() for text in ax.get_legend().get_texts()]
    if name == "roc_curve":
        assert said == [f"{one} ({two['auroc'][at].mean():.2f})" for at, one in enumerate(("A", r"\$B\$"))]
    if name == "decision_curve":
        assert said == ["treat all", "A", r"\$B\$", "treat none"]
        of_all = next(one for one in ax.lines if one.get_label() == "treat all")
        np.testing.assert_allclose(of_all.get_ydata(), two["net_benefit_of_all"][0].mean("draw"), rtol=1e-5)


@pytest.mark.slow
def test_operating_points_single_classifiers_and_no_replicates(ax, three):
    annotations = pb.Annotations.from_labels([["a", "b"], ["b", "b"], ["a", "a"], ["b", "a"]], classes=["a", "b"])
    metrics, scores = ["roc_curve", "sensitivity", "specificity"], {"A": np.array([0.3, 0.8, 0.1, 0.6])}
    options = {"metrics": metrics, "truth": "annotator", "threshold": 0.5, "replicates": 0}
    found = pb.evaluate(annotations, scores, **options)
    plots.roc_curve(found, ax=ax)
    (point,) = [line for line in ax.lines if len(line.get_xdata()) == 1]
    expected = 1 - found["specificity"].item(), found["sensitivity"].item()
    assert (point.get_xdata()[0], point.get_ydata()[0]) == pytest.approx(expected)
    ax = Figure().subplots()
    plots.roc_curve(three.isel(classifier=[0]), ax=ax)
    assert [text.get_text()[0] for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    ax = Figure().subplots()
    metrics = ["roc_curve", "auroc"]
    of = worlds.labels()
    plots.roc_curve(pb.evaluate(of.posterior, of.predictions, metrics=metrics, replicates=0, progress=False), ax=ax)
    assert len(ax.collections) == 2


@pytest.mark.parametrize("name", CURVES)
def test_one_class_is_chosen_of_several(ax, three, name):
    draw = getattr(plots, name)
    draw(three, "b", ax=ax)
    assert ax.get_title() == "b against all others"
    drawn = [one for one in lines(ax, 99) if one.get_linestyle() == "-"]
    expected = three[name].sel(class_name="b").mean("draw")
    for line, values in zip(drawn, expected, strict=True):
        np.testing.assert_allclose(line.get_ydata()[: len(values)], values)
    with pytest.raises(ArgumentError, match="2 classifiers and 3 classes, but no class was chosen: pass class_name"):
        draw(three, ax=ax)
    with pytest.raises(ArgumentError, match="there is no class 'c9' in these results: choose from a, b, c"):
        draw(three, "c9", ax=ax)


@pytest.mark.slow
@pytest.mark.parametrize("truth", ["most-plausible", "annotator"])
def test_calibration_stands_above_mean_predictions(ax, two, truth):
    results, of = two, worlds.labels()
    if truth == "annotator":
        results = pb.evaluate(of.annotations, of.predictions, metrics="curves", truth=truth, **worlds.EVALUATE)
        results = results.assign_coords(classifier=["A", "$B$"])
    plots.calibration_curve(results, ax=ax)
    drawn = [one for one in ax.lines if one.get_label() in ("A", r"\$B\$")]
    for at, line in enumerate(drawn):
        observed, predicted = (
            results[name][at].mean("draw").values for name in ("calibration_curve", "mean_predicted")
        )
        known = ~np.isnan(observed)
        np.testing.assert_allclose(line.get_xdata(), predicted[known], rtol=1e-5)
        np.testing.assert_allclose(line.get_ydata(), observed[known], rtol=1e-5)
    assert len(drawn) == 2
    assert len(ax.collections) == (4 if truth == "most-plausible" else 2)  # without draws there are total intervals


def test_a_confusion_matrix_has_shares_of_rows_and_counts(ax, three):
    plots.confusion_matrix(three, "A", ax=ax)
    counts = three["confusion"][0].mean("draw").values * N
    shares = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(ax.images[0].get_array(), shares, rtol=1e-5)
    first = ax.texts[1].get_text().split("\n")
    assert first == [f"{100 * shares[0, 1]:.0f} %", f"{counts[0, 1]:.1f}"]
    assert [one.get_text() for one in ax.get_yticklabels()] == ["a", "b", "c"]
    assert ax.get_title() == "A"
    with pytest.raises(ArgumentError, match=r"no classifier was chosen: choose from A, \$B\$"):
        plots.confusion_matrix(three, ax=ax)
    with pytest.raises(ArgumentError, match="there is no classifier 'C' here"):
        plots.confusion_matrix(three, "C", ax=ax)


def test_of_many_classes_the_most_confused_are_shown(ax):
    classes = [f"c{k}" for k in range(9)]
    shares = np.random.default_rng(9).dirichlet(np.ones(81)).reshape(1, 9, 9, 1)
    coords = {"classifier": ["A"], "true_class": classes, "named_class": classes}
    confusion = xr.DataArray(shares, coords, ("classifier", "true_class", "named_class", "draw"), attrs={"n_cases": N})
    results = xr.Dataset({"confusion": confusion}, {"case": range(N)}, {"truth": "annotator"})
    plots.confusion_matrix(results, most=4, ax=ax)
    counts = results["confusion"][0, ..., 0].values * N
    names = [one.get_text() for one in ax.get_yticklabels()]
    assert names[-1] == "6 others"
    chosen = [int(name[1]) for name in names[:-1]]
    np.fill_diagonal(wrong := counts.copy(), 0)
    assert {*np.unravel_index(wrong.argmax(), wrong.shape)} <= {*chosen}
    shares = np.asarray(ax.images[0].get_array())
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(shares[0, 1], counts[chosen[0], chosen[1]] / counts[chosen[0]].sum(), rtol=1e-5)
