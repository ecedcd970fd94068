"""Figures of model comparisons, predictive checks and prior sensitivity hold what they were given."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import plausibly as pb
from plausibly import plots
from plausibly.errors import ArgumentError
from plausibly.plots._style import COLOURS


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def annotations():
    return pb.datasets.simulate_differentials(12, n_classes=5, seed=2).annotations


@pytest.fixture(scope="module")
def check(annotations):
    return pb.predictive_check(pb.aggregate(annotations, "prirn", draws=50, progress=False), progress=False)


@pytest.fixture(scope="module")
def sensitive(annotations):
    scores = {"A $x$": np.eye(5)[np.arange(12) % 5], "B": np.ones((12, 5))}
    return pb.prior_sensitivity(annotations, scores, {"prirn": (30,), "irn": None}, k=1, draws=50, progress=False)


def test_models_are_rows_at_their_differences(ax):
    table = pd.DataFrame(
        {
            "elpd": [-10.0, -12.5, -40.0, -np.inf],
            "elpd_diff": [0.0, 2.5, 30.0, np.inf],
            "dse": [0.0, 2.0, 4.0, np.nan],
            "weight": [0.7, 0.2, 0.0, 0.1],
            "impossible": [0, 0, 0, 3],
            "verdict": ["best", "no difference", "worse", "worse"],
        },
        index=["a", "b$", "c", "vote"],
    )
    assert plots.model_comparison(table, ax=ax) is ax
    marks = [line for line in ax.lines if line.get_marker() == "o"]
    assert [mark.get_xdata()[0] for mark in marks] == [0, -2.5, -30]
    assert [to_hex(mark.get_markerfacecolor()) for mark in marks] == [to_hex(COLOURS[0]), "#ffffff", to_hex(COLOURS[1])]
    bars = [collection.get_segments()[0][:, 0].tolist() for collection in ax.collections]
    assert bars == [[0, 0], [-6.5, 1.5], [-38, -22]]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", r"b\$", "c", "vote"]
    assert [text.get_text() for text in ax.texts] == ["finds 3 annotations impossible"]
    right = ax.child_axes[0]
    assert [label.get_text() for label in right.get_yticklabels()][1::2] == ["−12.5, weight 0.20", "−∞, weight 0.10"]
    ax.figure.canvas.draw()


def test_only_a_comparison_of_models_is_drawn(ax):
    with pytest.raises(ArgumentError, match=r"a table of plausibly\.compare is needed, but a DataFrame"):
        plots.model_comparison(pd.DataFrame({"elpd": [1.0]}), ax=ax)


def test_observed_statistics_stand_among_replicates(ax, check):
    plots.predictive_checks(check, ax=ax)
    table = check.table[check.table["status"].isin(["reproduced", "not reproduced"])]
    marks = [line for line in ax.lines if line.get_marker() not in ("None", "")]
    expected = np.clip((table["observed"] - table["mean"]) / table["sd"], -6, 6)
    np.testing.assert_allclose([mark.get_xdata()[0] for mark in marks], expected)
    hollow = [to_hex(mark.get_markerfacecolor()) == "#ffffff" for mark in marks]
    assert hollow == (table["status"] == "reproduced").tolist()
    assert [label.get_text() for label in ax.get_yticklabels()] == table["description"].tolist()
    ax.figure.canvas.draw()


def test_several_models_are_told_apart(ax, annotations, check):
    other = pb.predictive_check(pb.aggregate(annotations, "plackett-luce-ml", progress=False), progress=False)
    plots.predictive_checks({"one": check, "two": other}, ax=ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two"]
    # Of whole rankings only the second speaks.
    assert len(ax.collections) == 3 + 7
    ax.figure.canvas.draw()


def test_what_no_model_speaks_of_is_refused(ax, check):
    with pytest.raises(ArgumentError, match="has no replicates of 'named_classes': choose from first_agreement"):
        plots.replicate_histogram(check, "named_classes", ax=ax)
    with pytest.raises(ArgumentError, match="there is no statistic to draw"):
        plots.predictive_checks({}, ax=ax)


def test_a_histogram_counts_all_replicates(ax, check):
    plots.replicate_histogram(check, "first_classes", ax=ax)
    assert sum(patch.get_height() for patch in ax.patches) == 200
    observed = float(check.observed.sel(statistic="first_classes"))
    assert ax.lines[0].get_xdata()[0] == observed


def test_choices_are_rows_with_every_classifier(ax, sensitive):
    plots.prior_sensitivity(sensitive, "top1_accuracy", "prirn@30", ax=ax)
    own = sensitive.table
    own = own[(own["model"] == "prirn@30") & (own["metric"] == "top1_accuracy")]
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["baseline", "concentration 0.001", "concentration 0.1", "ties full"]
    marks = [line.get_xdata()[0] for line in ax.lines if line.get_marker() not in ("None", "")]
    np.testing.assert_allclose(marks, own.sort_values("classifier", kind="stable")["mean"])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [r"A \$x\$", "B"]
    ax.figure.canvas.draw()


def test_one_figure_holds_all_models(sensitive):
    figure = plots.prior_sensitivities(sensitive)
    assert len(figure.axes) == 2 * 2
    figure.canvas.draw()
    assert isinstance(figure, matplotlib.figure.Figure)


@pytest.mark.parametrize(
    ("metric", "model", "sentence"),
    [
        ("top1_accuracy", None, "there are 2 models, but none was chosen: choose from prirn@30, irn"),
        ("top1_accuracy", "vote", "there is no model 'vote'"),
        ("top7_accuracy", "irn", "there is no metric 'top7_accuracy' here"),
    ],
)
def test_unknown_models_and_metrics_are_refused(ax, sensitive, metric, model, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        plots.prior_sensitivity(sensitive, metric, model, ax=ax)
