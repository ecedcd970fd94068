"""The toy problem: its curves, its labels, its seed; and its picture."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

import plausibly as pb
from plausibly.base.errors import ArgumentError
from plausibly.data.datasets import simulate_toy, toy_plausibilities


def test_labels_follow_curves_on_which_each_class_leads_somewhere():
    curves = toy_plausibilities(np.linspace(0, 1, 101))
    np.testing.assert_allclose(curves.sum(axis=1), 1)
    assert curves.min() > 0.01
    changes = np.flatnonzero(np.diff(curves.argmax(axis=1)))
    assert curves.argmax(axis=1)[[0, 50, 100]].tolist() == [0, 1, 2]
    assert len(changes) == 2
    assert toy_plausibilities(np.zeros((4, 2))).shape == (4, 2, 3)
    toy = simulate_toy(3000, n_annotators=4, seed=2)
    np.testing.assert_allclose(toy.plausibilities, toy_plausibilities(toy.positions))
    counts = np.bincount(toy.annotations.entry_case * 3 + toy.annotations.entry_class, minlength=9000).reshape(-1, 3)
    assert (counts.sum(axis=1) == 4).all()
    assert stats.kstest(toy.positions, "uniform").pvalue > 1e-3
    for near in (0.1, 0.33, 0.6):
        here = np.abs(toy.positions - near) < 0.05
        share, n = counts[here].sum(axis=0) / counts[here].sum(), counts[here].sum()
        np.testing.assert_allclose(share, toy.plausibilities[here].mean(axis=0), atol=4 * np.sqrt(0.25 / n))
    few, many = simulate_toy(5, seed=7), simulate_toy(50, seed=7)
    np.testing.assert_array_equal(few.positions, many.positions[:5])
    assert few.annotations == many.annotations.select(np.arange(5))
    assert simulate_toy(5, seed=8).annotations != few.annotations


def test_clouds_lie_where_the_draws_of_three_classes_are():
    toy = simulate_toy(6, seed=0)
    posterior = pb.aggregate(toy.annotations, "dirichlet-categorical", progress=False)
    names = toy.annotations.cases[[4, 1]].tolist()
    ax = pb.plots.simplex(posterior, names, truth=toy.plausibilities[[4, 1]], draws=1000, ax=Figure().subplots())
    assert [text.get_text() for text in ax.get_legend().get_texts()] == names
    clouds = [line for line in ax.lines if len(line.get_xdata()) == 1000]
    for cloud, draws in zip(clouds, np.moveaxis(pb.dense(posterior, names), 1, 0), strict=True):
        np.testing.assert_allclose(cloud.get_xdata(), draws[:, 1] + draws[:, 2] / 2, atol=1e-6)
        np.testing.assert_allclose(cloud.get_ydata(), draws[:, 2] * np.sqrt(3) / 2, atol=1e-6)
    with pytest.raises(ArgumentError, match=r"truth must have the shape \(case, class\), \(2, 3\), but has \(1, 3\)"):
        pb.plots.simplex(posterior, names, truth=toy.plausibilities[:1])
    with pytest.raises(ArgumentError, match="at least one case, but none was named"):
        pb.plots.simplex(posterior, [])
    with pytest.raises(ArgumentError, match="there is no case 'nowhere'"):
        pb.plots.simplex(posterior, "nowhere")
    posterior = pb.aggregate(pb.Annotations.from_labels([["a", "b"]]), "dirichlet-categorical", progress=False)
    with pytest.raises(ArgumentError, match="a triangle shows three classes, but this posterior has 2"):
        pb.plots.simplex(posterior, "0")
